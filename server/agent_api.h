// What a page with an agent needs of its server, where the operator allowed it: tools that the server runs (/tools),
// and requests that it hands on to where a page may not send them itself (/cors-proxy). All in llama-server's form.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "server/http.h"
#include "server/tools/toolbox.h"

namespace riftjit::server {

struct AgentOptions {
    std::shared_ptr<Toolbox> toolbox;  // null: no tools
    bool hands_on = false;             // /cors-proxy
    std::string trusted_origins;       // as is_trusted_caller() takes it
    bool needs_key = false;            // requests that get here had a key, which no other's page has
};

class AgentRoutes {
public:
    explicit AgentRoutes(AgentOptions options);

    // nullopt: none of these paths.
    std::optional<HttpReply> reply(const HttpRequest& request, const std::string& path) const;
    // Calls of tools end, and so do answers that are handed on.
    void stop();

private:
    bool is_trusted(const HttpRequest& request) const;
    HttpReply tools_reply(const HttpRequest& request) const;

    const AgentOptions options_;
    std::shared_ptr<std::atomic<bool>> is_stopping_ = std::make_shared<std::atomic<bool>>(false);
};

// The parts of it: tools_api.cpp and proxy_api.cpp.
HttpReply list_tools(const Toolbox& toolbox);
HttpReply call_tool(const std::shared_ptr<Toolbox>& toolbox, const HttpRequest& request);
HttpReply hand_on(const HttpRequest& request, std::shared_ptr<const std::atomic<bool>> is_stopping);

}  // namespace riftjit::server
