// Lists of MCP servers: what is read of them, and what is wrong with one, by its place.
#include "server/mcp/config.h"

#include <gtest/gtest.h>

namespace riftjit::server {
namespace config_test {

std::string error_of(std::string_view text) {
    const auto read = parse_mcp_config("mcp.json", text, [](const std::string&) {});
    return read ? "" : read.error().message;
}

TEST(McpConfig, IsReadAsOthersReadIt) {
    std::vector<std::string> warnings;
    const auto read = parse_mcp_config("mcp.json",
                                       R"({"theme": "dark", "mcpServers": {
            "files": {"command": "mcp-files", "args": ["/a", "b c"], "env": {"KEY": "v=1"}, "cwd": "/tmp", "timeout_ms": 500,
                      "autoApprove": ["x"]},
            "plain": {"command": "/bin/plain"},
            "off": {"command": "x", "disabled": true},
            "far": {"url": "http://example.com/mcp"}}})",
                                       [&](const std::string& line) { warnings.push_back(line); });
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ((*read)[0].name, "files");
    EXPECT_EQ((*read)[0].command, "mcp-files");
    EXPECT_EQ((*read)[0].arguments, (std::vector<std::string>{"/a", "b c"}));
    EXPECT_EQ((*read)[0].environment, (std::vector<std::pair<std::string, std::string>>{{"KEY", "v=1"}}));
    EXPECT_EQ((*read)[0].folder, "/tmp");
    EXPECT_EQ((*read)[0].timeout.count(), 500);
    EXPECT_EQ((*read)[1].timeout.count(), 30000);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].starts_with("mcp.json: mcpServers.far: is left out")) << warnings[0];
}

TEST(McpConfig, NamesWhatIsWrongAndWhere) {
    EXPECT_EQ(error_of("not json"), "mcp.json: is no JSON");
    EXPECT_EQ(error_of(std::string(2000, '[')), "mcp.json: is no JSON");
    const std::string expected = "mcp.json: expected {\"mcpServers\": {\"NAME\": {\"command\": ...}}}";
    for (const char* text : {"[]", "5", "{}", R"({"mcpServers": []})", R"({"mcpservers": {}})"})
        EXPECT_EQ(error_of(text), expected) << text;
    const auto of_server = [](const std::string& entry) { return error_of(R"({"mcpServers": {"a": )" + entry + "}}"); };
    EXPECT_EQ(of_server("5"), "mcp.json: mcpServers.a: expected an object");
    EXPECT_EQ(of_server("{}"), "mcp.json: mcpServers.a: no \"command\"");
    EXPECT_EQ(of_server(R"({"command": ["x"]})"),
              "mcp.json: mcpServers.a: \"command\": expected a string, got an array");
    EXPECT_EQ(of_server(R"({"command": "x", "args": "y"})"),
              "mcp.json: mcpServers.a: \"args\": expected an array, got \"y\"");
    EXPECT_EQ(of_server(R"({"command": "x", "args": [1]})"),
              "mcp.json: mcpServers.a: \"args\": expected an array of strings, got 1");
    EXPECT_EQ(of_server(R"({"command": "x", "env": {"A": 1}})"),
              "mcp.json: mcpServers.a: \"env.A\": expected a string");
    EXPECT_EQ(of_server(R"({"command": "x", "env": {"A=B": "1"}})"),
              "mcp.json: mcpServers.a: \"env\": \"A=B\" names no variable");
    EXPECT_EQ(of_server(R"({"command": "x\u0000y"})"),
              "mcp.json: mcpServers.a: a NUL byte in \"command\", \"args\" or \"cwd\"");
    EXPECT_EQ(of_server(R"({"command": "x", "timeout_ms": 0})"),
              "mcp.json: mcpServers.a: \"timeout_ms\": expected an integer from 1 to 86400000, got 0");
    for (const char* name : {"", "a b", "a/b", "\xC3\xA4"})
        EXPECT_NE(error_of(std::string(R"({"mcpServers": {")") + name + R"(": {"command": "x"}}})"), "") << name;
}

}  // namespace config_test
}  // namespace riftjit::server
