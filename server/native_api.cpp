// llama.cpp's own endpoints.
#include <algorithm>

#include "host/json_text.h"
#include "server/answers.h"
#include "server/apis.h"

namespace riftjit::server {

namespace {

uint64_t prompt_tokens(const engine::ServingTimings& timings) {
    return uint64_t(timings.cached_tokens) + timings.prompt_tokens;
}

const char* stop_type(std::optional<engine::FinishReason> reason) {
    if (!reason) return "none";
    switch (*reason) {
        case engine::FinishReason::end_of_generation:
            return "eos";
        case engine::FinishReason::stop_word:
            return "word";
        default:
            return "limit";
    }
}

// What the last object of an answer has, however its text came.
struct CompletionSummary {
    const Service& service;
    Asked asked;
    std::vector<std::string> prompts;  // of each answer, as the model reads it

    Json final_json(size_t index, const Collected& answer) const {
        Json json = {{"index", index},
                     {"content", answer.text},
                     {"tokens", asked.returns_tokens ? Json(answer.ids) : Json::array()},
                     {"id_slot", asked.request.slot ? int64_t(*asked.request.slot) : -1},
                     {"stop", true},
                     {"model", service.model_name()},
                     {"tokens_predicted", answer.timings.predicted_tokens},
                     {"tokens_evaluated", prompt_tokens(answer.timings)},
                     {"generation_settings", service.settings_json(asked)},
                     {"prompt", prompts[index]},
                     {"has_new_line", answer.text.contains('\n')},
                     {"truncated", false},
                     {"stop_type", stop_type(answer.finish)},
                     {"stopping_word", answer.stop_word},
                     {"tokens_cached",
                      prompt_tokens(answer.timings) + std::max<uint64_t>(answer.timings.predicted_tokens, 1) - 1},
                     {"timings", timings_json(answer.timings)}};
        if (asked.request.chances > 0 && !asked.streams) {
            Json chances = Json::array();
            for (const auto& token : answer.tokens) chances.push_back(service.chances_json(token));
            json["completion_probabilities"] = std::move(chances);
        }
        if (asked.response_fields.empty()) return json;
        Json chosen = Json::object();
        for (const std::string& field : asked.response_fields) {
            const Json* at = &json;
            std::string name = field;
            for (size_t slash; at != nullptr && (slash = name.find('/')) != name.npos; name.erase(0, slash + 1)) {
                const auto found = at->find(name.substr(0, slash));
                at = found != at->end() && found->is_object() ? &*found : nullptr;
            }
            if (at != nullptr && at->contains(name)) chosen[name] = (*at)[name];
        }
        return chosen;
    }
};

class CompletionStream : public StreamFormat {
public:
    CompletionStream(CompletionSummary summary, size_t answers)
        : summary_(std::move(summary)), so_far_(answers), unsaid_(answers) {}

    std::string event(size_t i, const engine::ServingEvent& event) override {
        Collected& answer = so_far_[i];
        answer.add(event);
        if (event.token) unsaid_[i].push_back(*event.token);
        std::string bytes;
        const bool is_progress = !event.token && !event.finish;
        // A token that shows nothing yet is told with the text that it becomes part of.
        if (is_progress || !event.text.empty()) {
            Json json = {{"index", i},
                         {"content", event.text},
                         {"tokens", Json::array()},
                         {"stop", false},
                         {"id_slot", -1},
                         {"tokens_predicted", event.timings.predicted_tokens},
                         {"tokens_evaluated", prompt_tokens(event.timings)}};
            if (!is_progress) {
                Json chances = Json::array();
                for (const auto& token : unsaid_[i]) {
                    json["tokens"].push_back(token.id);
                    if (summary_.asked.request.chances > 0) chances.push_back(summary_.service.chances_json(token));
                }
                if (!chances.empty()) json["completion_probabilities"] = std::move(chances);
                unsaid_[i].clear();
            } else {
                json["prompt_progress"] = progress_json(event.timings, event.read_tokens);
            }
            if (summary_.asked.tells_timings) json["timings"] = timings_json(event.timings);
            bytes = server_event(json);
        }
        if (event.finish) {
            Collected last = answer;
            last.text.clear();
            Json json = summary_.final_json(i, last);
            if (json.contains("has_new_line")) json["has_new_line"] = answer.text.contains('\n');
            bytes += server_event(json);
        }
        return bytes;
    }

private:
    CompletionSummary summary_;
    std::vector<Collected> so_far_;
    std::vector<std::vector<engine::ServingEvent::Token>> unsaid_;
};

Outcome<HttpReply> complete(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    Asked asked = service.read_settings(fields);
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(prompts, service.prompts_of("prompt", fields.find("prompt")));
    RIFTJIT_ASK(answers, service.submit(asked, prompts));
    CompletionSummary summary{service, asked, {}};
    for (const auto& ids : prompts)
        for (uint32_t i = 0; i < asked.count; ++i)
            summary.prompts.push_back(
                replace_invalid(service.tokenizer().decode(ids, models::Tokenizer::ShowControl::yes)));
    if (asked.streams) {
        const size_t count = answers.size();
        return stream(std::move(answers), std::make_shared<CompletionStream>(std::move(summary), count),
                      asked.ping_seconds);
    }
    RIFTJIT_ASK(collected, collect(std::move(answers), request));
    if (collected.size() == 1) return json_reply(summary.final_json(0, collected[0]));
    Json all = Json::array();
    for (size_t i = 0; i < collected.size(); ++i) all.push_back(summary.final_json(i, collected[i]));
    return json_reply(all);
}

HttpReply completion(const Service& service, const HttpRequest& request) {
    auto reply = complete(service, request);
    return reply ? std::move(*reply) : error_reply(reply.error());
}

Outcome<Json> tokenize_text(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    bool adds_special = false, parses_special = true, has_pieces = false;
    fields.read("add_special", adds_special);
    fields.read("parse_special", parses_special);
    fields.read("with_pieces", has_pieces);
    RIFTJIT_ASK_VOID(fields.check());
    std::vector<int32_t> ids;
    if (const Json* content = fields.find("content")) {
        if (!content->is_string() && !content->is_array()) {
            fields.wrong("content", "a string, or an array of strings and ids", *content);
        } else if (content->is_string()) {
            RIFTJIT_ASK(found, service.tokens_of(content->get_ref<const std::string&>(), adds_special, parses_special));
            ids = std::move(found);
        } else {
            for (size_t i = 0; i < content->size(); ++i) {
                const Json& item = (*content)[i];
                if (item.is_string()) {
                    RIFTJIT_ASK(found, service.tokens_of(item.get_ref<const std::string&>(), adds_special && i == 0,
                                                         parses_special));
                    ids.insert(ids.end(), found.begin(), found.end());
                } else if (item.is_number_integer() && item >= 0 && item < service.tokenizer().size()) {
                    ids.push_back(item.get<int32_t>());
                } else {
                    fields.wrong("content", "strings and ids of tokens", item);
                }
            }
        }
        RIFTJIT_ASK_VOID(fields.check());
    }
    if (!has_pieces) return Json{{"tokens", ids}};
    Json tokens = Json::array();
    for (const int32_t id : ids) {
        const std::string piece = service.piece(id);
        const bool is_text = valid_utf8_prefix(piece) == piece.size();
        tokens.push_back({{"id", id}, {"piece", is_text ? Json(piece) : bytes_json(piece)}});
    }
    return Json{{"tokens", std::move(tokens)}};
}

Outcome<Json> detokenize_ids(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    std::vector<int32_t> ids;
    if (const Json* tokens = fields.array("tokens")) {
        for (const Json& id : *tokens) {
            const bool is_id = id.is_number_integer() && id >= 0 && id < service.tokenizer().size();
            if (!is_id) {
                fields.wrong("tokens", fmt::format("ids of tokens below {}", service.tokenizer().size()), id);
                break;
            }
            ids.push_back(id.get<int32_t>());
        }
    }
    RIFTJIT_ASK_VOID(fields.check());
    return Json{{"content", replace_invalid(service.tokenizer().decode(ids, models::Tokenizer::ShowControl::yes))}};
}

HttpReply tokenize(const Service& service, const HttpRequest& request) {
    return reply_of(tokenize_text(service, request));
}
HttpReply detokenize(const Service& service, const HttpRequest& request) {
    return reply_of(detokenize_ids(service, request));
}

HttpReply props(const Service& service, const HttpRequest&) {
    const auto& file = service.engine().model.file;
    const auto piece = [&](std::optional<int32_t> id) { return id ? service.piece(*id) : std::string(); };
    const auto source = file.string("tokenizer.chat_template");
    Asked defaults;
    defaults.request.sampling = service.options().sampling;
    defaults.request.max_tokens = service.options().most_tokens;
    defaults.request.stop_words = service.options().stop_words;
    const Json settings = {{"id", 0},
                           {"id_task", -1},
                           {"n_ctx", service.scheduler().context()},
                           {"speculative", false},
                           {"is_processing", false},
                           {"params", service.settings_json(defaults)}};
    return json_reply({{"default_generation_settings", settings},
                       {"total_slots", service.scheduler().slots()},
                       {"model_alias", service.model_name()},
                       {"model_path", service.model_path()},
                       {"modalities", {{"vision", false}, {"audio", false}}},
                       {"endpoint_slots", service.options().shows_slots},
                       {"endpoint_props", service.options().takes_props},
                       {"endpoint_metrics", service.options().shows_metrics},
                       {"chat_template", source && *source ? std::string(**source) : std::string()},
                       {"has_chat_template", service.chat_template().has_value()},
                       {"bos_token", piece(service.tokenizer().bos())},
                       {"eos_token", piece(service.tokenizer().eos())},
                       {"n_ctx", service.scheduler().context()},
                       {"build_info", service.fingerprint()},
                       {"is_sleeping", false}});
}

HttpReply set_props(const Service& service, const HttpRequest&) {
    if (!service.options().takes_props)
        return error_reply({501, "This server does not support changing global properties. Start it with `--props`"});
    return json_reply({{"success", true}});
}

HttpReply slots(const Service& service, const HttpRequest& request) {
    if (!service.options().shows_slots)
        return error_reply({501, "This server does not support slots endpoint. Start it without `--no-slots`"});
    Json all = Json::array();
    bool has_idle = false;
    const auto states = service.scheduler().status();
    for (size_t i = 0; i < states.size(); ++i) {
        const engine::SlotStatus& slot = states[i];
        has_idle |= !slot.is_processing;
        Json json = {{"id", i},
                     {"n_ctx", service.scheduler().context()},
                     {"speculative", false},
                     {"is_processing", slot.is_processing},
                     {"n_prompt_tokens_cache", slot.kept_tokens}};
        if (slot.is_processing) {
            json["id_task"] = slot.task;
            json["n_prompt_tokens"] = slot.prompt_tokens;
            json["next_token"] =
                Json::array({{{"has_next_token", true},
                              {"n_remain", slot.max_tokens < 0 ? -1 : slot.max_tokens - int64_t(slot.predicted_tokens)},
                              {"n_decoded", slot.predicted_tokens}}});
        }
        all.push_back(std::move(json));
    }
    if (const auto it = request.query.find("fail_on_no_slot"); it != request.query.end() && !has_idle)
        return error_reply({503, "no slot available"});
    return json_reply(all);
}

HttpReply act_on_slot(const Service& service, const HttpRequest& request) {
    const std::string& id = request.query.at("id");
    const auto it = request.query.find("action");
    const std::string action = it == request.query.end() ? "" : it->second;
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != id.npos)
        return error_reply({400, "Invalid slot ID"});
    const uint32_t slot = uint32_t(std::stoul(id));
    if (slot >= service.scheduler().slots())
        return error_reply({400, fmt::format("Invalid slot ID: {} of {} slots", slot, service.scheduler().slots())});
    if (action == "save" || action == "restore")
        return error_reply({501, fmt::format("action {}: slots are not kept in files in this build", action)});
    if (action != "erase") return error_reply({400, "Invalid action: expected save, restore or erase"});
    const auto erased = service.scheduler().erase(slot);
    if (!erased) return error_reply({503, fmt::format("slot {} is at work", slot)});
    return json_reply({{"id_slot", slot}, {"n_erased", *erased}});
}

HttpReply metrics(const Service& service, const HttpRequest&) {
    if (!service.options().shows_metrics)
        return error_reply({501, "This server does not support metrics endpoint. Start it with `--metrics`"});
    const engine::ServingTotals t = service.scheduler().totals();
    const auto per = [](double value, double count) { return count > 0 ? value / count : 0.0; };
    std::string text;
    const auto add = [&](const char* type, const char* name, const char* help, auto value) {
        text += fmt::format("# HELP llamacpp:{0} {1}\n# TYPE llamacpp:{0} {2}\nllamacpp:{0} {3}\n", name, help, type,
                            value);
    };
    add("counter", "prompt_tokens_total", "Number of prompt tokens processed.", t.prompt_tokens);
    add("counter", "prompt_tokens_cached_total", "Number of prompt tokens taken over from slots.", t.cached_tokens);
    add("counter", "prompt_seconds_total", "Prompt process time", t.prompt_ms / 1e3);
    add("counter", "tokens_predicted_total", "Number of generation tokens processed.", t.predicted_tokens);
    add("counter", "tokens_predicted_seconds_total", "Predict process time", t.predicted_ms / 1e3);
    add("counter", "n_decode_total", "Total number of steps of the model", t.steps);
    add("counter", "n_tokens_max", "Largest observed number of tokens of a text.", t.most_tokens);
    add("counter", "n_busy_slots_per_decode", "Average number of busy slots per step",
        per(double(t.busy_slots), double(t.steps)));
    add("gauge", "prompt_tokens_seconds", "Average prompt throughput in tokens/s.",
        per(double(t.prompt_tokens) * 1e3, t.prompt_ms));
    add("gauge", "predicted_tokens_seconds", "Average generation throughput in tokens/s.",
        per(double(t.predicted_tokens) * 1e3, t.predicted_ms));
    add("gauge", "requests_processing", "Number of requests processing.", t.processing);
    add("gauge", "requests_deferred", "Number of requests deferred.", t.deferred);
    HttpReply reply{.body = std::move(text), .type = "text/plain; version=0.0.4"};
    reply.headers.emplace_back("Process-Start-Time-Unix", std::to_string(service.started()));
    return reply;
}

HttpReply health(const Service&, const HttpRequest&) { return json_reply({{"status", "ok"}}); }

HttpReply lora_adapters(const Service& service, const HttpRequest&) {
    Json all = Json::array();
    for (size_t i = 0; i < service.options().adapters.size(); ++i)
        all.push_back({{"id", i},
                       {"path", service.options().adapters[i].first},
                       {"scale", service.options().adapters[i].second}});
    return json_reply(all);
}

HttpReply set_lora_adapters(const Service&, const HttpRequest&) {
    return error_reply({501, "adapters are part of the loaded weights: --lora-scaled sets their scales"});
}

HttpReply no_infill(const Service&, const HttpRequest&) {
    return error_reply(
        {501, "This server does not support infill: prompts of a text's middle are not made in this build"});
}
HttpReply no_audio(const Service&, const HttpRequest&) {
    return error_reply({501, "the model takes text alone, no audio"});
}

constexpr Route kNativeRoutes[] = {
    {"GET", "/health", health},
    {"GET", "/v1/health", health},
    {"POST", "/completion", completion},
    {"POST", "/completions", completion},
    {"POST", "/tokenize", tokenize},
    {"POST", "/detokenize", detokenize},
    {"GET", "/props", props},
    {"POST", "/props", set_props},
    {"GET", "/slots", slots},
    {"POST", "/slots/{id}", act_on_slot},
    {"GET", "/metrics", metrics},
    {"GET", "/lora-adapters", lora_adapters},
    {"POST", "/lora-adapters", set_lora_adapters},
    {"POST", "/infill", no_infill},
    {"POST", "/v1/audio/transcriptions", no_audio},
};

}  // namespace

std::span<const Route> native_routes() { return kNativeRoutes; }

Json progress_json(const engine::ServingTimings& timings, uint32_t read_tokens) {
    return {{"total", prompt_tokens(timings)},
            {"cache", timings.cached_tokens},
            {"processed", read_tokens},
            {"time_ms", int64_t(timings.prompt_ms)}};
}

}  // namespace riftjit::server
