#include "engine/reply_parser.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "engine/loose_value.h"
#include "tests/host/oracle.h"

namespace riftjit::engine {
namespace {

using Json = nlohmann::ordered_json;
using Calls = ReplyFormat::Calls;

Json tool_list() {
    const Json parameters = {{"type", "object"},
                             {"properties",
                              {{"city", {{"type", "string"}, {"description", "a city"}}},
                               {"days", {{"type", "integer"}, {"description", "days"}}},
                               {"exact", {{"type", "boolean"}, {"description", "exact"}}}}},
                             {"required", {"city"}}};
    return Json::array(
        {{{"type", "function"}, {"function", {{"name", "weather"}, {"description", "w"}, {"parameters", parameters}}}},
         {{"type", "function"},
          {"function", {{"name", "wind_at"}, {"description", "w"}, {"parameters", parameters}}}}});
}

Reply& operator+=(Reply& reply, const Reply& more) {
    reply.reasoning += more.reasoning;
    reply.content += more.content;
    reply.calls.insert(reply.calls.end(), more.calls.begin(), more.calls.end());
    return reply;
}

Reply parse(const ReplyFormat& format, std::string_view text, size_t piece, const ReplyOptions& options) {
    ReplyParser parser(format, options);
    Reply reply;
    for (size_t at = 0; at < text.size(); at += piece) reply += parser.push(text.substr(at, piece));
    return reply += parser.finish();
}

std::string show(const Reply& reply) {
    std::string text = "[" + reply.reasoning + "][" + reply.content + "]";
    for (const ToolCall& call : reply.calls) text += " " + call.name + call.arguments;
    return text;
}

// The same in pieces of any size.
std::string parse_all_ways(const ReplyFormat& format, std::string_view text, ReplyOptions options = {}) {
    const std::string whole = show(parse(format, text, text.size() + 1, options));
    for (const size_t piece : {1, 2, 3, 7, 16}) EXPECT_EQ(show(parse(format, text, piece, options)), whole) << piece;
    return whole;
}

ReplyFormat format_of(const std::string& source) {
    const auto chat_template = models::ChatTemplate::parse(source);
    EXPECT_TRUE(chat_template);
    return find_reply_format(*chat_template, {});
}

constexpr const char* kHermes = R"({%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

TEST(LooseValue, ReadsWhatModelsWrite) {
    const auto read = [](std::string_view text) {
        const LooseValue value = read_loose_value(text);
        return value.scan == Scan::complete ? value.value.dump() + "|" + std::string(text.substr(value.length))
               : value.scan == Scan::bad    ? "bad"
                                            : "incomplete";
    };
    EXPECT_EQ(read(R"({"a": [1, -2.5e3, true, null], "b": {"c": "d\n\u00e9\ud83d\ude00"}} rest)"),
              "{\"a\":[1,-2500.0,true,null],\"b\":{\"c\":\"d\\né😀\"}}| rest");
    EXPECT_EQ(read("(city='It\\'s', days=3, exact=True, none=None)]"),
              R"({"city":"It's","days":3,"exact":true,"none":null}|])");
    EXPECT_EQ(read("{city:<|\"|>a \"b\" 'c'<|\"|>,days:7}x"), R"({"city":"a \"b\" 'c'","days":7}|x)");
    EXPECT_EQ(read("{\"a\": \"line\nend\",}"), R"({"a":"line\nend"}|)");
    EXPECT_EQ(read(R"({"a": "b)"), "incomplete");
    EXPECT_EQ(read("{\"a\": 12"), "incomplete");
    EXPECT_EQ(read("{\"a\" 1}"), "bad");
    EXPECT_EQ(read("[1 2]"), "bad");
    EXPECT_EQ(read("{\"a\": nonsense}"), "bad");
    EXPECT_EQ(read("\"\\ud800x\""), "incomplete");
    EXPECT_EQ(read("\"\\ud800 and on\""), "\"\uFFFD and on\"|");
    EXPECT_EQ(read(std::string(100, '[')), "bad");
}

TEST(ReplyParser, SplitsThinkingContentAndCalls) {
    const ReplyFormat format = format_of(kHermes);
    EXPECT_EQ(format.reasoning_begin, "<think>");
    EXPECT_EQ(format.calls.form, Calls::object);
    const ReplyOptions tools{.tools = tool_list()};
    EXPECT_EQ(parse_all_ways(format, "<think>\nHm, a < b.\n</think>\n\nYes.\n"), "[Hm, a < b.][Yes.\n]");
    EXPECT_EQ(parse_all_ways(format, "Hm.\n</think>\n\nYes.", {.is_thinking = true}), "[Hm.][Yes.]");
    EXPECT_EQ(parse_all_ways(format, "no end of it", {.is_thinking = true}), "[no end of it][]");
    EXPECT_EQ(parse_all_ways(format, "<think>a</think>b", {.splits_reasoning = false}), "[][<think>a</think>b]");
    EXPECT_EQ(
        parse_all_ways(
            format,
            "Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Łódź\"}}\n</tool_call>\n"
            "<tool_call>{\"name\": \"wind_at\", \"arguments\": {}}</tool_call>",
            tools),
        "[][Let me see.] weather{\"city\":\"Łódź\"} wind_at{}");
    // Without tools in the request nothing is a call.
    EXPECT_EQ(parse_all_ways(format, "<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"),
              "[][<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>]");
}

TEST(ReplyParser, LosesNothing) {
    const ReplyFormat format = format_of(kHermes);
    const ReplyOptions tools{.tools = tool_list()};
    for (const std::string text :
         {"a <tool_call> in prose", "<tool_call>{\"name\": 3}</tool_call>", "<tool_call>\n{\"name\": \"weather\"",
          "<tool_cal", "1 < 2", "  leading", "<tool_call>[]</tool_call>", "<", ""}) {
        const std::string whole = parse_all_ways(format, text, tools);
        std::string squeezed = whole, expected = "[][" + text + "]";
        for (std::string* s : {&squeezed, &expected}) std::erase_if(*s, [](char c) { return c == ' ' || c == '\n'; });
        EXPECT_EQ(squeezed, expected);
    }
}

TEST(ReplyParser, TypesMarkedArgumentsByTheirSchema) {
    ReplyFormat format;
    format.calls.form = Calls::marked_arguments;
    format.calls.openers = {"<tool_call>", "<function="};
    format.calls.closers = {"</function>", "</tool_call>"};
    format.calls.name_begin = "<function=";
    format.calls.key_begin = "<parameter=";
    format.calls.key_end = ">";
    format.calls.value_end = "</parameter>";
    format.calls.values_have_lines = true;
    const ReplyOptions tools{.tools = tool_list()};
    EXPECT_EQ(
        parse_all_ways(
            format,
            "<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
            "<parameter=exact>\ntrue\n</parameter>\n<parameter=other>\n{\"a\": "
            "[1]}\n</parameter>\n</function>\n</tool_call>",
            tools),
        "[][] weather{\"city\":\"12\",\"days\":3,\"exact\":true,\"other\":{\"a\":[1]}}");
    EXPECT_EQ(parse_all_ways(format, "<function=wind_at>\n</function>", tools), "[][] wind_at{}");
    EXPECT_EQ(parse_all_ways(format, "<function=weather><parameter=city>\n\n a\n\n</parameter></function>", tools),
              "[][] weather{\"city\":\"\\n a\\n\"}");
}

TEST(ReplyParser, ReadsChannels) {
    const char* source =
        "{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif "
        "%}<|message|>"
        "{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}";
    const ReplyFormat format = format_of(source);
    const ReplyOptions tools{.tools = tool_list()};
    EXPECT_EQ(
        parse_all_ways(
            format, "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.", tools),
        "[Hm.][Yes.]");
    EXPECT_EQ(
        parse_all_ways(
            format,
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
            "<|constrain|>json<|message|>{\"city\":\"Oslo\"}<|call|>",
            tools),
        "[Hm.][] weather{\"city\":\"Oslo\"}");
    EXPECT_EQ(parse_all_ways(format, " to=functions.wind_at<|channel|>commentary json<|message|>{}", tools),
              "[][] wind_at{}");
}

// Every published template: what it renders of an answer is read back as that answer.
TEST(ReplyParser, ReadsWhatPublishedTemplatesRender) {
    const char* folder = std::getenv("RIFTJIT_PEER_TEMPLATES");
    if (folder == nullptr)
        return lack_oracle("RIFTJIT_PEER_TEMPLATES, the folder of llama.cpp's templates: tests/peer/fetch.sh");
    size_t templates = 0, with_calls = 0, with_thinking = 0, contents = 0, thoughts = 0, calls = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".jinja") continue;
        SCOPED_TRACE(entry.path().filename().string());
        std::ifstream file(entry.path());
        const auto chat_template = models::ChatTemplate::parse(std::string(std::istreambuf_iterator<char>(file), {}));
        ASSERT_TRUE(chat_template);
        models::ChatTemplate::Inputs inputs{.bos_token = "<bos>", .eos_token = "<eos>"};
        const ReplyFormat format = find_reply_format(*chat_template, inputs);
        ++templates;
        with_calls += format.has_calls();
        with_thinking += format.has_reasoning();
        inputs.tools = tool_list();
        const auto render = [&](const Json* answer) -> std::optional<std::string> {
            Json messages = Json::array({{{"role", "user"}, {"content", "qzquestion"}}});
            if (answer != nullptr) messages.push_back(*answer);
            auto prepared = chat_template->prepare(messages);
            if (!prepared) return std::nullopt;
            inputs.messages = *prepared;
            inputs.add_generation_prompt = answer == nullptr;
            const auto text = chat_template->render_text(inputs);
            if (!text) return std::nullopt;
            return text->substr(std::min(text->rfind("qzquestion"), text->size()));
        };
        const auto prompt = render(nullptr);
        if (!prompt) continue;
        // What an answer is read as; nullopt: it is written otherwise than what follows a prompt, or not at all.
        const auto read = [&](const Json& answer) -> std::optional<Reply> {
            const auto text = render(&answer);
            if (!text || !text->starts_with(*prompt)) return std::nullopt;
            if (answer.contains("tool_calls") && !text->contains("weather")) return std::nullopt;
            const std::string_view written = std::string_view(*text).substr(prompt->size());
            const ReplyOptions options{.is_thinking = format.is_thinking_after(*prompt), .tools = tool_list()};
            parse_all_ways(format, written, options);
            return parse(format, written, 5, options);
        };
        if (const auto reply = read({{"role", "assistant"}, {"content", "One < two."}})) {
            ++contents;
            // One template opens the thinking of an answer that has none, as of a model that was told not to think.
            const std::string& text =
                entry.path().stem() == "NVIDIA-Nemotron-Nano-v2" ? reply->reasoning : reply->content;
            EXPECT_TRUE(text.starts_with("One < two.") && reply->calls.empty()) << show(*reply);
        }
        if (const auto reply = read(
                {{"role", "assistant"}, {"content", "One < two."}, {"reasoning_content", "Hm."}, {"thinking", "Hm."}});
            reply && !reply->reasoning.empty() && entry.path().stem() != "NVIDIA-Nemotron-Nano-v2") {
            ++thoughts;
            EXPECT_EQ(reply->reasoning.substr(0, 3), "Hm.");
        }
        const Json call = {{"name", "weather"}, {"arguments", R"({"city":"Foo \"Bar\" Żółć","days":3,"exact":true})"}};
        const Json calling = {
            {"role", "assistant"},
            {"content", ""},
            {"tool_calls", Json::array({{{"id", "callid000"}, {"type", "function"}, {"function", call}}})}};
        if (!format.has_calls()) continue;
        if (const auto reply = read(calling)) {
            ++calls;
            EXPECT_EQ(reply->reasoning, "");
            EXPECT_FALSE(reply->content.contains("weather") || reply->content.contains("city")) << show(*reply);
            ASSERT_EQ(reply->calls.size(), 1);
            EXPECT_EQ(reply->calls[0].name, "weather");
            EXPECT_EQ(reply->calls[0].arguments, call.at("arguments"));
        }
    }
    EXPECT_GE(templates, 70);
    EXPECT_GE(with_calls, 58);
    EXPECT_GE(with_thinking, 42);
    EXPECT_GE(contents, 54);
    EXPECT_GE(thoughts, 19);
    EXPECT_GE(calls, 44);
}

}  // namespace
}  // namespace riftjit::engine
