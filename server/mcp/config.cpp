#include "server/mcp/config.h"

#include <algorithm>

#include "host/json_text.h"
#include "server/fields.h"

namespace riftjit::server {

namespace {

constexpr int64_t kMostTimeout = 24 * 3600 * 1000;  // ms

// The names of tools begin with a server's: what models' APIs take in a function's name.
bool is_plain_name(std::string_view name) {
    constexpr size_t kMostName = 64;
    return !name.empty() && name.size() <= kMostName && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

// NUL bytes would end an argument, and an = a variable's name.
bool holds(std::string_view text, std::string_view bytes) { return text.find_first_of(bytes) != text.npos; }

constexpr std::string_view kNul("\0", 1), kNulOrEquals("\0=", 2);

Outcome<void> read_environment(Fields& fields, McpServerConfig& server) {
    const Json* variables = fields.object("env");
    if (variables == nullptr) return {};
    for (const auto& [name, value] : variables->items()) {
        if (name.empty() || holds(name, kNulOrEquals)) return refuse(400, "\"env\": \"{}\" names no variable", name);
        if (!value.is_string() || holds(value.get_ref<const std::string&>(), kNul))
            return refuse(400, "\"env.{}\": expected a string", name);
        server.environment.emplace_back(name, value.get<std::string>());
    }
    return {};
}

Outcome<McpServerConfig> read_server(const std::string& name, const Json& entry) {
    if (!is_plain_name(name)) return refuse(400, "expected a name of letters, digits, _ and -, at most 64");
    McpServerConfig server;
    server.name = name;
    Fields fields(entry);
    server.command = fields.text("command").value_or("");
    server.arguments = fields.texts("args").value_or(std::vector<std::string>());
    server.folder = fields.text("cwd").value_or("");
    if (const auto most = fields.integer("timeout_ms", 1, kMostTimeout))
        server.timeout = std::chrono::milliseconds(*most);
    RIFTJIT_ASK_VOID(fields.check());
    if (server.command.empty()) return refuse(400, "no \"command\"");
    bool has_nul = holds(server.command, kNul) || holds(server.folder, kNul);
    for (const std::string& argument : server.arguments) has_nul |= holds(argument, kNul);
    if (has_nul) return refuse(400, "a NUL byte in \"command\", \"args\" or \"cwd\"");
    RIFTJIT_ASK_VOID(read_environment(fields, server));
    return server;
}

}  // namespace

Result<std::vector<McpServerConfig>> parse_mcp_config(std::string_view where, std::string_view text,
                                                      const std::function<void(const std::string&)>& warn) {
    const Json config = parse_json<Json>(text);
    if (config.is_discarded()) return fail(ErrorKind::Format, "{}: is no JSON", where);
    const auto servers = config.is_object() ? config.find("mcpServers") : config.end();
    if (!config.is_object() || servers == config.end() || !servers->is_object())
        return fail(ErrorKind::Format, "{}: expected {{\"mcpServers\": {{\"NAME\": {{\"command\": ...}}}}}}", where);
    std::vector<McpServerConfig> read;
    for (const auto& [name, entry] : servers->items()) {
        const std::string place = fmt::format("{}: mcpServers.{}", where, name);
        if (!entry.is_object()) return fail(ErrorKind::Format, "{}: expected an object", place);
        if (entry.value("disabled", Json()) == true) continue;
        if (entry.contains("url") && !entry.contains("command")) {
            warn(place + ": is left out; servers are programs that are started (\"command\"), not addresses (\"url\")");
            continue;
        }
        auto server = read_server(name, entry);
        if (!server) return fail(ErrorKind::Format, "{}: {}", place, server.error().message);
        read.push_back(std::move(*server));
    }
    return read;
}

}  // namespace riftjit::server
