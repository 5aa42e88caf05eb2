#include "server/chat.h"

#include <algorithm>

#include "engine/call_grammar.h"
#include "host/json_text.h"

namespace riftjit::server {

namespace {

constexpr int64_t kMostTopLogprobs = 20;

Outcome<void> check_part(const Json& part, size_t message) {
    if (!part.is_object() || !part.contains("type") || !part["type"].is_string())
        return refuse(400, "\"messages[{}].content\": expected parts with a \"type\"", message);
    const std::string& type = part["type"].get_ref<const std::string&>();
    if (type == "image_url" || type == "input_image") return std::unexpected(no_media("image"));
    if (type == "input_audio") return std::unexpected(no_media("audio"));
    if (type == "file" || type == "video_url") return std::unexpected(no_media(type));
    if ((type == "text" || type == "input_text" || type == "output_text" || type == "refusal"))
        return part.contains("text") && part["text"].is_string()
                   ? Outcome<void>()
                   : refuse(400, "\"messages[{}].content\": expected a string as \"text\" of each part", message);
    return refuse(400, "\"messages[{}].content\": unsupported content[].type \"{}\"", message, type.substr(0, 60));
}

Outcome<void> check_messages(const Json* messages) {
    if (messages == nullptr) return refuse(400, "\"messages\": is missing");
    if (!messages->is_array()) return refuse(400, "\"messages\": expected an array");
    if (messages->empty()) return refuse(400, "\"messages\": expected one message or more");
    for (size_t i = 0; i < messages->size(); ++i) {
        const Json& message = (*messages)[i];
        if (!message.is_object()) return refuse(400, "\"messages[{}]\": expected an object", i);
        const auto role = message.find("role");
        if (role == message.end() || !role->is_string())
            return refuse(400, "\"messages[{}].role\": expected a string", i);
        const auto content = message.find("content");
        const bool has_calls = message.contains("tool_calls") && message["tool_calls"].is_array();
        if (message.contains("tool_calls") && !message["tool_calls"].is_null() && !has_calls)
            return refuse(400, "\"messages[{}].tool_calls\": expected an array", i);
        if (content == message.end() || content->is_null()) {
            if (*role == "assistant") continue;
            return refuse(400, "\"messages[{}].content\": is missing", i);
        }
        if (content->is_string()) continue;
        if (!content->is_array())
            return refuse(400, "\"messages[{}].content\": expected a string, an array of parts or null", i);
        for (const Json& part : *content) RIFTJIT_ASK_VOID(check_part(part, i));
    }
    const auto is_answer = [&](size_t from_end) {
        return (*messages)[messages->size() - from_end]["role"] == "assistant";
    };
    if (messages->size() >= 2 && is_answer(1) && is_answer(2))
        return refuse(400, "\"messages\": two answers at the end; which is to be gone on with?");
    return {};
}

Outcome<void> check_tools(const Json* tools) {
    if (tools == nullptr) return {};
    for (size_t i = 0; i < tools->size(); ++i) {
        const Json& tool = (*tools)[i];
        const bool is_function = tool.is_object() && tool.value("type", Json()) == "function" &&
                                 tool.contains("function") && tool["function"].is_object() &&
                                 tool["function"].contains("name") && tool["function"]["name"].is_string();
        if (!is_function)
            return refuse(400, "\"tools[{}]\": expected {{\"type\": \"function\", \"function\": {{\"name\": ...}}}}",
                          i);
    }
    return {};
}

// What the answer has to be, beyond text.
void read_response_format(Fields& fields, engine::SamplerChoice& choice) {
    const Json* format = fields.object("response_format");
    if (format == nullptr) return;
    Fields inner(*format, "response_format.");
    const auto type = inner.text("type");
    if (const auto checked = inner.check(); !checked) return fields.fail(checked.error());
    if (!type || *type == "text") return;
    if (*type != "json_object" && *type != "json_schema")
        return fields.fail(
            {400, fmt::format("\"response_format.type\": expected text, json_object or json_schema, got \"{}\"",
                              type->substr(0, 60))});
    if (fields.has("grammar") || fields.has("json_schema"))
        return fields.fail({400, "\"response_format\" and a grammar contradict each other; give one"});
    // OpenAI's chats have the schema one level deeper than its responses.
    const Json* holder = *type == "json_schema" && inner.has("json_schema") ? inner.object("json_schema") : format;
    if (const auto checked = inner.check(); !checked) return fields.fail(checked.error());
    const auto schema = holder->find("schema");
    const bool has_schema = schema != holder->end() && !schema->is_null();
    if (*type == "json_schema" && !has_schema)
        return fields.fail({400, "\"response_format.json_schema.schema\": is missing"});
    hold_to_schema(fields, "response_format", has_schema ? *schema : Json::object(), choice);
}

struct AskedTools {
    Json shown;     // to the template; null: none
    Json callable;  // of them; null: none
    bool must_call = false;
    bool may_call_several = true;
};

AskedTools read_tools(Fields& fields) {
    AskedTools asked;
    const Json* tools = fields.array("tools");
    if (tools != nullptr)
        if (const auto checked = check_tools(tools); !checked) fields.fail(checked.error());
    fields.read("parallel_tool_calls", asked.may_call_several);
    const bool has_tools = tools != nullptr && !tools->empty();
    if (has_tools) asked.shown = asked.callable = *tools;
    const Json* choice = fields.find("tool_choice");
    if (choice == nullptr || *choice == "auto") return asked;
    if (*choice == "none") {
        asked.shown = asked.callable = nullptr;
        return asked;
    }
    const bool is_named = choice->is_object() && choice->value("type", Json()) == "function";
    if (*choice != "required" && !is_named) {
        fields.wrong("tool_choice", "\"none\", \"auto\", \"required\" or a function", *choice);
        return asked;
    }
    asked.must_call = has_tools;
    if (!is_named) return asked;
    // OpenAI's responses have the name itself there.
    const Json function = choice->value("function", *choice);
    const Json name = function.is_object() ? function.value("name", Json()) : Json();
    asked.callable = Json::array();
    for (const Json& tool : has_tools ? *tools : Json::array())
        if (tool.is_object() && tool.contains("function") && tool["function"].is_object() &&
            tool["function"].value("name", Json()) == name)
            asked.callable.push_back(tool);
    if (asked.callable.empty()) fields.wrong("tool_choice", "a function of \"tools\"", name);
    return asked;
}

// The answer has to be calls.
Outcome<void> force_calls(const Service& service, const AskedTools& tools, ChatAsked& chat) {
    engine::SamplerChoice& sampling = chat.asked.request.sampling;
    if (sampling.grammar != service.options().sampling.grammar)
        return refuse(400, "\"tool_choice\" and a grammar or schema of the answer contradict each other");
    const auto count = tools.may_call_several ? engine::CallCount::some : engine::CallCount::one;
    auto grammar = engine::call_grammar(service.reply_format(), tools.callable, count, chat.reply.is_thinking,
                                        service.tokenizer());
    if (!grammar) {
        ApiError error = api_error(grammar.error());
        error.message = "\"tool_choice\": " + error.message;
        return std::unexpected(std::move(error));
    }
    sampling.grammar = std::move(*grammar);
    sampling.grammar_triggers = {};
    return {};
}

Json read_variables(Fields& fields) {
    Json variables = Json::object();
    if (const Json* given = fields.object("chat_template_kwargs")) variables = *given;
    if (const auto effort = fields.text("reasoning_effort")) {
        if (*effort == "none") {
            variables["enable_thinking"] = false;
        } else {
            variables["reasoning_effort"] = *effort;
        }
    }
    const auto thinking = variables.find("enable_thinking");
    if (thinking != variables.end() && !thinking->is_boolean())
        fields.wrong("chat_template_kwargs.enable_thinking", "true or false", *thinking);
    return variables;
}

bool thinks_not(const Service& service, const Json& variables) {
    Json merged = service.options().template_variables;
    merged.update(variables);
    const auto thinking = merged.find("enable_thinking");
    return thinking != merged.end() && thinking->is_boolean() && !thinking->get<bool>();
}

// Templates that do not know enable_thinking let a model think all the same, unless its thinking has ended before it
// begins.
Outcome<void> end_thinking(const Service& service, const Json& messages, const Json& tools, Json variables,
                           Service::ChatPrompt& prompt) {
    const engine::ReplyFormat& format = service.reply_format();
    if (!format.has_reasoning()) return {};
    std::string rest;
    if (format.is_thinking_after(prompt.text)) {
        rest = format.reasoning_end;
    } else {
        variables["enable_thinking"] = true;
        RIFTJIT_ASK(thinking, service.render_chat(messages, tools, std::move(variables)));
        if (thinking.text == prompt.text) rest = format.reasoning_begin + format.reasoning_end;
    }
    if (rest.empty()) return {};
    RIFTJIT_ASK(ids, service.tokens_of(rest, false));
    prompt.text += rest;
    prompt.ids.insert(prompt.ids.end(), ids.begin(), ids.end());
    return {};
}

}  // namespace

Outcome<ChatAsked> read_chat(const Service& service, const Json& body) {
    Fields fields(body);
    ChatAsked chat;
    // Here it says whether, and how many is another's to say.
    Json settings = body;
    const bool has_logprobs = fields.boolean("logprobs").value_or(false);
    settings.erase("logprobs");
    Fields setting_fields(settings);
    chat.asked = service.read_settings(setting_fields);
    RIFTJIT_ASK_VOID(setting_fields.check());
    const auto top = fields.integer("top_logprobs", 0, kMostTopLogprobs);
    if (top && !has_logprobs) fields.fail({400, "top_logprobs requires logprobs to be set to true"});
    if (has_logprobs) chat.asked.request.chances = uint32_t(std::max<int64_t>(top.value_or(0), 1));
    RIFTJIT_ASK_VOID(check_messages(fields.find("messages")));
    read_response_format(fields, chat.asked.request.sampling);
    AskedTools tools = read_tools(fields);
    if (has_logprobs && chat.asked.streams && !tools.shown.is_null())
        fields.fail({400, "logprobs is not supported with tools + stream"});
    const bool parses_calls = fields.boolean("parse_tool_calls").value_or(true);
    Json variables = read_variables(fields);
    const std::string reasoning_format = fields.text("reasoning_format").value_or(service.options().reasoning_format);
    if (reasoning_format != "none" && reasoning_format != "auto" && reasoning_format != "deepseek" &&
        reasoning_format != "deepseek-legacy")
        fields.fail(
            {400, fmt::format("\"reasoning_format\": expected none, auto, deepseek or deepseek-legacy, got \"{}\"",
                              reasoning_format.substr(0, 60))});
    const auto continues = fields.boolean("continue_final_message");
    bool adds_prompt = fields.boolean("add_generation_prompt").value_or(true);
    if (continues.value_or(false)) {
        if (fields.has("add_generation_prompt") && adds_prompt)
            fields.fail({400, "add_generation_prompt and continue_final_message contradict each other"});
        adds_prompt = true;  // an answer that the messages end with is gone on with, as ever
    }
    RIFTJIT_ASK_VOID(fields.check());
    if (parses_calls) chat.reply.tools = tools.callable;
    chat.calls_at_most = tools.may_call_several ? SIZE_MAX : 1;
    RIFTJIT_ASK(prompt, service.render_chat(*fields.find("messages"), tools.shown, variables, adds_prompt));
    chat.prompt = std::move(prompt);
    if (adds_prompt && thinks_not(service, variables))
        RIFTJIT_ASK_VOID(end_thinking(service, *fields.find("messages"), tools.shown, variables, chat.prompt));
    chat.reply.splits_reasoning = reasoning_format != "none";
    const engine::ReplyFormat& format = service.reply_format();
    chat.reply.is_thinking = format.is_thinking_after(chat.prompt.text);
    // The marks of thinking and calls may be control tokens.
    if ((format.has_reasoning() && chat.reply.splits_reasoning) || (format.has_calls() && !chat.reply.tools.is_null()))
        chat.asked.request.show_control = models::Tokenizer::ShowControl::yes;
    // What is held to a schema is the answer, not the thinking before it.
    engine::SamplerChoice& sampling = chat.asked.request.sampling;
    const bool has_schema = sampling.grammar != service.options().sampling.grammar && !fields.has("grammar");
    if (has_schema && chat.reply.is_thinking) sampling.grammar_triggers.words = {format.reasoning_end};
    if (tools.must_call) RIFTJIT_ASK_VOID(force_calls(service, tools, chat));
    return chat;
}

Outcome<uint64_t> count_chat(const Service& service, const Json& body) {
    RIFTJIT_ASK(chat, read_chat(service, body));
    return chat.prompt.ids.size();
}

namespace {

engine::Reply& append(engine::Reply& reply, engine::Reply more) {
    reply.reasoning += more.reasoning;
    reply.content += more.content;
    std::ranges::move(more.calls, std::back_inserter(reply.calls));
    return reply;
}

const char* chat_finish(engine::FinishReason reason, bool has_calls) {
    const bool is_end = reason == engine::FinishReason::end_of_generation || reason == engine::FinishReason::stop_word;
    return is_end && has_calls ? "tool_calls" : finish_name(reason);
}

}  // namespace

const char* ChatAnswer::finish() const { return chat_finish(collected.finish, !reply.calls.empty()); }

Outcome<std::vector<ChatAnswer>> answer_chat(const Service& service, const ChatAsked& asked,
                                             const HttpRequest& request) {
    RIFTJIT_ASK(answers, service.submit(asked.asked, {asked.prompt.ids}));
    RIFTJIT_ASK(collected, collect(std::move(answers), request));
    std::vector<ChatAnswer> result;
    for (Collected& each : collected) {
        engine::ReplyParser parser(service.reply_format(), asked.reply);
        engine::Reply reply = parser.push(each.text);
        append(reply, parser.finish());
        if (reply.calls.size() > asked.calls_at_most) reply.calls.resize(asked.calls_at_most);
        result.push_back({std::move(each), std::move(reply)});
    }
    return result;
}

ChatStream::ChatStream(const Service& service, const ChatAsked& asked)
    : service_(service), asked_(asked), calls_(asked.asked.count) {
    for (uint32_t i = 0; i < asked.asked.count; ++i) parsers_.emplace_back(service.reply_format(), asked.reply);
}

std::string ChatStream::event(size_t i, const engine::ServingEvent& event) {
    engine::Reply news = parsers_[i].push(event.text);
    if (event.finish) append(news, parsers_[i].finish());
    news.calls.resize(std::min(news.calls.size(), asked_.calls_at_most - calls_[i]));
    calls_[i] += news.calls.size();
    return say(i, news, event);
}

const char* ChatStream::finish(size_t i, engine::FinishReason reason) const {
    return chat_finish(reason, calls_[i] > 0);
}

Outcome<HttpReply> stream_chat(const Service& service, const ChatAsked& asked, std::shared_ptr<StreamFormat> format) {
    RIFTJIT_ASK(answers, service.submit(asked.asked, {asked.prompt.ids}));
    return stream(std::move(answers), std::move(format), asked.asked.ping_seconds);
}

}  // namespace riftjit::server
