// Which MCP servers there are: {"mcpServers": {NAME: ...}}, the JSON that clients of MCP and llama-server read.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/result.h"

namespace riftjit::server {

// A program that is started, and speaks MCP on its standard streams.
struct McpServerConfig {
    std::string name;
    std::string command;
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // on top of this process's own
    std::string folder;                                            // to run in; empty: this process's
    std::chrono::milliseconds timeout{30000};                      // of a call
};

// {"mcpServers": {"NAME": {"command", "args", "env", "cwd", "timeout_ms"}}}. Other members are left alone; an entry
// with "disabled": true is left out, and so is one of another transport ("url"), with a line to `warn`. `where` is what
// errors begin with.
Result<std::vector<McpServerConfig>> parse_mcp_config(std::string_view where, std::string_view text,
                                                      const std::function<void(const std::string&)>& warn);

}  // namespace riftjit::server
