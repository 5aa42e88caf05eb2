// Drafting from the command line: what it changes, which is the time alone, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/tools/program.h"
#include "tests/tools/terminal.h"

namespace riftjit::tools {
namespace drafting_run_test {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kStorytellers = std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller/storyteller-9m-";
const std::string kModel = kStorytellers + "q8_0.gguf", kDraft = kStorytellers + "q4_k_m.gguf";
const std::string kNano = std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/nano/nano-q8_0.gguf";
const Words kRun = {"run", "-m", kModel, "-p", "Tell me a story.", "--ignore-eos", "-s", "3"};

Words with(Words arguments, const Words& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

json run_json(Program& program, const Words& arguments) {
    const Outcome outcome = program.run(with(arguments, {"--json"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json::object();
}

TEST(DraftingRun, ChangesNoTokenAndNoLogit) {
    Program program;
    for (const Words& sampling : {Words{"--temp", "0", "-t", "1"}, {"--temp", "0.8", "-t", "2"}}) {
        const Words arguments = with(with(kRun, sampling), {"-n", "200"});
        const json plain = run_json(program, arguments);
        EXPECT_FALSE(plain["timings"].contains("draft_n"));
        for (const Words& drafting :
             {Words{"--spec-type", "ngram-simple"},
              {"-md", kDraft},
              {"-md", kModel, "--spec-draft-n-max", "8", "--spec-draft-n-min", "2"},
              {"--spec-draft-model", kDraft, "--spec-draft-p-min", "0.5"},
              {"--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "1", "--spec-ngram-simple-size-m", "40"}}) {
            const json drafted = run_json(program, with(arguments, drafting));
            for (const char* key : {"ids", "text", "logits_hash", "stop_reason"})
                EXPECT_EQ(drafted[key], plain[key]) << key << ", " << drafting.back();
            const json& timings = drafted["timings"];
            EXPECT_EQ(timings["predicted_n"], plain["timings"]["predicted_n"]);
            EXPECT_LE(timings["draft_n_accepted"], timings["draft_n"]);
            EXPECT_EQ(timings["predicted_n"].get<int>(),
                      timings["predicted_steps"].get<int>() + timings["draft_n_accepted"].get<int>());
        }
    }
}

TEST(DraftingRun, SaysHowOftenItWasRight) {
    Program program;
    const Outcome outcome = program.run(with(kRun, {"-n", "120", "--temp", "0", "-md", kModel}));
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char* text : {"common_perf_print:         draft time =", "common_perf_print:   draft acceptance ="})
        EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
    const Outcome plain = program.run(with(kRun, {"-n", "2", "--temp", "0"}));
    EXPECT_EQ(plain.err.find("draft"), std::string::npos) << plain.err;
}

TEST(DraftingRun, RefusesWhatCannotBe) {
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"--spec-type", "draft-mtp"}, "\"draft-mtp\" is not known, expected one of none, draft-simple, ngram-simple"},
        {{"--spec-type", "draft-simple,ngram-simple"}, "expected one of none, draft-simple, ngram-simple"},
        {{"--spec-type", "draft-simple"}, "--spec-type draft-simple: which model? -md FILE"},
        {{"-md", kDraft, "--spec-type", "none"}, "--model-draft changes nothing with --spec-type none"},
        {{"-md", kDraft, "--spec-type", "ngram-simple"}, "--model-draft changes nothing with --spec-type ngram-simple"},
        {{"-md", kDraft, "--spec-draft-n-min", "4"}, "--spec-draft-n-min 4 is more than --spec-draft-n-max 3"},
        {{"-md", kDraft, "--spec-draft-n-max", "0"}, "out of range, expected an integer from 1 to 1024"},
        {{"-md", kDraft, "--spec-draft-p-min", "1.5"}, "out of range, expected a number from 0 to 1"},
        {{"--spec-type", "ngram-simple", "-ub", "16"},
         "--spec-ngram-simple-size-m 16: a step has 16 rows (-ub), of which the last token takes one"},
        {{"-md", ""}, "expected a name, got \"\""},
        {{"-md", "/none.gguf"}, "/none.gguf: cannot open: No such file or directory"},
        {{"-md", kNano, "-c", "512"}, "the draft model has a vocabulary of 512 tokens, the model one of 4096"},
        {{"-td", "1"}, "-td is not implemented in this build: drafts come from a model that runs as the main one does"},
    };
    Program program;
    for (const auto& [arguments, message] : cases) {
        const Outcome outcome = program.run(with(with(kRun, {"-n", "4"}), arguments));
        EXPECT_EQ(outcome.exit_code, 1) << message;
        EXPECT_EQ(outcome.out, "") << message;
        EXPECT_TRUE(outcome.err.starts_with("error: ")) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
}

TEST(DraftingRun, WarnsOfNumbersThatGoWithAnotherWayToGuess) {
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"--spec-draft-n-max", "4"},
         "--spec-draft-n-max changes nothing with --spec-type none, only with draft-simple"},
        {{"--spec-type", "ngram-simple", "--draft-p-min", "0.5"},
         "--spec-draft-p-min changes nothing with --spec-type ngram-simple, only with draft-simple"},
        {{"-md", kDraft, "--spec-ngram-simple-size-n", "2"},
         "--spec-ngram-simple-size-n changes nothing with --spec-type draft-simple, only with ngram-simple"},
    };
    Program program;
    for (const auto& [arguments, message] : cases) {
        const Outcome outcome = program.run(with(with(kRun, {"-n", "4", "--no-perf"}), arguments));
        EXPECT_EQ(outcome.exit_code, 0) << message;
        EXPECT_TRUE(outcome.err.starts_with("warn: " + message + "\n")) << outcome.err;
    }
}

TEST(DraftingRun, SaysThatNothingIsGuessedWhereNothingIsGenerated) {
    Program program;
    const Words arguments = with(kRun, {"-n", "0", "--spec-type", "ngram-simple", "--no-perf"});
    const Outcome outcome = program.run(arguments);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err.find("warn: --spec-type ngram-simple: nothing is generated"), 0u) << outcome.err;
    EXPECT_EQ(program.run(with(arguments, {"--strict"})).exit_code, 1);
}

TEST(DraftingRun, KeepsAConversation) {
    const Words lines = {"Tell me about a fox.", "Tell me about a fox.", "And a lamp."};
    const auto shown = [&](const Words& more) {
        return run_on_terminal(with({"run", "-m", kModel, "--temp", "0", "-n", "24", "-c", "120", "--no-perf"}, more),
                               80, lines)
            .shown;
    };
    const std::string plain = shown({});
    EXPECT_EQ(shown({"--spec-type", "ngram-simple"}), plain);
    EXPECT_EQ(shown({"-md", kDraft}), plain);
}

TEST(DraftingRun, StopsOnCtrlC) {
    Program program;
    program.start(with(kRun, {"-n", "100000", "-c", "200000", "--log-disable", "--spec-type", "ngram-simple"}));
    for (int i = 0; i < 1000 && read_whole(program.folder() / "out").empty(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    program.send(SIGINT);
    EXPECT_EQ(program.wait_for_end().exit_code, 130);
}

}  // namespace drafting_run_test
}  // namespace riftjit::tools
