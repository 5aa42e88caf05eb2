#include "tools/serve/agent_options.h"

#include "tools/cli/arguments.h"
#include "tools/cli/input_file.h"
#include "tools/cli/options.h"

namespace riftjit::tools {

namespace {

std::string tool_names() {
    std::string names;
    for (const server::Tool& tool : server::builtin_tools()) names += ", " + tool.name;
    return names;
}

Result<std::vector<server::Tool>> read_tools(const AgentChoice& choice) {
    std::vector<std::string> names;
    for (const std::string& list : choice.tools)
        for (std::string& name : split(list, ',')) names.push_back(std::move(name));
    auto tools = server::chosen_tools(names);
    if (!tools) return fail(ErrorKind::Usage, "--tools: {}", tools.error().message);
    return tools;
}

Result<std::vector<server::McpServerConfig>> read_servers(const AgentChoice& choice, Reporter& reporter) {
    std::vector<server::McpServerConfig> servers;
    const auto add = [&](std::string_view where, std::string_view text) -> Result<void> {
        RIFTJIT_TRY(read, server::parse_mcp_config(where, text, reporter.warner()));
        for (server::McpServerConfig& server : read) {
            for (const server::McpServerConfig& other : servers)
                if (other.name == server.name)
                    return fail(ErrorKind::Usage, "{}: a second MCP server {}", where, server.name);
            servers.push_back(std::move(server));
        }
        return {};
    };
    if (!choice.mcp_file.empty()) {
        RIFTJIT_TRY(text, read_text_bytes(choice.mcp_file));
        RIFTJIT_TRY_VOID(add(choice.mcp_file, text));
    }
    if (!choice.mcp_json.empty()) RIFTJIT_TRY_VOID(add("--mcp-servers-json", choice.mcp_json));
    return servers;
}

// Whoever reaches the address could run programs here.
Result<void> require_guard(const server::ServerOptions& server) {
    for (const std::string& host : server.hosts)
        if (!is_of_this_machine(host) && server.api_keys.empty())
            return fail(ErrorKind::Usage,
                        "--host {}: with tools, MCP servers or --ui-mcp-proxy an address that others reach needs "
                        "--api-key",
                        host);
    return {};
}

void tell(const std::vector<server::Tool>& tools, const std::vector<server::McpServerConfig>& servers, bool hands_on,
          const std::string& origins, Reporter& reporter) {
    std::vector<std::string> parts;
    for (const server::Tool& tool : tools) parts.push_back(tool.name);
    if (!parts.empty())
        reporter.info(fmt::format("tools: requests may have this user's files read or changed, or programs run, by {}",
                                  fmt::join(parts, ", ")));
    parts.clear();
    for (const server::McpServerConfig& server : servers) parts.push_back(server.name);
    if (!parts.empty())
        reporter.info(
            fmt::format("MCP: requests may call the tools of {}, which run as this user", fmt::join(parts, ", ")));
    if (hands_on) reporter.info("--ui-mcp-proxy: requests may be handed on to any address that this machine reaches");
    reporter.info(
        fmt::format("pages of these origins may ask for it: {}", origins.empty() ? "the server's own" : origins));
}

}  // namespace

bool is_of_this_machine(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.") || host.ends_with(".sock");
}

void add_agent_options(CLI::App& app, AgentChoice& choice) {
    constexpr const char* kGroup = "Tools";
    app.add_option("--tools", choice.tools,
                   "let requests to /tools read and write files and run programs as this user: all" + tool_names() +
                       "; --cors-origins is localhost then, unless it is given")
        ->type_name("TOOL,...")
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option(
           "--mcp-servers-config", choice.mcp_file,
           "MCP servers to start, whose tools /tools lists and calls: {\"mcpServers\": {\"NAME\": {\"command\", "
           "\"args\", \"env\", \"cwd\", \"timeout_ms\"}}}")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_option("--mcp-servers-json", choice.mcp_json, "the same, given here")->type_name("JSON")->group(kGroup);
    app.add_flag_callback(
           "--ui-mcp-proxy,--webui-mcp-proxy", [&choice] { choice.hands_on = true; },
           "/cors-proxy: hand requests of the page on to MCP servers that do not allow its origin")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-ui-mcp-proxy,--no-webui-mcp-proxy", [&choice] { choice.hands_on = false; }, "not (how it starts)")
        ->group(kGroup);
    app.add_flag_callback(
           "--agent",
           [&choice] {
               choice.tools = {"all"};
               choice.hands_on = true;
           },
           "-ag: --tools all --ui-mcp-proxy")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-agent",
           [&choice] {
               choice.tools.clear();
               choice.hands_on = false;
           },
           "-no-ag: neither (how it starts)")
        ->group(kGroup);
}

Result<void> open_agent(const AgentChoice& choice, bool is_default_cors, server::ServerOptions& server,
                        Reporter& reporter) {
    RIFTJIT_TRY(tools, read_tools(choice));
    RIFTJIT_TRY(servers, read_servers(choice, reporter));
    server.hands_on = choice.hands_on;
    const bool has_tools = !tools.empty() || !choice.mcp_file.empty() || !choice.mcp_json.empty();
    if (!has_tools && !choice.hands_on) return {};
    RIFTJIT_TRY_VOID(require_guard(server));
    if (is_default_cors) server.cors_origins = "localhost";
    tell(tools, servers, choice.hands_on, server.cors_origins, reporter);
    if (has_tools)
        server.toolbox = std::make_shared<server::Toolbox>(std::move(tools), std::move(servers), reporter.warner());
    return {};
}

}  // namespace riftjit::tools
