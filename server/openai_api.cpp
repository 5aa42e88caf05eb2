// OpenAI's endpoints: models, completions, chat completions.
#include "host/json_text.h"
#include "server/apis.h"
#include "server/chat.h"

namespace riftjit::server {

namespace {

HttpReply models_list(const Service& service, const HttpRequest&) {
    const Json model = {{"name", service.model_name()},
                        {"model", service.model_name()},
                        {"modified_at", ""},
                        {"size", ""},
                        {"digest", ""},
                        {"type", "model"},
                        {"description", ""},
                        {"tags", service.options().tags},
                        {"capabilities", {"completion"}},
                        {"parameters", ""},
                        {"details", service.model_details()}};
    return json_reply(
        {{"models", Json::array({model})}, {"object", "list"}, {"data", Json::array({model_data(service)})}});
}

HttpReply one_model(const Service& service, const HttpRequest& request) {
    const std::string& id = request.query.at("id");
    if (id != service.model_name()) return error_reply({404, fmt::format("model '{}' not found", replace_invalid(id))});
    return json_reply({{"id", id}, {"object", "model"}, {"created", service.started()}, {"owned_by", "llamacpp"}});
}

// What all objects of one reply have.
struct ReplyHead {
    const Service& service;
    std::string id, model, object;
    int64_t created = seconds_now();

    Json make(Json choices) const {
        return {{"id", id},
                {"object", object},
                {"created", created},
                {"model", model},
                {"system_fingerprint", service.fingerprint()},
                {"choices", std::move(choices)}};
    }
};

std::string model_of(const Service& service, Fields& fields) {
    const auto model = fields.text("model");
    return model && !model->empty() ? *model : service.model_name();
}

Json usage_of(const std::vector<Collected>& answers) {
    // The prompt is one, whatever the number of answers to it.
    engine::ServingTimings sum = answers.front().timings;
    for (size_t i = 1; i < answers.size(); ++i) sum.predicted_tokens += answers[i].timings.predicted_tokens;
    return usage_json(sum);
}

// Completions

Json legacy_logprobs(const Service& service, const Asked& asked,
                     const std::vector<engine::ServingEvent::Token>& tokens) {
    Json content = Json::array();
    for (const auto& token : tokens) content.push_back(service.chances_json(token, asked));
    return {{"content", std::move(content)}};
}

class TextStream : public StreamFormat {
public:
    TextStream(ReplyHead head, Asked asked, size_t answers, uint32_t count)
        : head_(std::move(head)), asked_(std::move(asked)), unsaid_(answers), all_(answers), count_(count) {}

    std::string event(size_t i, const engine::ServingEvent& event) override {
        all_[i].timings = event.timings;
        if (event.token) unsaid_[i].push_back(*event.token);
        const bool is_progress = !event.token && !event.finish;
        std::string bytes;
        if (!event.text.empty() || is_progress) {
            Json logprobs;
            if (asked_.request.chances > 0) logprobs = legacy_logprobs(head_.service, asked_, unsaid_[i]);
            unsaid_[i].clear();
            Json chunk = head_.make(Json::array(
                {{{"text", event.text}, {"index", i}, {"logprobs", logprobs}, {"finish_reason", nullptr}}}));
            if (asked_.tells_timings) chunk["timings"] = timings_json(event.timings);
            if (is_progress) chunk["prompt_progress"] = progress_json(event);
            bytes = server_event(chunk);
        }
        if (event.finish) {
            Json chunk = head_.make(Json::array(
                {{{"text", ""}, {"index", i}, {"logprobs", nullptr}, {"finish_reason", finish_name(*event.finish)}}}));
            chunk["usage"] = usage_json(event.timings);
            chunk["timings"] = timings_json(event.timings);
            bytes += server_event(chunk);
        }
        return bytes;
    }
    std::string end() override {
        std::string bytes;
        if (asked_.includes_usage) {
            Json chunk = head_.make(Json::array());
            chunk["usage"] = usage_of(all_);
            bytes = server_event(chunk);
        }
        return bytes += "data: [DONE]\n\n";
    }

private:
    ReplyHead head_;
    Asked asked_;
    std::vector<std::vector<engine::ServingEvent::Token>> unsaid_;
    std::vector<Collected> all_;
    uint32_t count_;
};

Outcome<HttpReply> complete_text(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    Asked asked = service.read_settings(fields);
    if (const auto logprobs = fields.integer("logprobs", 0, 20)) asked.request.chances = uint32_t(*logprobs);
    const bool echoes = fields.boolean("echo").value_or(false);
    ReplyHead head{service, service.random_id("cmpl-"), model_of(service, fields), "text_completion"};
    if (fields.has("suffix") && fields.text("suffix").value_or("") != "")
        fields.fail({501, "\"suffix\": prompts of a text's middle are not made in this build"});
    if (fields.integer("best_of", 1, int64_t(asked.count)).value_or(1) > 1 && asked.count == 1)
        fields.fail({501, "\"best_of\": answers are not ranked in this build"});
    if (echoes && asked.streams) fields.fail({501, "\"echo\": not in streams of this build"});
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(prompts, service.prompts_of("prompt", fields.find("prompt")));
    RIFTJIT_ASK(answers, service.submit(asked, prompts));
    if (asked.streams) {
        const size_t count = answers.size();
        return stream(std::move(answers), std::make_shared<TextStream>(std::move(head), asked, count, asked.count),
                      asked.ping_seconds);
    }
    RIFTJIT_ASK(collected, collect(std::move(answers), request));
    Json choices = Json::array();
    engine::ServingTimings sum;
    for (size_t i = 0; i < collected.size(); ++i) {
        const Collected& answer = collected[i];
        std::string text = answer.text;
        if (echoes) text = replace_invalid(service.tokenizer().decode(prompts[i / asked.count])) + text;
        Json logprobs;
        if (asked.request.chances > 0) logprobs = legacy_logprobs(service, asked, answer.tokens);
        choices.push_back({{"text", std::move(text)},
                           {"index", i},
                           {"logprobs", std::move(logprobs)},
                           {"finish_reason", finish_name(answer.finish)}});
        sum.predicted_tokens += answer.timings.predicted_tokens;
        if (i % asked.count != 0) continue;
        sum.prompt_tokens += answer.timings.prompt_tokens;
        sum.cached_tokens += answer.timings.cached_tokens;
    }
    Json object = head.make(std::move(choices));
    object["usage"] = usage_json(sum);
    object["timings"] = timings_json(collected.front().timings);
    if (asked.is_verbose)
        object["__verbose"] = completion_json(service, asked, service.prompt_text(prompts[0]), 0, collected.front());
    return json_reply(object);
}

HttpReply completions(const Service& service, const HttpRequest& request) {
    auto reply = complete_text(service, request);
    return reply ? std::move(*reply) : error_reply(reply.error());
}

// Chat

Json calls_json(const std::vector<engine::ToolCall>& calls, const Service& service, size_t first) {
    Json array = Json::array();
    for (size_t i = 0; i < calls.size(); ++i)
        array.push_back({{"index", first + i},
                         {"id", service.random_id("call_")},
                         {"type", "function"},
                         {"function", {{"name", calls[i].name}, {"arguments", calls[i].arguments}}}});
    return array;
}

class ChatChunks : public ChatStream {
public:
    ChatChunks(const Service& service, const ChatAsked& asked, ReplyHead head)
        : ChatStream(service, asked),
          head_(std::move(head)),
          calls_(asked.asked.count),
          all_(asked.asked.count),
          unsaid_(asked.asked.count) {}

    std::string begin() override {
        std::string bytes;
        for (size_t i = 0; i < all_.size(); ++i)
            bytes += server_event(
                head_.make(Json::array({choice(i, {{"role", "assistant"}, {"content", nullptr}}, nullptr)})));
        return bytes;
    }

    std::string say(size_t i, const engine::Reply& news, const engine::ServingEvent& event) override {
        all_[i].timings = event.timings;
        if (event.token && asked_.asked.request.chances > 0) unsaid_[i].push_back(*event.token);
        std::string bytes;
        if (!event.token && !event.finish) {
            Json progress = head_.make(Json::array({choice(i, Json::object(), nullptr)}));
            progress["prompt_progress"] = progress_json(event);
            return server_event(progress);
        }
        if (!news.reasoning.empty()) bytes += chunk(i, {{"reasoning_content", news.reasoning}});
        if (!news.content.empty()) bytes += chunk(i, {{"content", news.content}});
        if (!news.calls.empty()) {
            bytes += chunk(i, {{"tool_calls", calls_json(news.calls, service_, calls_[i])}});
            calls_[i] += news.calls.size();
        }
        if (!event.finish) return bytes;
        Json last = head_.make(Json::array({choice(i, Json::object(), finish(i, *event.finish))}));
        if (!asked_.asked.includes_usage) last["timings"] = timings_json(event.timings);
        return bytes += server_event(last);
    }

    std::string end() override {
        std::string bytes;
        if (asked_.asked.includes_usage) {
            Json last = head_.make(Json::array());
            last["usage"] = usage_of(all_);
            last["timings"] = timings_json(all_.front().timings);
            bytes = server_event(last);
        }
        return bytes += "data: [DONE]\n\n";
    }

private:
    Json choice(size_t i, Json delta, Json finish) {
        Json made = {{"finish_reason", std::move(finish)}, {"index", i}, {"delta", std::move(delta)}};
        if (!unsaid_[i].empty()) {
            made["logprobs"] = legacy_logprobs(service_, asked_.asked, unsaid_[i]);
            unsaid_[i].clear();
        }
        return made;
    }
    std::string chunk(size_t i, Json delta) {
        Json object = head_.make(Json::array({choice(i, std::move(delta), nullptr)}));
        if (asked_.asked.tells_timings) object["timings"] = timings_json(all_[i].timings);
        return server_event(object);
    }

    ReplyHead head_;
    std::vector<size_t> calls_;
    std::vector<Collected> all_;
    std::vector<std::vector<engine::ServingEvent::Token>> unsaid_;
};

Outcome<HttpReply> complete_chat(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    ReplyHead head{service, service.random_id("chatcmpl-"), model_of(service, fields), "chat.completion"};
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(chat, read_chat(service, body));
    if (chat.asked.streams) {
        head.object = "chat.completion.chunk";
        return stream_chat(service, chat, std::make_shared<ChatChunks>(service, chat, std::move(head)));
    }
    RIFTJIT_ASK(answers, answer_chat(service, chat, request));
    Json choices = Json::array();
    std::vector<Collected> collected;
    for (size_t i = 0; i < answers.size(); ++i) {
        const ChatAnswer& answer = answers[i];
        const bool has_calls = !answer.reply.calls.empty();
        Json message = {{"role", "assistant"},
                        {"content", has_calls && answer.reply.content.empty() ? Json() : Json(answer.reply.content)}};
        if (!answer.reply.reasoning.empty()) message["reasoning_content"] = answer.reply.reasoning;
        if (has_calls) {
            message["tool_calls"] = calls_json(answer.reply.calls, service, 0);
            for (Json& call : message["tool_calls"]) call.erase("index");
        }
        Json choice = {{"finish_reason", answer.finish()}, {"index", i}, {"message", std::move(message)}};
        if (chat.asked.request.chances > 0)
            choice["logprobs"] = legacy_logprobs(service, chat.asked, answer.collected.tokens);
        choices.push_back(std::move(choice));
        collected.push_back(answer.collected);
    }
    Json object = head.make(std::move(choices));
    object["usage"] = usage_of(collected);
    object["timings"] = timings_json(collected.front().timings);
    if (chat.asked.is_verbose)
        object["__verbose"] = completion_json(service, chat.asked, chat.prompt.text, 0, collected.front());
    return json_reply(object);
}

HttpReply chat_completions(const Service& service, const HttpRequest& request) {
    auto reply = complete_chat(service, request);
    return reply ? std::move(*reply) : error_reply(reply.error());
}

// Google's Vertex AI: chats in a list, answered one after the other.
struct PartRequest : HttpRequest {
    PartRequest(const HttpRequest& whole, std::string part) : HttpRequest(whole), whole_(&whole) {
        body = std::move(part);
    }
    bool is_abandoned() const override { return whole_->is_abandoned(); }

private:
    const HttpRequest* whole_;
};

Outcome<Json> predict_all(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    const Json* instances = fields.array("instances");
    RIFTJIT_ASK_VOID(fields.check());
    if (instances == nullptr) return refuse(400, "\"instances\": is missing");
    Json predictions = Json::array();
    for (size_t i = 0; i < instances->size(); ++i) {
        Json instance = (*instances)[i];
        if (!instance.is_object() || instance.value("@requestFormat", Json()) != "chatCompletions")
            return refuse(400, "\"instances[{}]\": expected an object with \"@requestFormat\": \"chatCompletions\"", i);
        instance.erase("@requestFormat");
        instance["stream"] = false;
        RIFTJIT_ASK(reply, complete_chat(service, PartRequest(request, json_text(instance))));
        predictions.push_back(parse_json<Json>(reply.body));
    }
    return Json{{"predictions", std::move(predictions)}};
}

HttpReply predict(const Service& service, const HttpRequest& request) {
    return reply_of(predict_all(service, request));
}

Outcome<Json> count_tokens(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(tokens, count_chat(service, body));
    return Json{{"object", "response.input_tokens"}, {"input_tokens", tokens}};
}

HttpReply chat_input_tokens(const Service& service, const HttpRequest& request) {
    return reply_of(count_tokens(service, request));
}

Outcome<Json> render_template(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(chat, read_chat(service, body));
    return Json{{"prompt", chat.prompt.text}};
}

HttpReply apply_template(const Service& service, const HttpRequest& request) {
    return reply_of(render_template(service, request));
}

HttpReply control(const Service&, const HttpRequest&) {
    return error_reply({501, "reasoning cannot be ended from outside in this build"});
}

constexpr Route kOpenaiRoutes[] = {
    {"GET", "/models", models_list},
    {"GET", "/v1/models", models_list},
    {"GET", "/v1/models/{id}", one_model},
    {"POST", "/v1/completions", completions},
    {"POST", "/v1/chat/completions", chat_completions},
    {"POST", "/chat/completions", chat_completions},
    {"POST", "/v1/chat/completions/input_tokens", chat_input_tokens},
    {"POST", "/chat/completions/input_tokens", chat_input_tokens},
    {"POST", "/v1/chat/completions/control", control},
    {"POST", "/apply-template", apply_template},
    {"POST", "/predict", predict},
};

}  // namespace

Json model_data(const Service& service) {
    const auto& engine = service.engine();
    const auto& hyper = engine.model.hyperparameters;
    const Json meta = {{"vocab_type", service.tokenizer().kind()},
                       {"n_vocab", service.tokenizer().size()},
                       {"n_ctx", service.scheduler().context()},
                       {"n_ctx_train", hyper.context_length},
                       {"n_embd", hyper.width},
                       {"n_params", service.parameters()},
                       {"size", service.weight_bytes()},
                       {"ftype", service.file_type()}};
    return {{"id", service.model_name()},
            {"aliases", service.options().names},
            {"tags", service.options().tags},
            {"object", "model"},
            {"created", service.started()},
            {"owned_by", "llamacpp"},
            {"meta", meta}};
}

std::span<const Route> openai_routes() { return kOpenaiRoutes; }

}  // namespace riftjit::server
