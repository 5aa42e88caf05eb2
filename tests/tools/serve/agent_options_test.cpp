// What `riftjit serve` may do on its machine: off unless asked for, never for whoever comes by, and said at the start.
#include "tools/serve/agent_options.h"

#include <gtest/gtest.h>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace agent_options_test {

// Its one line, with exit code 1.
std::string serve_error(const std::vector<std::string>& flags) {
    Program program;
    std::vector<std::string> arguments = {"serve", "--port", "0"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = program.run_within(20 * kSanitizerSlowdown, arguments);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
}

TEST(AgentOptions, AreRefusedWhereTheyAreWrong) {
    EXPECT_EQ(serve_error({"--tools", "read_file,rm"}),
              "error: --tools: there is no tool \"rm\": all, read_file, write_file, edit_file, file_glob_search, "
              "grep_search, exec_shell_command, get_info\n");
    EXPECT_EQ(serve_error({"--mcp-servers-json", "not json"}), "error: --mcp-servers-json: is no JSON\n");
    EXPECT_NE(serve_error({"--mcp-servers-config", "/no/such.json"}).find("/no/such.json: No such file"),
              std::string::npos);
    EXPECT_EQ(serve_error({"--mcp-servers-json", R"({"mcpServers": {"a": {"command": 5}}})"}),
              "error: --mcp-servers-json: mcpServers.a: \"command\": expected a string, got 5\n");
    EXPECT_NE(serve_error({"--tools", "all", "--tools-runtime", "docker:x"}).find("as its user"), std::string::npos);
}

TEST(AgentOptions, AreForNobodyWhoComesBy) {
    const std::string expected =
        "error: --host 0.0.0.0: with tools, MCP servers or --ui-mcp-proxy an address that others reach needs "
        "--api-key\n";
    EXPECT_EQ(serve_error({"--host", "0.0.0.0", "--tools", "get_info"}), expected);
    EXPECT_EQ(serve_error({"--host", "127.0.0.1,0.0.0.0", "--ui-mcp-proxy"}), expected);
    EXPECT_EQ(serve_error({"--host", "0.0.0.0", "--agent"}), expected);
    EXPECT_EQ(serve_error({"--host", "0.0.0.0", "--mcp-servers-json", R"({"mcpServers": {"a": {"command": "x"}}})"}),
              expected);
}

TEST(AgentOptions, AreOffAndLimitWhoAsksWhenTheyAreOn) {
    Reporter reporter(Verbosity::errors);
    server::ServerOptions server;
    ASSERT_TRUE(open_agent({}, true, server, reporter));
    EXPECT_EQ(server.toolbox, nullptr);
    EXPECT_FALSE(server.hands_on);
    EXPECT_EQ(server.cors_origins, "*");
    AgentChoice choice;
    choice.tools = {"read_file,get_info", "grep_search"};
    ASSERT_TRUE(open_agent(choice, true, server, reporter));
    ASSERT_NE(server.toolbox, nullptr);
    EXPECT_EQ(server.toolbox->tools().size(), 3u);
    EXPECT_EQ(server.toolbox->find("exec_shell_command"), nullptr);
    EXPECT_EQ(server.cors_origins, "localhost");
    server = {};
    server.cors_origins = "https://a.example";
    choice = {};
    choice.hands_on = true;
    ASSERT_TRUE(open_agent(choice, false, server, reporter));
    EXPECT_EQ(server.toolbox, nullptr);
    EXPECT_TRUE(server.hands_on);
    EXPECT_EQ(server.cors_origins, "https://a.example") << "what was given stays";
    server = {};
    server.hosts = {"0.0.0.0"};
    server.api_keys = {"secret"};
    ASSERT_TRUE(open_agent(choice, true, server, reporter)) << "who knows the key is no passer-by";
}

TEST(AgentOptions, TakeServersOfAFileAndOfTheCommandLine) {
    Program program;
    const std::string file = (program.folder() / "mcp.json").string();
    std::ofstream(file) << R"({"mcpServers": {"one": {"command": "x"}}})";
    Reporter reporter(Verbosity::errors);
    server::ServerOptions server;
    AgentChoice choice;
    choice.mcp_file = file;
    choice.mcp_json = R"({"mcpServers": {"two": {"command": "y"}}})";
    ASSERT_TRUE(open_agent(choice, true, server, reporter));
    EXPECT_NE(server.toolbox, nullptr);
    choice.mcp_json = R"({"mcpServers": {"one": {"command": "y"}}})";
    const auto doubled = open_agent(choice, true, server, reporter);
    ASSERT_FALSE(doubled);
    EXPECT_EQ(doubled.error().message, "--mcp-servers-json: a second MCP server one");
}

}  // namespace agent_options_test
}  // namespace riftjit::tools
