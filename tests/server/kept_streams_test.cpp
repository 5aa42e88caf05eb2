// Streams that outlive their clients.
#include "server/kept_streams.h"

#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "tests/server/pool_server.h"

namespace riftjit::server {
namespace kept_streams_test {

using namespace std::chrono_literals;

constexpr const char* kStream = "/v1/stream?conv_id=talk%3A%3Aorg%2Fmodel";
const httplib::Headers kHeaders = {{"X-Conversation-Id", "talk::org/model"}};

Json streamed(int64_t tokens) {
    return {{"prompt", "Once upon a time"}, {"n_predict", tokens}, {"seed", 5}, {"ignore_eos", true}, {"stream", true}};
}

Reply remove(RunningServer& running, const std::string& path) {
    auto client = running.client();
    return reply_of(client.Delete(path));
}

Reply post_kept(RunningServer& running, const Json& body, const httplib::Headers& headers = kHeaders) {
    auto client = running.client();
    return reply_of(client.Post("/completion", headers, json_text(body), "application/json"));
}

// A client that leaves once the stream has begun.
void ask_and_leave(uint16_t port, const Json& body) {
    httplib::Client client("127.0.0.1", port);
    httplib::Request request;
    request.method = "POST";
    request.path = "/completion";
    request.headers = kHeaders;
    request.set_header("Content-Type", "application/json");
    request.body = json_text(body);
    request.content_receiver = [](const char*, size_t, uint64_t, uint64_t) { return false; };
    client.send(request);
}

// Tokens of the requests that are over; 0: none is.
uint64_t tokens_of_one(RunningServer& running) {
    for (int i = 0; i < 600; ++i) {
        if (const uint64_t tokens = running.scheduler().totals().predicted_tokens; tokens > 0) return tokens;
        std::this_thread::sleep_for(50ms);
    }
    return 0;
}

TEST(KeptStreams, AreReadAgainFromAnyByte) {
    RunningServer running(2);
    const std::string text = post_kept(running, streamed(12)).text;
    EXPECT_EQ(events_of(text).back()["tokens_predicted"], 12);
    const Reply again = get(running, kStream);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.type, "text/event-stream");
    EXPECT_EQ(again.text, text);
    EXPECT_EQ(get(running, std::string(kStream) + "&from=100").text, text.substr(100));
    EXPECT_EQ(get(running, fmt::format("{}&from={}", kStream, text.size())).text, "");
    EXPECT_EQ(remove(running, kStream).status, 204);
    expect_error(get(running, kStream), 404, "not_found_error", "not found");
    EXPECT_EQ(remove(running, kStream).status, 204) << "what is gone may be forgotten again";
}

TEST(KeptStreams, AreWrittenOnAfterTheirClientLeft) {
    RunningServer running(1);
    ask_and_leave(running.server().port(), streamed(60));
    const Reply whole = get(running, kStream);  // follows it to its end
    ASSERT_EQ(whole.status, 200) << whole.text;
    const std::vector<Json> events = events_of(whole.text);
    EXPECT_EQ(events.back()["tokens_predicted"], 60) << whole.text;
    Json alone = streamed(60);
    alone["stream"] = false;
    std::string text;
    for (const Json& event : events) text += event["content"].get<std::string>();
    EXPECT_EQ(text, post(running, "/completion", alone).json["content"]);
}

TEST(KeptStreams, EndWhereTheyAreDeletedOrAskedForAnew) {
    RunningServer running(1);
    ask_and_leave(running.server().port(), streamed(900));
    EXPECT_EQ(remove(running, kStream).status, 204);
    const uint64_t tokens = tokens_of_one(running);
    EXPECT_GT(tokens, 0u);
    EXPECT_LT(tokens, 900u);

    ask_and_leave(running.server().port(), streamed(900));
    const std::string text = post_kept(running, streamed(3)).text;  // in the only slot
    EXPECT_EQ(get(running, kStream).text, text);
}

TEST(KeptStreams, AreToldOfToWhoKnowsTheirIds) {
    RunningServer running(1);
    const std::string text = post_kept(running, streamed(2)).text;
    const auto found = [&](const Json& ids) {
        return post(running, "/v1/streams/lookup", {{"conversation_ids", ids}}).json;
    };
    const Json told = found({"other", "talk"});
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0]["conversation_id"], "talk::org/model");
    EXPECT_EQ(told[0]["is_done"], true);
    EXPECT_EQ(told[0]["total_bytes"], text.size());
    EXPECT_EQ(found({"tal", "", "talk::org"}), Json::array());
    EXPECT_EQ(found(Json::array()), Json::array());
}

TEST(KeptStreams, AreThoseOfStreamsWithAnId) {
    RunningServer running(1);
    Json whole = streamed(2);
    whole["stream"] = false;
    EXPECT_EQ(post_kept(running, whole).json["tokens_predicted"], 2);
    expect_error(get(running, kStream), 404, "not_found_error", "not found");
    Json odd = streamed(2);
    odd["n_predict"] = "two";
    expect_error(post_kept(running, odd), 400, "invalid_request_error", "n_predict");
    expect_error(get(running, kStream), 404, "not_found_error", "not found");
    expect_error(post_kept(running, streamed(2), {{"X-Conversation-Id", std::string(600, 'x')}}), 400,
                 "invalid_request_error", "600 bytes");
    expect_error(get(running, "/v1/stream"), 400, "invalid_request_error", "conv_id");
    expect_error(remove(running, "/v1/stream"), 400, "invalid_request_error", "conv_id");
    post_kept(running, streamed(2));
    for (const char* from : {"-1", "x", "1x", "99999999999999999999999"})
        expect_error(get(running, fmt::format("{}&from={}", kStream, from)), 400, "invalid_request_error", "from");
}

TEST(KeptStreams, WaitForTheirModel) {
    std::promise<void> gate;
    PoolModel model = storyteller("a");
    model.open = [open = model.open, may_load = gate.get_future().share()] {
        may_load.wait();
        return open();
    };
    std::vector<PoolModel> models;
    models.push_back(std::move(model));
    PoolServer server({}, std::move(models));
    Json request = streamed(4);
    request["model"] = "a";
    const auto ask = [&] {
        httplib::Client client("127.0.0.1", server.port());
        client.set_read_timeout(60);
        return reply_of(client.Post("/completion", kHeaders, json_text(request), "application/json"));
    };
    auto cancelled = std::async(std::launch::async, ask);
    EXPECT_TRUE(server.becomes("a", "loading"));
    expect_error(server.look(kStream), 503, "unavailable_error", "Loading model");
    httplib::Client client("127.0.0.1", server.port());
    EXPECT_EQ(reply_of(client.Delete(kStream)).status, 204);
    expect_error(cancelled.get(), 400, "invalid_request_error", "cancelled");
    expect_error(server.look(kStream), 404, "not_found_error", "not found");

    auto waiting = std::async(std::launch::async, ask);
    while (server.look(kStream).status == 404) std::this_thread::sleep_for(1ms);
    gate.set_value();
    const Reply answered = waiting.get();
    EXPECT_EQ(answered.status, 200) << answered.text;
    EXPECT_EQ(server.look(kStream).text, answered.text);
}

TEST(KeptStreams, ForgetTheirBeginningWhereTheyAreLong) {
    KeptStream stream("a");
    const std::string piece(1000, 'x');
    std::string bytes;
    for (size_t i = 0; i <= KeptStream::kMostBytes / piece.size(); ++i) stream.append(piece);
    EXPECT_EQ(stream.read(0, bytes, 0ms), KeptStream::Read::forgotten);
    const uint64_t total = stream.json()["total_bytes"];
    EXPECT_EQ(total, (KeptStream::kMostBytes / piece.size() + 1) * piece.size());
    EXPECT_EQ(stream.read(total - 5, bytes, 0ms), KeptStream::Read::some);
    EXPECT_EQ(bytes, "xxxxx");
    EXPECT_EQ(stream.read(total, bytes, 0ms), KeptStream::Read::none);
    stream.finish();
    EXPECT_EQ(stream.read(total, bytes, 0ms), KeptStream::Read::end);
    stream.append("more");
    EXPECT_EQ(stream.read(total, bytes, 0ms), KeptStream::Read::end);
}

}  // namespace kept_streams_test
}  // namespace riftjit::server
