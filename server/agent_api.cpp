#include "server/agent_api.h"

#include "server/apis.h"
#include "server/origins.h"

namespace riftjit::server {

AgentRoutes::AgentRoutes(AgentOptions options) : options_(std::move(options)) {}

bool AgentRoutes::is_trusted(const HttpRequest& request) const {
    return options_.needs_key || is_trusted_caller(options_.trusted_origins, request);
}

std::optional<HttpReply> AgentRoutes::reply(const HttpRequest& request, const std::string& path) const {
    const bool is_tools = path == "/tools", is_proxy = path == "/cors-proxy";
    if (!is_tools && !is_proxy) return std::nullopt;
    if (is_tools && options_.toolbox == nullptr)
        return error_reply({403, "no tools: the server was started without --tools and --mcp-servers-config"});
    if (is_proxy && !options_.hands_on)
        return error_reply({403, "requests are not handed on: the server was started without --ui-mcp-proxy"});
    if (!is_trusted(request))
        return error_reply({403, "this page may not ask for that: its origin is none of --cors-origins"});
    return is_tools ? tools_reply(request) : hand_on(request, is_stopping_);
}

HttpReply AgentRoutes::tools_reply(const HttpRequest& request) const {
    if (request.method == "GET" || request.method == "HEAD") return list_tools(*options_.toolbox);
    if (request.method == "POST") return call_tool(options_.toolbox, request);
    return error_reply({405, fmt::format("{} does not go with this path", request.method)});
}

void AgentRoutes::stop() {
    *is_stopping_ = true;
    if (options_.toolbox) options_.toolbox->stop();
}

}  // namespace riftjit::server
