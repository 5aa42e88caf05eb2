// The MCP servers of a riftjit server: started when it starts, and again when one is needed that has ended.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "server/mcp/session.h"

namespace riftjit::server {

class McpServers {
public:
    // `warn` gets a line for each server that start() does not get to list its tools.
    McpServers(std::vector<McpServerConfig> configs, std::function<void(const std::string&)> warn);
    ~McpServers();  // as stop()

    struct Listed {
        std::string server;
        McpTool tool;
    };
    // Starts all, side by side, and asks each for its tools, at most so long. One that fails has none.
    std::vector<Listed> start(std::chrono::milliseconds most);
    // {"plain_text_response": text} or {"error": line}. Starts the server where it does not run, for which it waits 10
    // seconds or as long as for the call; not again within seconds of a start that failed.
    Json call(const std::string& server, const std::string& tool, const Json& arguments,
              const std::function<bool()>& is_wanted);
    // Calls end, servers are told to go, and killed where they do not. Nothing is started behind it.
    void stop();
    bool is_empty() const { return servers_.empty(); }

private:
    struct Server {
        explicit Server(McpServerConfig c) : config(std::move(c)) {}
        const McpServerConfig config;
        std::mutex mutex;  // guards what follows
        std::condition_variable changed;
        bool is_starting = false;  // by one of those who call
        std::shared_ptr<McpSession> session;
        std::string failure;  // of the last start
        std::chrono::steady_clock::time_point failed_at;
    };

    Result<std::shared_ptr<McpSession>> running(Server& server, const McpPatience& patience);
    Result<std::shared_ptr<McpSession>> start_session(Server& server, const McpPatience& patience);
    Result<std::vector<McpTool>> list(Server& server, std::chrono::milliseconds most);

    std::vector<std::unique_ptr<Server>> servers_;
    std::function<void(const std::string&)> warn_;
    std::atomic<bool> is_stopping_ = false;
};

// What of a result of tools/call a model reads: its texts, a line each for what else it holds.
Json mcp_answer(const Json& result);

}  // namespace riftjit::server
