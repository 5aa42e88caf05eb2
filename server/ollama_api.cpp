// Ollama's endpoints. Durations are nanoseconds, and an error is a string.
#include <chrono>
#include <ctime>

#include "host/json_text.h"
#include "server/apis.h"
#include "server/chat.h"

namespace riftjit::server {

HttpReply ollama_error(const ApiError& error) { return json_reply({{"error", error.message}}, error.status); }

// With ":latest", as Ollama names models that have no tag.
bool is_this_model(const Service& service, const std::string& name) {
    const std::string& own = service.model_name();
    return name.empty() || name == own || name == own + ":latest" || own == name + ":latest";
}

std::string ollama_time() {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    const auto micros =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                       utc.tm_hour, utc.tm_min, utc.tm_sec, micros);
}

namespace {

Json durations(const engine::ServingTimings& t) {
    const auto nanoseconds = [](double ms) { return int64_t(ms * 1e6); };
    return {{"total_duration", nanoseconds(t.prompt_ms + t.predicted_ms)},
            {"load_duration", 0},
            {"prompt_eval_count", uint64_t(t.cached_tokens) + t.prompt_tokens},
            {"prompt_eval_duration", nanoseconds(t.prompt_ms)},
            {"eval_count", t.predicted_tokens},
            {"eval_duration", nanoseconds(t.predicted_ms)}};
}

// What Ollama's request says in the words of the others.
struct OllamaAsked {
    Json settings = Json::object();  // as read_settings() takes them
    std::string model;
    bool streams = true;
};

Outcome<OllamaAsked> read_ollama(const Service& service, const Json& body) {
    Fields fields(body);
    OllamaAsked asked;
    asked.model = fields.text("model").value_or("");
    fields.read("stream", asked.streams);
    if (const Json* format = fields.find("format"); format != nullptr && *format != "") {
        if (*format == "json") {
            asked.settings["json_schema"] = Json::object();
        } else if (format->is_object()) {
            asked.settings["json_schema"] = *format;
        } else {
            fields.wrong("format", "\"json\" or a schema", *format);
        }
    }
    const Json* keep = fields.find("keep_alive");
    if (keep != nullptr && !keep->is_string() && !keep->is_number()) fields.wrong("keep_alive", "a duration", *keep);
    if (const Json* images = fields.array("images"); images != nullptr && !images->empty())
        fields.fail(no_media("image"));
    if (const Json* options = fields.object("options")) {
        constexpr std::pair<const char*, const char*> kNames[] = {{"num_predict", "n_predict"},
                                                                  {"temperature", "temperature"},
                                                                  {"top_k", "top_k"},
                                                                  {"top_p", "top_p"},
                                                                  {"min_p", "min_p"},
                                                                  {"typical_p", "typical_p"},
                                                                  {"seed", "seed"},
                                                                  {"stop", "stop"},
                                                                  {"repeat_penalty", "repeat_penalty"},
                                                                  {"repeat_last_n", "repeat_last_n"},
                                                                  {"presence_penalty", "presence_penalty"},
                                                                  {"frequency_penalty", "frequency_penalty"},
                                                                  {"mirostat", "mirostat"},
                                                                  {"mirostat_tau", "mirostat_tau"},
                                                                  {"mirostat_eta", "mirostat_eta"},
                                                                  {"num_keep", "n_keep"}};
        for (const auto& [theirs, ours] : kNames)
            if (const auto it = options->find(theirs); it != options->end() && !it->is_null())
                asked.settings[ours] = *it;
        Fields inner(*options, "options.");
        // No other context than the one that was loaded; more is not promised in silence.
        if (const auto context = inner.integer("num_ctx", 1, INT32_MAX);
            context && *context > service.scheduler().context())
            inner.fail(
                {400, fmt::format(
                          "\"options.num_ctx\": {} is more than the {} positions that the server was started with (-c)",
                          *context, service.scheduler().context())});
        inner.integer("num_gpu", -1, INT32_MAX);
        inner.integer("num_thread", 0, INT32_MAX);
        inner.integer("num_batch", 0, INT32_MAX);
        if (const auto checked = inner.check(); !checked) fields.fail(checked.error());
        if (asked.settings.contains("n_predict") && asked.settings["n_predict"] == -2) asked.settings["n_predict"] = -1;
    }
    RIFTJIT_ASK_VOID(fields.check());
    if (!is_this_model(service, asked.model)) return refuse(404, "model '{}' not found", asked.model);
    return asked;
}

Json ollama_head(const Service& service, const OllamaAsked& asked) {
    return {{"model", asked.model.empty() ? service.model_name() : asked.model}, {"created_at", ollama_time()}};
}

// Raw text

class GenerateLines : public StreamFormat {
public:
    GenerateLines(const Service& service, OllamaAsked asked) : service_(service), asked_(std::move(asked)) {}

    std::string event(size_t, const engine::ServingEvent& event) override {
        std::string bytes;
        if (!event.text.empty()) {
            Json line = ollama_head(service_, asked_);
            line["response"] = event.text;
            line["done"] = false;
            bytes = json_text(line) + "\n";
        }
        if (!event.finish) return bytes;
        Json line = ollama_head(service_, asked_);
        line["response"] = "";
        line["done"] = true;
        line["done_reason"] = finish_name(*event.finish);
        line.update(durations(event.timings));
        return bytes += json_text(line) + "\n";
    }
    std::string error(const ApiError& error) override { return json_text(Json{{"error", error.message}}) + "\n"; }
    std::string ping() override { return {}; }  // lines of JSON have no comments
    const char* type() const override { return "application/x-ndjson"; }

private:
    const Service& service_;
    OllamaAsked asked_;
};

Outcome<HttpReply> generate_text(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(asked, read_ollama(service, body));
    Fields fields(body);
    const std::string prompt = fields.text("prompt").value_or("");
    const bool is_raw = fields.boolean("raw").value_or(false);
    const auto system = fields.text("system");
    if (fields.text("suffix").value_or("") != "")
        fields.fail({501, "\"suffix\": prompts of a text's middle are not made in this build"});
    if (fields.has("template"))
        fields.fail({501, "\"template\": the server's chat template is used (--chat-template)"});
    RIFTJIT_ASK_VOID(fields.check());
    if (prompt.empty()) {
        // How clients ask for a model to be loaded, or to go.
        const Json* keep = fields.find("keep_alive");
        const bool unloads = keep != nullptr && keep->is_number() && *keep == 0;
        Json line = ollama_head(service, asked);
        line.update({{"response", ""}, {"done", true}, {"done_reason", unloads ? "unload" : "load"}});
        return json_reply(line);
    }
    Fields settings(asked.settings, "options.");
    Asked plain = service.read_settings(settings);
    RIFTJIT_ASK_VOID(settings.check());
    std::vector<int32_t> ids;
    if (is_raw || !service.chat_template()) {
        RIFTJIT_ASK(raw, service.prompt_of(prompt));
        ids = std::move(raw);
    } else {
        Json messages = Json::array();
        if (system && !system->empty()) messages.push_back({{"role", "system"}, {"content", *system}});
        messages.push_back({{"role", "user"}, {"content", prompt}});
        RIFTJIT_ASK(chat, service.render_chat(std::move(messages), nullptr, Json::object()));
        ids = std::move(chat.ids);
    }
    RIFTJIT_ASK(answers, service.submit(plain, {ids}));
    if (asked.streams) return stream(std::move(answers), std::make_shared<GenerateLines>(service, asked), -1);
    RIFTJIT_ASK(collected, collect(std::move(answers), request));
    Json line = ollama_head(service, asked);
    line["response"] = collected[0].text;
    line["done"] = true;
    line["done_reason"] = finish_name(collected[0].finish);
    line.update(durations(collected[0].timings));
    return json_reply(line);
}

HttpReply generate(const Service& service, const HttpRequest& request) {
    auto reply = generate_text(service, request);
    return reply ? std::move(*reply) : ollama_error(reply.error());
}

// Chat

Json ollama_message(const engine::Reply& reply) {
    Json message = {{"role", "assistant"}, {"content", reply.content}};
    if (!reply.reasoning.empty()) message["thinking"] = reply.reasoning;
    if (reply.calls.empty()) return message;
    message["tool_calls"] = Json::array();
    for (const engine::ToolCall& call : reply.calls) {
        Json arguments = parse_json<Json>(call.arguments);
        if (!arguments.is_object()) arguments = Json::object();
        message["tool_calls"].push_back({{"function", {{"name", call.name}, {"arguments", std::move(arguments)}}}});
    }
    return message;
}

class ChatLines : public ChatStream {
public:
    ChatLines(const Service& service, const ChatAsked& chat, OllamaAsked asked)
        : ChatStream(service, chat), ollama_(std::move(asked)) {}

    std::string error(const ApiError& error) override { return json_text(Json{{"error", error.message}}) + "\n"; }
    std::string ping() override { return {}; }
    const char* type() const override { return "application/x-ndjson"; }

protected:
    std::string say(size_t, const engine::Reply& news, const engine::ServingEvent& event) override {
        std::string bytes;
        if (!news.is_empty()) {
            Json line = ollama_head(service_, ollama_);
            line["message"] = ollama_message(news);
            line["done"] = false;
            bytes = json_text(line) + "\n";
        }
        if (!event.finish) return bytes;
        Json line = ollama_head(service_, ollama_);
        line["message"] = {{"role", "assistant"}, {"content", ""}};
        line["done"] = true;
        line["done_reason"] = finish_name(*event.finish);
        line.update(durations(event.timings));
        return bytes += json_text(line) + "\n";
    }

private:
    OllamaAsked ollama_;
};

// Arguments of earlier calls are objects here; OpenAI's form has their text.
Json ollama_messages(const Json& messages) {
    Json converted = messages;
    if (!converted.is_array()) return converted;
    for (Json& message : converted) {
        if (!message.is_object()) continue;
        if (const auto thinking = message.find("thinking"); thinking != message.end() && thinking->is_string())
            message["reasoning_content"] = *thinking;
        if (const auto it = message.find("tool_calls"); it != message.end() && it->is_array())
            for (Json& call : *it) {
                if (!call.is_object()) continue;
                call["type"] = "function";
                const auto function = call.find("function");
                if (function == call.end() || !function->is_object() || !function->contains("arguments")) continue;
                Json& arguments = (*function)["arguments"];
                if (arguments.is_object()) arguments = json_text(arguments);
            }
    }
    return converted;
}

Outcome<HttpReply> chat_with_ollama(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    RIFTJIT_ASK(asked, read_ollama(service, body));
    Fields fields(body);
    Json openai = asked.settings;
    if (const Json* messages = fields.array("messages")) {
        for (const Json& message : *messages)
            if (message.is_object() && message.contains("images") && message["images"].is_array() &&
                !message["images"].empty())
                fields.fail(no_media("image"));
        if (messages->empty()) {
            Json line = ollama_head(service, asked);
            line.update(
                {{"message", {{"role", "assistant"}, {"content", ""}}}, {"done", true}, {"done_reason", "load"}});
            return json_reply(line);
        }
        openai["messages"] = ollama_messages(*messages);
    }
    if (const Json* tools = fields.array("tools")) openai["tools"] = *tools;
    if (const Json* think = fields.find("think")) {
        if (think->is_boolean()) {
            openai["chat_template_kwargs"] = {{"enable_thinking", *think}};
        } else if (think->is_string()) {
            openai["reasoning_effort"] = *think;
        } else {
            fields.wrong("think", "true, false or a level", *think);
        }
    }
    RIFTJIT_ASK_VOID(fields.check());
    openai["stream"] = asked.streams;
    RIFTJIT_ASK(chat, read_chat(service, openai));
    if (asked.streams) {
        chat.asked.ping_seconds = -1;
        return stream_chat(service, chat, std::make_shared<ChatLines>(service, chat, asked));
    }
    RIFTJIT_ASK(answers, answer_chat(service, chat, request));
    Json line = ollama_head(service, asked);
    line["message"] = ollama_message(answers[0].reply);
    line["done"] = true;
    line["done_reason"] = finish_name(answers[0].collected.finish);
    line.update(durations(answers[0].collected.timings));
    return json_reply(line);
}

HttpReply ollama_chat(const Service& service, const HttpRequest& request) {
    auto reply = chat_with_ollama(service, request);
    return reply ? std::move(*reply) : ollama_error(reply.error());
}

// What there is

HttpReply tags(const Service& service, const HttpRequest&) {
    return json_reply({{"models", Json::array({{{"name", service.model_name()},
                                                {"model", service.model_name()},
                                                {"modified_at", ollama_time()},
                                                {"size", service.weight_bytes()},
                                                {"digest", ""},
                                                {"details", service.model_details()}}})}});
}

HttpReply running(const Service& service, const HttpRequest&) {
    return json_reply({{"models", Json::array({{{"name", service.model_name()},
                                                {"model", service.model_name()},
                                                {"size", service.weight_bytes()},
                                                {"digest", ""},
                                                {"details", service.model_details()},
                                                {"expires_at", "2318-01-01T00:00:00Z"},
                                                {"size_vram", 0},
                                                {"context_length", service.scheduler().context()}}})}});
}

Outcome<Json> show_model(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    const std::string name = fields.text("model").value_or(fields.text("name").value_or(""));
    RIFTJIT_ASK_VOID(fields.check());
    if (!is_this_model(service, name)) return refuse(404, "model '{}' not found", name);
    const auto& hyper = service.engine().model.hyperparameters;
    const auto source = service.engine().model.file.string("tokenizer.chat_template");
    Json capabilities = {service.options().embedder == nullptr ? "completion" : "embedding"};
    if (service.reply_format().has_calls()) capabilities.push_back("tools");
    if (service.reply_format().has_reasoning()) capabilities.push_back("thinking");
    return Json{{"modelfile", ""},
                {"parameters", ""},
                {"template", source && *source ? std::string(**source) : std::string()},
                {"details", service.model_details()},
                {"model_info",
                 {{"general.architecture", hyper.architecture},
                  {"general.parameter_count", service.parameters()},
                  {hyper.architecture + ".context_length", hyper.context_length},
                  {hyper.architecture + ".embedding_length", hyper.width},
                  {hyper.architecture + ".block_count", hyper.layers},
                  {hyper.architecture + ".attention.head_count", hyper.heads}}},
                {"capabilities", std::move(capabilities)},
                {"modified_at", ollama_time()}};
}

HttpReply show(const Service& service, const HttpRequest& request) {
    const auto shown = show_model(service, request);
    return shown ? json_reply(*shown) : ollama_error(shown.error());
}

HttpReply version(const Service&, const HttpRequest&) { return json_reply({{"version", kOllamaVersion}}); }

HttpReply no_model_files(const Service&, const HttpRequest&) {
    return ollama_error(
        {501, "models are files of the machine that the server runs on; requests fetch, change and remove none"});
}

constexpr Route kOllamaRoutes[] = {
    {"POST", "/api/generate", generate},
    {"POST", "/api/chat", ollama_chat},
    {"GET", "/api/tags", tags},
    {"GET", "/api/ps", running},
    {"POST", "/api/show", show},
    {"GET", "/api/version", version},
    {"POST", "/api/pull", no_model_files},
    {"POST", "/api/push", no_model_files},
    {"POST", "/api/create", no_model_files},
    {"POST", "/api/copy", no_model_files},
    {"DELETE", "/api/delete", no_model_files},
    {"POST", "/api/blobs/{id}", no_model_files},
};

}  // namespace

std::span<const Route> ollama_routes() { return kOllamaRoutes; }

}  // namespace riftjit::server
