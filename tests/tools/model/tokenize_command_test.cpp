#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/tokenizer/tokenizer_files.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace tokenize_command_test {

using nlohmann::json;

Outcome tokenize(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), "tokenize");
    return Program().run(arguments, input);
}

// Ids of the storyteller, by the published tokenizers library: see tests/data/tokenizers/make_probes.py.
json published_probes() {
    std::ifstream file(RIFTJIT_SOURCE_DIR "/tests/data/tokenizers/probes.json");
    return json::parse(file)["storyteller"]["cases"];
}

std::string one_line_probes(const json& probes) {
    std::string lines;
    for (const json& probe : probes) lines += json{{"text", probe["text"]}}.dump() + "\n";
    return lines;
}

TEST(TokenizeCommand, AnswersEachLineWithThePublishedIds) {
    const json probes = published_probes();
    const struct {
        std::vector<std::string> arguments;
        const char* expected;
    } modes[] = {{{"--jsonl", "--no-bos"}, "special"}, {{"--jsonl", "--no-parse-special"}, "plain"}};
    for (const auto& mode : modes) {
        const Outcome outcome = tokenize(mode.arguments, one_line_probes(probes));
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        std::istringstream answers(outcome.out);
        std::string line;
        for (const json& probe : probes) {
            ASSERT_TRUE(std::getline(answers, line));
            EXPECT_EQ(json::parse(line), (json{{"ids", probe[mode.expected]}})) << probe["text"];
        }
        EXPECT_FALSE(std::getline(answers, line));
    }
}

TEST(TokenizeCommand, AnswersALineThatIsMalformedByItsError) {
    const struct {
        const char *line, *message;
    } cases[] = {{"nope", "line 2: not JSON: nope"},
                 {"", "line 2: not JSON: "},
                 {"[1]", "line 2: expected an object with a string \"text\", found: [1]"},
                 {"{\"txt\":\"a\"}", "line 2: expected an object with a string \"text\", found: {\"txt\":\"a\"}"},
                 {"{\"text\":1}", "line 2: expected an object with a string \"text\", found: {\"text\":1}"},
                 {"{\"text\":\"\\ud800\"}", "line 2: not JSON: {\"text\":\"\\ud800\"}"}};
    for (const auto& [line, message] : cases) {
        const Outcome outcome =
            tokenize({"--jsonl"}, std::string("{\"text\":\"a\"}\n") + line + "\n{\"text\":\"b\"}\n");
        EXPECT_EQ(outcome.exit_code, 1) << line;
        EXPECT_EQ(outcome.out,
                  fmt::format("{{\"ids\":[64]}}\n{}\n{{\"ids\":[65]}}\n", json({{"error", message}}).dump()))
            << line;
        EXPECT_EQ(outcome.err, fmt::format("error: 1 of 3 lines have no ids: {}\n", message));
    }
}

TEST(TokenizeCommand, AnswersEveryLineWhateverBytesItHasAndSaysOnceWhichAreLeftOut) {
    using namespace models::test;
    std::vector<std::string> tokens;
    for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(byte < 3 ? fmt::format("<{}>", byte) : stand_in(byte));
    const TemporaryDirectory folder;
    const std::string file =
        folder.write("model.gguf", byte_vocabulary().set("tokenizer.ggml.tokens", string_array(tokens)).bytes());
    const Outcome lines =
        tokenize({"-m", file, "--jsonl"},
                 "{\"text\":\"a\"}\n{\"text\":\"\\u0001b\\u0002\"}\n{\"text\":\"\\u0000\"}\n{\"text\":\"c\"}\n");
    EXPECT_EQ(lines.exit_code, 0);
    EXPECT_EQ(lines.out, "{\"ids\":[97]}\n{\"ids\":[98]}\n{\"ids\":[]}\n{\"ids\":[99]}\n");
    EXPECT_EQ(
        lines.err,
        "warn: line 2: bytes 0x01, 0x02 have no token in this vocabulary and are left out, as in any later line\n");
    for (const std::vector<std::string>& shape : {std::vector<std::string>{"--ids"}, {"--json"}, {}}) {
        std::vector<std::string> arguments = {"-m", file, "--stdin"};
        arguments.insert(arguments.end(), shape.begin(), shape.end());
        const Outcome one = tokenize(arguments, "a\x02");
        EXPECT_EQ(one.exit_code, 0);
        EXPECT_EQ(one.err, "warn: byte 0x02 has no token in this vocabulary and is left out\n");
    }
}

TEST(TokenizeCommand, TurnsEscapesOfItsPromptUnlessForbidden) {
    const std::string meant = tokenize({"-p", "Hi\n\"A\\", "--ids", "--no-escape"}).out;
    EXPECT_EQ(tokenize({"-p", "Hi\\n\\\"\\x41\\\\", "--ids"}).out, meant);
    EXPECT_EQ(tokenize({"-p", "Hi\\n\\\"\\x41\\\\", "--ids", "-e"}).out, meant);
    EXPECT_NE(tokenize({"-p", "Hi\\n\\\"\\x41\\\\", "--ids", "--no-escape"}).out, meant);
    EXPECT_EQ(tokenize({"--stdin", "--ids"}, "\\n").out, tokenize({"-p", "\\n", "--ids", "--no-escape"}).out);
}

TEST(TokenizeCommand, PrintsATokenALineWithNothingUnprintable) {
    const Outcome outcome = tokenize({"-p", "Hi <|im_end|>\né", "--show-count"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out,
              "  3999 -> 'Hi'\n   220 -> ' '\n  4095 -> '<|im_end|>'\n   198 -> '\\x0a'\n   127 -> '\\xc3'\n"
              "   102 -> '\\xa9'\nTotal number of tokens: 6\n");
}

TEST(TokenizeCommand, PrintsIdsOrOneObject) {
    EXPECT_EQ(tokenize({"-p", "Hi <|im_end|>", "--ids"}).out, "[3999, 220, 4095]\n");
    EXPECT_EQ(tokenize({"-p", "Hi <|im_end|>", "--ids", "--no-parse-special"}).out,
              "[3999, 220, 27, 91, 366, 62, 494, 91, 29]\n");
    EXPECT_EQ(json::parse(tokenize({"-p", "Hié", "--json"}).out),
              (json{{"count", 3}, {"ids", {3999, 127, 102}}, {"pieces", {"Hi", {0xC3}, {0xA9}}}}));
}

TEST(TokenizeCommand, ReadsStandardInputAsFilesAreRead) {
    const std::string text("Hi\0\xff\n", 5);
    const json object = json::parse(tokenize({"--stdin", "--json"}, text).out);
    EXPECT_EQ(object["pieces"], (json{"Hi", std::string(1, '\0'), {0xFF}}));
    const std::string ids = tokenize({"-p", "Hi\nHo", "--ids"}).out;
    for (const std::string input : {"Hi\nHo", "Hi\nHo\n", "Hi\nHo\r\n", "\xEF\xBB\xBFHi\nHo\n"})
        EXPECT_EQ(tokenize({"--stdin", "--ids"}, input).out, ids) << input;
    EXPECT_NE(tokenize({"--stdin", "--ids"}, "Hi\nHo\n\n").out, ids) << "one line end";
    EXPECT_EQ(tokenize({"--stdin", "--ids"}, "").out, "[]\n");
    for (const std::string mark : {"\xFF\xFE", "\xFE\xFF"}) {
        const Outcome utf16 = tokenize({"--stdin", "--ids"}, mark + "Hi");
        EXPECT_EQ(utf16.exit_code, 1);
        EXPECT_EQ(utf16.err, "error: standard input: starts with the byte-order mark of UTF-16; expected UTF-8\n");
    }
}

TEST(TokenizeCommand, AddsABeginTokenWhereTheModelWantsOneUnlessForbidden) {
    using namespace models::test;
    const TemporaryDirectory folder;
    const GgufBuilder vocabulary =
        byte_vocabulary({{"<s>", 3}}, {}, "llama-bpe").set("tokenizer.ggml.bos_token_id", u32(256));
    const std::string file = folder.write("model.gguf", vocabulary.bytes());
    const std::string letter = std::to_string('a');  // token b is byte b
    EXPECT_EQ(tokenize({"-m", file, "-p", "a", "--ids"}).out, "[256, " + letter + "]\n");
    EXPECT_EQ(tokenize({"-m", file, "-p", "a", "--ids", "--no-bos"}).out, "[" + letter + "]\n");
    EXPECT_EQ(tokenize({"-m", file, "--jsonl"}, "{\"text\":\"a\"}\n").out, "{\"ids\":[256," + letter + "]}\n");
    EXPECT_EQ(tokenize({"-m", file, "--jsonl", "--no-bos"}, "{\"text\":\"a\"}\n").out, "{\"ids\":[" + letter + "]}\n");
}

TEST(TokenizeCommand, PutsTokensAroundATextOfAnyKindUnlessForbidden) {
    using namespace models::test;
    const TemporaryDirectory folder;
    const GgufBuilder vocabulary = sentence_vocabulary("t5", {{"\u2581a", -1}, {"\u2581", -2}}, WithBytes::no)
                                       .set("tokenizer.ggml.bos_token_id", u32(1))
                                       .set("tokenizer.ggml.eos_token_id", u32(2))
                                       .set("tokenizer.ggml.unknown_token_id", u32(0))
                                       .set("tokenizer.ggml.add_bos_token", boolean(1));
    const std::string file = folder.write("model.gguf", vocabulary.bytes());
    EXPECT_EQ(tokenize({"-m", file, "-p", "a", "--ids"}).out, "[1, 3, 2]\n");
    EXPECT_EQ(tokenize({"-m", file, "-p", "a", "--ids", "--no-bos"}).out, "[3]\n");
    EXPECT_EQ(tokenize({"-m", file, "-p", "a \u00e9"}).out,
              "     1 -> '<s>'\n     3 -> ' a'\n     4 -> ' '\n     0 -> '<unk>'\n     2 -> '</s>'\n");
    const Outcome refused = tokenize({"-m", file, "-p", "a", "--pre", "qwen2"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("--pre: a vocabulary of kind 't5'"), std::string::npos) << refused.err;
}

TEST(TokenizeCommand, RefusesTextsThatAreMissingOrTwo) {
    const auto message = [](std::vector<std::string> arguments) {
        const Outcome outcome = tokenize(std::move(arguments));
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_EQ(message({}), "error: no text: give -p TEXT, --stdin or --jsonl\n");
    EXPECT_EQ(message({"-p", "a", "--stdin"}), "error: -p and --stdin are two texts; give one\n");
    EXPECT_EQ(message({"-p", "a", "--jsonl"}),
              "error: --jsonl reads lines from standard input; -p and --stdin do not go with it\n");
    EXPECT_NE(message({"-p", "a", "--ids", "--json"}).find("--json"), std::string::npos);
    EXPECT_NE(message({"-p", "a", "--pre", "nope"}).find("--pre: unknown pre-tokenizer type: 'nope'"),
              std::string::npos);
    EXPECT_NE(message({"-m", "/no/such/file.gguf", "-p", "a"}).find("/no/such/file.gguf"), std::string::npos);
}

// The whole path of a small vocabulary, from process start to the ids: a first token within 100 ms leaves it a few.
TEST(TokenizeCommand, StartsQuickly) {
    EXPECT_LT(tokenize({"-p", "Hi", "--ids"}).cpu_seconds, 0.1 * kSanitizerSlowdown);
}

}  // namespace tokenize_command_test
}  // namespace riftjit::tools
