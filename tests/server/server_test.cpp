// What all endpoints share: paths, keys, limits, errors, clients that leave.
#include "server/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "engine/generation.h"
#include "tests/server/test_server.h"

namespace riftjit::server {
namespace server_test {

class ServerReplies : public testing::Test {
protected:
    static void SetUpTestSuite() {
        ServiceOptions options;
        options.shows_metrics = true;
        running_ = std::make_unique<RunningServer>(4, options);
    }
    static void TearDownTestSuite() { running_.reset(); }

    static std::unique_ptr<RunningServer> running_;
};
std::unique_ptr<RunningServer> ServerReplies::running_;

TEST_F(ServerReplies, SayThatItIsThere) {
    EXPECT_EQ(get(*running_, "/health").json, (Json{{"status", "ok"}}));
    EXPECT_EQ(get(*running_, "/v1/health").status, 200);
    const Reply page = get(*running_, "/");
    EXPECT_EQ(page.status, 200);
    EXPECT_TRUE(page.type.starts_with("text/html"));
    const Json props = get(*running_, "/props").json;
    EXPECT_EQ(props["total_slots"], 4);
    EXPECT_EQ(props["n_ctx"], 1024);
    EXPECT_TRUE(props["default_generation_settings"]["params"].contains("temperature"));
    const Json slots = get(*running_, "/slots").json;
    ASSERT_EQ(slots.size(), 4u);
    EXPECT_EQ(slots[0]["is_processing"], false);
    const Reply metrics = get(*running_, "/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_NE(metrics.text.find("\nllamacpp:requests_processing 0\n"), std::string::npos) << metrics.text;
    EXPECT_EQ(get(*running_, "/lora-adapters").json, Json::array());
}

TEST_F(ServerReplies, RefuseWhatIsNoPathOrNoMethod) {
    expect_error(get(*running_, "/nothing"), 404, "not_found_error", "File Not Found");
    expect_error(get(*running_, "/../../etc/passwd"), 404, "not_found_error", "File Not Found");
    expect_error(get(*running_, "/completion"), 405, "invalid_request_error", "GET does not go");
    expect_error(post(*running_, "/health", {}), 405, "invalid_request_error", "POST does not go");
    expect_error(get(*running_, "/" + std::string(7000, 'a')), 404, "not_found_error", "File Not Found");
    expect_error(get(*running_, "/" + std::string(9000, 'a')), 414, "invalid_request_error", "too long");
    for (const char* path : {"/v1/embeddings", "/rerank", "/v1/audio/transcriptions"})
        expect_error(post(*running_, path, Json::object()), 501, "not_supported_error", "");
    expect_error(post(*running_, "/infill", {{"input_prefix", "a"}, {"input_suffix", "b"}}), 501, "not_supported_error",
                 "prefix token is missing");
}

TEST_F(ServerReplies, RefuseBodiesThatAreNoObjects) {
    for (const char* body :
         {"", "{", "[1]", "\"text\"", "{\"a\": 1e999}", "{\"prompt\": NaN}", "{\"a\":\"\xff\"}", "{\"a\":\"\\ud800\"}"})
        expect_error(post_text(*running_, "/completion", body), 400, "invalid_request_error", "the body");
    expect_error(post_text(*running_, "/completion", std::string(100000, '[') + std::string(100000, ']')), 400,
                 "invalid_request_error", "nests deeper than 1000 levels");
    EXPECT_EQ(get(*running_, "/health").status, 200);
}

TEST_F(ServerReplies, NameTheFieldThatIsWrong) {
    const std::pair<const char*, Json> fields[] = {{"n_predict", "12"},
                                                   {"n_predict", -2},
                                                   {"n_predict", 1e18},
                                                   {"n_predict", 1.5},
                                                   {"n_predict", true},
                                                   {"temperature", "hot"},
                                                   {"temperature", -1},
                                                   {"top_p", 1.5},
                                                   {"top_k", Json::array()},
                                                   {"seed", -2},
                                                   {"seed", 4294967296u},
                                                   {"n_keep", -2},
                                                   {"n_discard", -1},
                                                   {"id_slot", 4},
                                                   {"id_slot", -7},
                                                   {"stream", "yes"},
                                                   {"stop", 5},
                                                   {"stop", {1}},
                                                   {"n_probs", -1},
                                                   {"repeat_penalty", 0},
                                                   {"samplers", {"magic"}},
                                                   {"cache_prompt", 1},
                                                   {"t_max_predict_ms", -2},
                                                   {"logit_bias", 3},
                                                   {"n_predict", 9007199254740993u},
                                                   {"stream_options", 1},
                                                   {"response_fields", "x"}};
    for (const auto& [name, value] : fields) {
        Json body = {{"prompt", "Once"}, {"n_predict", 2}};
        body[name] = value;
        expect_error(post(*running_, "/completion", body), 400, "invalid_request_error", fmt::format("\"{}\"", name));
    }
    const Json prompts[] = {nullptr,
                            5,
                            true,
                            Json::array({1, 2, 100000}),
                            Json::array({1, -1}),
                            Json::array({true}),
                            Json{{"prompt_string", 1}},
                            Json::array({1.5})};
    for (const Json& prompt : prompts)
        expect_error(post(*running_, "/completion", {{"prompt", prompt}}), 400, "invalid_request_error", "\"prompt\"");
}

TEST_F(ServerReplies, TellBothCountsOfAPromptThatDoesNotFit) {
    std::string text;
    for (int i = 0; i < 1100; ++i) text += " fox";
    for (const auto& [path, body] :
         {std::pair<const char*, Json>{"/completion", {{"prompt", text}}},
          {"/v1/completions", {{"prompt", text}}},
          {"/v1/chat/completions", {{"messages", Json::array({{{"role", "user"}, {"content", text}}})}}}}) {
        const Reply reply = post(*running_, path, body);
        expect_error(reply, 400, "exceed_context_size_error", "exceeds the available context size (1024 tokens)");
        EXPECT_GT(reply.json["error"]["n_prompt_tokens"], 1024);
        EXPECT_EQ(reply.json["error"]["n_ctx"], 1024);
        EXPECT_NE(reply.text.find("context_length_exceeded"), std::string::npos);
    }
    const std::vector<int32_t> full(1024, 300);
    expect_error(post(*running_, "/completion", {{"prompt", full}}), 400, "exceed_context_size_error", "1024 tokens");
    const std::vector<int32_t> nearly_full(1023, 300);
    EXPECT_EQ(post(*running_, "/completion", {{"prompt", nearly_full}, {"n_predict", 1}}).status, 200);
}

TEST_F(ServerReplies, GoOnWithAnAnswerInPartsAsParagraphs) {
    const auto prompt_of = [&](const Json& content) {
        const Json messages = {{{"role", "user"}, {"content", "Go on"}}, {{"role", "assistant"}, {"content", content}}};
        return post(*running_, "/apply-template", {{"messages", messages}}).json["prompt"];
    };
    const Json parts = {{{"type", "text"}, {"text", "One."}}, {{"type", "text"}, {"text", "Two"}}};
    const Json told = prompt_of(parts);
    ASSERT_TRUE(told.is_string());
    EXPECT_EQ(told, prompt_of("One.\n\nTwo"));
    EXPECT_TRUE(told.get<std::string>().ends_with("One.\n\nTwo"));
}

TEST_F(ServerReplies, SayThatImagesAreNotTaken) {
    const Json image = {{"type", "image"}, {"source", {{"type", "base64"}, {"data", "AAAA"}}}};
    const Json result = {{"type", "tool_result"}, {"tool_use_id", "t"}, {"content", Json::array({image})}};
    const std::pair<const char*, Json> kRequests[] = {
        {"/v1/chat/completions", {{"type", "image_url"}, {"image_url", {{"url", "data:image/png;base64,AAAA"}}}}},
        {"/v1/messages", image},
        {"/v1/messages", result}};
    for (const auto& [path, part] : kRequests)
        expect_error(post(*running_, path,
                          {{"max_tokens", 2},
                           {"messages", Json::array({{{"role", "user"}, {"content", Json::array({part})}}})}}),
                     501, "not_supported_error", "image input is not supported");
}

TEST_F(ServerReplies, AreThoseOfGenerationAtTemperatureZero) {
    auto options = storyteller_options(0);
    auto alone = engine::open_engine(options, [](const std::string&) {});
    ASSERT_TRUE(alone);
    engine::Context context(*alone->session);
    std::vector<std::string> expected;
    const std::vector<std::string> prompts = {"Once upon a time", "The fox", "A lamp stood", "Lily and Tom went"};
    for (const std::string& prompt : prompts) {
        ASSERT_TRUE(context.truncate(0));
        const auto ids = alone->tokenizer.encode(prompt, models::ParseSpecial::yes, models::AddBos::yes);
        auto sampler = engine::make_sampler(*alone, {.parameters = {.temperature = 0}}, [](const std::string&) {});
        engine::Generation generation(context, alone->tokenizer, *sampler, *ids, {.max_tokens = 24});
        for (auto step = generation.next(); !step->finish;) step = generation.next();
        expected.push_back(generation.text());
    }
    std::vector<std::thread> clients;
    std::vector<std::string> texts(64);
    for (size_t i = 0; i < texts.size(); ++i)
        clients.emplace_back([&, i] {
            const bool streams = i % 2 == 1;
            const Reply reply =
                post(*running_, "/completion",
                     {{"prompt", prompts[i % 4]}, {"n_predict", 24}, {"temperature", 0}, {"stream", streams}});
            EXPECT_EQ(reply.status, 200) << reply.text;
            if (!streams) {
                texts[i] = reply.json.value("content", "");
                return;
            }
            for (const Json& event : events_of(reply.text)) texts[i] += event.value("content", "");
        });
    for (std::thread& client : clients) client.join();
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], expected[i % 4]) << i;
}

// A connection of our own, for what no client would send.
class RawConnection {
public:
    explicit RawConnection(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~RawConnection() { close(socket_); }
    void send(const std::string& bytes) { ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
    std::string read_until(const std::string& mark) {
        std::string text;
        char buffer[4096];
        while (text.find(mark) == text.npos) {
            const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
            if (count <= 0) break;
            text.append(buffer, size_t(count));
        }
        return text;
    }
    std::string read_all() { return read_until("never"); }

private:
    int socket_;
};

std::string raw_post(const std::string& path, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", path, body.size(), body);
}

TEST_F(ServerReplies, FreeTheSlotOfAClientThatLeft) {
    for (const bool streams : {true, false}) {
        {
            RawConnection connection(running_->server().port());
            connection.send(raw_post(
                "/completion",
                json_text(Json{{"prompt", "Once"}, {"stream", streams}, {"n_predict", 900}, {"ignore_eos", true}})));
            if (streams) {
                EXPECT_NE(connection.read_until("\"stop\":false"), "");
            }
            for (int i = 0; i < 200 && running_->scheduler().totals().processing == 0; ++i) usleep(5000);
            EXPECT_EQ(running_->scheduler().totals().processing, 1u);
        }
        for (int i = 0; i < 400 && running_->scheduler().totals().processing != 0; ++i) usleep(5000);
        EXPECT_EQ(running_->scheduler().totals().processing, 0u) << streams;
    }
}

TEST_F(ServerReplies, NeverTakeABodyForARequest) {
    const std::string smuggled = "GET /props HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::string requests[] = {
        fmt::format("GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", smuggled.size(), smuggled),
        fmt::format("POST /completion HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{}",
                    smuggled.size(), smuggled),
        fmt::format("POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{}", smuggled),
        fmt::format("POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{}", smuggled),
        fmt::format("POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n{}",
                    smuggled),
        "BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled,
        "rubbish\r\n\r\n" + smuggled};
    for (const std::string& request : requests) {
        RawConnection connection(running_->server().port());
        connection.send(request);
        const std::string reply = connection.read_all();
        EXPECT_TRUE(reply.starts_with("HTTP/1.1 ")) << request << reply;
        EXPECT_EQ(reply.find("total_slots"), std::string::npos) << request << reply;
    }
    RawConnection without_body(running_->server().port());
    without_body.send("POST /completion HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string both = without_body.read_until("\"ok\"");
    EXPECT_TRUE(both.starts_with("HTTP/1.1 400 ")) << both;
    EXPECT_NE(both.find("{\"status\":\"ok\"}"), std::string::npos) << both;
}

TEST(ServerLimits, AreKept) {
    ServerOptions options;
    options.api_keys = {"secret", "other"};
    options.body_limit = 2000;
    options.prefix = "/api-v1";
    options.cors_origins = "https://a.example,https://b.example";
    RunningServer running(1, {}, options);
    auto client = running.client();
    EXPECT_EQ(client.Get("/api-v1/health")->status, 200);
    EXPECT_EQ(client.Get("/health")->status, 401);
    expect_error(reply_of(client.Get("/api-v1/props")), 401, "authentication_error", "Invalid API Key");
    expect_error(reply_of(client.Get("/api-v1/props", {{"Authorization", "Bearer secre"}})), 401,
                 "authentication_error", "");
    expect_error(reply_of(client.Get("/api-v1/props", {{"Authorization", "Bearer "}})), 401, "authentication_error",
                 "");
    EXPECT_EQ(client.Get("/api-v1/props", {{"Authorization", "Bearer secret"}})->status, 200);
    EXPECT_EQ(client.Get("/api-v1/props", {{"X-Api-Key", "other"}})->status, 200);
    EXPECT_EQ(client.Get("/props", {{"X-Api-Key", "other"}})->status, 404);
    const httplib::Headers key = {{"X-Api-Key", "other"}};
    const std::string long_body = "{\"prompt\": \"" + std::string(3000, 'a') + "\"}";
    expect_error(reply_of(client.Post("/api-v1/completion", key, long_body, "application/json")), 413,
                 "invalid_request_error", "--body-limit");
    const auto pieces = [&](size_t, httplib::DataSink& sink) {
        sink.write(long_body.data(), long_body.size());
        sink.done();
        return true;
    };
    expect_error(reply_of(client.Post("/api-v1/completion", key, pieces, "application/json")), 413,
                 "invalid_request_error", "--body-limit");
    const auto allowed = client.Get("/api-v1/health", {{"Origin", "https://b.example"}});
    EXPECT_EQ(allowed->get_header_value("Access-Control-Allow-Origin"), "https://b.example");
    EXPECT_EQ(client.Get("/api-v1/health", {{"Origin", "https://c.example"}})
                  ->get_header_value("Access-Control-Allow-Origin"),
              "");
    const auto preflight = client.Options("/api-v1/completion", {{"Origin", "https://a.example"}});
    EXPECT_EQ(preflight->status, 200);
    EXPECT_EQ(preflight->get_header_value("Access-Control-Allow-Headers"), "*");
}

TEST(ServerLimits, SayThatTheModelIsLoading) {
    ServerOptions options;
    options.port = 0;
    auto server = Server::start(options);
    ASSERT_TRUE(server) << server.error().message;
    httplib::Client client("127.0.0.1", (*server)->port());
    expect_error(reply_of(client.Get("/health")), 503, "unavailable_error", "Loading model");
    expect_error(reply_of(client.Post("/completion", "{}", "application/json")), 503, "unavailable_error", "Loading");
    options.port = (*server)->port();
    const auto taken = Server::start(options);
    ASSERT_FALSE(taken);
    EXPECT_NE(taken.error().message.find(fmt::format("127.0.0.1:{} cannot be listened to", options.port)),
              std::string::npos);
}

TEST(ServerLimits, StopWithAStreamOnItsWay) {
    RunningServer running(1);
    std::string text;
    std::thread reader([&] {
        text = post(running, "/v1/completions",
                    {{"prompt", "Once"}, {"stream", true}, {"max_tokens", 900}, {"ignore_eos", true}})
                   .text;
    });
    for (int i = 0; i < 400 && running.scheduler().totals().processing == 0; ++i) usleep(5000);
    running.server().stop();
    reader.join();
    const auto events = events_of(text);
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back()["error"]["code"], 503) << text;
}

}  // namespace server_test
}  // namespace riftjit::server
