// What a conversation at a terminal takes beside messages, with and without line editing.
#include "tools/run/chat_commands.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/terminal.h"

namespace riftjit::tools {
namespace chat_commands_test {

using nlohmann::ordered_json;

class ChatCommands : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "chat_commands_" + testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name) const { return folder_ + "/" + name; }

    TerminalOutcome talk(std::vector<std::string> lines, const char* terminal = "dumb") const {
        const std::string model =
            std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller/storyteller-9m-q8_0.gguf";
        return run_on_terminal({"run", "-m", model, "--temp", "0", "-n", "6", "--no-perf"}, 80, std::move(lines),
                               terminal);
    }

    // Every second message of what /save wrote.
    std::vector<std::string> said(const std::string& path) const {
        std::ifstream in(path);
        const auto saved = ordered_json::parse(in, nullptr, false);
        std::vector<std::string> texts;
        if (saved.is_object())
            for (const auto& message : saved.at("messages"))
                if (message.at("role") == "user") texts.push_back(message.at("content"));
        return texts;
    }

    std::string folder_;
};

TEST(ChatLines, AreCommandsOrMessages) {
    const auto parse = [](std::string_view line) -> std::string {
        const auto parsed = parse_chat_line(line);
        if (!parsed) return parsed.error().message;
        return *parsed ? std::to_string(int((*parsed)->command)) + ":" + (*parsed)->argument : "message";
    };
    EXPECT_EQ(parse("/save  a b.json "), "5:a b.json");
    EXPECT_EQ(parse("/regen"), "1:");
    EXPECT_EQ(parse("/bye"), "7:");
    EXPECT_EQ(parse("/etc/passwd holds what?"), "message");
    EXPECT_EQ(parse("/s/a/b/ is sed"), "message");
    EXPECT_EQ(parse("/what is this"), "message");
    EXPECT_EQ(parse("/regem"), "/regem: no such command, /regen is near; /help lists them");
    EXPECT_EQ(parse("/save"), "/save FILE: the file is missing");
    EXPECT_EQ(parse("/clear all"), "/clear: takes nothing, got \"all\"");
    EXPECT_EQ(parse("say /clear"), "message");
}

TEST_F(ChatCommands, SaveLoadAndAskAgain) {
    const std::string saved = file("a.json"), other = file("b.json");
    const auto first = talk({"A fox.", "/regen", "And a lamp?", "/save " + saved, "/save " + saved, "/exit"});
    EXPECT_EQ(first.exit_code, 0) << first.shown;
    EXPECT_EQ(said(saved), (std::vector<std::string>{"A fox.", "And a lamp?"})) << first.shown;
    EXPECT_TRUE(first.shown.contains("at temperature 0 the answer stays the same")) << first.shown;
    std::ofstream(other) << "precious";
    const auto second = talk({"/load " + saved, "Why?", "/save " + other, "/save " + saved, "/load " + other, "/exit"});
    EXPECT_EQ(said(saved), (std::vector<std::string>{"A fox.", "And a lamp?", "Why?"})) << second.shown;
    std::string kept;
    std::getline(std::ifstream(other), kept);
    EXPECT_EQ(kept, "precious");
    EXPECT_TRUE(second.shown.contains("no conversation")) << second.shown;
}

TEST_F(ChatCommands, TakeFilesAndSeveralLines) {
    const std::string text = file("note.txt"), saved = file("a.json");
    std::ofstream(text) << "from a file\n";
    const auto outcome =
        talk({"/read " + text, "what is it?", "\"\"\"first", "second\"\"\"", "one \\", "two", "/save " + saved});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.shown;
    // A dumb terminal asks for each line; the prompt of a line that goes on is another.
    EXPECT_EQ(said(saved).at(0), "from a file\nwhat is it?") << outcome.shown;
}

TEST_F(ChatCommands, MistakesEndNothing) {
    const auto outcome = talk({"/regem", "/regen", "/load /nonexistent/file", "/read /dev/zero", "/edit", "A fox."});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.shown;
    for (const std::string part : {"/regen is near", "/regen: nothing was said yet", "/nonexistent/file", "/dev/zero",
                                   "/edit: nothing was said"})
        EXPECT_TRUE(outcome.shown.contains(part)) << part << "\n" << outcome.shown;
}

// Keys: the last letter deleted, a word inserted at the beginning, the last line again by the arrow.
TEST_F(ChatCommands, LinesAreEdited) {
    const std::string saved = file("a.json");
    const auto outcome = talk({"foxż\x7f!\x01"
                               "A \x05 Yes.",
                               "\x1b[A and more", "/sav\t" + saved},
                              "xterm");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.shown;
    EXPECT_EQ(said(saved), (std::vector<std::string>{"A fox! Yes.", "A fox! Yes. and more"})) << outcome.shown;
}

TEST_F(ChatCommands, PastesStayWhole) {
    const std::string saved = file("a.json");
    std::string paste;
    for (int i = 0; i < 40; ++i) paste += "line " + std::to_string(i) + "\r";
    const auto outcome =
        talk({"see \x1b[200~" + paste + "\x1b[201~ and \x1b[200~short\x1b[201~", "/edit", " too", "/save " + saved},
             "xterm");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.shown;
    EXPECT_TRUE(outcome.shown.contains("[paste 1: 40 lines, ")) << outcome.shown;
    std::string expected = "see " + paste + " and short too";
    for (char& c : expected)
        if (c == '\r') c = '\n';
    EXPECT_EQ(said(saved), std::vector<std::string>{expected}) << outcome.shown;
}

}  // namespace chat_commands_test
}  // namespace riftjit::tools
