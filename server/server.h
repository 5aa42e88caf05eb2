// The HTTP server of a model: OpenAI's, llama.cpp's, Ollama's and Anthropic's endpoints over one scheduler.
#pragma once

#include <memory>

#include "server/models.h"
#include "server/tools/toolbox.h"

namespace riftjit::server {

struct ServerOptions {
    std::vector<std::string> api_keys;            // one of which a request must have; empty: none
    std::vector<std::string> hosts{"127.0.0.1"};  // as HttpOptions
    uint16_t port = 8080;                         // 0: any that is free
    std::string prefix;                           // before every path
    uint32_t threads = 512;
    uint64_t body_limit = 32 << 20;
    std::chrono::seconds timeout{3600};
    std::string cors_origins = "*";  // origins divided by commas; empty: none
    bool has_page = true;
    std::shared_ptr<Toolbox> toolbox;             // of /tools; null: none
    bool hands_on = false;                        // /cors-proxy: requests of the page to other servers
    std::function<void(const std::string&)> log;  // a line for each request; may be null
};

class Server {
public:
    // Until open() it answers that the model is loading.
    static Result<std::unique_ptr<Server>> start(ServerOptions options);
    ~Server();  // as stop()

    void open(const Service& service);  // which must outlive it
    void open(std::shared_ptr<Models> models);
    uint16_t port() const;
    // Takes no more requests; answers on their way end with an error.
    void stop();

private:
    class Router;
    Server(std::unique_ptr<Router> router, std::unique_ptr<HttpServer> http);

    std::unique_ptr<Router> router_;
    std::unique_ptr<HttpServer> http_;
};

}  // namespace riftjit::server
