#include <gtest/gtest.h>

#include "models/template/chat_template.h"

namespace riftjit::models {
namespace chat_template_messages_test {

using Json = nlohmann::ordered_json;

constexpr auto kText = "{% for m in messages %}{{ m.role ~ ':' ~ m.content ~ ';' }}{% endfor %}";
constexpr auto kParts =
    "{% for m in messages %}{{ m.role }}:{% for p in m.content %}{{ p.text }}{% endfor %};{% endfor %}";
constexpr auto kBoth =
    "{% for m in messages %}{{ m.role }}:{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{{ p.text }}{% endfor %}{% endif %};{% endfor %}";

ChatTemplate parse(std::string source) { return *ChatTemplate::parse(std::move(source)); }

Json prepared(const std::string& source, Json messages) {
    const auto result = parse(source).prepare(std::move(messages));
    return result ? *result : Json(result.error().message);
}

TEST(ChatTemplateMessages, FindsWhichFormOfContentsATemplateTakes) {
    EXPECT_EQ(parse(kText).content_form(), ChatTemplate::ContentForm::text);
    EXPECT_EQ(parse(kParts).content_form(), ChatTemplate::ContentForm::parts);
    EXPECT_EQ(parse(kBoth).content_form(), ChatTemplate::ContentForm::both);
}

TEST(ChatTemplateMessages, JoinsPartsForTemplatesThatTakeText) {
    const Json parts =
        Json::parse(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])");
    EXPECT_EQ(prepared(kText, parts)[0]["content"], "a\nb");
    EXPECT_EQ(prepared(kBoth, parts), parts);
    EXPECT_EQ(prepared(kParts, parts), parts);
}

TEST(ChatTemplateMessages, WrapsTextForTemplatesThatTakeParts) {
    const Json text = Json::parse(R"([{"role":"user","content":"a"}])");
    EXPECT_EQ(prepared(kParts, text)[0]["content"], Json::parse(R"([{"type":"text","text":"a"}])"));
    EXPECT_EQ(prepared(kBoth, text), text);
}

TEST(ChatTemplateMessages, ParsesArgumentsOfToolCalls) {
    const Json messages = Json::parse(R"([{"role":"assistant","content":null,"tool_calls":[
        {"function":{"name":"f","arguments":"{\"b\": 1, \"a\": [2]}"}},
        {"function":{"name":"g","arguments":"not json"}},
        {"function":{"name":"h","arguments":{"x":1}}},
        {"function":{"name":"i","arguments":"3"}}]}])");
    const Json calls = prepared(kText, messages)[0]["tool_calls"];
    EXPECT_EQ(calls[0]["function"]["arguments"].dump(), R"({"b":1,"a":[2]})");
    EXPECT_EQ(calls[1]["function"]["arguments"], "not json");
    EXPECT_EQ(calls[2]["function"]["arguments"].dump(), R"({"x":1})");
    EXPECT_EQ(calls[3]["function"]["arguments"], "3");
}

TEST(ChatTemplateMessages, AcceptsAbsentContentsBesideToolCallsOnly) {
    const Json call = Json::parse(R"([{"function":{"name":"f","arguments":"{}"}}])");
    EXPECT_EQ(prepared(kText, Json::array({{{"role", "assistant"}, {"tool_calls", call}}}))[0]["content"], "");
    EXPECT_EQ(prepared(kText, Json::array(
                                  {{{"role", "assistant"}, {"content", nullptr}, {"tool_calls", call}}}))[0]["content"],
              "");
    EXPECT_EQ(prepared(kText, Json::array({{{"role", "assistant"}}})), "messages[0].content is missing");
    EXPECT_EQ(prepared(kText, Json::array({{{"role", "user"}, {"content", nullptr}}})),
              "messages[0].content is missing");
}

TEST(ChatTemplateMessages, DropsNullFields) {
    EXPECT_EQ(prepared(kText, Json::parse(R"([{"role":"user","content":"a","name":null}])")).dump(),
              R"([{"role":"user","content":"a"}])");
}

TEST(ChatTemplateMessages, NamesWhatIsWrong) {
    EXPECT_EQ(prepared(kText, Json::object()), "messages must be a list, not object");
    EXPECT_EQ(prepared(kText, Json::array({1})), "messages[0] must be an object, not number");
    EXPECT_EQ(prepared(kText, Json::array({{{"content", "a"}}})), "messages[0].role must be a string");
    EXPECT_EQ(prepared(kText, Json::array({{{"role", 1}, {"content", "a"}}})), "messages[0].role must be a string");
    EXPECT_EQ(prepared(kText, Json::array({{{"role", "user"}, {"content", 5}}})),
              "messages[0].content must be a string or a list of parts, not number");
    EXPECT_EQ(prepared(kText, Json::parse(R"([{"role":"user","content":[{"type":"image_url"}]}])")),
              "messages[0].content: this template takes text parts only");
}

}  // namespace chat_template_messages_test
}  // namespace riftjit::models
