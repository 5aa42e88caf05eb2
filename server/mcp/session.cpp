#include "server/mcp/session.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "host/json_text.h"
#include "host/utf8.h"

namespace riftjit::server {

namespace {

constexpr const char* kProtocolVersion = "2025-06-18";
constexpr size_t kMostLine = 16 << 20, kMostErrorLine = 4096, kMostUnsent = 64 << 20, kMostReplies = 1 << 20;
constexpr size_t kShownLine = 200;
constexpr int kMostPages = 100;
constexpr size_t kMostTools = 1000, kMostToolName = 128;
// How long it may take to see that nobody waits any more, or that the program ended while another keeps its pipes.
constexpr std::chrono::milliseconds kLookAround{50};

// As a message shows it: one line, nothing that acts on a terminal.
std::string shown_line(std::string line) {
    if (line.size() > kShownLine) line = line.substr(0, kShownLine) + "...";
    return escape_unprintable(line);
}

Json schema_of(const Json& tool) {
    Json schema = tool.value("inputSchema", Json());
    if (!schema.is_object()) schema = Json::object();
    if (!schema.contains("type")) schema["type"] = "object";
    if (!schema.contains("properties")) schema["properties"] = Json::object();
    return schema;
}

std::string text_of(const Json& object, const char* name) {
    const auto it = object.find(name);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

Result<std::unique_ptr<McpSession>> McpSession::start(const McpServerConfig& config) {
    ChildOptions options{.arguments = {config.command},
                         .folder = config.folder,
                         .environment = config.environment,
                         .input = ChildInput::pipe,
                         .errors = ChildErrors::pipe};
    options.arguments.insert(options.arguments.end(), config.arguments.begin(), config.arguments.end());
    RIFTJIT_TRY(child, ChildProcess::start(options));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail(ErrorKind::Io, "pipe: {}", std::strerror(errno));
    std::unique_ptr<McpSession> session(new McpSession(std::move(child)));
    session->wake_read_ = FileDescriptor(ends[0]);
    session->wake_write_ = FileDescriptor(ends[1]);
    session->thread_ = std::thread([raw = session.get()] { raw->run(); });
    return session;
}

McpSession::McpSession(std::unique_ptr<ChildProcess> child)
    : child_(std::move(child)), output_lines_(kMostLine), error_lines_(kMostErrorLine) {}

McpSession::~McpSession() { close(); }

Result<void> McpSession::initialize(const McpPatience& patience) {
    RIFTJIT_TRY(result, request("initialize",
                                {{"protocolVersion", kProtocolVersion},
                                 {"capabilities", Json::object()},
                                 {"clientInfo", {{"name", "riftjit"}, {"version", "1"}}}},
                                patience));
    if (!result.is_object() || text_of(result, "protocolVersion").empty())
        return fail(ErrorKind::Format, "initialize: the answer has no \"protocolVersion\"");
    return send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
}

Result<std::vector<McpTool>> McpSession::list_tools(const McpPatience& patience) {
    std::vector<McpTool> tools;
    Json parameters = Json::object();
    for (int page = 0; page < kMostPages; ++page) {
        RIFTJIT_TRY(result, request("tools/list", parameters, patience));
        const auto listed = result.find("tools");
        if (!result.is_object() || listed == result.end() || !listed->is_array())
            return fail(ErrorKind::Format, "tools/list: the answer has no array \"tools\"");
        for (const Json& tool : *listed) {
            const std::string name = tool.is_object() ? text_of(tool, "name") : "";
            if (name.empty() || name.size() > kMostToolName) continue;
            if (tools.size() == kMostTools)
                return fail(ErrorKind::Format, "tools/list: more than {} tools", kMostTools);
            tools.push_back({name, text_of(tool, "description"), schema_of(tool)});
        }
        const std::string next = text_of(result, "nextCursor");
        if (next.empty()) return tools;
        parameters["cursor"] = next;
    }
    return fail(ErrorKind::Format, "tools/list: more than {} pages", kMostPages);
}

Result<Json> McpSession::call_tool(const std::string& name, const Json& arguments, const McpPatience& patience) {
    return request("tools/call", {{"name", name}, {"arguments", arguments}}, patience);
}

Result<Json> McpSession::request(const char* method, Json parameters, const McpPatience& patience) {
    std::unique_lock lock(mutex_);
    const int64_t id = next_id_++;
    Waiting& waiting = waiting_[id];
    lock.unlock();
    auto sent = send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(parameters)}});
    lock.lock();
    const auto leave = [&](Error error) {
        waiting_.erase(id);
        return std::unexpected(std::move(error));
    };
    if (!sent) return leave(sent.error());
    while (true) {
        changed_.wait_for(lock, kLookAround, [&] { return waiting.has_come || is_over_ || is_interrupted_; });
        if (waiting.has_come) break;
        if (is_over_) return leave(why_over(method));
        const bool is_late = std::chrono::steady_clock::now() >= patience.until;
        if (!is_late && !is_interrupted_ && (!patience.is_wanted || patience.is_wanted())) continue;
        lock.unlock();
        (void)send({{"jsonrpc", "2.0"},
                    {"method", "notifications/cancelled"},
                    {"params", {{"requestId", id}, {"reason", is_late ? "it took too long" : "nobody waits for it"}}}});
        lock.lock();
        if (is_late)
            return leave({ErrorKind::Io, fmt::format("{}: no answer within {} ms{}", method, patience.most.count(),
                                                     last_words_.empty() ? "" : "; it wrote: " + last_words_)});
        return leave({ErrorKind::Interrupted, fmt::format("{}: was interrupted", method)});
    }
    Json reply = std::move(waiting.reply);
    waiting_.erase(id);
    if (waiting_.empty()) last_words_.clear();  // they are not of what fails later
    if (const auto error = reply.find("error"); error != reply.end() && !error->is_null()) {
        const std::string message = error->is_object() ? text_of(*error, "message") : "";
        return fail(ErrorKind::Io, "{}: {}", method,
                    message.empty() ? "the server answered with an error" : shown_line(message));
    }
    if (!reply.contains("result")) return fail(ErrorKind::Format, "{}: the answer has no \"result\"", method);
    return std::move(reply["result"]);
}

Result<void> McpSession::send(const Json& message) {
    const std::string line = json_text(message) + "\n";
    {
        const std::lock_guard lock(mutex_);
        if (unsent_.size() - sent_ + line.size() > kMostUnsent)
            return fail(ErrorKind::Io, "the server reads nothing: {} bytes wait for it", unsent_.size() - sent_);
        unsent_ += line;
    }
    wake();
    return {};
}

Error McpSession::why_over(const char* method) {
    const std::string wrote = last_words_.empty() ? "" : "; it wrote: " + last_words_;
    return {ErrorKind::Io,
            fmt::format("{}: the server {}{}", method, ending_.empty() ? "was stopped" : ending_, wrote)};
}

void McpSession::interrupt() {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    changed_.notify_all();
}

void McpSession::close_input() {
    {
        const std::lock_guard lock(mutex_);
        closes_input_ = true;
    }
    wake();
}

void McpSession::close() {
    is_closing_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    child_->end();
}

void McpSession::wake() {
    const char byte = 0;
    (void)!write(wake_write_.get(), &byte, 1);  // a full pipe wakes as well
}

void McpSession::run() {
    bool has_errors = true, has_output = true;
    uint64_t dropped = 0;
    while (!is_closing_ && has_output) {
        const bool has_unsent = [&] {
            const std::lock_guard lock(mutex_);
            return !unsent_.empty() || closes_input_;
        }();
        pollfd ends[] = {{wake_read_.get(), POLLIN, 0},
                         {child_->output(), POLLIN, 0},
                         {has_errors ? child_->errors() : -1, POLLIN, 0},
                         {has_unsent ? child_->input() : -1, POLLOUT, 0}};
        poll(ends, std::size(ends), int(kLookAround.count()));
        char woken[64];
        while (read(wake_read_.get(), woken, sizeof woken) > 0) continue;
        write_some();
        // Asked before reading: what a program wrote until its end is read then, though another may keep the pipe open.
        const bool has_ended = child_->has_ended();
        // Errors first: what was said before an answer is known before it.
        if (has_errors)
            has_errors = read_some(child_->errors(), error_lines_,
                                   [this](std::string l) { take_error_line(std::move(l)); }) != 0;
        constexpr int kMostReads = 1024;
        for (int i = 0; i < (has_ended ? kMostReads : 1); ++i) {
            const ssize_t read = read_some(child_->output(), output_lines_, [this](std::string l) { take_line(l); });
            has_output &= read != 0;
            if (read <= 0) break;
        }
        if (output_lines_.dropped() != dropped) {
            dropped = output_lines_.dropped();
            take_error_line(fmt::format("a line of more than {} bytes", kMostLine));
        }
        has_output &= !has_ended;
    }
    // One that closes its output is as good as gone.
    const int exit_code = is_closing_ ? 0 : (child_->wait_for_end(kLookAround), child_->end());
    const std::lock_guard lock(mutex_);
    if (!is_closing_) ending_ = "has ended with " + told_exit(exit_code);
    is_over_ = true;
    changed_.notify_all();
}

void McpSession::write_some() {
    const std::lock_guard lock(mutex_);
    if (child_->input() < 0) return;
    if (!unsent_.empty()) {
        const ssize_t count = write_to_pipe(child_->input(), std::string_view(unsent_).substr(sent_));
        if (count > 0) sent_ += size_t(count);
        if (sent_ * 2 >= unsent_.size()) unsent_.erase(0, std::exchange(sent_, 0));
        if (count < 0 && errno == EPIPE) child_->close_input();  // that it ended is seen by its output
    }
    if (closes_input_) child_->close_input();
}

ssize_t McpSession::read_some(int pipe, LineCutter& lines, const std::function<void(std::string)>& take) {
    char bytes[65536];
    const ssize_t count = read(pipe, bytes, sizeof bytes);
    if (count > 0) lines.push({bytes, size_t(count)}, take);
    return count;
}

void McpSession::take_error_line(std::string line) {
    const std::lock_guard lock(mutex_);
    last_words_ = shown_line(std::move(line));
}

void McpSession::take_line(std::string line) {
    if (valid_utf8_prefix(line) != line.size()) line = replace_invalid(line);
    Json message = parse_json<Json>(line);
    if (message.is_array()) {  // batches, which the specification of 2025-03-26 has
        for (Json& each : message) take_message(each);
        return;
    }
    if (message.is_object()) return take_message(message);
    const std::lock_guard lock(mutex_);
    last_words_ = "what is no JSON-RPC: " + shown_line(std::move(line));
}

// A reply, a request of the server's, or a notification, which says nothing that is needed here.
void McpSession::take_message(Json& message) {
    if (!message.is_object()) return;
    const auto id = message.find("id");
    if (id == message.end() || id->is_null()) return;
    const std::string method = text_of(message, "method");
    if (method.empty()) {
        const std::lock_guard lock(mutex_);
        const auto found = id->is_number_integer() ? waiting_.find(id->get<int64_t>()) : waiting_.end();
        if (found == waiting_.end()) return;  // came too late
        found->second.reply = std::move(message);
        found->second.has_come = true;
        changed_.notify_all();
        return;
    }
    Json reply = {{"jsonrpc", "2.0"}, {"id", std::move(*id)}};
    if (method == "ping")
        reply["result"] = Json::object();
    else
        reply["error"] = {{"code", -32601}, {"message", "this client has no such method"}};
    const std::lock_guard lock(mutex_);
    if (unsent_.size() < kMostReplies) unsent_ += json_text(reply) + "\n";
}

}  // namespace riftjit::server
