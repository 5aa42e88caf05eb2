// `riftjit run` as a person at a terminal meets it.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/terminal.h"

namespace riftjit::tools {
namespace conversation_test {

const std::string kStoryteller = std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller/storyteller-9m-q8_0.gguf";

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

// What follows the last line typed, up to the next prompt.
std::string answer_to(const std::string& shown, const std::string& line) {
    const size_t typed = shown.rfind("> " + line);
    if (typed == std::string::npos) return "(not asked)";
    const size_t begin = typed + 2 + line.size();
    return shown.substr(begin, shown.find("\n> ", begin) - begin);
}

std::vector<std::string> talk(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", "-m", kStoryteller, "--temp", "0", "-n", "8", "--no-perf"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

TEST(Conversation, OutlivesATurnThatFails) {
    const std::string question = "Tell me about a fox.";
    std::string too_long;
    for (int i = 0; i < 60; ++i) too_long += "and a lamb ";
    const auto alone = run_on_terminal(talk({"-c", "64"}), 80, {question});
    ASSERT_EQ(alone.exit_code, 0) << alone.shown;
    const auto after = run_on_terminal(talk({"-c", "64"}), 80, {too_long, question, too_long});
    EXPECT_EQ(after.exit_code, 0) << after.shown;
    EXPECT_EQ(count(after.shown, "tokens, the context 64 (-c); context_length_exceeded"), 2u) << after.shown;
    EXPECT_EQ(answer_to(after.shown, question), answer_to(alone.shown, question));
}

// What is not on a terminal ends with the error.
TEST(Conversation, OfOneTurnFailsWithIt) {
    std::string too_long;
    for (int i = 0; i < 60; ++i) too_long += "and a lamb ";
    const auto outcome = run_on_terminal(talk({"-c", "64", "-st", "-p", too_long}), 80);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.shown;
}

TEST(Conversation, SaysThatTheContextIsFull) {
    const std::string said = "warn: the context of 32 tokens is full (-c), so the answer ends here";
    const auto endless = run_on_terminal(talk({"-c", "32", "-n", "-1", "--ignore-eos"}), 80, {"A fox."});
    EXPECT_EQ(count(endless.shown, said), 1u) << endless.shown;
    const auto counted = run_on_terminal(talk({"-c", "32", "-n", "4", "--ignore-eos"}), 80, {"A fox."});
    EXPECT_EQ(count(counted.shown, "is full"), 0u) << counted.shown;
}

TEST(Conversation, StartsAnewWhereItIsCleared) {
    const std::string question = "Tell me about a fox.", hint = "; /clear starts the conversation anew";
    const auto talk_of = [&](const std::vector<std::string>& lines) {
        return run_on_terminal(talk({"-c", "64", "-n", "-1", "--ignore-eos", "-sys", "Be brief."}), 80, lines);
    };
    const auto alone = talk_of({question});
    const auto full = talk_of({question, "And?", "And then?", "/clear", question});
    EXPECT_EQ(full.exit_code, 0) << full.shown;
    EXPECT_EQ(count(full.shown, "so the answer ends here" + hint), 2u) << full.shown;
    EXPECT_EQ(count(full.shown, "context_length_exceeded" + hint), 2u) << full.shown;
    EXPECT_EQ(answer_to(full.shown, question), answer_to(alone.shown, question));
}

// What asks for errors gets one, on a terminal and beside it.
TEST(Conversation, OfAFullContextIsAnErrorUnderStrict) {
    const std::string said = "error: --strict: 1 warning(s), see above";
    const std::vector<std::string> endless = talk({"-c", "32", "-n", "-1", "--ignore-eos", "--strict"});
    const auto there = run_on_terminal(endless, 80, {"A fox."});
    EXPECT_EQ(count(there.shown, said), 1u) << there.shown;
    std::vector<std::string> once = endless;
    once.insert(once.end(), {"-st", "-p", "A fox."});
    const auto single = run_on_terminal(once, 80);
    EXPECT_EQ(single.exit_code, 1) << single.shown;
    EXPECT_EQ(count(single.shown, said), 1u) << single.shown;
}

TEST(Conversation, SaysWhatTheTerminalKeepsOfALongLine) {
    const std::string said = "warn: the terminal passes on 4095 bytes of a line";
    for (const size_t bytes : {4094u, 4095u, 6000u}) {
        std::string line;
        while (line.size() < bytes) line += "lamb ";
        line.resize(bytes);
        const auto outcome = run_on_terminal(talk({"-n", "1"}), 80, {line});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.shown;
        EXPECT_EQ(count(outcome.shown, said), bytes >= 4095 ? 1u : 0u) << outcome.shown;
    }
    const auto strict = run_on_terminal(talk({"-n", "1", "--strict"}), 80, {std::string(5000, 'a')});
    EXPECT_EQ(count(strict.shown, "error: --strict: 1 warning(s)"), 1u) << strict.shown;
}

}  // namespace conversation_test
}  // namespace riftjit::tools
