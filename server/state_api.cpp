// What the server is and does: llama.cpp's endpoints of its properties, slots, numbers and adapters.
#include <algorithm>
#include <chrono>

#include "host/json_text.h"
#include "host/utf8.h"
#include "server/apis.h"

namespace riftjit::server {

namespace {

HttpReply props(const Service& service, const HttpRequest&) {
    const auto& file = service.engine().model.file;
    const auto piece = [&](std::optional<int32_t> id) { return id ? service.piece(*id) : std::string(); };
    const auto source = file.string("tokenizer.chat_template");
    Asked defaults;
    defaults.request.sampling = service.options().sampling;
    defaults.request.max_tokens = service.options().usual_tokens;
    defaults.request.stop_words = service.options().stop_words;
    const Json settings = {{"id", 0},
                           {"id_task", -1},
                           {"n_ctx", service.scheduler().context()},
                           {"speculative", service.options().is_speculative},
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
                     {"speculative", service.options().is_speculative},
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

// A name alone, so that no file but those of the folder can be meant.
Outcome<std::string> slot_file(const Service& service, const HttpRequest& request) {
    if (!service.options().slot_files)
        return refuse(501, "This server does not support slots action. Start it with `--slot-save-path`");
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    const std::string name = fields.text("filename").value_or("");
    RIFTJIT_ASK_VOID(fields.check());
    constexpr size_t kMostBytes = 200;
    const auto is_odd = [](unsigned char c) {
        return c < ' ' || std::string_view("/\\:*?\"<>|\x7F").contains(char(c));
    };
    if (name.empty() || name.size() > kMostBytes || name.front() == '.' || name.back() == ' ' ||
        std::ranges::any_of(name, is_odd) || valid_utf8_prefix(name) != name.size())
        return refuse(400, "Invalid filename: expected a name of 1 to {} bytes without a path, got {}", kMostBytes,
                      json_text(Json(replace_invalid(name))).substr(0, 80));
    return service.options().slot_files->folder + "/" + name;
}

double ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

ApiError slot_error(const Error& error, const std::string& path) {
    if (error.kind == ErrorKind::Interrupted) return api_error(error);
    return {400, fmt::format("{}: {}", path.substr(path.rfind('/') + 1), error.message)};
}

Outcome<Json> save_slot(const Service& service, uint32_t slot, const HttpRequest& request) {
    RIFTJIT_ASK(path, slot_file(service, request));
    const SlotFiles& files = *service.options().slot_files;
    const auto begin = std::chrono::steady_clock::now();
    uint32_t saved = 0;
    const auto fill = [&](const runtime::Sequences::Sink& sink) -> Result<void> {
        RIFTJIT_TRY(tokens, service.scheduler().save(slot, files.identity, sink));
        saved = tokens;
        return {};
    };
    const auto bytes = files.write(path, fill);
    if (!bytes) return std::unexpected(slot_error(bytes.error(), path));
    return Json{{"id_slot", slot},
                {"filename", path.substr(path.rfind('/') + 1)},
                {"n_saved", saved},
                {"n_written", *bytes},
                {"timings", {{"save_ms", ms_since(begin)}}}};
}

Outcome<Json> restore_slot(const Service& service, uint32_t slot, const HttpRequest& request) {
    RIFTJIT_ASK(path, slot_file(service, request));
    const auto begin = std::chrono::steady_clock::now();
    const auto restored = service.scheduler().restore(slot, path, service.options().slot_files->identity);
    if (!restored) return std::unexpected(slot_error(restored.error(), path));
    return Json{{"id_slot", slot},
                {"filename", path.substr(path.rfind('/') + 1)},
                {"n_restored", restored->tokens},
                {"n_read", restored->bytes},
                {"timings", {{"restore_ms", ms_since(begin)}}}};
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
    if (action == "save") return reply_of(save_slot(service, slot, request));
    if (action == "restore") return reply_of(restore_slot(service, slot, request));
    if (action != "erase") return error_reply({400, "Invalid action: expected save, restore or erase"});
    const auto erased = service.scheduler().erase(slot);
    if (!erased) return error_reply(api_error(erased.error()));
    return json_reply({{"id_slot", slot}, {"n_erased", *erased}});
}

HttpReply metrics(const Service& service, const HttpRequest&) {
    if (!service.options().shows_metrics)
        return error_reply({501, "This server does not support metrics endpoint. Start it with `--metrics`"});
    const engine::ServingTotals t = service.scheduler().totals();
    const engine::ServingTotals since = service.totals_since_last(t);
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
    add("counter", "spec_decode_num_drafts_total", "Number of steps that tried guesses.", t.drafts);
    add("counter", "spec_decode_num_draft_tokens_total", "Number of guesses that steps tried.", t.drafted_tokens);
    add("counter", "spec_decode_num_accepted_tokens_total", "Number of guesses that were right.", t.accepted_tokens);
    add("gauge", "n_busy_slots_per_decode", "Average number of busy slots per step",
        per(double(t.busy_slots), double(t.steps)));
    add("gauge", "prompt_tokens_seconds", "Prompt throughput in tokens/s, since the last look.",
        per(double(since.prompt_tokens) * 1e3, since.prompt_ms));
    add("gauge", "predicted_tokens_seconds", "Generation throughput in tokens/s, since the last look.",
        per(double(since.predicted_tokens) * 1e3, since.predicted_ms));
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

HttpReply no_cors_proxy(const Service&, const HttpRequest&) {
    return error_reply({403, "requests are handed on to nobody"});
}

constexpr Route kStateRoutes[] = {
    {"GET", "/health", health},
    {"GET", "/v1/health", health},
    {"GET", "/props", props},
    {"POST", "/props", set_props},
    {"GET", "/slots", slots},
    {"POST", "/slots/{id}", act_on_slot},
    {"GET", "/metrics", metrics},
    {"GET", "/lora-adapters", lora_adapters},
    {"POST", "/lora-adapters", set_lora_adapters},
    {"GET", "/cors-proxy", no_cors_proxy},
    {"POST", "/cors-proxy", no_cors_proxy},
};

}  // namespace

std::span<const Route> state_routes() { return kStateRoutes; }

}  // namespace riftjit::server
