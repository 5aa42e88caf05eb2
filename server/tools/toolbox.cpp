#include "server/tools/toolbox.h"

#include <algorithm>

namespace riftjit::server {

namespace {

constexpr std::chrono::seconds kMostStart{10};

}  // namespace

Result<std::vector<Tool>> chosen_tools(const std::vector<std::string>& names) {
    std::vector<Tool> all = builtin_tools(), chosen;
    const bool takes_all = std::ranges::find(names, "all") != names.end();
    for (const std::string& name : names) {
        if (name == "all" || std::ranges::find(all, name, &Tool::name) != all.end()) continue;
        std::vector<std::string> known;
        for (const Tool& tool : all) known.push_back(tool.name);
        return fail(ErrorKind::Usage, "there is no tool \"{}\": all, {}", name, fmt::join(known, ", "));
    }
    for (Tool& tool : all)
        if (takes_all || std::ranges::find(names, tool.name) != names.end()) chosen.push_back(std::move(tool));
    return chosen;
}

Toolbox::Toolbox(std::vector<Tool> tools, std::vector<McpServerConfig> servers,
                 std::function<void(const std::string&)> warn)
    : tools_(std::move(tools)), warn_(std::move(warn)), servers_(std::move(servers), warn_) {}

void Toolbox::start() {
    for (McpServers::Listed& listed : servers_.start(kMostStart)) add_tool_of(std::move(listed));
}

void Toolbox::add_tool_of(McpServers::Listed listed) {
    Tool tool{.name = listed.server + "_" + listed.tool.name, .kind = "mcp"};
    if (find(tool.name) != nullptr)
        return warn_(fmt::format("MCP server {}: its tool {} is left out, {} is another's name", listed.server,
                                 listed.tool.name, tool.name));
    tool.title = tool.name;
    tool.writes = true;  // nobody knows
    tool.description = std::move(listed.tool.description);
    tool.parameters = std::move(listed.tool.parameters);
    tool.run = [this, server = listed.server, name = listed.tool.name](const ToolCall& call) -> Outcome<Json> {
        return servers_.call(server, name, call.parameters, call.is_wanted);
    };
    tools_.push_back(std::move(tool));
}

const Tool* Toolbox::find(const std::string& name) const {
    const auto found = std::ranges::find(tools_, name, &Tool::name);
    return found == tools_.end() ? nullptr : &*found;
}

void Toolbox::stop() {
    is_stopping_ = true;
    servers_.stop();
}

}  // namespace riftjit::server
