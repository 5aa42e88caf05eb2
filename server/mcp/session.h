// A conversation with an MCP server that runs as a child: JSON-RPC 2.0, a message a line, on its standard streams
// (modelcontextprotocol.io, specification of 2025-06-18, "stdio").
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "host/child_process.h"
#include "server/errors.h"
#include "server/mcp/config.h"
#include "server/mcp/lines.h"

namespace riftjit::server {

struct McpTool {
    std::string name, description;
    Json parameters;  // a JSON schema, of an object
};

// How long, and as long as somebody wants it (null: always), is waited for a reply.
struct McpPatience {
    McpPatience(std::chrono::milliseconds most_time, std::function<bool()> wanted)
        : most(most_time), until(std::chrono::steady_clock::now() + most_time), is_wanted(std::move(wanted)) {}
    std::chrono::milliseconds most;
    std::chrono::steady_clock::time_point until;
    std::function<bool()> is_wanted;
};

// One thread moves all bytes, in both directions, and never waits for one of them alone: a server that does not read,
// or writes without end, keeps nobody longer than their patience. Calls may come from many threads.
class McpSession {
public:
    // Starts the program, nothing more.
    static Result<std::unique_ptr<McpSession>> start(const McpServerConfig& config);
    ~McpSession();  // as close()

    Result<void> initialize(const McpPatience& patience);
    Result<std::vector<McpTool>> list_tools(const McpPatience& patience);
    // "result" of tools/call.
    Result<Json> call_tool(const std::string& name, const Json& arguments, const McpPatience& patience);

    bool is_alive() const { return !is_over_; }
    // Calls that wait end as interrupted. close_input() and ask_to_end() are how it is told to go, close() kills it.
    void interrupt();
    void close_input();
    void ask_to_end() const { child_->ask_to_end(); }
    bool wait_for_end(std::chrono::milliseconds most) const { return child_->wait_for_end(most); }
    void close();

private:
    struct Waiting {
        bool has_come = false;
        Json reply;
    };

    explicit McpSession(std::unique_ptr<ChildProcess> child);
    Result<Json> request(const char* method, Json parameters, const McpPatience& patience);
    Result<void> send(const Json& message);
    Error why_over(const char* method);
    void run();
    void wake();
    void write_some();
    // How many bytes came; 0: the end, -1: nothing now.
    ssize_t read_some(int pipe, LineCutter& lines, const std::function<void(std::string)>& take);
    void take_line(std::string line);
    void take_message(Json& message);
    void take_error_line(std::string line);

    std::unique_ptr<ChildProcess> child_;
    FileDescriptor wake_read_, wake_write_;
    LineCutter output_lines_, error_lines_;
    std::atomic<bool> is_over_ = false, is_closing_ = false;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<int64_t, Waiting> waiting_;
    std::string unsent_;  // of which so many bytes went
    size_t sent_ = 0;
    bool closes_input_ = false, is_interrupted_ = false;
    int64_t next_id_ = 1;
    std::string last_words_;  // the last line of its stderr, or what of its output was no message
    std::string ending_;      // how it ended by itself
    std::thread thread_;
};

}  // namespace riftjit::server
