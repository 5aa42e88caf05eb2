// Thinking of an answer is set off from what is meant for the reader.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/program.h"
#include "tests/tools/terminal.h"

namespace riftjit::tools {
namespace thinking_test {

using Words = std::vector<std::string>;
using nlohmann::ordered_json;

const std::string kBody =
    "{% for m in messages %}{% if m.role == 'assistant' %}<think>{{ m.reasoning_content }}</think>{{ m.content }}"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}";
const std::string kThinks = kBody + "{% if add_generation_prompt %}<think>{% endif %}";

class Thinking : public testing::Test {
protected:
    Outcome ask(const std::string& chat_template, const Words& more) {
        Words words = {"run", "-p", "A fox.", "--temp", "0", "-n", "64", "--no-perf", "--chat-template", chat_template};
        words.insert(words.end(), more.begin(), more.end());
        return program.run(words);
    }
    Program program;
};

TEST_F(Thinking, StandsBetweenTwoLines) {
    const Words said = {"--grammar", "root ::= \"It is red. </think> Red.\""};
    const Outcome outcome = ask(kThinks, said);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "[Start thinking]\nIt is red.\n[End thinking]\n\nRed.\n");
    // The model opens it itself, after a template that does not.
    const Outcome opened = ask(kBody, {"--grammar", "root ::= \"<think>It is red.</think>Red.\""});
    EXPECT_EQ(opened.out, outcome.out);
    // As it is written.
    Words raw = said;
    raw.insert(raw.end(), {"--reasoning-format", "none"});
    EXPECT_EQ(ask(kThinks, raw).out, "It is red. </think> Red.\n");
    // Nothing that thinks: nothing changes.
    EXPECT_EQ(ask("{{ messages[0].content }}", {"--grammar", "root ::= \"<think>a</think>b\""}).out,
              "<think>a</think>b\n");
}

TEST_F(Thinking, IsAPartOfTheObject) {
    const Words said = {"--grammar", "root ::= \"It is red.</think>Red.\"", "--json"};
    const auto object = ordered_json::parse(ask(kThinks, said).out);
    EXPECT_EQ(object.at("reasoning"), "It is red.");
    EXPECT_EQ(object.at("text"), "Red.");
    Words raw = said;
    raw.insert(raw.end(), {"--reasoning-format", "none"});
    const auto whole = ordered_json::parse(ask(kThinks, raw).out);
    EXPECT_EQ(whole.at("text"), "It is red.</think>Red.");
    EXPECT_FALSE(whole.contains("reasoning"));
}

TEST_F(Thinking, IsCutWhereTheAnswerIs) {
    const Outcome outcome = ask(kThinks, {"-n", "4"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(outcome.out.starts_with("[Start thinking]\n")) << outcome.out;
    EXPECT_TRUE(outcome.out.ends_with("\n[End thinking]\n\n")) << outcome.out;
}

// A schema holds for the answer: thinking before it is free.
TEST_F(Thinking, IsNotHeldToASchema) {
    const Words schema = {"-j", R"({"const": 7})", "-n", "16", "--json"};
    const auto in_thought = ordered_json::parse(ask(kThinks, schema).out);
    EXPECT_FALSE(in_thought.at("reasoning").get<std::string>().starts_with("7")) << in_thought.dump();
    const auto at_once = ordered_json::parse(ask(kBody, schema).out);
    EXPECT_EQ(at_once.at("text"), "7");
}

TEST_F(Thinking, IsFaintOnATerminalAndKeptByConversations) {
    const std::string saved = program.folder() / "a.json";
    const auto outcome = run_on_terminal({"run", "--temp", "0", "-n", "64", "--no-perf", "--chat-template", kThinks,
                                          "--grammar", "root ::= \"It is red.</think>Red.\""},
                                         80, {"A fox.", "And now?", "/save " + saved}, "xterm");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.shown;
    EXPECT_TRUE(outcome.shown.contains("[Start thinking]\r\n\x1b[2mIt is red.\r\n\x1b[22m[End thinking]\r\n\r\nRed."))
        << outcome.shown;
    const auto messages = ordered_json::parse(read_whole(saved)).at("messages");
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[1].at("content"), "Red.");
    EXPECT_EQ(messages[3].at("reasoning_content"), "It is red.");
}

}  // namespace thinking_test
}  // namespace riftjit::tools
