// /cors-proxy: requests that a page's MCP client may not send itself, for another server does not allow its origin.
#include <algorithm>

#include "server/agent_api.h"
#include "server/apis.h"

namespace riftjit::server {

namespace {

// What of a request goes on: these alone, without the prefix. Neither our key nor a cookie leaves this machine.
constexpr std::string_view kHeaderPrefix = "x-llama-server-proxy-header-";

struct Target {
    std::string server, path;
};

// A URL of HTTP, without a user: "http://host:port/path?query".
Outcome<Target> target_of(const std::string& url) {
    const size_t scheme_end = url.find("://");
    const std::string scheme = url.substr(0, scheme_end == url.npos ? 0 : scheme_end);
    if (scheme != "http" && scheme != "https") return refuse(400, "\"url\": expected http:// or https://");
    // A blank or an end of a line would end the request's first line.
    if (std::ranges::any_of(url, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }))
        return refuse(400, "\"url\": has a blank or a control character");
    const size_t host = scheme_end + 3, path = std::min(url.find_first_of("/?#", host), url.size());
    if (path == host) return refuse(400, "\"url\": has no host");
    if (url.substr(host, path - host).contains('@')) return refuse(400, "\"url\": names and passwords are not taken");
    Target target{url.substr(0, path), url.substr(path, url.find('#', path) - path)};
    if (!target.path.starts_with('/')) target.path.insert(0, "/");
    return target;
}

// Of a connection, which are not one request's: a page that could set them might hide a second request in its own.
bool is_of_connection(std::string_view name) {
    for (const char* own :
         {"connection", "keep-alive", "transfer-encoding", "content-length", "trailer", "te", "upgrade", "expect",
          "host", "proxy-authenticate", "proxy-authorization", "proxy-connection"})
        if (name == own) return true;
    return false;
}

// But for what is of the connection, of the other server's own pages, or said by this server itself.
bool is_handed_back(std::string name) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    for (const char* left : {"content-type", "set-cookie", "strict-transport-security", "vary",
                             "content-security-policy", "x-content-type-options"})
        if (name == left) return false;
    return !is_of_connection(name) && !name.starts_with("access-control-");
}

// What the request says that it wants handed on.
std::vector<std::pair<std::string, std::string>> headers_of(const HttpRequest& request) {
    // What this server hands back it may compress itself.
    std::vector<std::pair<std::string, std::string>> headers = {{"accept-encoding", "identity"}};
    for (const auto& [name, value] : request.headers) {
        if (!name.starts_with(kHeaderPrefix)) continue;
        const std::string theirs = name.substr(kHeaderPrefix.size());
        if (!theirs.empty() && theirs != "accept-encoding" && !is_of_connection(theirs))
            headers.emplace_back(theirs, value);
    }
    return headers;
}

}  // namespace

HttpReply hand_on(const HttpRequest& request, std::shared_ptr<const std::atomic<bool>> is_stopping) {
    if (request.method != "GET" && request.method != "POST" && request.method != "DELETE")
        return error_reply({405, fmt::format("{} does not go with this path", request.method)});
    const auto url = request.query.find("url");
    if (url == request.query.end()) return error_reply({400, "\"url\" is missing: /cors-proxy?url=http://..."});
    auto target = target_of(url->second);
    if (!target) return error_reply(target.error());
    OutgoingRequest outgoing{.method = request.method, .server = target->server, .target = target->path};
    outgoing.body = request.body;
    outgoing.headers = headers_of(request);
    auto reply = [&] {
        // Asked here while the request is there; the stream's own writer tells when its client left.
        const auto is_there = std::make_shared<std::atomic<bool>>(true);
        struct Gone {
            std::atomic<bool>& flag;
            ~Gone() { flag = false; }
        } gone{*is_there};
        return fetch(std::move(outgoing), [is_stopping, is_there, raw = &request] {
            return !*is_stopping && !(*is_there && raw->is_abandoned());
        });
    }();
    if (!reply) return error_reply({502, "the request was not answered: " + reply.error().message});
    std::erase_if(reply->headers, [](const auto& header) { return !is_handed_back(header.first); });
    // A page that comes this way is not this server's: it gets nothing of what its pages may do.
    reply->headers.emplace_back("Content-Security-Policy", "sandbox");
    reply->headers.emplace_back("X-Content-Type-Options", "nosniff");
    return std::move(*reply);
}

}  // namespace riftjit::server
