// What each API's replies look like, beyond what its clients look at (clients_test.py).
#include <thread>

#include "server/chat.h"
#include "tests/server/test_server.h"

namespace riftjit::server {
namespace apis_test {

class Apis : public testing::Test {
protected:
    static void SetUpTestSuite() { running_ = std::make_unique<RunningServer>(4); }
    static void TearDownTestSuite() { running_.reset(); }

    static Reply ask(const std::string& path, const Json& body) { return post(*running_, path, body); }
    static Json user(const std::string& text) { return Json::array({{{"role", "user"}, {"content", text}}}); }

    static std::unique_ptr<RunningServer> running_;
};
std::unique_ptr<RunningServer> Apis::running_;

TEST_F(Apis, CompletionsHaveWhatLlamaCppHas) {
    const Json body = {
        {"prompt", "Once upon a time"}, {"n_predict", 5}, {"temperature", 0}, {"n_probs", 3}, {"return_tokens", true}};
    const Json reply = ask("/completion", body).json;
    EXPECT_EQ(reply["tokens"].size(), 5u);
    EXPECT_EQ(reply["stop_type"], "limit");
    EXPECT_EQ(reply["tokens_predicted"], 5);
    EXPECT_EQ(reply["timings"]["predicted_n"], 5);
    EXPECT_EQ(reply["generation_settings"]["n_predict"], 5);
    ASSERT_EQ(reply["completion_probabilities"].size(), 5u);
    std::string joined;
    for (const Json& token : reply["completion_probabilities"]) {
        joined += token["token"];
        EXPECT_EQ(token["top_logprobs"].size(), 3u);
        EXPECT_EQ(token["top_logprobs"][0]["id"], token["id"]);
        EXPECT_LE(token["logprob"], 0);
        EXPECT_EQ(token["bytes"].size(), token["token"].get_ref<const std::string&>().size());
    }
    EXPECT_EQ(joined, reply["content"]);

    Json chosen = body;
    chosen["response_fields"] = {"content", "generation_settings/n_predict", "nothing/at/all"};
    EXPECT_EQ(ask("/completion", chosen).json,
              (Json{{"content", reply["content"]}, {"generation_settings/n_predict", 5}}));

    Json streamed = body;
    streamed["stream"] = true;
    std::string text;
    size_t chances = 0;
    bool is_last = false;
    for (const Json& event : events_of(ask("/completion", streamed).text)) {
        EXPECT_FALSE(is_last);
        is_last = event["stop"];
        text += event["content"];
        chances += event.value("completion_probabilities", Json::array()).size();
        EXPECT_TRUE(is_last || !event["tokens"].empty());
    }
    EXPECT_TRUE(is_last);
    EXPECT_EQ(text, reply["content"]);
    EXPECT_EQ(chances, 5u);
}

TEST_F(Apis, PromptsMixTextAndIds) {
    const Json ids = ask("/tokenize", {{"content", "Once upon a time"}, {"add_special", true}}).json["tokens"];
    const auto content = [&](const Json& prompt) {
        return ask("/completion", {{"prompt", prompt}, {"n_predict", 6}, {"temperature", 0}}).json["content"];
    };
    const Json expected = content("Once upon a time");
    EXPECT_EQ(content(ids), expected);
    EXPECT_EQ(content(Json{{"prompt_string", "Once upon a time"}}), expected);
    Json mixed = Json::array({"Once"});
    const Json first = ask("/tokenize", {{"content", "Once"}, {"add_special", true}}).json["tokens"];
    for (size_t i = first.size(); i < ids.size(); ++i) mixed.push_back(ids[i]);
    EXPECT_EQ(content(mixed), expected);
    const Json several =
        ask("/completion", {{"prompt", {"Once upon a time", ids}}, {"n_predict", 6}, {"temperature", 0}}).json;
    ASSERT_EQ(several.size(), 2u);
    EXPECT_EQ(several[0]["content"], expected);
    EXPECT_EQ(several[1]["content"], expected);
    EXPECT_EQ(several[1]["index"], 1);
}

TEST_F(Apis, TokensGoThereAndBack) {
    for (const std::string text : {"Once upon a time", "", "\xC3\xA4\xF0\x9F\xA6\x8A!", "  two  spaces\n"}) {
        const Json ids = ask("/tokenize", {{"content", text}}).json["tokens"];
        EXPECT_EQ(ask("/detokenize", {{"tokens", ids}}).json["content"], text);
        const Json pieces = ask("/tokenize", {{"content", text}, {"with_pieces", true}}).json["tokens"];
        ASSERT_EQ(pieces.size(), ids.size());
        for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(pieces[i]["id"], ids[i]);
    }
}

TEST_F(Apis, ProgressIsToldOfPrompts) {
    std::string text;
    for (int i = 0; i < 600; ++i) text += " fox";
    const Reply reply =
        ask("/completion",
            {{"prompt", text}, {"n_predict", 1}, {"stream", true}, {"return_progress", true}, {"cache_prompt", false}});
    std::vector<uint64_t> processed;
    for (const Json& event : events_of(reply.text))
        if (event.contains("prompt_progress")) processed.push_back(event["prompt_progress"]["processed"]);
    ASSERT_EQ(processed.size(), 3u) << reply.text;  // before the first step, and of 512 rows each
    EXPECT_EQ(processed[0], 0u);
    EXPECT_LT(processed[1], processed[2]);
}

TEST_F(Apis, ChatsTakeHistoriesAsClientsSendThem) {
    const Json call = {{"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}};
    const Json histories[] = {
        user("Hi"),
        {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", ""}}},
        {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "Once"}}},
        {{{"role", "user"}, {"content", "Hi"}},
         {{"role", "assistant"}, {"tool_calls", Json::array({call})}},
         {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "4"}}},
        {{{"role", "user"}, {"content", Json::array({{{"type", "text"}, {"text", "Hi"}}})}}},
    };
    for (const Json& messages : histories) {
        const Reply reply =
            ask("/v1/chat/completions", {{"messages", messages}, {"max_tokens", 3}, {"temperature", 0}});
        EXPECT_EQ(reply.status, 200) << reply.text;
        EXPECT_EQ(reply.json["choices"][0]["message"]["role"], "assistant");
    }
    EXPECT_EQ(ask("/apply-template", {{"messages", histories[1]}}).json,
              ask("/apply-template", {{"messages", user("Hi")}}).json);
    const Json bad[] = {Json::array(),
                        "Hi",
                        Json::array({"Hi"}),
                        Json::array({{{"role", "user"}}}),
                        Json::array({{{"content", "Hi"}}}),
                        Json::array({{{"role", "user"}, {"content", 5}}}),
                        Json::array({{{"role", "user"}, {"content", Json::array({{{"type", "song"}}})}}})};
    for (const Json& messages : bad)
        expect_error(ask("/v1/chat/completions", {{"messages", messages}}), 400, "invalid_request_error", "\"messages");
    expect_error(ask("/v1/chat/completions", {{"messages", user("Hi")}, {"top_logprobs", 3}}), 400,
                 "invalid_request_error", "top_logprobs");
    expect_error(ask("/v1/chat/completions", {{"messages", user("Hi")}, {"logprobs", true}, {"top_logprobs", 21}}), 400,
                 "invalid_request_error", "top_logprobs");
}

TEST_F(Apis, ChatStreamsBeginWithTheRoleAndEndWithTheReason) {
    bool is_done = false;
    const Reply reply = ask("/v1/chat/completions", {{"messages", user("Hi")},
                                                     {"max_tokens", 6},
                                                     {"stream", true},
                                                     {"logprobs", true},
                                                     {"n", 2},
                                                     {"stream_options", {{"include_usage", true}}}});
    EXPECT_TRUE(reply.type.starts_with("text/event-stream"));
    const auto events = events_of(reply.text, &is_done);
    EXPECT_TRUE(is_done);
    ASSERT_GT(events.size(), 5u);
    EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
    EXPECT_EQ(events[1]["choices"][0]["index"], 1);
    EXPECT_TRUE(events.back()["choices"].empty());
    EXPECT_EQ(events.back()["usage"]["completion_tokens"], 12);
    size_t finished = 0, tokens = 0;
    for (const Json& event : events) {
        EXPECT_EQ(event["object"], "chat.completion.chunk");
        EXPECT_EQ(event["id"], events[0]["id"]);
        for (const Json& choice : event["choices"]) {
            const bool is_end = !choice["finish_reason"].is_null();
            finished += is_end;
            EXPECT_TRUE(!is_end || choice["delta"] == Json::object());
            if (choice.contains("logprobs")) tokens += choice["logprobs"]["content"].size();
        }
    }
    EXPECT_EQ(finished, 2u);
    EXPECT_EQ(tokens, 12u);
}

TEST_F(Apis, ErrorsHaveTheFormOfTheirApi) {
    const Reply ollama = ask("/api/generate", {{"model", "x"}, {"prompt", "Hi"}});
    EXPECT_EQ(ollama.status, 404);
    EXPECT_EQ(ollama.json, (Json{{"error", "model 'x' not found"}}));
    const Reply anthropic = ask("/v1/messages", {{"max_tokens", 1}});
    expect_error(anthropic, 400, "invalid_request_error", "\"messages\"");
    EXPECT_EQ(anthropic.json["type"], "error");
    expect_error(ask("/v1/responses", {{"input", 5}}), 400, "invalid_request_error", "\"input\"");
    expect_error(ask("/v1/responses", {{"input", "Hi"}, {"previous_response_id", "resp_1"}}), 400,
                 "invalid_request_error", "are not kept");
    const Reply context = ask("/api/generate", {{"prompt", "Hi"}, {"options", {{"num_ctx", 4096}}}});
    EXPECT_EQ(context.status, 400);
    EXPECT_NE(context.text.find("4096 is more than the 1024 positions"), std::string::npos) << context.text;
}

TEST_F(Apis, SlotsAreErasedAndWaitedFor) {
    for (int i = 0; i < 2; ++i) {
        const Reply reply =
            ask("/completion", {{"prompt", "The old lamp"}, {"n_predict", 3}, {"id_slot", 2}, {"temperature", 0}});
        EXPECT_EQ(reply.json["timings"]["cache_n"], i == 0 ? Json(reply.json["timings"]["cache_n"])
                                                           : Json(reply.json["tokens_evaluated"].get<int>() - 1));
    }
    const Reply erased = ask("/slots/2?action=erase", Json::object());
    EXPECT_EQ(erased.status, 200) << erased.text;
    EXPECT_GT(erased.json["n_erased"], 0);
    expect_error(ask("/slots/2?action=save", Json::object()), 501, "not_supported_error", "save");
    expect_error(ask("/slots/9?action=erase", Json::object()), 400, "invalid_request_error", "slot");
    expect_error(ask("/slots/x?action=erase", Json::object()), 400, "invalid_request_error", "slot");
}

TEST_F(Apis, AnswersFollowGrammars) {
    const auto content = [&](Json more) {
        Json body = {{"prompt", "Once"}, {"n_predict", 40}};
        body.update(more);
        return ask("/completion", body).json["content"];
    };
    EXPECT_EQ(content({{"grammar", "root ::= \"a\"{5}"}}), "aaaaa");
    EXPECT_EQ(content({{"json_schema", {{"const", 42}}}}), "42");
    const Json schema = {{"type", "object"},
                         {"properties", {{"age", {{"type", "integer"}, {"minimum", 1}, {"maximum", 99}}}}},
                         {"required", {"age"}},
                         {"additionalProperties", false}};
    for (const Json& format : {Json{{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", schema}}}},
                               Json{{"type", "json_object"}, {"schema", schema}}}) {
        const Reply reply =
            ask("/v1/chat/completions", {{"messages", user("Hi")}, {"max_tokens", 60}, {"response_format", format}});
        EXPECT_EQ(reply.status, 200) << reply.text;
        const Json said = parse_json<Json>(reply.json["choices"][0]["message"]["content"].get<std::string>());
        EXPECT_TRUE(said.is_object() && said["age"].is_number_integer()) << reply.text;
        EXPECT_EQ(reply.json["choices"][0]["finish_reason"], "stop");
    }
    const Reply ollama = ask("/api/generate", {{"prompt", "Hi"}, {"stream", false}, {"format", schema}});
    EXPECT_TRUE(parse_json<Json>(ollama.json["response"].get<std::string>()).is_object()) << ollama.text;
    expect_error(ask("/completion", {{"prompt", "Once"}, {"grammar", "root ::= nothing"}}), 400,
                 "invalid_request_error", "\"grammar\": ");
    expect_error(ask("/completion", {{"prompt", "Once"}, {"json_schema", 5}}), 400, "invalid_request_error",
                 "\"json_schema\": ");
    expect_error(ask("/completion", {{"prompt", "Once"}, {"json_schema", schema}, {"grammar", "root ::= \"a\""}}), 400,
                 "invalid_request_error", "give one");
    expect_error(ask("/v1/chat/completions", {{"messages", user("Hi")}, {"response_format", {{"type", "poem"}}}}), 400,
                 "invalid_request_error", "response_format.type");
}

// What a stream says of an answer that thinks and calls.
TEST_F(Apis, StreamsSplitAnswers) {
    class Said : public ChatStream {
    public:
        using ChatStream::ChatStream;
        std::string say(size_t, const engine::Reply& news, const engine::ServingEvent& event) override {
            std::string said = news.reasoning + "|" + news.content;
            for (const engine::ToolCall& call : news.calls) said += "|" + call.name + call.arguments;
            if (event.finish) said += std::string("|") + finish(0, *event.finish);
            return said;
        }
    };
    ChatAsked asked;
    Said stream(running_->service(), asked);
    EXPECT_EQ(stream.event(0, {.text = "Hello"}), "|Hello");
    EXPECT_EQ(stream.event(0, {.text = ".", .finish = engine::FinishReason::end_of_generation}), "|.|stop");
}

TEST(ApiStreams, ArePingedWhereTheyAreSilent) {
    RunningServer running(1);
    std::thread other(
        [&] { post(running, "/completion", {{"prompt", "Once"}, {"n_predict", 800}, {"ignore_eos", true}}); });
    for (int i = 0; i < 400 && running.scheduler().totals().processing == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Reply reply = post(running, "/completion",
                             {{"prompt", "Once"}, {"n_predict", 1}, {"stream", true}, {"sse_ping_interval", 0}});
    other.join();
    EXPECT_TRUE(reply.text.starts_with(":\n\n")) << reply.text;
    EXPECT_EQ(events_of(reply.text).back()["stop"], true);
}

}  // namespace apis_test
}  // namespace riftjit::server
