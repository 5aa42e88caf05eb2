// Calls that are forced are calls as the model's template writes them, and nothing else.
#include "engine/call_grammar.h"

#include <nlohmann/json.hpp>

#include "engine/grammar/automaton.h"
#include "engine/grammar/machine.h"
#include "engine/reply_parser.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace call_grammar_test {

using Json = nlohmann::ordered_json;

constexpr const char* kObjects = R"({%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

constexpr const char* kNameFirst = R"({%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}
{%- for c in m.tool_calls or [] %}[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}
{%- endfor %}</s>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %})";

constexpr const char* kMarked = R"({%- for m in messages -%}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
<function={{ c.function.name }}>
{% for k, v in c.function.arguments | items %}<parameter={{ k }}>
{{ v }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

Json tool(const char* name, Json parameters) {
    return {{"type", "function"}, {"function", {{"name", name}, {"parameters", std::move(parameters)}}}};
}

Json weather() {
    return tool("weather", {{"type", "object"},
                            {"properties", {{"city", {{"type", "string"}}}, {"days", {{"type", "integer"}}}}},
                            {"required", {"city"}}});
}
Json stop() { return tool("stop", {{"type", "object"}, {"properties", Json::object()}}); }

struct Forced {
    ReplyFormat format;
    std::shared_ptr<const Grammar> grammar;
    Json tools;

    Forced(const char* source, Json of_tools, CallCount count, bool is_thinking = false) : tools(std::move(of_tools)) {
        static const Engine engine = open_nano();
        const auto chat_template = models::ChatTemplate::parse(source);
        EXPECT_TRUE(chat_template);
        format = find_reply_format(*chat_template, {});
        auto made = call_grammar(format, tools, count, is_thinking, engine.tokenizer);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        if (made) grammar = *made;
    }

    bool takes(std::string_view text) const {
        GrammarMachine machine(grammar->automaton());
        GrammarMachine::Set set = machine.start();
        for (const char byte : text) set = machine.step(set, uint8_t(byte));
        return set != GrammarMachine::kNone && machine.may_end(set);
    }
    // What is taken is also read back as calls and nothing else.
    std::string reads(std::string_view text, bool is_thinking = false) const {
        EXPECT_TRUE(takes(text)) << text;
        ReplyParser parser(format, {.is_thinking = is_thinking, .tools = tools});
        Reply reply = parser.push(text);
        const Reply rest = parser.finish();
        EXPECT_EQ(reply.content + rest.content, "");
        std::string shown;
        for (const auto& calls : {reply.calls, rest.calls})
            for (const ToolCall& call : calls) shown += call.name + call.arguments;
        return shown;
    }
};

TEST(CallGrammar, ObjectsAsTheTemplateWritesThem) {
    const Forced forced(kObjects, {weather(), stop()}, CallCount::some);
    const std::string call = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
    EXPECT_EQ(forced.reads(call), "weather{\"city\":\"Rome\"}");
    EXPECT_EQ(forced.reads("<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>"), "stop{}");
    EXPECT_EQ(forced.reads(call + call), "weather{\"city\":\"Rome\"}weather{\"city\":\"Rome\"}");
    EXPECT_EQ(forced.reads("<think>\nHm, </thin or so\n</think>\n\n" + call), "weather{\"city\":\"Rome\"}");
    for (const char* text : {"", "Hello", "<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>",
                             "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>",
                             "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": 3}}\n</tool_call>"})
        EXPECT_FALSE(forced.takes(text)) << text;
    EXPECT_FALSE(forced.takes("Sure! " + call));
}

TEST(CallGrammar, OneCallIsOne) {
    const Forced forced(kObjects, {stop()}, CallCount::one);
    const std::string call = "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>";
    EXPECT_TRUE(forced.takes(call));
    EXPECT_FALSE(forced.takes(call + call));
}

TEST(CallGrammar, GoesOnInTheMidstOfThinking) {
    const Forced forced(kObjects, {stop()}, CallCount::one, true);
    const std::string call = "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>";
    EXPECT_EQ(forced.reads("so <</think </th\n</think>\n" + call, true), "stop{}");
    EXPECT_FALSE(forced.takes(call));
}

TEST(CallGrammar, NamesBeforeTheirArguments) {
    const Forced forced(kNameFirst, {weather()}, CallCount::one);
    EXPECT_EQ(forced.reads("[TOOL_CALLS]weather[ARGS]{\"city\": \"Rome\", \"days\": 3}"),
              "weather{\"city\":\"Rome\",\"days\":3}");
    EXPECT_FALSE(forced.takes("[TOOL_CALLS]weather{\"city\": \"Rome\"}"));
}

TEST(CallGrammar, MarkedArgumentsHoldAnyTextButTheirEnd) {
    const Forced forced(kMarked, {weather(), stop()}, CallCount::one);
    const auto call = [](const std::string& city, const std::string& days) {
        return "<tool_call>\n<function=weather>\n<parameter=city>\n" + city + "\n</parameter>\n" +
               (days.empty() ? "" : "<parameter=days>\n" + days + "\n</parameter>\n") + "</function>\n</tool_call>";
    };
    EXPECT_EQ(forced.reads(call("Rome", "3")), "weather{\"city\":\"Rome\",\"days\":3}");
    EXPECT_EQ(forced.reads(call("a < b\n\n</para", "")), "weather{\"city\":\"a < b\\n\\n</para\"}");
    EXPECT_EQ(forced.reads("<tool_call>\n<function=stop>\n</function>\n</tool_call>"), "stop{}");
    EXPECT_FALSE(forced.takes(call("Rome", "many")));
    EXPECT_FALSE(forced.takes("<tool_call>\n<function=weather>\n</function>\n</tool_call>"));
}

TEST(CallGrammar, IsRefusedWhereCallsAreNotKnownOrSchemasAreNone) {
    const Engine engine = open_nano();
    const auto plain = call_grammar({}, Json::array({stop()}), CallCount::one, false, engine.tokenizer);
    ASSERT_FALSE(plain);
    EXPECT_EQ(plain.error().kind, ErrorKind::Unsupported);
    const auto format = find_reply_format(*models::ChatTemplate::parse(kObjects), {});
    const auto odd =
        call_grammar(format, Json::array({tool("f", {{"type", "thing"}})}), CallCount::one, false, engine.tokenizer);
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().message.find("tool \"f\""), std::string::npos) << odd.error().message;
}

}  // namespace call_grammar_test
}  // namespace riftjit::engine
