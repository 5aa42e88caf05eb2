// The program run as users run it, on the model that it ships with.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "models/gguf/gguf.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace run_command_test {

using nlohmann::json;

struct Refused {
    std::vector<std::string> arguments;
    std::string message;  // a part of the one line on stderr
};

// A copy of a model in which the first number of an f32 tensor is NaN.
std::string poisoned(const Program& program, const std::string& model, std::string_view tensor) {
    const std::string source = std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/nano/" + model;
    const std::string copy = program.folder() / model;
    std::filesystem::copy_file(source, copy, std::filesystem::copy_options::overwrite_existing);
    const auto file = models::Gguf::open(copy);
    std::fstream bytes(copy, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(static_cast<std::streamoff>(file->find_tensor(tensor)->data_offset_bytes));
    bytes.write("\x00\x00\xc0\x7f", 4);
    return copy;
}

TEST(RunCommand, NamesTheLaunchThatFirstWroteWhatIsNoNumber) {
    Program program;
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"nano-f32.gguf", "the first is written by blk.1.ffn_norm (rms_norm"},
        {"nano-q8_0.gguf", "the first is written by blk.1.ffn_gate (matmul q8_0"},  // its norm writes codes
    };
    for (const auto& [model, message] : cases) {
        const std::string path = poisoned(program, model, "blk.1.ffn_norm.weight");
        const Outcome outcome = program.run({"run", "-m", path, "--prompt-ids", "1,2,3", "-n", "2", "--temp", "0"});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
}

TEST(RunCommand, DumpsTheLogitsOfEveryPositionWhateverTheStep) {
    Program program;
    const std::string model = std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/nano/nano-q8_0.gguf";
    std::string ids = "1";
    constexpr size_t kPositions = 75;  // three steps, the last a short one
    for (size_t i = 1; i < kPositions; ++i) ids += "," + std::to_string(i * 7 % 512);
    const auto dump = [&](const std::string& step) {
        const std::string file = program.folder() / "logits.npy";
        const Outcome outcome =
            program.run({"run", "-m", model, "--prompt-ids", ids, "--temp", "0", "-ub", step, "--dump-logits", file});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return read_whole(file);
    };
    const std::string whole = dump("512");
    EXPECT_NE(whole.find("'shape': (75, 512)"), std::string::npos);
    EXPECT_EQ(whole.size(), 128 + kPositions * 512 * sizeof(float));
    EXPECT_EQ(dump("1"), whole);
    EXPECT_EQ(dump("20"), whole);
}

TEST(RunCommand, GeneratesNothingAfterTheCacheWasWarmed) {
    Program program;
    const std::string model = std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/nano/nano-q4_k.gguf";
    ASSERT_EQ(program.run({"warm", model}).exit_code, 0);
    const std::vector<std::vector<std::string>> variants = {
        {"-n", "2"},
        {"-n", "2", "-c", "64", "-t", "1", "-ub", "3"},
        {"--logits-hash", "-n", "2"},
        {"--dump-logits", program.folder() / "logits.npy"},
        {"--spec-type", "ngram-simple", "-n", "9"},
        {"-md", model, "-n", "9"},
    };
    for (const auto& variant : variants) {
        std::vector<std::string> arguments = {"run",    "-m", model,          "--prompt-ids", "1,2,3",
                                              "--temp", "0",  "--cache-mode", "require"};
        arguments.insert(arguments.end(), variant.begin(), variant.end());
        const Outcome outcome = program.run(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << variant[0] << ": " << outcome.err;
    }
    EXPECT_EQ(
        program.run({"run", "-m", model, "--prompt-ids", "1", "--passes", "none", "--cache-mode", "require"}).exit_code,
        4);
}

TEST(RunCommand, RefusesInOneLineThatNamesFlagValueAndRange) {
    const std::vector<Refused> cases = {
        {{"run", "-n", "abc"}, "\"--n-predict\": expected an integer, got \"abc\""},
        {{"run", "-n", "-5"}, "-5 is out of range, expected an integer from -2 to 2147483647"},
        {{"run", "-n", "99999999999"}, "99999999999 is out of range"},
        {{"run", "-t", "0"}, "0 is out of range, expected an integer from 1 to 4096"},
        {{"run", "-b", "0"}, "out of range"},
        {{"run", "-c", "-5"}, "out of range"},
        {{"run", "--temp", "nan"}, "nan is out of range"},
        {{"run", "--temp", "warm"}, "expected a number, got \"warm\""},
        {{"run", "--top-p", "1.5"}, "expected a number from 0 to 1"},
        {{"run", "--top_k=x"}, "\"--top-k\": expected an integer, got \"x\""},
        {{"run", "--repeat-penalty", "0"}, "out of range"},
        {{"run", "--repeat-last-n", "-1"}, "out of range"},
        {{"run", "--mirostat", "3"}, "expected an integer from 0 to 2"},
        {{"run", "--samplers", "top_k;magic"}, "unknown sampler \"magic\"; valid names"},
        {{"run", "-l", "99999999+1", "-p", "a"}, "token 99999999 is outside the vocabulary of 4096"},
        {{"run", "-ctk", "q4_k"},
         "\"q4_k\" is not known, expected one of f16, f32, q8_0, bf16, q4_0, q4_1, q5_0, q5_1, iq4_nl, rq4"},
        {{"run", "--max-isa", "sse9"}, "\"sse9\" is not known, expected one of avx2"},
        {{"run", "--cache-mode", "maybe"}, "expected one of rw, ro, off, require"},
        {{"run", "--passes", "magic"}, "magic"},
        {{"run", "--grammar", "root ::= x"}, "--grammar: 1:10: rule \"x\" is not defined"},
        {{"run", "--grammar", "{\"type\": 1}"}, "; a JSON schema goes with -j"},
        {{"run", "--grammar", "/etc/passwd"}, "; a file goes with --grammar-file"},
        {{"run", "--grammar", "root ::= <nope>", "-p", "a"}, "1:10: the vocabulary has no token \"<nope>\""},
        {{"run", "-j", "{"}, "-j: this is no JSON"},
        {{"run", "-j", "root ::= \"a\""}, "; a grammar goes with --grammar or --grammar-file"},
        {{"run", "-j", "{\"items\":{\"type\":\"x\"}}"}, "-j: #/items: type \"x\" is none of object, array"},
        {{"run", "-j", "{}", "--grammar", "root ::= \"a\""}, "--grammar and -j are different grammars; give one"},
        {{"run", "--draft-max", "4"}, "has been removed; llama.cpp's name is --spec-draft-n-max"},
        {{"run", "--image", "cat.png"}, "--image is not implemented"},
        {{"run", "-fa", "off"}, "attention has one form in this build"},
        {{"run", "-ngl", "many"}, "expected an integer, got \"many\""},
        {{"run", "-tb", "9", "-t", "1", "-p", "a"}, "-tb 9: prompts are read with the threads of -t"},
        {{"run", "--reasoning-budget", "-2"}, "out of range"},
        {{"run", "-p", "a", "--chat-template-kwargs", "[1]"}, "expected a JSON object, got \"[1]\""},
        {{"run", "-p", "a", "--chat-template", "{{ x."}, "--chat-template:1:1: unclosed '{{'"},
        {{"run", "-p", "a", "--chat-template", "{{ raise_exception('no such turn') }}"},
         "--chat-template:1:4: no such turn, in"},
        {{"run", "-p", "a", "--chat-template", "chatmi"}, "\"chatmi\" is neither a template, which has {{ }} or {% %}"},
        {{"run", "-p", "a", "--chat-template", "chatmi"}, "did you mean chatml?"},
        {{"run", "-p", "a", "--chat-template", "magic"}, "names: bailing, bailing-think"},
        {{"run", "-p", "a", "--chat-template", "Answer briefly."}, "is neither a template"},
        {{"run", "-p", "a", "--chat-template", "/etc/passwd"}, "a file goes with --chat-template-file"},
        {{"run", "-p", "a", "--chat-template", "none.jinja"}, "\"none.jinja\" is neither a template"},
        {{"run", "-p", "a", "--chat-template-file", "/none.jinja"}, "/none.jinja: No such file or directory"},
        {{"run", "-p", "a", "--chat-template-file", "/etc/passwd"}, "/etc/passwd: \"root"},
        {{"run", "-p", "a", "--reasoning", "on", "--chat-template-kwargs", "{\"enable_thinking\":false}"},
         "--reasoning and enable_thinking of --chat-template-kwargs contradict each other: true and false"},
        {{"run", "-p", "a", "--reasoning-budget", "0", "--chat-template-kwargs", "{\"enable_thinking\":1}"},
         "--reasoning-budget and enable_thinking of --chat-template-kwargs contradict"},
        {{"run", "-m", "/nonexistent.gguf"}, "/nonexistent.gguf: cannot open: No such file or directory"},
        {{"run", "-m", "/etc/passwd"}, "invalid magic"},
        {{"run", "-m", ""}, "--model: expected a name, got \"\""},
        {{"run", "-p", "a", "--dump-logits", ""}, "--dump-logits: expected a name, got \"\""},
        {{"run", "--cache-dir", ""}, "--cache-dir: expected a name, got \"\""},
        {{"inspect", ""}, "expected a name, got \"\""},
        {{"tokenize", "-p", "a", "-m", ""}, "expected a name, got \"\""},
        {{"warm", "-m", ""}, "expected a name, got \"\""},
        {{"cache", "stat", "--cache-dir", ""}, "expected a name, got \"\""},
        {{"run", "-p", "a", "--no-perf", "--perf"}, "--perf and --no-perf contradict each other"},
        {{"run", "-p", "a", "-cnv", "-no-cnv"}, "--conversation and --no-conversation contradict each other"},
        {{"run", "-f", "/etc"}, "/etc: Is a directory"},
        {{"run", "-f", "/nonexistent.txt"}, "/nonexistent.txt: No such file or directory"},
        {{"run", "-p", "a", "-f", "/etc/passwd"}, "-p, -f, -bf and --prompt-ids are different prompts; give one"},
        {{"run", "--prompt-ids", ""}, "expected an integer, got \"\""},
        {{"run", "-p", ""}, "the prompt is empty"},
        {{"run", "--prompt-ids", "1,x"}, "expected an integer, got \"x\""},
        {{"run", "--prompt-ids", "1,5000"}, "5000 is not in the vocabulary of 4096 tokens"},
        {{"run", "-c", "4", "-p", "a story that is longer"}, "tokens, the context 4"},
        {{"run", "--frobnicate"}, "invalid argument: --frobnicate"},
        {{"run", "--tpo-k", "3"}, "did you mean --top-k?"},
        {{"run", "--dump-isa", "magic"}, "no kernel's name contains \"magic\""},
        {{"rnu"}, "did you mean run?"},
        {{"embed", "-m", "x.gguf"}, "expected -p TEXT or -f FILE: the texts, one a line (--embd-separator)"},
        {{"embed", "-p", "a", "--embd-separator", ""}, "--embd-separator: an empty text divides nothing"},
        {{"embed", "-p", "a", "--pooling", "max"}, "\"max\" is not known, expected one of none, mean, cls, last, rank"},
        {{"run", "-p", "a", "--pooling", "mean"}, "belongs to `riftjit embed` and `riftjit serve`"},
        {{"serve", "--reranking", "--pooling", "cls"}, "--pooling cls: --reranking asks for rank"},
        {{"embed", "-p", "a", "--pooling", "rank"}, "no classifier to rank by"},
        {{},
         "expected a command: run, serve, bench, perplexity, embed, sim, asm, disasm, emulate, targets, devices, "
         "selftest, "
         "inspect, convert, imatrix, quantize, tokenize, warm, cache"},
    };
    Program program;
    for (const Refused& refused : cases) {
        const Outcome outcome = program.run(refused.arguments);
        const std::string text = refused.arguments.empty() ? "" : refused.arguments.back();
        EXPECT_EQ(outcome.exit_code, 1) << text << outcome.err;
        EXPECT_EQ(outcome.out, "") << text;
        EXPECT_TRUE(outcome.err.starts_with("error: ")) << text << ": " << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << text << ": " << outcome.err;
        EXPECT_NE(outcome.err.find(refused.message), std::string::npos) << text << ": " << outcome.err;
    }
}

TEST(RunCommand, HelpAndVersionAreQuickAndGoToStdout) {
    Program program;
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                      {"--version"},
                                                      {"run", "--help"},
                                                      {"run", "-h"},
                                                      {"run", "--list-devices"}}) {
        const Outcome outcome = program.run(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << arguments.back();
        EXPECT_NE(outcome.out, "") << arguments.back();
        EXPECT_EQ(outcome.err, "") << arguments.back();
        EXPECT_LT(outcome.cpu_seconds, 0.05 * kSanitizerSlowdown) << arguments.back();
    }
}

TEST(RunCommand, WarnsOnceAboutEachFlagWithoutEffectAndRefusesUnderStrict) {
    Program program;
    const std::vector<std::string> arguments = {"run", "-p", "a", "-n", "1", "-ngl", "99", "--no-mmap", "--no-perf"};
    const Outcome outcome = program.run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("warn: -ngl 99: no device; running on CPU\n"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("warn: --no-mmap: weights are packed"), std::string::npos) << outcome.err;
    std::vector<std::string> strict = arguments;
    strict.push_back("--strict");
    const Outcome refused = program.run(strict);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_NE(refused.err.find("--strict: 2 warning(s)"), std::string::npos) << refused.err;
}

TEST(RunCommand, SaysWhichFlagsOnlyATemplateReads) {
    Program program;
    const Outcome outcome = program.run({"run", "-no-cnv", "-sys", "Be brief.", "--reasoning", "off", "-p", "a", "-n",
                                         "1", "--temp", "0", "--no-perf"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err,
              "warn: -sys: changes nothing without a chat template\n"
              "warn: --reasoning: changes nothing without a chat template\n");
    const Outcome used = program.run({"run", "-sys", "Be brief.", "-p", "a", "-n", "1", "--temp", "0", "--no-perf"});
    EXPECT_EQ(used.err, "");
}

TEST(RunCommand, TakesTheLastOfARepeatedFlagAndSaysSo) {
    Program program;
    const Outcome outcome = program.run({"run", "--prompt-ids", "1,2", "-n", "9", "-n", "3", "--temp", "0", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["ids"].size(), 3u);
    EXPECT_EQ(outcome.err, "warn: --predict is given 2 times; the last one counts\n");
}

TEST(RunCommand, AnswersTheSameAtAnyThreadCountAndLoadModeAndInJson) {
    Program program;
    std::string hash;
    for (const auto& [threads, load_mode] : {std::pair{"1", "auto"}, {"2", "none"}, {"3", "auto"}, {"2", "mmap"}}) {
        const Outcome outcome = program.run(
            {"run", "-p", "Tell me a story.", "-n", "12", "--temp", "0", "-t", threads, "-lm", load_mode, "--json"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const json object = json::parse(outcome.out);
        for (const char* key : {"prompt_ids", "ids", "text", "stop_reason", "logits_hash", "isa", "threads", "timings",
                                "cache", "jit_ms", "peak_rss_bytes"}) {
            EXPECT_TRUE(object.contains(key)) << key;
        }
        EXPECT_EQ(object["ids"].size(), 12u);
        EXPECT_EQ(object["stop_reason"], "length");
        EXPECT_EQ(object["threads"], std::stoi(threads));
        if (hash.empty()) hash = object["logits_hash"];
        EXPECT_EQ(object["logits_hash"], hash) << threads;
    }
}

TEST(RunCommand, PrintsOnlyTheTextOnStdout) {
    Program program;
    const Outcome as_json = program.run({"run", "-p", "Tell me a story.", "-n", "8", "--temp", "0", "--json"});
    const Outcome as_text = program.run({"run", "-p", "Tell me a story.", "-n", "8", "--temp", "0"});
    EXPECT_EQ(as_text.out, json::parse(as_json.out)["text"].get<std::string>() + "\n");
    EXPECT_NE(as_text.err.find("common_perf_print:"), std::string::npos);
    EXPECT_NE(as_text.err.find("jit compile time"), std::string::npos);
    EXPECT_NE(as_text.err.find("prompt eval time"), std::string::npos);
    const Outcome silent = program.run({"run", "-p", "Tell me a story.", "-n", "8", "--log-disable"});
    EXPECT_EQ(silent.err, "");
    const Outcome nothing = program.run({"run", "-p", "Tell me a story.", "-n", "0", "--no-perf"});
    EXPECT_EQ(nothing.exit_code, 0);
    EXPECT_EQ(nothing.out, "");
}

TEST(RunCommand, TakesPromptsFromFlagsFilesIdsAndStandardInputAlike) {
    Program program;
    const std::string text = "Tell me\tof a fox.";
    std::ofstream(program.folder() / "prompt.txt") << text << "\n";
    const auto ids = [&](std::vector<std::string> arguments, const std::string& input = "") {
        arguments.insert(arguments.begin(), {"run", "-n", "1", "--temp", "0", "--json"});
        const Outcome outcome = program.run(arguments, input);
        return outcome.exit_code == 0 ? json::parse(outcome.out)["prompt_ids"] : json(outcome.err);
    };
    const json expected = ids({"-p", "Tell me\\tof a fox."});
    EXPECT_EQ(ids({"-f", (program.folder() / "prompt.txt").string()}), expected);
    EXPECT_EQ(ids({}, text + "\n"), expected);
    EXPECT_EQ(ids({"--no-escape", "-p", text}), expected);
    std::string list;
    for (const json& id : expected) list += (list.empty() ? "" : ",") + std::to_string(id.get<int>());
    EXPECT_EQ(ids({"--prompt-ids", list}), expected);
    EXPECT_NE(ids({"-no-cnv", "-p", text}), expected);  // no template around it
}

TEST(RunCommand, TakesTextThatLooksLikeAFlag) {
    Program program;
    for (const char* text : {"-i", "--grammar", "-st", "- a list"}) {
        const Outcome outcome = program.run({"run", "-p", text, "-n", "1", "--no-perf", "--temp", "0"});
        EXPECT_EQ(outcome.exit_code, 0) << text << outcome.err;
    }
}

TEST(RunCommand, FollowsGrammarsAndSchemas) {
    Program program;
    const auto answer = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", "-p", "Tell me a story.", "-s", "5", "--temp", "1.5", "--json"});
        const Outcome outcome = program.run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return json::parse(outcome.out);
    };
    const json braces = answer({"--grammar", "root ::= \"{\" \"}\"", "-n", "10"});
    EXPECT_EQ(braces["text"], "{}");
    EXPECT_EQ(braces["stop_reason"], "eos");
    std::ofstream(program.folder() / "g.gbnf") << "root ::= name \" and \" name\nname ::= [A-Z] [a-z]{2,5}";
    const std::string names = answer({"--grammar-file", program.folder() / "g.gbnf"})["text"];
    EXPECT_TRUE(std::regex_match(names, std::regex("[A-Z][a-z]{2,5} and [A-Z][a-z]{2,5}"))) << names;
    const std::string schema = R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},
        "age":{"type":"integer","minimum":3,"maximum":150}},"required":["name","age"]})";
    std::ofstream(program.folder() / "s.json") << schema;
    const std::string text = answer({"-jf", program.folder() / "s.json"})["text"];
    EXPECT_EQ(answer({"-j", schema})["text"], text);
    const json object = json::parse(text);
    EXPECT_LE(object["name"].get<std::string>().size(), 48u);
    EXPECT_GE(object["age"], 3);
    EXPECT_LE(object["age"], 150);
    const Outcome warned = program.run({"run", "-p", "a", "-n", "1", "-j", R"({"type":"array","uniqueItems":true})"});
    EXPECT_NE(warned.err.find("warn: -j: #: uniqueItems is not enforced"), std::string::npos) << warned.err;
}

TEST(RunCommand, EndsQuietlyWithStandardInput) {
    Program program;
    const Outcome outcome = program.run({"run", "-n", "3", "--no-perf", "--temp", "0"}, "hello\n");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.out, "");
    EXPECT_EQ(outcome.err.find('>'), std::string::npos);  // no prompt sign
}

TEST(RunCommand, StopsAtStopWords) {
    Program program;
    const Outcome whole = program.run({"run", "-p", "Tell me a story.", "-n", "20", "--temp", "0", "--json"});
    const std::string text = json::parse(whole.out)["text"];
    const std::string word = text.substr(text.size() / 2, 4);
    const Outcome cut = program.run({"run", "-p", "Tell me a story.", "-n", "20", "--temp", "0", "--json", "-r", word});
    const json object = json::parse(cut.out);
    EXPECT_EQ(object["stop_reason"], "word");
    EXPECT_EQ(object["text"], text.substr(0, text.find(word)));
}

TEST(RunCommand, SaysWhenItsOutputIsLost) {
    Program program;
    const Outcome full = program.run({"run", "-p", "a", "-n", "4", "--no-perf"}, "", "/dev/full");
    EXPECT_EQ(full.exit_code, 1);
    EXPECT_NE(full.err.find("error: standard output: No space left on device"), std::string::npos) << full.err;
    EXPECT_EQ(program.run({"run", "--print-plan"}, "", "/dev/full").exit_code, 1);
}

TEST(RunCommand, EndsQuietlyWhenTheReaderLeaves) {
    Program program;
    const std::string script = (program.folder() / "reader.sh").string();
    std::ofstream(script) << RIFTJIT_BINARY
                          << " run -p 'Tell me a story.' -n 300 --ignore-eos --no-perf --cache-mode off 2> "
                          << (program.folder() / "err").string() << " | head -c 10 > /dev/null\n"
                          << "exit ${PIPESTATUS[0]}\n";
    EXPECT_EQ(WEXITSTATUS(std::system(("bash " + script).c_str())), 0);
    EXPECT_EQ(read_whole(program.folder() / "err").find("error"), std::string::npos);
}

// Sends `signal` once text has begun to appear, so that generation is under way.
Outcome interrupted(Program& program, int signal) {
    program.start({"run", "-p", "Tell me a story.", "-n", "100000", "-c", "200000", "--ignore-eos", "--log-disable"});
    for (int i = 0; i < 1000 && read_whole(program.folder() / "out").empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    program.send(signal);
    return program.wait_for_end();
}

TEST(RunCommand, StopsOnSignalsWithTheirCodes) {
    Program program;
    EXPECT_EQ(interrupted(program, SIGINT).exit_code, 130);
    EXPECT_EQ(interrupted(program, SIGTERM).exit_code, 143);
    EXPECT_EQ(interrupted(program, SIGHUP).exit_code, 129);
}

TEST(RunCommand, RequiresTheCacheWhenAskedTo) {
    Program program;
    const std::vector<std::string> run = {"run", "-p", "a", "-n", "1", "--no-perf", "--cache-mode", "require"};
    const Outcome missing = program.run(run);
    EXPECT_EQ(missing.exit_code, 4);
    EXPECT_EQ(missing.out, "");
    EXPECT_NE(missing.err.find("missing"), std::string::npos) << missing.err;
    const Outcome warmed = program.run({"warm"});
    ASSERT_EQ(warmed.exit_code, 0) << warmed.err;
    EXPECT_EQ(program.run(run).exit_code, 0);
    const Outcome counted = program.run({"run", "-p", "a", "-n", "1", "--json"});
    EXPECT_EQ(json::parse(counted.out)["cache"]["misses"], 0);
}

TEST(RunCommand, ListsCodeOfLevelsThatThisMachineMayLack) {
    Program program;
    for (const char* level : {"avx2", "avx512_fp16"}) {
        const Outcome outcome = program.run({"run", "--dump-isa", "rms_norm", "--max-isa", level});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        for (const char* text :
             {"# kernel       rj_rms_norm", "# spec ", "# registers ", "# work ", "# roofline ", "ret"}) {
            EXPECT_NE(outcome.out.find(text), std::string::npos) << text;
        }
        EXPECT_NE(outcome.out.find(std::string("# isa          ") + level + "\n"), std::string::npos);
        EXPECT_EQ(outcome.out.find("zmm") != std::string::npos, level != std::string("avx2"));
    }
}

TEST(WarmCommand, WarmsLevelsThatThisMachineMayLack) {
    Program program;
    const Outcome first = program.run({"warm", "--isa", "avx2,avx512_fp16,avx2", "--json"});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    const json levels = json::parse(first.out);
    ASSERT_EQ(levels.size(), 2u);
    EXPECT_EQ(levels[0]["isa"], "avx2");
    EXPECT_GT(levels[0]["generated"], 10);
    EXPECT_EQ(levels[0]["present"], 0);
    const json again = json::parse(program.run({"warm", "--isa", "avx512_fp16", "--json"}).out);
    EXPECT_EQ(again[0]["generated"], 0);
    EXPECT_EQ(again[0]["present"], levels[1]["generated"]);
    const Outcome unknown = program.run({"warm", "--isa", "avx2,mmx"});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_NE(unknown.err.find("\"mmx\" is not known"), std::string::npos) << unknown.err;
    const Outcome nowhere = program.run({"warm", "--cache-dir", "/proc/riftjit"});
    EXPECT_EQ(nowhere.exit_code, 1);
    EXPECT_NE(nowhere.err.find("there is no cache to warm"), std::string::npos) << nowhere.err;
}

}  // namespace run_command_test
}  // namespace riftjit::tools
