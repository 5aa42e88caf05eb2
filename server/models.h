// Which model answers a request: one, or one of several by its name.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "server/service.h"

namespace riftjit::server {

// A model is not unloaded while somebody holds one.
using ModelLease = std::shared_ptr<const Service>;

class Models {
public:
    virtual ~Models() = default;
    // A reply that takes no model of its own; nullopt: a model's routes answer. `path`: without the prefix.
    virtual std::optional<HttpReply> own_reply(const HttpRequest& request, const std::string& path) = 0;
    // The model that the request names, loaded if it is not. May take as long as that does; ends when the client
    // leaves.
    virtual Outcome<ModelLease> model_for(const HttpRequest& request, const std::string& path) = 0;
    virtual void stop() = 0;  // answers that run end as interrupted
};

// Does nothing else than answer.
class OneModel : public Models {
public:
    explicit OneModel(const Service& service) : service_(service) {}
    std::optional<HttpReply> own_reply(const HttpRequest&, const std::string&) override { return std::nullopt; }
    Outcome<ModelLease> model_for(const HttpRequest&, const std::string&) override {
        return ModelLease(&service_, [](const Service*) {});
    }
    void stop() override { service_.scheduler().stop(); }

private:
    const Service& service_;
};

}  // namespace riftjit::server
