#include "server/mcp/servers.h"

#include <algorithm>

#include "host/json_text.h"

namespace riftjit::server {

namespace {

using Clock = std::chrono::steady_clock;

// Between a start that failed and the next.
constexpr std::chrono::seconds kRestartPause{5};
constexpr std::chrono::milliseconds kLookAtStart{50};
constexpr std::chrono::milliseconds kLeastStart{10'000};
// For a server to go by itself: once its input is closed, and once more when it was asked to.
constexpr std::chrono::milliseconds kGrace{250};

std::string member_text(const Json& object, const char* name) {
    const auto it = object.find(name);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// A part of an answer, of the types that the specification names.
std::string part_text(const Json& part) {
    if (!part.is_object()) return {};
    const std::string type = member_text(part, "type");
    if (type == "text") return member_text(part, "text");
    if (type == "resource_link") return fmt::format("[{}: {}]", member_text(part, "name"), member_text(part, "uri"));
    if (type == "resource" && part.contains("resource") && part["resource"].is_object()) {
        const Json& resource = part["resource"];
        const std::string text = member_text(resource, "text");
        return text.empty() ? fmt::format("[resource {}]", member_text(resource, "uri")) : text;
    }
    return fmt::format("[{}, {}, {} characters of base64]", type, member_text(part, "mimeType"),
                       member_text(part, "data").size());
}

}  // namespace

Json mcp_answer(const Json& result) {
    std::string text;
    const auto content = result.find("content");
    if (content != result.end() && content->is_array())
        for (const Json& part : *content) text += (text.empty() ? "" : "\n") + part_text(part);
    if (const auto structured = result.find("structuredContent"); text.empty() && structured != result.end())
        text = json_text(*structured);
    const auto failed = result.find("isError");
    if (failed == result.end() || *failed != true) return {{"plain_text_response", text}};
    return {{"error", text.empty() ? "the tool failed and does not say why" : text}};
}

McpServers::McpServers(std::vector<McpServerConfig> configs, std::function<void(const std::string&)> warn)
    : warn_(std::move(warn)) {
    for (McpServerConfig& config : configs) servers_.push_back(std::make_unique<Server>(std::move(config)));
}

McpServers::~McpServers() { stop(); }

std::vector<McpServers::Listed> McpServers::start(std::chrono::milliseconds most) {
    std::vector<Result<std::vector<McpTool>>> found(servers_.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < servers_.size(); ++i)
        threads.emplace_back([this, i, most, &found] { found[i] = list(*servers_[i], most); });
    for (std::thread& thread : threads) thread.join();
    std::vector<Listed> listed;
    for (size_t i = 0; i < servers_.size(); ++i) {
        const std::string& name = servers_[i]->config.name;
        if (!found[i]) warn_(fmt::format("MCP server {}: {}", name, found[i].error().message));
        if (!found[i]) continue;
        for (McpTool& tool : *found[i]) listed.push_back({name, std::move(tool)});
    }
    return listed;
}

Result<std::vector<McpTool>> McpServers::list(Server& server, std::chrono::milliseconds most) {
    const McpPatience patience(most, [this] { return !is_stopping_; });
    RIFTJIT_TRY(session, running(server, patience));
    return session->list_tools(patience);
}

Json McpServers::call(const std::string& name, const std::string& tool, const Json& arguments,
                      const std::function<bool()>& is_wanted) {
    const auto found = std::ranges::find_if(servers_, [&](const auto& each) { return each->config.name == name; });
    check(found != servers_.end(), "tools are of servers that there are");
    Server& server = **found;
    const auto wanted = [&] { return !is_stopping_ && (!is_wanted || is_wanted()); };
    const auto result = [&]() -> Result<Json> {
        // To start takes what it takes, an interpreter's imports among it, however short calls are to be.
        RIFTJIT_TRY(session, running(server, {std::max(server.config.timeout, kLeastStart), wanted}));
        return session->call_tool(tool, arguments, {server.config.timeout, wanted});
    }();
    if (!result) return {{"error", fmt::format("MCP server {}: {}", name, result.error().message)}};
    return mcp_answer(*result);
}

Result<std::shared_ptr<McpSession>> McpServers::running(Server& server, const McpPatience& patience) {
    std::unique_lock lock(server.mutex);
    while (server.is_starting) {
        if (Clock::now() >= patience.until) return fail(ErrorKind::Io, "it is still being started");
        if (!patience.is_wanted()) return fail(ErrorKind::Interrupted, "was interrupted");
        server.changed.wait_for(lock, kLookAtStart);
    }
    if (is_stopping_) return fail(ErrorKind::Interrupted, "the server is stopping");
    if (server.session && server.session->is_alive()) return server.session;
    if (!server.failure.empty() && Clock::now() < server.failed_at + kRestartPause)
        return fail(ErrorKind::Io, "{} (it is started again after {} s)", server.failure, kRestartPause.count());
    std::shared_ptr<McpSession> ended, failed;  // killed once the lock is gone
    ended.swap(server.session);
    server.is_starting = true;
    lock.unlock();
    auto started = start_session(server, patience);
    lock.lock();
    server.is_starting = false;
    server.changed.notify_all();
    if (!started) {
        failed.swap(server.session);
        // A client that left says nothing of the server.
        server.failure = started.error().kind == ErrorKind::Interrupted ? "" : started.error().message;
        server.failed_at = Clock::now();
    }
    lock.unlock();
    return started;
}

Result<std::shared_ptr<McpSession>> McpServers::start_session(Server& server, const McpPatience& patience) {
    RIFTJIT_TRY(session, McpSession::start(server.config));
    const std::shared_ptr<McpSession> shared = std::move(session);
    {
        const std::lock_guard lock(server.mutex);
        if (is_stopping_) return fail(ErrorKind::Interrupted, "the server is stopping");
        server.session = shared;  // stop() finds it
    }
    RIFTJIT_TRY_VOID(shared->initialize(patience));
    const std::lock_guard lock(server.mutex);
    server.failure.clear();
    return shared;
}

void McpServers::stop() {
    is_stopping_ = true;
    std::vector<std::shared_ptr<McpSession>> sessions;
    for (const auto& server : servers_) {
        const std::lock_guard lock(server->mutex);
        if (server->session) sessions.push_back(std::move(server->session));
        server->session = nullptr;
    }
    for (const auto& session : sessions) session->interrupt(), session->close_input();
    auto until = Clock::now() + kGrace;
    const auto wait_for_all = [&] {
        for (const auto& session : sessions)
            session->wait_for_end(std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()));
    };
    wait_for_all();
    for (const auto& session : sessions) session->ask_to_end();
    until = Clock::now() + kGrace;
    wait_for_all();
    for (const auto& session : sessions) session->close();
}

}  // namespace riftjit::server
