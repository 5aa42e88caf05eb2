// The server over a model that ships with the project, in this process, on a port of its own.
#pragma once

#include <gtest/gtest.h>
#include <httplib.h>

#include <string>

#include "host/json_text.h"
#include "server/server.h"

namespace riftjit::server {

inline engine::EngineOptions storyteller_options(uint32_t slots) {
    engine::EngineOptions options;
    options.model = std::string(RIFTJIT_SOURCE_DIR) + "/share/models/storyteller/storyteller-9m-q4_k_m.gguf";
    options.threads = 1;
    options.sequences = slots;
    options.context = 1024;
    return options;
}

// A template that writes calls of tools.
inline constexpr const char* kCallingTemplate = R"({%- for m in messages -%}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

// One for all tests of a suite: loading takes the longest.
class RunningServer {
public:
    explicit RunningServer(uint32_t slots = 4, ServiceOptions service_options = {}, ServerOptions server_options = {}) {
        auto opened = engine::open_engine(storyteller_options(slots), [](const std::string&) {});
        if (!opened) throw std::runtime_error(opened.error().message);
        engine_ = std::make_unique<engine::Engine>(std::move(*opened));
        scheduler_ = std::make_unique<engine::Scheduler>(*engine_);
        service_options.version = "test";
        auto service = Service::create(*engine_, *scheduler_, std::move(service_options));
        if (!service) throw std::runtime_error(service.error().message);
        service_ = std::move(*service);
        server_options.port = 0;
        auto server = Server::start(std::move(server_options));
        if (!server) throw std::runtime_error(server.error().message);
        server_ = std::move(*server);
        server_->open(*service_);
    }

    httplib::Client client() const {
        httplib::Client client("127.0.0.1", server_->port());
        client.set_read_timeout(60);
        client.set_tcp_nodelay(true);  // a head and its body are two writes
        return client;
    }
    engine::Engine& engine() { return *engine_; }
    engine::Scheduler& scheduler() { return *scheduler_; }
    Server& server() { return *server_; }
    const Service& service() { return *service_; }

private:
    std::unique_ptr<engine::Engine> engine_;
    std::unique_ptr<engine::Scheduler> scheduler_;
    std::unique_ptr<Service> service_;
    std::unique_ptr<Server> server_;
};

struct Reply {
    int status = 0;
    std::string type, text;
    Json json;
};

inline Reply reply_of(const httplib::Result& result) {
    if (!result) {
        ADD_FAILURE() << "no reply: " << httplib::to_string(result.error());
        return {};
    }
    return {result->status, result->get_header_value("Content-Type"), result->body, parse_json<Json>(result->body)};
}

inline Reply post_text(RunningServer& server, const std::string& path, const std::string& body) {
    auto client = server.client();
    return reply_of(client.Post(path, body, "application/json"));
}
inline Reply post(RunningServer& server, const std::string& path, const Json& body) {
    return post_text(server, path, json_text(body));
}
inline Reply get(RunningServer& server, const std::string& path) {
    auto client = server.client();
    return reply_of(client.Get(path));
}

// The objects of a stream of server-sent events; whether it ended with [DONE] is left in `is_done`.
inline std::vector<Json> events_of(const std::string& text, bool* is_done = nullptr) {
    std::vector<Json> events;
    bool done = false;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find("\n\n", at), text.size());
        std::string block = text.substr(at, end - at);
        at = end + 2;
        if (block.starts_with("event: ")) block.erase(0, block.find('\n') + 1);
        if (block.starts_with(":")) continue;
        EXPECT_TRUE(block.starts_with("data: ")) << block;
        EXPECT_FALSE(done) << "behind the end: " << block;
        block.erase(0, 6);
        if (block == "[DONE]") {
            done = true;
            continue;
        }
        events.push_back(parse_json<Json>(block));
        EXPECT_FALSE(events.back().is_discarded()) << block;
    }
    if (is_done != nullptr) *is_done = done;
    return events;
}

inline void expect_error(const Reply& reply, int status, const std::string& type, const std::string& text) {
    EXPECT_EQ(reply.status, status) << reply.text;
    ASSERT_TRUE(reply.json.is_object() && reply.json.contains("error")) << reply.text;
    const Json& error = reply.json["error"];
    ASSERT_TRUE(error.is_object()) << reply.text;
    EXPECT_EQ(error.value("code", Json()), status) << reply.text;
    EXPECT_EQ(error.value("type", Json()), type) << reply.text;
    EXPECT_NE(error.value("message", "").find(text), std::string::npos) << reply.text;
}

}  // namespace riftjit::server
