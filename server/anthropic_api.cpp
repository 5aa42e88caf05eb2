// Anthropic's messages, translated to OpenAI's.
#include "host/json_text.h"
#include "server/apis.h"
#include "server/chat.h"

namespace riftjit::server {

namespace {

Json anthropic_error_object(const ApiError& error) {
    Json object = error_object(error);
    object["type"] = "error";
    return object;
}

HttpReply anthropic_error(const ApiError& error) { return json_reply(anthropic_error_object(error), error.status); }

Outcome<std::string> block_text(const Json& content, const char* where) {
    if (content.is_string()) return content.get<std::string>();
    if (!content.is_array()) return refuse(400, "\"{}\": expected a string or an array of blocks", where);
    std::string text;
    for (const Json& block : content) {
        if (block.is_object() && block.value("type", Json()) == "image") return std::unexpected(no_media("image"));
        if (!block.is_object() || block.value("type", Json()) != "text" || !block.contains("text") ||
            !block["text"].is_string())
            return refuse(400, "\"{}\": expected blocks of type text", where);
        text += block["text"].get_ref<const std::string&>();
    }
    return text;
}

// One message may become several: what tools gave back are messages of their own.
Outcome<void> add_anthropic_message(const Json& message, size_t index, Json& messages) {
    const std::string where = fmt::format("messages[{}].content", index);
    if (!message.is_object()) return refuse(400, "\"messages[{}]\": expected an object", index);
    Fields fields(message, fmt::format("messages[{}].", index));
    const auto role = fields.text("role");
    RIFTJIT_ASK_VOID(fields.check());
    if (!role) return refuse(400, "\"messages[{}].role\": is missing", index);
    const Json* content = fields.find("content");
    if (content == nullptr || content->is_string()) {
        messages.push_back({{"role", *role}, {"content", content == nullptr ? Json() : *content}});
        return {};
    }
    if (!content->is_array()) return refuse(400, "\"{}\": expected a string or an array of blocks", where);
    std::string text, thinking;
    Json calls = Json::array();
    bool has_text = false;
    for (const Json& block : *content) {
        if (!block.is_object()) return refuse(400, "\"{}\": expected blocks", where);
        Fields parts(block, where + "[].");
        const std::string type = parts.text("type").value_or("");
        if (type == "text") {
            text += parts.text("text").value_or("");
            has_text = true;
        } else if (type == "thinking") {
            thinking += parts.text("thinking").value_or("");
        } else if (type == "redacted_thinking") {
            continue;
        } else if (type == "tool_use") {
            const Json* input = parts.object("input");
            calls.push_back({{"id", parts.text("id").value_or("")},
                             {"type", "function"},
                             {"function",
                              {{"name", parts.text("name").value_or("")},
                               {"arguments", input == nullptr ? "{}" : json_text(*input)}}}});
        } else if (type == "tool_result") {
            std::string result;
            if (const Json* given = parts.find("content")) {
                RIFTJIT_ASK(read, block_text(*given, where.c_str()));
                result = std::move(read);
            }
            messages.push_back(
                {{"role", "tool"}, {"tool_call_id", parts.text("tool_use_id").value_or("")}, {"content", result}});
        } else if (type == "image" || type == "document") {
            return std::unexpected(no_media(type));
        } else {
            return refuse(400, "\"{}\": a block of type \"{}\" is not known", where, type.substr(0, 60));
        }
        RIFTJIT_ASK_VOID(parts.check());
    }
    if (!has_text && calls.empty() && thinking.empty()) return {};
    Json converted = {{"role", *role}, {"content", has_text ? Json(text) : Json("")}};
    if (!thinking.empty()) converted["reasoning_content"] = thinking;
    if (!calls.empty()) converted["tool_calls"] = std::move(calls);
    messages.push_back(std::move(converted));
    return {};
}

Outcome<Json> to_openai(const Json& body, bool is_count) {
    Fields fields(body);
    Json openai = Json::object(), messages = Json::array();
    if (const Json* system = fields.find("system")) {
        RIFTJIT_ASK(text, block_text(*system, "system"));
        if (!text.empty()) messages.push_back({{"role", "system"}, {"content", text}});
    }
    const Json* given = fields.array("messages");
    RIFTJIT_ASK_VOID(fields.check());
    if (given == nullptr) return refuse(400, "\"messages\": is missing");
    for (size_t i = 0; i < given->size(); ++i) RIFTJIT_ASK_VOID(add_anthropic_message((*given)[i], i, messages));
    openai["messages"] = std::move(messages);
    constexpr int64_t kUsualTokens = 4096;
    if (!is_count) openai["max_tokens"] = fields.integer("max_tokens", 1, INT32_MAX).value_or(kUsualTokens);
    for (const char* name : {"temperature", "top_p", "top_k", "stream", "seed", "cache_prompt", "id_slot", "min_p"})
        if (const Json* value = fields.find(name)) openai[name] = *value;
    if (const auto words = fields.texts("stop_sequences")) openai["stop"] = *words;
    if (const Json* tools = fields.array("tools"); tools != nullptr && !tools->empty()) {
        openai["tools"] = Json::array();
        for (size_t i = 0; i < tools->size(); ++i) {
            const Json& tool = (*tools)[i];
            if (!tool.is_object()) return refuse(400, "\"tools[{}]\": expected an object", i);
            Fields parts(tool, fmt::format("tools[{}].", i));
            const auto name = parts.text("name");
            const Json* schema = parts.object("input_schema");
            const std::string description = parts.text("description").value_or("");
            RIFTJIT_ASK_VOID(parts.check());
            if (!name) return refuse(400, "\"tools[{}].name\": is missing", i);
            openai["tools"].push_back({{"type", "function"},
                                       {"function",
                                        {{"name", *name},
                                         {"description", description},
                                         {"parameters", schema == nullptr ? Json::object() : *schema}}}});
        }
    }
    if (const Json* choice = fields.object("tool_choice")) {
        const Json type = choice->value("type", Json());
        openai["tool_choice"] = type == "any" ? "required" : type == "none" ? "none" : "auto";
        if (type == "tool")
            openai["tool_choice"] = {{"type", "function"}, {"function", {{"name", choice->value("name", Json())}}}};
        if (choice->value("disable_parallel_tool_use", Json()) == true) openai["parallel_tool_calls"] = false;
    }
    if (const Json* thinking = fields.object("thinking")) {
        const Json type = thinking->value("type", Json());
        if (type == "enabled" || type == "adaptive") openai["chat_template_kwargs"] = {{"enable_thinking", true}};
        if (type == "disabled") openai["chat_template_kwargs"] = {{"enable_thinking", false}};
    }
    RIFTJIT_ASK_VOID(fields.check());
    return openai;
}

Json anthropic_usage(const engine::ServingTimings& t) {
    return {{"cache_read_input_tokens", t.cached_tokens},
            {"input_tokens", t.prompt_tokens},
            {"output_tokens", t.predicted_tokens}};
}

// finish: as OpenAI has it.
const char* stop_reason(std::string_view finish, bool has_word) {
    if (finish == "tool_calls") return "tool_use";
    if (finish == "length") return "max_tokens";
    return has_word ? "stop_sequence" : "end_turn";
}

Json call_input(const engine::ToolCall& call) {
    Json input = parse_json<Json>(call.arguments);
    return input.is_object() ? input : Json::object();
}

class MessageEvents : public ChatStream {
public:
    MessageEvents(const Service& service, const ChatAsked& asked, std::string id, std::string model)
        : ChatStream(service, asked), id_(std::move(id)), model_(std::move(model)) {}

    std::string error(const ApiError& error) override { return server_event(anthropic_error_object(error), "error"); }
    std::string ping() override { return named("ping", Json::object()); }

protected:
    std::string say(size_t, const engine::Reply& news, const engine::ServingEvent& event) override {
        std::string bytes;
        if (!std::exchange(has_begun_, true)) {
            engine::ServingTimings timings = event.timings;
            timings.predicted_tokens = 0;
            bytes += named("message_start", {{"message",
                                              {{"id", id_},
                                               {"type", "message"},
                                               {"role", "assistant"},
                                               {"content", Json::array()},
                                               {"model", model_},
                                               {"stop_reason", nullptr},
                                               {"stop_sequence", nullptr},
                                               {"usage", anthropic_usage(timings)}}}});
        }
        if (!news.reasoning.empty()) {
            bytes += open(Block::thinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
            bytes += delta({{"type", "thinking_delta"}, {"thinking", news.reasoning}});
        }
        if (!news.content.empty()) {
            bytes += open(Block::text, {{"type", "text"}, {"text", ""}});
            bytes += delta({{"type", "text_delta"}, {"text", news.content}});
        }
        for (const engine::ToolCall& call : news.calls) {
            bytes += close();
            bytes += open(Block::call, {{"type", "tool_use"},
                                        {"id", service_.random_id("toolu_")},
                                        {"name", call.name},
                                        {"input", Json::object()}});
            bytes += delta({{"type", "input_json_delta"}, {"partial_json", json_text(call_input(call))}});
        }
        if (!event.finish) return bytes;
        bytes += close();
        const bool has_word = event.finish == engine::FinishReason::stop_word;
        bytes += named("message_delta", {{"delta",
                                          {{"stop_reason", stop_reason(finish(0, *event.finish), has_word)},
                                           {"stop_sequence", has_word ? Json(event.stop_word) : Json()}}},
                                         {"usage", anthropic_usage(event.timings)}});
        return bytes += named("message_stop", Json::object());
    }

private:
    enum class Block : uint8_t { none, thinking, text, call };

    static std::string named(const char* name, Json data) {
        Json object = {{"type", name}};
        object.update(data);
        return server_event(object, name);
    }
    std::string open(Block block, Json content) {
        if (block == open_ && block != Block::call) return {};
        std::string bytes = close();
        open_ = block;
        return bytes += named("content_block_start", {{"index", index_}, {"content_block", std::move(content)}});
    }
    std::string delta(Json news) {
        return named("content_block_delta", {{"index", index_}, {"delta", std::move(news)}});
    }
    std::string close() {
        if (open_ == Block::none) return {};
        std::string bytes;
        if (open_ == Block::thinking) bytes = delta({{"type", "signature_delta"}, {"signature", ""}});
        open_ = Block::none;
        return bytes += named("content_block_stop", {{"index", index_++}});
    }

    std::string id_, model_;
    bool has_begun_ = false;
    Block open_ = Block::none;
    size_t index_ = 0;
};

Outcome<HttpReply> answer_message(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(openai, to_openai(body, false));
    Fields fields(body);
    const std::string model = fields.text("model").value_or(service.model_name());
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(chat, read_chat(service, openai));
    std::string id = service.random_id("msg_");
    if (chat.asked.streams)
        return stream_chat(service, chat, std::make_shared<MessageEvents>(service, chat, std::move(id), model));
    RIFTJIT_ASK(answers, answer_chat(service, chat, request));
    const ChatAnswer& answer = answers[0];
    Json content = Json::array();
    if (!answer.reply.reasoning.empty())
        content.push_back({{"type", "thinking"}, {"thinking", answer.reply.reasoning}, {"signature", ""}});
    if (!answer.reply.content.empty()) content.push_back({{"type", "text"}, {"text", answer.reply.content}});
    for (const engine::ToolCall& call : answer.reply.calls)
        content.push_back({{"type", "tool_use"},
                           {"id", service.random_id("toolu_")},
                           {"name", call.name},
                           {"input", call_input(call)}});
    const std::string& word = answer.collected.stop_word;
    return json_reply({{"id", std::move(id)},
                       {"type", "message"},
                       {"role", "assistant"},
                       {"content", std::move(content)},
                       {"model", model},
                       {"stop_reason", stop_reason(answer.finish(), !word.empty())},
                       {"stop_sequence", word.empty() ? Json() : Json(word)},
                       {"usage", anthropic_usage(answer.collected.timings)}});
}

HttpReply messages(const Service& service, const HttpRequest& request) {
    auto reply = answer_message(service, request);
    return reply ? std::move(*reply) : anthropic_error(reply.error());
}

Outcome<Json> count_message(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(openai, to_openai(body, true));
    RIFTJIT_ASK(tokens, count_chat(service, openai));
    return Json{{"input_tokens", tokens}};
}

HttpReply count_messages(const Service& service, const HttpRequest& request) {
    const auto counted = count_message(service, request);
    return counted ? json_reply(*counted) : anthropic_error(counted.error());
}

constexpr Route kAnthropicRoutes[] = {
    {"POST", "/v1/messages", messages},
    {"POST", "/v1/messages/count_tokens", count_messages},
};

}  // namespace

std::span<const Route> anthropic_routes() { return kAnthropicRoutes; }

}  // namespace riftjit::server
