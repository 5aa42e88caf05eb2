#include "server/service.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "host/json_text.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::server {

namespace {

constexpr double kHugeNumber = 1e9;
constexpr int64_t kMostInt = INT32_MAX;

void read_bias(Fields& fields, runtime::SamplerParameters& sampling, const models::Tokenizer& tokenizer) {
    const Json* bias = fields.find("logit_bias");
    if (bias == nullptr) return;
    const auto add = [&](const Json& token, const Json& amount) {
        float value = 0;
        if (amount.is_number()) {
            value = float(amount.get<double>());
        } else if (amount.is_boolean() && !amount.get<bool>()) {
            value = -std::numeric_limits<float>::infinity();
        } else {
            return fields.wrong("logit_bias", "numbers, or false", amount);
        }
        std::vector<int32_t> ids;
        if (token.is_number_integer()) {
            const auto id = token.get<int64_t>();
            if (id < 0 || id >= tokenizer.size())
                return fields.wrong("logit_bias", fmt::format("ids of tokens below {}", tokenizer.size()), token);
            ids.push_back(int32_t(id));
        } else if (token.is_string()) {
            const auto found =
                tokenizer.encode(token.get<std::string>(), models::ParseSpecial::yes, models::AddBos::no);
            if (found) ids = *found;
        } else {
            return fields.wrong("logit_bias", "ids of tokens, or texts", token);
        }
        for (const int32_t id : ids) sampling.logit_bias.push_back({id, value});
    };
    if (bias->is_array()) {
        for (const Json& pair : *bias) {
            if (!pair.is_array() || pair.size() != 2) return fields.wrong("logit_bias", "pairs [token, bias]", pair);
            add(pair[0], pair[1]);
        }
    } else if (bias->is_object()) {
        for (const auto& [token, amount] : bias->items()) {
            const bool is_id =
                !token.empty() && token.size() < 10 && token.find_first_not_of("0123456789") == token.npos;
            add(is_id ? Json(std::stoi(token)) : Json(token), amount);
        }
    } else {
        fields.wrong("logit_bias", "an object or an array of pairs", *bias);
    }
}

void read_samplers(Fields& fields, runtime::SamplerParameters& sampling) {
    const Json* samplers = fields.find("samplers");
    if (samplers == nullptr) return;
    Result<std::vector<runtime::SamplerStage>> stages;
    if (samplers->is_string()) {
        stages = runtime::parse_sampler_letters(samplers->get<std::string>());
    } else if (const auto names = fields.texts("samplers")) {
        std::string joined;
        for (const std::string& name : *names) joined += (joined.empty() ? "" : ";") + name;
        if (!joined.empty()) stages = runtime::parse_sampler_names(joined);
    }
    if (!stages) return fields.fail({400, fmt::format("\"samplers\": {}", stages.error().message)});
    sampling.stages = std::move(*stages);
}

void read_sampling(Fields& fields, engine::SamplerChoice& choice, const models::Tokenizer& tokenizer) {
    runtime::SamplerParameters& s = choice.parameters;
    fields.read("temperature", s.temperature, 0, kHugeNumber);
    fields.read("dynatemp_range", s.dynatemp_range, 0, kHugeNumber);
    fields.read("dynatemp_exponent", s.dynatemp_exponent, 0, kHugeNumber);
    fields.read("top_k", s.top_k, -1, kMostInt);
    s.top_k = std::max(s.top_k, 0);
    fields.read("top_p", s.top_p, 0, 1);
    fields.read("min_p", s.min_p, 0, 1);
    fields.read("typical_p", s.typical_p, 0, 1);
    fields.read("top_n_sigma", s.top_n_sigma, -1, kHugeNumber);
    fields.read("xtc_probability", s.xtc_probability, 0, 1);
    fields.read("xtc_threshold", s.xtc_threshold, 0, 1);
    fields.read("repeat_last_n", s.penalty_last_n, 0, kMostInt);
    fields.read("repeat_penalty", s.repeat_penalty, 1e-6, kHugeNumber);
    fields.read("frequency_penalty", s.frequency_penalty, -kHugeNumber, kHugeNumber);
    fields.read("presence_penalty", s.presence_penalty, -kHugeNumber, kHugeNumber);
    fields.read("dry_multiplier", s.dry_multiplier, 0, kHugeNumber);
    fields.read("dry_base", s.dry_base, 0, kHugeNumber);
    fields.read("dry_allowed_length", s.dry_allowed_length, 0, kMostInt);
    fields.read("dry_penalty_last_n", s.dry_penalty_last_n, 0, kMostInt);
    fields.read("mirostat_tau", s.mirostat_tau, 0, kHugeNumber);
    fields.read("mirostat_eta", s.mirostat_eta, 0, 1);
    fields.read("adaptive_target", s.adaptive_target, -1, 1);
    fields.read("adaptive_decay", s.adaptive_decay, 0, 0.99);
    fields.read("min_keep", s.min_keep, 0, kMostInt);
    if (const auto version = fields.integer("mirostat", 0, 2)) s.mirostat = runtime::Mirostat(*version);
    if (const auto seed = fields.integer("seed", -1, 0xFFFF'FFFF))
        s.seed = *seed == -1 || *seed == 0xFFFF'FFFF ? std::nullopt : std::optional(uint32_t(*seed));
    fields.read("ignore_eos", choice.ignores_end);
    if (auto breakers = fields.texts("dry_sequence_breakers")) {
        if (breakers->empty()) fields.fail({400, "\"dry_sequence_breakers\": expected an array that is not empty"});
        choice.dry_breakers = std::move(*breakers);
    }
    read_samplers(fields, s);
    read_bias(fields, s, tokenizer);
}

// Of an answer in parts that is gone on with, as llama.cpp has it.
void join_paragraphs(Json& content) {
    if (!content.is_array()) return;
    std::string text;
    for (const Json& part : content)
        if (part.is_object() && part.contains("text") && part["text"].is_string())
            text += (text.empty() ? "" : "\n\n") + part["text"].get_ref<const std::string&>();
    content = std::move(text);
}

// What an answer is held to, in place of the server's own.
void read_grammar(Fields& fields, engine::SamplerChoice& choice) {
    const Json* schema = fields.find("json_schema");
    const std::string grammar = fields.text("grammar").value_or("");
    if (schema != nullptr && !grammar.empty())
        return fields.fail({400, "\"grammar\" and \"json_schema\" are different grammars; give one"});
    if (schema != nullptr) hold_to_schema(fields, "json_schema", *schema, choice);
    if (grammar.empty()) return;
    auto compiled = engine::Grammar::from_gbnf(grammar);
    if (!compiled) return fields.fail({400, fmt::format("\"grammar\": {}", compiled.error().message)});
    choice.grammar = std::move(*compiled);
}

}  // namespace

void hold_to_schema(Fields& fields, const char* name, const Json& schema, engine::SamplerChoice& choice) {
    // An empty one means any object.
    auto compiled =
        engine::Grammar::from_json_schema(schema.is_object() && schema.empty() ? Json{{"type", "object"}} : schema);
    if (!compiled) return fields.fail({400, fmt::format("\"{}\": {}", name, compiled.error().message)});
    choice.grammar = std::move(*compiled);
}

Service::Service(engine::Engine& engine, engine::Scheduler& scheduler, ServiceOptions options)
    : engine_(engine), scheduler_(scheduler), options_(std::move(options)), started_(seconds_now()) {
    std::map<std::string, uint64_t> bytes_of_type;
    for (const models::GgufTensor& tensor : engine_.model.file.tensors()) {
        parameters_ += tensor.width() * tensor.rows();
        weight_bytes_ += tensor.size_bytes;
        bytes_of_type[std::string(riftjit::name(tensor.type))] += tensor.size_bytes;
    }
    const auto by_bytes = [](const auto& one, const auto& other) { return one.second < other.second; };
    file_type_ = std::ranges::max_element(bytes_of_type, by_bytes)->first;
    std::ranges::transform(file_type_, file_type_.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
    name_ = options_.names.empty() ? engine_.model.file.path().filename().string() : options_.names.front();
}

Result<std::unique_ptr<Service>> Service::create(engine::Engine& engine, engine::Scheduler& scheduler,
                                                 ServiceOptions options) {
    auto service = std::unique_ptr<Service>(new Service(engine, scheduler, std::move(options)));
    RIFTJIT_TRY(chat_template, engine::find_chat_template(service->options_.chat_template, engine.model.file));
    service->chat_template_ = std::move(chat_template);
    if (service->chat_template_)
        service->reply_format_ = engine::find_reply_format(*service->chat_template_,
                                                           engine::template_inputs(Json::object(), engine.tokenizer));
    return service;
}

Json Service::model_details() const {
    const std::string& family = engine_.model.hyperparameters.architecture;
    return {{"parent_model", ""},
            {"format", "gguf"},
            {"family", family},
            {"families", {family}},
            {"parameter_size", parameters_ >= 1'000'000'000 ? fmt::format("{:.1f}B", double(parameters_) / 1e9)
                                                            : fmt::format("{:.2f}M", double(parameters_) / 1e6)},
            {"quantization_level", file_type_}};
}

Asked Service::read_settings(Fields& fields) const {
    Asked asked;
    engine::ServingRequest& request = asked.request;
    request.sampling = options_.sampling;
    request.reuses_text = options_.reuses_text;
    asked.ping_seconds = options_.ping_seconds;
    if (options_.shows_special) request.show_control = models::Tokenizer::ShowControl::yes;
    read_sampling(fields, request.sampling, tokenizer());
    request.max_tokens = -1;
    for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"})
        fields.read(name, request.max_tokens, -1, kMostInt);
    if (request.max_tokens < 0) request.max_tokens = options_.usual_tokens;
    if (options_.most_tokens >= 0 && (request.max_tokens < 0 || request.max_tokens > options_.most_tokens))
        request.max_tokens = options_.most_tokens;
    request.stop_words = options_.stop_words;
    if (auto words = fields.text_or_texts("stop")) request.stop_words = std::move(*words);
    std::erase(request.stop_words, "");
    fields.read("cache_prompt", request.reuses_text);
    if (const auto slot = fields.integer("id_slot", -1, int64_t(scheduler_.slots()) - 1); slot && *slot >= 0)
        request.slot = uint32_t(*slot);
    if (const auto most = fields.integer("t_max_predict_ms", -1, INT64_MAX); most && *most > 0)
        request.most_time = std::chrono::milliseconds(*most);
    fields.read("return_progress", request.tells_progress);
    request.kept_tokens = options_.kept_tokens;
    fields.read("n_keep", request.kept_tokens, -1, kMostInt);
    fields.read("n_discard", request.discarded_tokens, 0, kMostInt);
    if (const auto indentation = fields.integer("n_indent", 0, kMostInt); indentation && *indentation > 0)
        request.indentation = uint32_t(*indentation);
    fields.integer("n_cache_reuse", 0, kMostInt);
    fields.read("n_probs", request.chances, 0, int64_t(tokenizer().size()));
    fields.read("post_sampling_probs", request.chances_behind_samplers);

    fields.read("stream", asked.streams);
    fields.read("n", asked.count, 1, int64_t(scheduler_.slots()));
    fields.read("n_cmpl", asked.count, 1, int64_t(scheduler_.slots()));
    fields.read("return_tokens", asked.returns_tokens);
    fields.read("timings_per_token", asked.tells_timings);
    asked.is_verbose = options_.is_verbose;
    fields.read("verbose", asked.is_verbose);
    fields.read("sse_ping_interval", asked.ping_seconds, -1, kMostInt);
    if (const Json* stream_options = fields.object("stream_options")) {
        Fields inner(*stream_options, "stream_options.");
        inner.read("include_usage", asked.includes_usage);
        if (const auto checked = inner.check(); !checked) fields.fail(checked.error());
    }
    if (auto names = fields.texts("response_fields")) asked.response_fields = std::move(*names);
    read_grammar(fields, request.sampling);
    if (const Json* lora = fields.array("lora"); lora != nullptr && !lora->empty())
        fields.fail({501, "\"lora\": adapters are part of the loaded weights and have no scale of a request"});
    return asked;
}

Json Service::settings_json(const Asked& asked) const {
    const engine::ServingRequest& request = asked.request;
    const runtime::SamplerParameters& s = request.sampling.parameters;
    Json samplers = Json::array(), bias = Json::array();
    for (const runtime::SamplerStage stage : s.stages) samplers.push_back(name(stage));
    for (const runtime::LogitBias& each : s.logit_bias)
        bias.push_back({{"bias", std::isfinite(each.bias) ? Json(each.bias) : Json(nullptr)}, {"token", each.id}});
    if (request.sampling.ignores_end)
        for (const int32_t id : tokenizer().end_of_generation()) bias.push_back({{"bias", nullptr}, {"token", id}});
    return {{"seed", s.seed ? *s.seed : UINT32_MAX},
            {"temperature", s.temperature},
            {"dynatemp_range", s.dynatemp_range},
            {"dynatemp_exponent", s.dynatemp_exponent},
            {"top_k", s.top_k},
            {"top_p", s.top_p},
            {"min_p", s.min_p},
            {"top_n_sigma", s.top_n_sigma},
            {"xtc_probability", s.xtc_probability},
            {"xtc_threshold", s.xtc_threshold},
            {"typical_p", s.typical_p},
            {"repeat_last_n", s.penalty_last_n},
            {"repeat_penalty", s.repeat_penalty},
            {"presence_penalty", s.presence_penalty},
            {"frequency_penalty", s.frequency_penalty},
            {"dry_multiplier", s.dry_multiplier},
            {"dry_base", s.dry_base},
            {"dry_allowed_length", s.dry_allowed_length},
            {"dry_penalty_last_n", s.dry_penalty_last_n},
            {"dry_sequence_breakers", request.sampling.dry_breakers},
            {"mirostat", int(s.mirostat)},
            {"mirostat_tau", s.mirostat_tau},
            {"mirostat_eta", s.mirostat_eta},
            {"adaptive_target", s.adaptive_target},
            {"adaptive_decay", s.adaptive_decay},
            {"stop", request.stop_words},
            {"max_tokens", request.max_tokens},
            {"n_predict", request.max_tokens},
            {"n_keep", request.kept_tokens},
            {"n_discard", request.discarded_tokens},
            {"ignore_eos", request.sampling.ignores_end},
            {"stream", asked.streams},
            {"logit_bias", bias},
            {"n_probs", request.chances},
            {"min_keep", s.min_keep},
            {"samplers", samplers},
            {"timings_per_token", asked.tells_timings},
            {"post_sampling_probs", request.chances_behind_samplers},
            {"lora", Json::array()}};
}

Outcome<std::vector<int32_t>> Service::tokens_of(const std::string& text, bool adds_begin, bool parses_special) const {
    const uint64_t most = tokenizer().most_text_bytes(scheduler_.context());
    if (text.size() > most) {
        // Of so many bytes no fewer tokens can be made than fit.
        ApiError error = too_long_prompt(uint64_t(scheduler_.context()) + 1, scheduler_.context());
        error.message =
            fmt::format("request ({} bytes) {}", text.size(), error.message.substr(error.message.find("exceeds")));
        return std::unexpected(std::move(error));
    }
    auto ids = tokenizer().encode(text, parses_special ? models::ParseSpecial::yes : models::ParseSpecial::no,
                                  adds_begin ? models::AddBos::yes : models::AddBos::no);
    if (!ids) return std::unexpected(api_error(ids.error()));
    return std::move(*ids);
}

Outcome<std::vector<int32_t>> Service::prompt_of(const Json& prompt) const {
    std::vector<int32_t> ids;
    const auto add_id = [&](const Json& id) -> Outcome<void> {
        const bool is_token =
            id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < tokenizer().size();
        if (!is_token)
            return refuse(400, "\"prompt\": expected ids of tokens below {}, got {}", tokenizer().size(),
                          json_text(id).substr(0, 60));
        ids.push_back(id.get<int32_t>());
        return {};
    };
    const auto add_text = [&](const Json& text, bool is_first) -> Outcome<void> {
        RIFTJIT_ASK(found, tokens_of(text.get_ref<const std::string&>(), is_first));
        ids.insert(ids.end(), found.begin(), found.end());
        return {};
    };
    if (prompt.is_string()) {
        RIFTJIT_ASK_VOID(add_text(prompt, true));
    } else if (prompt.is_object()) {
        const auto text = prompt.find("prompt_string");
        if (text == prompt.end() || !text->is_string())
            return refuse(400, "\"prompt\": expected a string as \"prompt_string\" of the object");
        if (has_media(prompt)) return std::unexpected(no_media("multimodal_data"));
        RIFTJIT_ASK_VOID(add_text(*text, true));
    } else if (prompt.is_array()) {
        for (size_t i = 0; i < prompt.size(); ++i) {
            if (prompt[i].is_string()) {
                RIFTJIT_ASK_VOID(add_text(prompt[i], i == 0));
            } else {
                RIFTJIT_ASK_VOID(add_id(prompt[i]));
            }
        }
    } else {
        return refuse(400, "\"prompt\": expected a string, an array of ids or an object with \"prompt_string\"");
    }
    if (ids.empty() && tokenizer().bos()) ids.push_back(*tokenizer().bos());
    if (ids.empty()) return refuse(400, "\"prompt\": is empty, and the model has no token to begin with");
    return ids;
}

Outcome<std::vector<std::vector<int32_t>>> Service::prompts_of(const char* name, const Json* prompt) const {
    if (prompt == nullptr) return refuse(400, "\"{}\": is missing", name);
    const auto is_id = [](const Json& item) { return item.is_number(); };
    // An array with ids in it is one prompt; of strings, arrays and objects each is one.
    const bool is_several = prompt->is_array() && !prompt->empty() && std::ranges::none_of(*prompt, is_id);
    std::vector<std::vector<int32_t>> prompts;
    if (!is_several) {
        RIFTJIT_ASK(ids, prompt_of(*prompt));
        prompts.push_back(std::move(ids));
        return prompts;
    }
    for (const Json& each : *prompt) {
        RIFTJIT_ASK(ids, prompt_of(each));
        prompts.push_back(std::move(ids));
    }
    return prompts;
}

Outcome<Service::ChatPrompt> Service::render_chat(Json messages, Json tools, Json variables,
                                                  bool adds_generation_prompt) const {
    if (!chat_template_)
        return refuse(400, "{} has no chat template; --chat-template gives one", engine_.model.file.path().string());
    Json merged = options_.template_variables;
    // Firefunction's template has the tools as text.
    merged["functions"] = tools.is_array() ? tools.dump(2, ' ', false, Json::error_handler_t::replace) : "";
    merged.update(variables);
    models::ChatTemplate::Inputs inputs = engine::template_inputs(std::move(merged), tokenizer());
    inputs.most_bytes = tokenizer().most_text_bytes(scheduler_.context());
    // Half an answer is gone on with; an empty one is as good as none.
    bool continues = false;
    if (!messages.empty() && messages.back().value("role", "") == "assistant") {
        const Json& last = messages.back();
        const bool is_empty = !last.contains("content") || last["content"].is_null() || last["content"] == "";
        if (is_empty && !last.contains("tool_calls")) {
            messages.erase(messages.size() - 1);
        } else if (!last.contains("tool_calls") && adds_generation_prompt) {
            continues = true;
            join_paragraphs(messages.back()["content"]);
        }
    }
    if (messages.empty()) return refuse(400, "\"messages\": expected one message or more");
    inputs.continue_final_message = continues;
    inputs.add_generation_prompt = adds_generation_prompt && !continues;
    auto prepared = chat_template_->prepare(std::move(messages));
    if (!prepared) return std::unexpected(ApiError{400, fmt::format("\"messages\": {}", prepared.error().message)});
    inputs.messages = std::move(*prepared);
    inputs.tools = std::move(tools);
    const auto segments = chat_template_->render(inputs);
    if (!segments) return std::unexpected(ApiError{400, segments.error().message});
    ChatPrompt prompt;
    for (const auto& segment : *segments) prompt.text += segment.text;
    auto ids = tokenizer().encode(*segments, models::AddBos::yes);
    if (!ids) return std::unexpected(api_error(ids.error()));
    // A template that writes the BOS text itself, and a tokenizer that adds one: exactly one remains.
    const auto bos = tokenizer().bos();
    if (bos && ids->size() >= 2 && (*ids)[0] == *bos && (*ids)[1] == *bos) ids->erase(ids->begin());
    prompt.ids = std::move(*ids);
    if (prompt.ids.empty()) return refuse(400, "\"messages\": the chat template makes nothing of them");
    return prompt;
}

Outcome<std::vector<engine::Scheduler::Answer>> Service::submit(
    const Asked& asked, const std::vector<std::vector<int32_t>>& prompts) const {
    if (options_.embedder != nullptr)
        return refuse(501, "This server does not support completions. Start it without `--embeddings`");
    // One that leaves no room for a token behind the first is refused too, as by llama-server.
    for (const auto& ids : prompts)
        if (ids.size() >= scheduler_.context())
            return std::unexpected(too_long_prompt(ids.size(), scheduler_.context()));
    std::vector<engine::Scheduler::Answer> answers;
    for (const auto& ids : prompts) {
        for (uint32_t i = 0; i < asked.count; ++i) {
            engine::ServingRequest request = asked.request;
            request.prompt = ids;
            // Several answers to one prompt are not to be the same.
            if (auto& seed = request.sampling.parameters.seed) *seed += i;
            auto answer = scheduler_.submit(std::move(request));
            if (!answer) return std::unexpected(api_error(answer.error()));
            answers.push_back(std::move(*answer));
        }
    }
    return answers;
}

Json Service::chances_json(const engine::ServingEvent::Token& token, const Asked& asked) const {
    const bool is_behind = asked.request.chances_behind_samplers;
    const auto entry = [&](int32_t id, float logprob) {
        const std::string bytes = piece(id);
        Json json = {{"id", id}, {"token", replace_invalid(bytes)}, {"bytes", bytes_json(bytes)}};
        if (is_behind)
            json["prob"] = std::min(std::exp(logprob), 1.0f);
        else
            json["logprob"] = std::isfinite(logprob) ? logprob : -std::numeric_limits<float>::max();
        return json;
    };
    Json top = Json::array();
    for (const auto& [id, log_probability] : token.chances) top.push_back(entry(id, log_probability));
    Json json = entry(token.id, token.logprob);
    json[is_behind ? "top_probs" : "top_logprobs"] = std::move(top);
    return json;
}

std::string Service::prompt_text(const std::vector<int32_t>& ids) const {
    return replace_invalid(tokenizer().decode(ids, models::Tokenizer::ShowControl::yes));
}

engine::ServingTotals Service::totals_since_last(const engine::ServingTotals& now) const {
    const std::lock_guard lock(mutex_);
    const engine::ServingTotals last = std::exchange(last_totals_, now);
    engine::ServingTotals since = now;
    since.prompt_tokens -= last.prompt_tokens, since.prompt_ms -= last.prompt_ms;
    since.predicted_tokens -= last.predicted_tokens, since.predicted_ms -= last.predicted_ms;
    return since;
}

std::string Service::random_id(const char* prefix) const {
    constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    thread_local std::mt19937_64 numbers(std::random_device{}());
    std::string id = prefix;
    for (int i = 0; i < 24; ++i) id += kLetters[numbers() % kLetters.size()];
    return id;
}

Json timings_json(const engine::ServingTimings& t) {
    const auto per = [](double value, double count) { return count > 0 ? value / count : 0.0; };
    // The first token is the prompt's.
    const double steps = std::max<double>(t.predicted_tokens, 1) - 1;
    Json json = {{"cache_n", t.cached_tokens},
                 {"prompt_n", t.prompt_tokens},
                 {"prompt_ms", t.prompt_ms},
                 {"prompt_per_token_ms", per(t.prompt_ms, t.prompt_tokens)},
                 {"prompt_per_second", per(1000.0 * t.prompt_tokens, t.prompt_ms)},
                 {"predicted_n", t.predicted_tokens},
                 {"predicted_ms", t.predicted_ms},
                 {"predicted_per_token_ms", per(t.predicted_ms, steps)},
                 {"predicted_per_second", steps == 0 ? 0.0 : per(1000.0 * steps, t.predicted_ms)}};
    if (t.drafted_tokens > 0) {
        json["draft_n"] = t.drafted_tokens;
        json["draft_n_accepted"] = t.accepted_tokens;
    }
    return json;
}

Json usage_json(const engine::ServingTimings& t) {
    const uint64_t prompt = uint64_t(t.cached_tokens) + t.prompt_tokens;
    return {{"completion_tokens", t.predicted_tokens},
            {"prompt_tokens", prompt},
            {"total_tokens", prompt + t.predicted_tokens},
            {"prompt_tokens_details", {{"cached_tokens", t.cached_tokens}}}};
}

Json bytes_json(std::string_view bytes) {
    Json array = Json::array();
    for (const char byte : bytes) array.push_back(int(static_cast<unsigned char>(byte)));
    return array;
}

const char* finish_name(engine::FinishReason reason) {
    const bool is_end = reason == engine::FinishReason::end_of_generation || reason == engine::FinishReason::stop_word;
    return is_end ? "stop" : "length";
}

int64_t seconds_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

HttpReply json_reply(const Json& object, int status) { return {.status = status, .body = json_text(object)}; }
HttpReply error_reply(const ApiError& error) { return json_reply(error_object(error), error.status); }
HttpReply reply_of(const Outcome<Json>& outcome) {
    return outcome ? json_reply(*outcome) : error_reply(outcome.error());
}

}  // namespace riftjit::server
