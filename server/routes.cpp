#include <initializer_list>

#include "server/apis.h"

namespace riftjit::server {

namespace {

// "/slots/{id}" and "/slots/3": the part, or nullopt.
std::optional<std::string> match(std::string_view pattern, std::string_view path) {
    const size_t open = pattern.find('{');
    if (open == pattern.npos) return pattern == path ? std::optional(std::string()) : std::nullopt;
    const std::string_view tail = pattern.substr(pattern.find('}') + 1);
    if (path.size() < open + tail.size() || !path.starts_with(pattern.substr(0, open)) || !path.ends_with(tail))
        return std::nullopt;
    const std::string_view part = path.substr(open, path.size() - open - tail.size());
    return part.contains('/') ? std::nullopt : std::optional(std::string(part));
}

}  // namespace

FoundRoute find_route(std::string_view method, std::string_view path) {
    FoundRoute found;
    for (const auto routes : {native_routes(), infill_routes(), state_routes(), openai_routes(), responses_routes(),
                              ollama_routes(), anthropic_routes(), embedding_routes()}) {
        for (const Route& each : routes) {
            auto id = match(each.path, path);
            if (!id) continue;
            found.is_known = true;
            if (method == each.method) return {&each, std::move(*id), true};
        }
    }
    return found;
}

}  // namespace riftjit::server
