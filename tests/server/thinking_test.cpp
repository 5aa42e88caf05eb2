// Answers that have to follow a schema, of models that think first.
#include "tests/server/test_server.h"

namespace riftjit::server {
namespace thinking_test {

constexpr const char* kBody =
    "{% for m in messages %}{% if m.role == 'assistant' %}<think>{{ m.reasoning_content }}</think>{{ m.content }}"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}";

Json answer_of(const std::string& chat_template, Json more) {
    ServiceOptions options;
    options.chat_template = *models::ChatTemplate::parse(chat_template);
    RunningServer running(1, std::move(options));
    Json request = {
        {"messages", Json::array({{{"role", "user"}, {"content", "A fox."}}})}, {"temperature", 0}, {"max_tokens", 40}};
    request.update(more);
    const Reply reply = post(running, "/v1/chat/completions", request);
    EXPECT_EQ(reply.status, 200) << reply.text;
    return reply.json["choices"][0]["message"];
}

TEST(Thinking, ComesBeforeWhatASchemaHolds) {
    const Json schema = {{"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", {{"const", 7}}}}}}}};
    const std::string opens = std::string(kBody) + "{% if add_generation_prompt %}<think>{% endif %}";
    const Json thinking = answer_of(opens, schema);
    EXPECT_GT(thinking["reasoning_content"].get<std::string>().size(), 5u) << thinking.dump();
    EXPECT_FALSE(thinking["reasoning_content"].get<std::string>().starts_with("7")) << thinking.dump();
    EXPECT_EQ(answer_of(kBody, schema)["content"], "7");
    // A grammar is what the whole answer follows.
    const Json held = answer_of(opens, {{"grammar", "root ::= \"Red.</think>7\""}});
    EXPECT_EQ(held["reasoning_content"], "Red.") << held.dump();
    EXPECT_EQ(held["content"], "7");
}

}  // namespace thinking_test
}  // namespace riftjit::server
