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

// Members by their paths, "generation_settings/n_predict"; what is not there is left out.
Json chosen_fields(const Json& json, const std::vector<std::string>& paths) {
    Json chosen = Json::object();
    for (const std::string& path : paths) {
        const Json* at = &json;
        std::string name = path;
        for (size_t slash; at != nullptr && (slash = name.find('/')) != name.npos; name.erase(0, slash + 1)) {
            const auto found = at->find(name.substr(0, slash));
            at = found != at->end() && found->is_object() ? &*found : nullptr;
        }
        if (at != nullptr && at->contains(name)) chosen[path] = (*at)[name];
    }
    return chosen;
}

// What the last object of an answer has, however its text came.
struct CompletionSummary {
    const Service& service;
    Asked asked;
    std::vector<std::string> prompts;  // of each answer, as the model reads it

    Json final_json(size_t index, const Collected& answer) const {
        Json json = completion_json(service, asked, prompts[index], index, answer);
        return asked.response_fields.empty() ? json : chosen_fields(json, asked.response_fields);
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
                    if (summary_.asked.request.chances > 0)
                        chances.push_back(summary_.service.chances_json(token, summary_.asked));
                }
                if (!chances.empty()) json["completion_probabilities"] = std::move(chances);
                unsaid_[i].clear();
            } else {
                json["prompt_progress"] = progress_json(event);
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
    return complete_prompts(service, request, std::move(asked), prompts);
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

HttpReply no_audio(const Service&, const HttpRequest&) {
    return error_reply({501, "the model takes text alone, no audio"});
}

constexpr Route kNativeRoutes[] = {
    {"POST", "/completion", completion},
    {"POST", "/completions", completion},
    {"POST", "/tokenize", tokenize},
    {"POST", "/detokenize", detokenize},
    {"POST", "/v1/audio/transcriptions", no_audio},
};

}  // namespace

std::span<const Route> native_routes() { return kNativeRoutes; }

Outcome<HttpReply> complete_prompts(const Service& service, const HttpRequest& request, Asked asked,
                                    const std::vector<std::vector<int32_t>>& prompts) {
    RIFTJIT_ASK(answers, service.submit(asked, prompts));
    CompletionSummary summary{service, asked, {}};
    for (const auto& ids : prompts)
        summary.prompts.insert(summary.prompts.end(), asked.count, service.prompt_text(ids));
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

Json completion_json(const Service& service, const Asked& asked, const std::string& prompt, size_t index,
                     const Collected& answer) {
    Json json = {
        {"index", index},
        {"content", answer.text},
        {"tokens", asked.returns_tokens ? Json(answer.ids) : Json::array()},
        {"id_slot", asked.request.slot ? int64_t(*asked.request.slot) : -1},
        {"stop", true},
        {"model", service.model_name()},
        {"tokens_predicted", answer.timings.predicted_tokens},
        {"tokens_evaluated", prompt_tokens(answer.timings)},
        {"generation_settings", service.settings_json(asked)},
        {"prompt", prompt},
        {"has_new_line", answer.text.contains('\n')},
        {"truncated", answer.is_truncated},
        {"stop_type", stop_type(answer.finish)},
        {"stopping_word", answer.stop_word},
        {"tokens_cached", prompt_tokens(answer.timings) + std::max<uint64_t>(answer.timings.predicted_tokens, 1) - 1},
        {"timings", timings_json(answer.timings)}};
    if (asked.request.chances > 0 && !asked.streams) {
        Json chances = Json::array();
        for (const auto& token : answer.tokens) chances.push_back(service.chances_json(token, asked));
        json["completion_probabilities"] = std::move(chances);
    }
    return json;
}

Json progress_json(const engine::ServingEvent& event) {
    return {{"total", event.total_tokens},
            {"cache", event.timings.cached_tokens},
            {"processed", event.read_tokens},
            {"time_ms", int64_t(event.timings.prompt_ms)}};
}

}  // namespace riftjit::server
