#include "server/tools/tool.h"

#include <filesystem>

#include "host/utf8.h"

namespace riftjit::server {

std::vector<Tool> builtin_tools() {
    std::vector<Tool> tools;
    for (auto& some : {file_tools(), search_tools(), system_tools()})
        tools.insert(tools.end(), some.begin(), some.end());
    return tools;
}

std::string required_text(Fields& fields, const char* name) {
    if (auto text = fields.text(name)) return *text;
    fields.fail({400, fmt::format("\"{}\" is missing", name)});
    return {};
}

Outcome<std::string> path_of(const ToolCall& call, const std::string& given) {
    if (given.empty() || given.contains('\0')) return refuse(400, "\"path\": expected a path");
    return (std::filesystem::path(call.folder) / given).lexically_normal().string();
}

Json tool_error(const std::string& line) { return {{"error", escape_unprintable(line)}}; }

Json parameter(const char* type, std::string description) {
    return {{"type", type}, {"description", std::move(description)}};
}

Json parameters(Json properties, std::vector<std::string> required) {
    return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

}  // namespace riftjit::server
