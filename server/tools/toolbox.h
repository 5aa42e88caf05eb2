// The tools of a server: those that come with the program and were chosen, and those of MCP servers.
#pragma once

#include <atomic>
#include <memory>

#include "server/mcp/servers.h"
#include "server/tools/tool.h"

namespace riftjit::server {

// The tools of these names, "all" among them; an error that lists what there is.
Result<std::vector<Tool>> chosen_tools(const std::vector<std::string>& names);

class Toolbox {
public:
    // `warn` gets a line for what cannot be used.
    Toolbox(std::vector<Tool> tools, std::vector<McpServerConfig> servers,
            std::function<void(const std::string&)> warn);

    // Starts the MCP servers and waits, at most 10 seconds, until they have listed their tools, which are then called
    // SERVER_TOOL; a name that is there already is left out. Once, before anybody else has the toolbox.
    void start();

    const std::vector<Tool>& tools() const { return tools_; }
    const Tool* find(const std::string& name) const;  // null: there is none
    // Calls that run end with an error, and so do those that come; programs that were started are gone behind it.
    void stop();
    bool is_stopping() const { return is_stopping_; }

private:
    void add_tool_of(McpServers::Listed listed);

    std::vector<Tool> tools_;
    std::function<void(const std::string&)> warn_;
    McpServers servers_;
    std::atomic<bool> is_stopping_ = false;
};

}  // namespace riftjit::server
