// A server of several models, each the one that ships with the project.
#pragma once

#include <thread>

#include "server/model_pool.h"
#include "tests/server/test_server.h"

namespace riftjit::server {

inline PoolModel storyteller(const std::string& name) {
    PoolModel model{.name = name, .aliases = {name + "-alias"}};
    model.open = [name]() -> Result<std::unique_ptr<ServedModel>> {
        auto served = std::make_unique<ServedModel>();
        RIFTJIT_TRY(engine, engine::open_engine(storyteller_options(1), [](const std::string&) {}));
        served->engine = std::make_unique<engine::Engine>(std::move(engine));
        served->scheduler = std::make_unique<engine::Scheduler>(*served->engine);
        ServiceOptions options;
        options.names = {name};
        RIFTJIT_TRY(service, Service::create(*served->engine, *served->scheduler, std::move(options)));
        served->service = std::move(service);
        return served;
    };
    return model;
}

class PoolServer {
public:
    PoolServer(PoolOptions options, std::vector<PoolModel> models)
        : pool_(std::make_shared<ModelPool>(std::move(options), std::move(models))) {
        ServerOptions server_options;
        server_options.port = 0;
        server_ = std::move(*Server::start(std::move(server_options)));
        server_->open(pool_);
    }
    ~PoolServer() { server_->stop(); }

    Reply ask(const std::string& path, const Json& body) {
        httplib::Client client("127.0.0.1", server_->port());
        client.set_read_timeout(60);
        return reply_of(client.Post(path, json_text(body), "application/json"));
    }
    Reply look(const std::string& path) {
        httplib::Client client("127.0.0.1", server_->port());
        return reply_of(client.Get(path));
    }
    uint16_t port() const { return server_->port(); }
    std::string status(const std::string& name) {
        const Json list = look("/models").json;
        for (const Json& model : list["data"])
            if (model["id"] == name) return model["status"]["value"];
        return "none";
    }
    bool becomes(const std::string& name, const std::string& wanted) {
        for (int i = 0; i < 600; ++i) {
            if (status(name) == wanted) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return false;
    }

private:
    std::shared_ptr<ModelPool> pool_;
    std::unique_ptr<Server> server_;
};

}  // namespace riftjit::server
