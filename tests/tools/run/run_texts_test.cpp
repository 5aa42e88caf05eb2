// Texts on their way in and out of `riftjit run`: escapes, files, standard input, templates, bytes that are no
// character.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/host/oracle.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace run_texts_test {

using nlohmann::json;
using Arguments = std::vector<std::string>;

class Texts : public ::testing::Test {
protected:
    Outcome run(Arguments arguments, const std::string& input = "") {
        arguments.insert(arguments.begin(), {"run", "--temp", "0", "--no-perf"});
        return program_.run(arguments, input);
    }
    // The JSON object of a short run, or what was said in its place.
    json answer(Arguments arguments, const std::string& input = "") {
        if (std::ranges::find(arguments, "-n") == arguments.end()) arguments.insert(arguments.end(), {"-n", "1"});
        arguments.push_back("--json");
        const Outcome outcome = run(std::move(arguments), input);
        return outcome.exit_code == 0 ? json::parse(outcome.out) : json{{"prompt_ids", outcome.err}};
    }
    json prompt_ids(Arguments arguments, const std::string& input = "") {
        return answer(std::move(arguments), input)["prompt_ids"];
    }
    std::string write(const std::string& name, std::string_view bytes) {
        const std::string path = program_.folder() / name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }

    Program program_;
};

TEST_F(Texts, OfEveryFlagHaveTheirEscapesTurned) {
    const Arguments rest = {"-p", "Tell me a story.", "-n", "24"};
    const struct {
        std::string flag, escaped, meant;
        Arguments rest;
    } cases[] = {
        {"-p", "Tell\\tme\\n\\x41\\\"\\'\\\\", "Tell\tme\nA\"'\\", {"-n", "1"}},
        {"-sys", "Be\\nbrief", "Be\nbrief", {"-p", "Hi", "-n", "1"}},
        {"-r", "\\x65", "e", rest},
        {"-r", "\\n", "\n", rest},
        {"--dry-sequence-breaker", "\\x65", "e", {"-p", "a b a b a b", "-n", "8", "--dry-multiplier", "5"}},
    };
    for (const auto& [flag, escaped, meant, others] : cases) {
        const auto with = [&](const std::string& value, const Arguments& more) {
            Arguments arguments = {flag, value};
            arguments.insert(arguments.end(), others.begin(), others.end());
            arguments.insert(arguments.end(), more.begin(), more.end());
            json object = answer(arguments);
            return json{object["prompt_ids"], object["ids"], object["text"], object["stop_reason"]};
        };
        const json expected = with(meant, {"--no-escape"});
        EXPECT_EQ(with(escaped, {}), expected) << flag << escaped;
        EXPECT_EQ(with(escaped, {"-e"}), expected) << flag << escaped;
    }
    EXPECT_EQ(answer({"-r", "\\x65", "-p", "Tell me a story.", "-n", "24"})["stop_reason"], "word");
    EXPECT_EQ(answer({"-r", "\\x65", "-p", "Tell me a story.", "-n", "24", "--no-escape"})["stop_reason"], "length");
}

TEST_F(Texts, SayThatAnEmptyStopWordStopsNothing) {
    EXPECT_EQ(run({"-p", "Hi", "-n", "1", "-r", ""}).err, "warn: -r \"\": an empty text stops nothing\n");
}

}  // namespace run_texts_test
}  // namespace riftjit::tools
