// What `riftjit serve` may do on its machine for a page or a client with an agent: tools, MCP servers, requests to
// other servers. All off unless asked for, with llama-server's names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "server/server.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

struct AgentChoice {
    std::vector<std::string> tools;  // names divided by commas; "all"
    std::string mcp_file, mcp_json;
    bool hands_on = false;  // --ui-mcp-proxy
};

void add_agent_options(CLI::App& app, AgentChoice& choice);

// Sets the toolbox (nothing is started yet) and what browsers may ask for; `is_default_cors`: --cors-origins was not
// given. Fails on names that are no tool's, on a file that cannot be read or is no list of servers, and where anybody
// who reaches the server's address could do what this allows. Tells on stderr what it is.
Result<void> open_agent(const AgentChoice& choice, bool is_default_cors, server::ServerOptions& server,
                        Reporter& reporter);

// "localhost", addresses of this machine alone, sockets of files.
bool is_of_this_machine(const std::string& host);

}  // namespace riftjit::tools
