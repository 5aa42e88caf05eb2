// Requests changed at random: whatever comes, the reply is JSON with the status that it names, and the server lives.
// RIFTJIT_FUZZED_REQUESTS=N for more, RIFTJIT_FUZZED_FROM=N for others.
#include <random>

#include "tests/server/test_server.h"

namespace riftjit::server {
namespace fuzz_test {

struct Sample {
    const char* path;
    Json body;
};

std::vector<Sample> samples() {
    const Json messages = {
        {{"role", "system"}, {"content", "Short."}},
        {{"role", "user"}, {"content", Json::array({{{"type", "text"}, {"text", "Hi"}}})}},
        {{"role", "assistant"},
         {"content", nullptr},
         {"tool_calls",
          Json::array({{{"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}}})}},
        {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "4"}}};
    const Json tools = Json::array(
        {{{"type", "function"},
          {"function", {{"name", "f"}, {"parameters", {{"type", "object"}, {"properties", Json::object()}}}}}}});
    return {
        {"/completion",
         {{"prompt", "Once"},
          {"n_predict", 2},
          {"temperature", 0.5},
          {"top_k", 5},
          {"top_p", 0.9},
          {"seed", 1},
          {"stop", {"x"}},
          {"logit_bias", Json::array({Json::array({5, 1.5})})},
          {"samplers", {"top_k", "temperature"}},
          {"n_probs", 1},
          {"id_slot", 0},
          {"cache_prompt", true},
          {"stream", true},
          {"response_fields", {"content"}},
          {"min_keep", 1},
          {"dry_multiplier", 0.5},
          {"dry_sequence_breakers", {"\n"}},
          {"repeat_last_n", 3},
          {"mirostat", 0},
          {"t_max_predict_ms", 1000},
          {"return_progress", true},
          {"timings_per_token", true},
          {"n_indent", 1},
          {"n_keep", -1},
          {"n_discard", 4},
          {"post_sampling_probs", true},
          {"verbose", true},
          {"lora", Json::array()}}},
        {"/infill",
         {{"input_prefix", "a"},
          {"input_suffix", "b"},
          {"prompt", "c"},
          {"input_extra", Json::array({{{"filename", "d"}, {"text", "e"}}})},
          {"n_predict", 2}}},
        {"/v1/chat/completions",
         {{"messages", messages},
          {"max_tokens", 3},
          {"tools", tools},
          {"tool_choice", "required"},
          {"parallel_tool_calls", false},
          {"verbose", true}}},
        {"/predict",
         {{"instances",
           Json::array({{{"@requestFormat", "chatCompletions"}, {"messages", messages}, {"max_tokens", 2}}})}}},
        {"/slots/0?action=restore", {{"filename", "a.bin"}}},
        {"/completion", {{"prompt", {1, 2, "three"}}, {"n_predict", 1}, {"n_cmpl", 2}, {"grammar", ""}}},
        {"/v1/completions",
         {{"prompt", {"Once", "The"}}, {"max_tokens", 2}, {"logprobs", 2}, {"echo", true}, {"n", 2}}},
        {"/v1/chat/completions",
         {{"messages", messages},
          {"max_tokens", 2},
          {"tools", tools},
          {"tool_choice", "auto"},
          {"logprobs", false},
          {"stream", true},
          {"stream_options", {{"include_usage", true}}},
          {"chat_template_kwargs", {{"enable_thinking", false}}},
          {"response_format", {{"type", "text"}}},
          {"reasoning_effort", "low"},
          {"reasoning_format", "auto"}}},
        {"/v1/chat/completions",
         {{"messages", messages}, {"max_tokens", 1}, {"logprobs", true}, {"top_logprobs", 3}, {"n", 2}}},
        {"/v1/responses",
         {{"input",
           Json::array({{{"role", "user"}, {"content", Json::array({{{"type", "input_text"}, {"text", "Hi"}}})}},
                        {{"type", "function_call"}, {"call_id", "c"}, {"name", "f"}, {"arguments", "{}"}},
                        {{"type", "function_call_output"}, {"call_id", "c"}, {"output", "4"}}})},
          {"instructions", "Short."},
          {"max_output_tokens", 2},
          {"stream", true},
          {"text", {{"format", {{"type", "text"}}}}},
          {"reasoning", {{"effort", "low"}}}}},
        {"/v1/messages",
         {{"system", Json::array({{{"type", "text"}, {"text", "Short."}}})},
          {"messages",
           Json::array(
               {{{"role", "user"}, {"content", "Hi"}},
                {{"role", "assistant"},
                 {"content",
                  Json::array({{{"type", "tool_use"}, {"id", "c"}, {"name", "f"}, {"input", Json::object()}}})}},
                {{"role", "user"},
                 {"content", Json::array({{{"type", "tool_result"}, {"tool_use_id", "c"}, {"content", "4"}}})}}})},
          {"max_tokens", 2},
          {"stop_sequences", {"x"}},
          {"stream", true},
          {"thinking", {{"type", "disabled"}}},
          {"tools", Json::array({{{"name", "f"}, {"input_schema", Json::object()}}})},
          {"tool_choice", {{"type", "auto"}}}}},
        {"/v1/messages/count_tokens", {{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})}}},
        {"/api/chat",
         {{"model", ""},
          {"messages", messages},
          {"stream", false},
          {"options", {{"num_predict", 2}, {"temperature", 0}, {"num_ctx", 512}}},
          {"think", true},
          {"keep_alive", "5m"}}},
        {"/api/generate",
         {{"prompt", "Hi"},
          {"raw", true},
          {"stream", true},
          {"options", {{"num_predict", 2}, {"stop", {"x"}}}},
          {"system", "Short."}}},
        {"/api/show", {{"model", ""}}},
        {"/tokenize", {{"content", "Once upon"}, {"add_special", true}, {"with_pieces", true}}},
        {"/detokenize", {{"tokens", {1, 2, 3}}}},
        {"/apply-template", {{"messages", messages}, {"tools", tools}}},
        {"/v1/chat/completions/input_tokens", {{"messages", messages}}},
        {"/slots/0", Json::object()},
        {"/props", Json::object()},
        {"/lora-adapters", Json::array()},
    };
}

using Random = std::mt19937;

Json hostile(Random& random) {
    static const std::vector<Json> values = {nullptr,
                                             true,
                                             false,
                                             0,
                                             -1,
                                             1,
                                             2147483648,
                                             -2147483649,
                                             9007199254740993u,
                                             UINT64_MAX,
                                             INT64_MIN,
                                             1e18,
                                             -1e18,
                                             1e300,
                                             1.5,
                                             1e-300,
                                             "",
                                             "12",
                                             "none",
                                             "required",
                                             "\u0000",
                                             "\xF0\x9F\xA6\x8A",
                                             std::string(3000, 'a'),
                                             Json::array(),
                                             Json::object(),
                                             Json::array({1}),
                                             Json::array({"a"}),
                                             Json::array({nullptr}),
                                             Json::array({Json::array()}),
                                             Json::array({Json::object()}),
                                             {{"type", "text"}},
                                             {{"type", 5}},
                                             {{"a", {{"b", {{"c", 1}}}}}},
                                             Json::array({{{"role", 1}}}),
                                             {{"type", "image_url"}},
                                             "json_object",
                                             "<|im_end|>",
                                             "{{ x }}",
                                             "../../etc/passwd"};
    return values[random() % values.size()];
}

// One of the values below, anywhere.
Json* some_value(Json& json, Random& random) {
    Json* at = &json;
    while ((at->is_object() || at->is_array()) && !at->empty() && (at == &json || random() % 4 != 0)) {
        const size_t index = random() % at->size();
        if (at->is_array()) {
            at = &(*at)[index];
        } else {
            at = &std::next(at->begin(), ptrdiff_t(index)).value();
        }
    }
    return at;
}

std::string changed(const Json& body, Random& random) {
    Json json = body;
    const unsigned changes = 1 + random() % 3;
    for (unsigned i = 0; i < changes; ++i) {
        Json& value = *some_value(json, random);
        if (&value == &json && random() % 8 != 0) continue;
        value = hostile(random);
    }
    std::string text = json_text(json);
    if (random() % 4 != 0 || text.empty()) return text;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {  // bytes too
        const size_t at = random() % text.size();
        switch (random() % 4) {
            case 0:
                text[at] = char(random());
                break;
            case 1:
                text.erase(at, 1 + random() % 8);
                break;
            case 2:
                text.insert(at, 1, "{}[]\",:\\-9"[random() % 10]);
                break;
            default:
                text.resize(at);
        }
        if (text.empty()) break;
    }
    return text;
}

void check_reply(const Sample& sample, const std::string& body, const Reply& reply) {
    const std::string what =
        fmt::format("{} {}\n{} {}", sample.path, body.substr(0, 600), reply.status, reply.text.substr(0, 600));
    if (reply.status == 200) {
        if (!reply.type.starts_with("application/json")) return;  // a stream
        EXPECT_FALSE(reply.json.is_discarded()) << what;
        return;
    }
    EXPECT_TRUE(reply.status == 400 || reply.status == 404 || reply.status == 501 || reply.status == 503) << what;
    ASSERT_TRUE(reply.json.is_object() && reply.json.contains("error")) << what;
    const Json& error = reply.json["error"];
    if (std::string_view(sample.path).starts_with("/api/")) {
        EXPECT_TRUE(error.is_string() && error != "") << what;
    } else {
        EXPECT_EQ(error["code"], reply.status) << what;
        EXPECT_NE(error["message"], "") << what;
    }
}

uint32_t from_environment(const char* name, uint32_t usual) {
    const char* text = std::getenv(name);
    return text == nullptr ? usual : uint32_t(std::strtoul(text, nullptr, 10));
}

TEST(FuzzedRequests, AreAnsweredByTheirStatus) {
    ServiceOptions options;
    options.most_tokens = 3;
    options.takes_props = true;
    options.chat_template = *models::ChatTemplate::parse(kCallingTemplate);
    RunningServer running(2, options);
    const std::vector<Sample> all = samples();
    for (const Sample& sample : all) {
        const Reply reply = post(running, sample.path, sample.body);
        const bool is_known =
            reply.status == 200 || reply.status == 501 || std::string_view(sample.path).starts_with("/slots");
        EXPECT_TRUE(is_known) << sample.path << " " << reply.status << " " << reply.text;
    }
    auto client = running.client();
    client.set_keep_alive(true);
    const uint32_t first = from_environment("RIFTJIT_FUZZED_FROM", 0);
    const uint32_t count = from_environment("RIFTJIT_FUZZED_REQUESTS", 1000);
    for (uint32_t i = first; i < first + count; ++i) {
        Random random(i);
        const Sample& sample = all[random() % all.size()];
        const std::string body = changed(sample.body, random);
        const auto result = client.Post(sample.path, body, "application/json");
        ASSERT_TRUE(result) << i << ": " << httplib::to_string(result.error()) << " " << sample.path << " " << body;
        check_reply(sample, body, reply_of(result));
        if (HasFailure()) FAIL() << "request " << i;
    }
    EXPECT_EQ(get(running, "/health").status, 200);
    EXPECT_EQ(running.scheduler().totals().processing, 0u);
    EXPECT_EQ(post(running, "/completion", {{"prompt", "Once"}, {"n_predict", 2}}).status, 200);
}

}  // namespace fuzz_test
}  // namespace riftjit::server
