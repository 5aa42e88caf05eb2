// MCP servers as they are started, called and stopped, with a real one that can behave badly (echo_server.py).
#include "server/mcp/servers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

namespace riftjit::server {
namespace servers_test {

using Clock = std::chrono::steady_clock;

McpServerConfig test_server(const std::string& name, const std::string& mode = "") {
    McpServerConfig config;
    config.name = name;
    config.command = "python3";
    config.arguments = {std::string(RIFTJIT_SOURCE_DIR) + "/tests/server/mcp/echo_server.py", mode};
    return config;
}

bool has_process(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(") ");
    return name_end != line.npos && line[name_end + 2] != 'Z';
}

double seconds_of(const std::function<void()>& work) {
    const auto begun = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begun).count();
}

// Servers, and what was warned of.
class Running {
public:
    explicit Running(std::vector<McpServerConfig> configs)
        : servers_(std::move(configs), [this](const std::string& line) { warnings.push_back(line); }) {}
    explicit Running(McpServerConfig config) : Running(std::vector{std::move(config)}) {}

    std::vector<std::string> start(std::chrono::milliseconds most = std::chrono::seconds(20)) {
        std::vector<std::string> names;
        for (const auto& [server, tool] : servers_.start(most)) names.push_back(server + "_" + tool.name);
        return names;
    }
    Json call(const std::string& tool, const Json& arguments = Json::object(),
              const std::function<bool()>& is_wanted = nullptr) {
        return servers_.call("t", tool, arguments, is_wanted);
    }
    std::string text(const std::string& tool, const Json& arguments = Json::object()) {
        const Json answer = call(tool, arguments);
        EXPECT_TRUE(answer.contains("plain_text_response")) << answer;
        return answer.value("plain_text_response", "");
    }
    std::string error(const std::string& tool, const Json& arguments = Json::object()) {
        const Json answer = call(tool, arguments);
        EXPECT_TRUE(answer.contains("error")) << answer;
        return answer.value("error", "");
    }
    McpServers& servers() { return servers_; }

    std::vector<std::string> warnings;

private:
    McpServers servers_;
};

TEST(McpServers, AreStartedListedAndCalled) {
    Running running({test_server("t"), test_server("other")});
    EXPECT_EQ(running.start(),
              (std::vector<std::string>{"t_echo", "t_count", "t_sleep", "t_crash", "t_fails", "t_bare", "other_echo",
                                        "other_count", "other_sleep", "other_crash", "other_fails", "other_bare"}));
    EXPECT_EQ(running.text("echo", {{"message", "hello äö 🙂"}}), "echo: hello äö 🙂");
    EXPECT_EQ(running.servers().call("other", "echo", {{"message", "b"}}, nullptr)["plain_text_response"], "echo: b");
    EXPECT_EQ(running.error("nothing"), "MCP server t: tools/call: unknown tool 'nothing'");
    EXPECT_EQ(running.error("fails"), "it did not work");
    EXPECT_EQ(running.text("parts"), "one\n[image, image/png, 4 characters of base64]\ntwo\n[b: file:///b]\n");
    EXPECT_EQ(running.text("structured"), "{\"degrees\":21}");
    EXPECT_TRUE(running.warnings.empty());
}

TEST(McpServers, HaveTheirVariablesAndFolder) {
    McpServerConfig config = test_server("t");
    config.environment = {{"RIFTJIT_MCP_TEST", "given"}};
    config.folder = "/";
    Running running(config);
    EXPECT_EQ(running.text("environment", {{"name", "RIFTJIT_MCP_TEST"}}), "given /");
}

TEST(McpServers, ListToolsInPages) {
    Running running(test_server("t", "pages"));
    EXPECT_EQ(running.start(), (std::vector<std::string>{"t_tool0", "t_tool1", "t_tool2"}));
}

TEST(McpServers, AreUnderstoodHoweverTheyWrite) {
    for (const char* mode : {"", "junk"}) {
        Running running(test_server("t", mode));
        EXPECT_EQ(running.text("pieces"), "in pieces");
        EXPECT_EQ(running.text("batch"), "in a batch");
        EXPECT_EQ(running.text("no_utf8"), "a\uFFFD\uFFFDb");
        EXPECT_EQ(running.text("wrong_ids"), "its own");
        EXPECT_EQ(running.text("asks"), "[{}, -32601]");
        EXPECT_EQ(running.text("flood", {{"seconds", 0.3}}), "flooded");
        EXPECT_EQ(running.text("big", {{"bytes", 3 << 20}}).size(), size_t(3) << 20);
        EXPECT_EQ(running.text("echo", {{"message", std::string(3 << 20, 'y')}}).size(), (size_t(3) << 20) + 6);
    }
}

TEST(McpServers, AnswerManyCallsAtATime) {
    Running running(test_server("t"));
    std::vector<std::thread> threads;
    std::vector<Json> answers(16);
    for (size_t i = 0; i < answers.size(); ++i)
        threads.emplace_back([&, i] { answers[i] = running.call("echo", {{"message", std::to_string(i)}}); });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < answers.size(); ++i)
        EXPECT_EQ(answers[i], (Json{{"plain_text_response", "echo: " + std::to_string(i)}}));
    const std::string count = running.text("count");
    EXPECT_EQ(count.substr(count.find(' ')), " 17") << "all were one process's";
}

TEST(McpServers, ThatAreLateEndTheCallAlone) {
    McpServerConfig config = test_server("t");
    config.timeout = std::chrono::milliseconds(500);
    Running running(config);
    running.start();
    const double waited = seconds_of([&] {
        EXPECT_EQ(running.error("sleep", {{"seconds", 1}}), "MCP server t: tools/call: no answer within 500 ms");
    });
    EXPECT_GE(waited, 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    EXPECT_EQ(running.text("echo", {{"message", "again"}}), "echo: again") << "the late answer is nobody's";
    EXPECT_TRUE(running.error("flood", {{"seconds", 2}}).starts_with("MCP server t: tools/call: no answer within 500"));
}

TEST(McpServers, AreGivenTimeToStartBesideTheCall) {
    McpServerConfig config = test_server("t", "slow");
    config.timeout = std::chrono::milliseconds(500);
    Running running(config);
    EXPECT_EQ(running.text("echo", {{"message", "at last"}}), "echo: at last");
}

TEST(McpServers, AreQuotedWithWhatTheyWroteSinceTheLastAnswer) {
    McpServerConfig config = test_server("t");
    config.timeout = std::chrono::milliseconds(500);
    Running running(config);
    EXPECT_EQ(running.text("warns"), "warned");
    EXPECT_EQ(running.error("sleep", {{"seconds", 2}}), "MCP server t: tools/call: no answer within 500 ms");
}

// A line of more than 16 MiB is none, and is said.
TEST(McpServers, ThatWriteEndlessLinesAreNamed) {
    McpServerConfig config = test_server("t");
    config.timeout = std::chrono::milliseconds(3000);
    Running running(config);
    EXPECT_EQ(running.error("big", {{"bytes", 17 << 20}}),
              "MCP server t: tools/call: no answer within 3000 ms; it wrote: a line of more than 16777216 bytes");
    EXPECT_EQ(running.text("echo", {{"message", "after"}}), "echo: after");
}

TEST(McpServers, AreStartedAgainWhenTheyEnded) {
    Running running(test_server("t"));
    running.start();
    EXPECT_EQ(running.text("echo"), "echo: ");
    EXPECT_EQ(running.error("crash"),
              "MCP server t: tools/call: the server has ended with exit code 9; it wrote: crashing now");
    EXPECT_EQ(running.text("echo", {{"message", "anew"}}), "echo: anew");
    EXPECT_EQ(running.text("answer_and_crash"), "last words");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(running.text("echo", {{"message", "anew"}}), "echo: anew");
}

TEST(McpServers, ThatDoNotStartAreNamedAndLeftAloneForAWhile) {
    McpServerConfig missing = test_server("missing");
    missing.command = "no-program-of-this-name";
    Running running(
        {missing, test_server("t", "exits"), test_server("refusing", "refuses"), test_server("good", "pages")});
    EXPECT_EQ(running.start(), (std::vector<std::string>{"good_tool0", "good_tool1", "good_tool2"}));
    ASSERT_EQ(running.warnings.size(), 3u);
    EXPECT_EQ(running.warnings[0], "MCP server missing: no-program-of-this-name: No such file or directory");
    EXPECT_EQ(running.warnings[1],
              "MCP server t: initialize: the server has ended with exit code 4; it wrote: cannot start: no licence");
    EXPECT_EQ(running.warnings[2], "MCP server refusing: initialize: not today");
    EXPECT_TRUE(running.error("echo").ends_with("no licence (it is started again after 5 s)"));
}

TEST(McpServers, ThatSayNothingKeepNobodyLonger) {
    for (const char* mode : {"silent", "deaf"}) {
        Running running(test_server("t", mode));
        const double waited = seconds_of([&] { EXPECT_TRUE(running.start(std::chrono::milliseconds(400)).empty()); });
        EXPECT_LT(waited, 5) << mode;
        ASSERT_EQ(running.warnings.size(), 1u);
        EXPECT_TRUE(running.warnings[0].starts_with("MCP server t: initialize: no answer within"))
            << running.warnings[0];
    }
}

TEST(McpServers, AreLeftWhenNobodyWaits) {
    Running running(test_server("t"));
    running.start();
    const double waited = seconds_of([&] {
        const Json answer = running.call("sleep", {{"seconds", 2}}, [] { return false; });
        EXPECT_EQ(answer["error"], "MCP server t: tools/call: was interrupted");
    });
    EXPECT_LT(waited, 1.5);
}

TEST(McpServers, EndWithAllThatTheyStarted) {
    Running running({test_server("t"), test_server("other")});
    running.start();
    const auto child = pid_t(std::stol(running.text("forks")));
    const auto clinging = pid_t(std::stol(
        running.servers().call("other", "clings", Json::object(), nullptr).value("plain_text_response", "0")));
    ASSERT_TRUE(has_process(child) && has_process(clinging));
    std::thread caller([&] { EXPECT_TRUE(running.error("sleep", {{"seconds", 30}}).ends_with("was interrupted")); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_LT(seconds_of([&] { running.servers().stop(); }), 3);
    caller.join();
    for (int i = 0; i < 500 && (has_process(child) || has_process(clinging)); ++i) usleep(2000);
    EXPECT_FALSE(has_process(child) || has_process(clinging));
    EXPECT_EQ(running.error("echo"), "MCP server t: the server is stopping");
}

// The children keep their pipes through the crash of the one that is called.
TEST(McpServers, ThatCrashTakeTheirChildrenAlong) {
    Running running(test_server("t"));
    const auto child = pid_t(std::stol(running.text("forks")));
    EXPECT_TRUE(running.error("crash").contains("exit code 9"));
    for (int i = 0; i < 500 && has_process(child); ++i) usleep(2000);
    EXPECT_FALSE(has_process(child));
    EXPECT_EQ(running.text("echo", {{"message", "anew"}}), "echo: anew");
}

}  // namespace servers_test
}  // namespace riftjit::server
