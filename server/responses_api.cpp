// OpenAI's responses, translated to chat completions. None is kept: a request holds its whole history.
#include "host/json_text.h"
#include "server/apis.h"
#include "server/chat.h"

namespace riftjit::server {

namespace {

Outcome<void> add_item(const Json& item, size_t index, Json& messages) {
    if (!item.is_object()) return refuse(400, "\"input[{}]\": expected an object", index);
    Fields fields(item, fmt::format("input[{}].", index));
    const std::string type = fields.text("type").value_or("message");
    if (type == "message") {
        const auto role = fields.text("role");
        RIFTJIT_ASK_VOID(fields.check());
        if (!role) return refuse(400, "\"input[{}].role\": is missing", index);
        Json content = fields.has("content") ? *fields.find("content") : Json();
        // Parts of text, whatever they are called here.
        if (content.is_array())
            for (Json& part : content)
                if (part.is_object() &&
                    (part.value("type", Json()) == "input_text" || part.value("type", Json()) == "output_text"))
                    part["type"] = "text";
        messages.push_back({{"role", *role == "developer" ? "system" : *role}, {"content", std::move(content)}});
    } else if (type == "function_call") {
        const Json call = {
            {"id", fields.text("call_id").value_or("")},
            {"type", "function"},
            {"function",
             {{"name", fields.text("name").value_or("")}, {"arguments", fields.text("arguments").value_or("{}")}}}};
        RIFTJIT_ASK_VOID(fields.check());
        if (!messages.empty() && messages.back()["role"] == "assistant" && messages.back().contains("tool_calls")) {
            messages.back()["tool_calls"].push_back(call);
        } else {
            messages.push_back({{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}});
        }
    } else if (type == "function_call_output") {
        const Json* output = fields.find("output");
        const std::string text = output == nullptr     ? ""
                                 : output->is_string() ? output->get<std::string>()
                                                       : json_text(*output);
        messages.push_back(
            {{"role", "tool"}, {"tool_call_id", fields.text("call_id").value_or("")}, {"content", text}});
        RIFTJIT_ASK_VOID(fields.check());
    } else if (type != "reasoning") {
        return refuse(400, "\"input[{}].type\": \"{}\" is not known here", index, type.substr(0, 60));
    }
    return {};
}

Outcome<Json> responses_to_chat(const Json& body) {
    Fields fields(body);
    Json openai = Json::object(), messages = Json::array();
    if (fields.text("previous_response_id").value_or("") != "")
        fields.fail({400, "\"previous_response_id\": responses are not kept; send the whole history as \"input\""});
    if (const auto instructions = fields.text("instructions"); instructions && !instructions->empty())
        messages.push_back({{"role", "system"}, {"content", *instructions}});
    RIFTJIT_ASK_VOID(fields.check());
    const Json* input = fields.find("input");
    if (input == nullptr) return refuse(400, "\"input\": is missing");
    if (input->is_string()) {
        messages.push_back({{"role", "user"}, {"content", *input}});
    } else if (input->is_array()) {
        for (size_t i = 0; i < input->size(); ++i) RIFTJIT_ASK_VOID(add_item((*input)[i], i, messages));
    } else {
        fields.wrong("input", "a string or an array of items", *input);
    }
    openai["messages"] = std::move(messages);
    if (const auto most = fields.integer("max_output_tokens", 1, INT32_MAX)) openai["max_tokens"] = *most;
    for (const char* name : {"temperature", "top_p", "stream", "seed", "stop", "tool_choice", "parallel_tool_calls",
                             "cache_prompt", "top_k", "min_p", "timings_per_token", "return_progress", "verbose",
                             "id_slot", "chat_template_kwargs", "reasoning_format"})
        if (const Json* value = fields.find(name)) openai[name] = *value;
    if (const Json* tools = fields.array("tools"); tools != nullptr && !tools->empty()) {
        openai["tools"] = Json::array();
        for (size_t i = 0; i < tools->size(); ++i) {
            Json tool = (*tools)[i];
            if (!tool.is_object() || tool.value("type", Json()) != "function")
                return refuse(400, "\"tools[{}].type\": 'type' of tool must be 'function'", i);
            tool.erase("type");
            tool.erase("strict");
            openai["tools"].push_back({{"type", "function"}, {"function", std::move(tool)}});
        }
    }
    if (const Json* reasoning = fields.object("reasoning"))
        if (const auto it = reasoning->find("effort"); it != reasoning->end() && !it->is_null())
            openai["reasoning_effort"] = *it;
    if (const Json* text = fields.object("text"))
        if (const auto it = text->find("format"); it != text->end() && it->is_object())
            openai["response_format"] =
                it->value("type", Json()) == "json_schema" ? Json{{"type", "json_schema"}, {"json_schema", *it}} : *it;
    RIFTJIT_ASK_VOID(fields.check());
    return openai;
}

Json response_usage(const engine::ServingTimings& t) {
    const uint64_t input = uint64_t(t.cached_tokens) + t.prompt_tokens;
    return {{"input_tokens", input},
            {"output_tokens", t.predicted_tokens},
            {"total_tokens", input + t.predicted_tokens},
            {"input_tokens_details", {{"cached_tokens", t.cached_tokens}}},
            {"output_tokens_details", {{"reasoning_tokens", 0}}}};
}

struct ResponseItems {
    std::string id, model, reasoning_id, message_id;
    int64_t created = seconds_now();

    Json response(const char* status, Json output) const {
        return {{"id", id},
                {"object", "response"},
                {"created_at", created},
                {"status", status},
                {"error", nullptr},
                {"incomplete_details", nullptr},
                {"instructions", nullptr},
                {"metadata", Json::object()},
                {"model", model},
                {"output", std::move(output)},
                {"parallel_tool_calls", true},
                {"tool_choice", "auto"},
                {"tools", Json::array()}};
    }
    Json reasoning(const std::string& text, const char* status) const {
        Json content = Json::array();
        if (!text.empty()) content.push_back({{"type", "reasoning_text"}, {"text", text}});
        return {{"id", reasoning_id},       {"type", "reasoning"},
                {"summary", Json::array()}, {"content", std::move(content)},
                {"encrypted_content", ""},  {"status", status}};
    }
    static Json part(const std::string& text) {
        return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
    }
    Json message(const std::string& text, const char* status) const {
        Json content = Json::array();
        if (*status == 'c') content.push_back(part(text));
        return {{"id", message_id},
                {"type", "message"},
                {"role", "assistant"},
                {"status", status},
                {"content", std::move(content)}};
    }
    static Json call(const std::string& id, const engine::ToolCall& call, const std::string& arguments,
                     const char* status) {
        return {{"id", "fc_" + id},        {"type", "function_call"}, {"status", status},
                {"call_id", "call_" + id}, {"name", call.name},       {"arguments", arguments}};
    }
    Json finished(Json output, const engine::ServingTimings& timings, std::string_view finish) const {
        const bool is_cut = finish == "length";
        Json object = response(is_cut ? "incomplete" : "completed", std::move(output));
        if (is_cut) object["incomplete_details"] = {{"reason", "max_output_tokens"}};
        object["usage"] = response_usage(timings);
        return object;
    }
};

class ResponseEvents : public ChatStream {
public:
    ResponseEvents(const Service& service, const ChatAsked& asked, ResponseItems items)
        : ChatStream(service, asked), items_(std::move(items)) {}

    std::string begin() override {
        const Json response = items_.response("in_progress", Json::array());
        std::string bytes = named("response.created", {{"response", response}});  // in this order: they are numbered
        return bytes += named("response.in_progress", {{"response", response}});
    }
    std::string error(const ApiError& error) override {
        Json object = items_.response("failed", output_);
        object["error"] = {{"code", error.type()}, {"message", error.message}};
        return named("response.failed", {{"response", std::move(object)}});
    }

protected:
    std::string say(size_t, const engine::Reply& news, const engine::ServingEvent& event) override {
        std::string bytes;
        if (!event.token && !event.finish)
            return named("response.in_progress", {{"response", items_.response("in_progress", Json::array())},
                                                  {"prompt_progress", progress_json(event)}});
        if (!news.reasoning.empty()) {
            if (reasoning_.empty()) bytes += added(items_.reasoning("", "in_progress"));
            reasoning_ += news.reasoning;
            bytes += named("response.reasoning_text.delta", {{"item_id", items_.reasoning_id},
                                                             {"output_index", output_.size()},
                                                             {"content_index", 0},
                                                             {"delta", news.reasoning}});
        }
        if (!news.content.empty()) {
            if (text_.empty()) {
                bytes += close_reasoning();
                bytes += added(items_.message("", "in_progress"));
                bytes += named("response.content_part.added", {{"item_id", items_.message_id},
                                                               {"output_index", output_.size()},
                                                               {"content_index", 0},
                                                               {"part", ResponseItems::part("")}});
            }
            text_ += news.content;
            Json delta = {{"item_id", items_.message_id},
                          {"output_index", output_.size()},
                          {"content_index", 0},
                          {"delta", news.content},
                          {"logprobs", Json::array()}};
            if (asked_.asked.tells_timings) delta["timings"] = timings_json(event.timings);
            bytes += named("response.output_text.delta", std::move(delta));
        }
        for (const engine::ToolCall& call : news.calls) {
            bytes += close_reasoning();
            bytes += close_text();
            const std::string id = service_.random_id("");
            bytes += added(ResponseItems::call(id, call, "", "in_progress"));
            const Json place = {{"item_id", "fc_" + id}, {"output_index", output_.size()}};
            Json delta = place, done = place;
            delta["delta"] = call.arguments;
            done["arguments"] = call.arguments;
            done["name"] = call.name;
            bytes += named("response.function_call_arguments.delta", std::move(delta));
            bytes += named("response.function_call_arguments.done", std::move(done));
            bytes += done_item(ResponseItems::call(id, call, call.arguments, "completed"));
        }
        if (!event.finish) return bytes;
        bytes += close_reasoning();
        bytes += close_text();
        const std::string_view reason = finish(0, *event.finish);
        Json response = items_.finished(output_, event.timings, reason);
        return bytes += named(reason == "length" ? "response.incomplete" : "response.completed",
                              {{"response", std::move(response)}, {"timings", timings_json(event.timings)}});
    }

private:
    std::string named(const char* name, Json data) {
        Json object = {{"type", name}, {"sequence_number", sequence_++}};
        object.update(data);
        return server_event(object, name);
    }
    std::string added(Json item) {
        return named("response.output_item.added", {{"output_index", output_.size()}, {"item", std::move(item)}});
    }
    std::string done_item(Json item) {
        std::string bytes = named("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
        output_.push_back(std::move(item));
        return bytes;
    }
    std::string close_reasoning() {
        if (reasoning_.empty()) return {};
        return done_item(items_.reasoning(std::exchange(reasoning_, {}), "completed"));
    }
    std::string close_text() {
        if (text_.empty()) return {};
        const Json place = {{"item_id", items_.message_id}, {"output_index", output_.size()}, {"content_index", 0}};
        Json text = place, part = place;
        text["text"] = text_;
        text["logprobs"] = Json::array();
        part["part"] = ResponseItems::part(text_);
        std::string bytes = named("response.output_text.done", std::move(text));
        bytes += named("response.content_part.done", std::move(part));
        return bytes += done_item(items_.message(std::exchange(text_, {}), "completed"));
    }

    ResponseItems items_;
    uint64_t sequence_ = 0;
    std::string reasoning_, text_;  // of the item that is open
    Json output_ = Json::array();
};

Outcome<HttpReply> respond(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(openai, responses_to_chat(body));
    Fields fields(body);
    ResponseItems items{service.random_id("resp_"), fields.text("model").value_or(service.model_name()),
                        service.random_id("rs_"), service.random_id("msg_")};
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(chat, read_chat(service, openai));
    if (chat.asked.streams)
        return stream_chat(service, chat, std::make_shared<ResponseEvents>(service, chat, std::move(items)));
    RIFTJIT_ASK(answers, answer_chat(service, chat, request));
    const ChatAnswer& answer = answers[0];
    Json output = Json::array();
    if (!answer.reply.reasoning.empty()) output.push_back(items.reasoning(answer.reply.reasoning, "completed"));
    if (!answer.reply.content.empty()) output.push_back(items.message(answer.reply.content, "completed"));
    for (const engine::ToolCall& call : answer.reply.calls)
        output.push_back(ResponseItems::call(service.random_id(""), call, call.arguments, "completed"));
    Json object = items.finished(std::move(output), answer.collected.timings, answer.finish());
    object["completed_at"] = seconds_now();
    return json_reply(object);
}

HttpReply responses(const Service& service, const HttpRequest& request) {
    auto reply = respond(service, request);
    return reply ? std::move(*reply) : error_reply(reply.error());
}

Outcome<Json> count_response(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(openai, responses_to_chat(body));
    RIFTJIT_ASK(tokens, count_chat(service, openai));
    return Json{{"object", "response.input_tokens"}, {"input_tokens", tokens}};
}

HttpReply response_input_tokens(const Service& service, const HttpRequest& request) {
    return reply_of(count_response(service, request));
}

constexpr Route kResponsesRoutes[] = {
    {"POST", "/v1/responses", responses},
    {"POST", "/responses", responses},
    {"POST", "/v1/responses/input_tokens", response_input_tokens},
    {"POST", "/responses/input_tokens", response_input_tokens},
};

}  // namespace

std::span<const Route> responses_routes() { return kResponsesRoutes; }

}  // namespace riftjit::server
