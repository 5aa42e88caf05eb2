#include "server/server.h"

#include <algorithm>
#include <mutex>

#include "server/agent_api.h"
#include "server/apis.h"
#include "server/kept_streams.h"
#include "server/origins.h"
#include "server/page.h"

namespace riftjit::server {

namespace {

// Takes as long whatever the texts are.
bool is_same_secret(std::string_view one, std::string_view other) {
    unsigned difference = one.size() != other.size();
    for (size_t i = 0; i < one.size(); ++i) difference |= unsigned(one[i] ^ (i < other.size() ? other[i] : 0));
    return difference == 0;
}

struct RoutedRequest : HttpRequest {
    RoutedRequest(const HttpRequest& given, std::string id) : HttpRequest(given), given_(&given) {
        query["id"] = std::move(id);
    }
    bool is_abandoned() const override { return given_->is_abandoned(); }

private:
    const HttpRequest* given_;
};

// Whose reply is wanted though its client leaves.
struct KeptRequest : HttpRequest {
    KeptRequest(const HttpRequest& given, KeptStreams::Pointer stream)
        : HttpRequest(given), stream_(std::move(stream)) {}
    bool is_abandoned() const override { return stream_->is_cancelled(); }

private:
    KeptStreams::Pointer stream_;
};

}  // namespace

class Server::Router {
public:
    explicit Router(ServerOptions options)
        : options_(std::move(options)),
          agent_({options_.toolbox, options_.hands_on, options_.cors_origins, !options_.api_keys.empty()}) {}

    const ServerOptions& options() const { return options_; }
    void open(std::shared_ptr<Models> models) {
        const std::lock_guard lock(mutex_);
        models_ = std::move(models);
    }
    void end_streams() { streams_.stop(); }
    std::shared_ptr<Models> close() {
        const std::lock_guard lock(mutex_);
        return std::exchange(models_, nullptr);
    }

    void stop_agent() { agent_.stop(); }

    // By what the headers say.
    bool refuses(const HttpRequest& request, HttpReply& reply) const {
        const std::string path = path_of(request);
        const bool is_open = request.method == "OPTIONS" || path == "/health" || path == "/v1/health" || path == "/";
        if (is_open || options_.api_keys.empty()) return false;
        std::string key;
        if (const std::string* bearer = request.header("authorization");
            bearer != nullptr && bearer->starts_with("Bearer "))
            key = bearer->substr(7);
        if (const std::string* plain = request.header("x-api-key"); plain != nullptr && key.empty()) key = *plain;
        bool is_known = false;
        for (const std::string& known : options_.api_keys) is_known |= is_same_secret(known, key);
        if (is_known) return false;
        reply = with_origin(request, error_reply({401, "Invalid API Key"}));
        return true;
    }

    HttpReply handle(const HttpRequest& request) const {
        HttpReply reply = with_origin(request, route(request));
        if (options_.log) options_.log(fmt::format("{} {} {}", request.method, request.path, reply.status));
        return reply;
    }

    static HttpReply refusal(int status) {
        switch (status) {
            case 404:
                return error_reply({404, "File Not Found"});
            case 413:
                return error_reply({413, "the body is longer than is allowed (--body-limit)"});
            case 414:
                return error_reply({414, "the path is too long"});
            case 415:
                return error_reply({415, "the body: expected JSON, neither compressed nor a form"});
            case 500:
                return error_reply({500, "an internal fault; the server goes on"});
            default:
                return error_reply({status < 400 ? 400 : status, "the request is not HTTP as it should be"});
        }
    }

private:
    // Without the prefix; empty: outside it.
    std::string path_of(const HttpRequest& request) const {
        if (!request.path.starts_with(options_.prefix)) return {};
        std::string path = request.path.substr(options_.prefix.size());
        return path.empty() ? "/" : path;
    }

    HttpReply route(const HttpRequest& request) const {
        const std::string path = path_of(request);
        if (request.method == "OPTIONS") return HttpReply{.status = 200, .body = "", .type = "text/html"};
        if (options_.has_page && request.method != "POST" && path == "/")
            return HttpReply{.body = std::string(chat_page()), .type = "text/html; charset=utf-8"};
        const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
        const std::shared_ptr<Models> models = [this] {
            const std::lock_guard lock(mutex_);
            return models_;
        }();
        if (auto kept = streams_.own_reply(request, path)) return std::move(*kept);
        if (models == nullptr) return error_reply({503, "Loading model"});
        if (auto own = agent_.reply(request, path)) return std::move(*own);
        if (auto own = models->own_reply(request, path)) return std::move(*own);
        const FoundRoute found = find_route(method, path);
        if (found.route == nullptr && found.is_known)
            return error_reply({405, fmt::format("{} does not go with this path", request.method)});
        if (found.route == nullptr) return refusal(404);
        const auto begun = streams_.begin(request);
        if (!begun) return error_reply(begun.error());
        const KeptStreams::Pointer& stream = *begun;
        if (stream == nullptr) return answer(*models, request, path, found);
        HttpReply reply = answer(*models, KeptRequest(request, stream), path, found);
        if (stream->is_cancelled()) reply = error_reply({400, "the request was cancelled (DELETE /v1/stream)"});
        if (reply.stream) return streams_.keep(stream, std::move(reply));
        streams_.forget(stream);
        return reply;
    }

    static HttpReply answer(Models& models, const HttpRequest& request, const std::string& path,
                            const FoundRoute& found) {
        auto model = models.model_for(request, path);
        if (!model) return path.starts_with("/api/") ? ollama_error(model.error()) : error_reply(model.error());
        HttpReply reply = found.route->handler(**model, RoutedRequest(request, found.id));
        // What is still to be said takes the model, too.
        if (reply.stream)
            reply.stream = [lease = *model, say = std::move(reply.stream)](HttpWriter& writer) { say(writer); };
        return reply;
    }

    HttpReply with_origin(const HttpRequest& request, HttpReply reply) const {
        const std::string* origin = request.header("origin");
        const std::string& allowed = options_.cors_origins;
        if (origin == nullptr || allowed.empty()) return reply;
        if (!is_listed_origin(allowed, *origin)) return reply;
        reply.headers.emplace_back("Access-Control-Allow-Origin", *origin);
        reply.headers.emplace_back("Vary", "Origin");
        if (request.method == "OPTIONS") {
            reply.headers.emplace_back("Access-Control-Allow-Credentials", "true");
            reply.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
            reply.headers.emplace_back("Access-Control-Allow-Headers", "*");
        }
        return reply;
    }

    mutable std::mutex mutex_;
    std::shared_ptr<Models> models_;
    const ServerOptions options_;
    mutable KeptStreams streams_;
    AgentRoutes agent_;
};

Server::Server(std::unique_ptr<Router> router, std::unique_ptr<HttpServer> http)
    : router_(std::move(router)), http_(std::move(http)) {}
Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
    auto router = std::make_unique<Router>(std::move(options));
    const Router* routes = router.get();
    HttpOptions http_options{.hosts = routes->options().hosts,
                             .port = routes->options().port,
                             .threads = routes->options().threads,
                             .body_limit = routes->options().body_limit,
                             .timeout = routes->options().timeout};
    http_options.refuses = [routes](const HttpRequest& request, HttpReply& reply) {
        return routes->refuses(request, reply);
    };
    http_options.handle = [routes](const HttpRequest& request) { return routes->handle(request); };
    http_options.refusal = Router::refusal;
    RIFTJIT_TRY(http, listen(std::move(http_options)));
    return std::unique_ptr<Server>(new Server(std::move(router), std::move(http)));
}

void Server::open(const Service& service) { router_->open(std::make_shared<OneModel>(service)); }
void Server::open(std::shared_ptr<Models> models) { router_->open(std::move(models)); }
uint16_t Server::port() const { return http_->port(); }

void Server::stop() {
    const std::shared_ptr<Models> models = router_->close();
    if (models) models->stop();
    router_->stop_agent();
    http_->stop();
    router_->end_streams();
}

}  // namespace riftjit::server
