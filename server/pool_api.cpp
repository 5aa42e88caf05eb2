// What a server of several models says of them, and what it is told to do with them.
#include "host/json_text.h"
#include "server/apis.h"
#include "server/model_pool.h"

namespace riftjit::server {

namespace {

Json status_json(const ModelPool::Listed& model) {
    Json status = {{"value", name(model.status)}};
    if (model.error.empty()) return status;
    status["failed"] = true;
    status["error"] = model.error;
    return status;
}

Json data_of(const ModelPool::Listed& model) {
    Json data = model.model ? model_data(*model.model)
                            : Json{{"id", model.name},
                                   {"aliases", model.aliases},
                                   {"object", "model"},
                                   {"created", seconds_now()},
                                   {"owned_by", "llamacpp"}};
    data["id"] = model.name;
    data["status"] = status_json(model);
    return data;
}

HttpReply list(ModelPool& pool, const HttpRequest& request) {
    if (const auto it = request.query.find("reload"); it != request.query.end() && it->second != "0")
        if (const auto read = pool.reload_list(); !read) return error_reply(read.error());
    Json data = Json::array();
    for (const ModelPool::Listed& model : pool.listed()) data.push_back(data_of(model));
    return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

HttpReply one(ModelPool& pool, const std::string& id) {
    for (const ModelPool::Listed& model : pool.listed())
        if (model.name == id) return json_reply(data_of(model));
    return error_reply({404, fmt::format("model '{}' not found", id.substr(0, 200))});
}

HttpReply change(ModelPool& pool, const HttpRequest& request, Outcome<void> (ModelPool::*act)(const std::string&)) {
    const auto body = parse_body(request.body);
    if (!body) return error_reply(body.error());
    Fields fields(*body);
    const std::string model = fields.text("model").value_or("");
    if (const auto checked = fields.check(); !checked) return error_reply(checked.error());
    if (const auto acted = (pool.*act)(model); !acted) return error_reply(acted.error());
    return json_reply({{"success", true}});
}

HttpReply pool_props(const ModelPool& pool) {
    return json_reply({{"role", "router"},
                       {"max_instances", pool.options().most_loaded},
                       {"models_autoload", pool.options().loads_on_demand},
                       {"model_alias", "llama-server"},
                       {"model_path", "none"},
                       {"default_generation_settings", {{"params", Json::object()}, {"n_ctx", 0}}},
                       {"build_info", "b1-riftjit-" + pool.options().version}});
}

HttpReply ollama_list(ModelPool& pool, bool only_loaded) {
    Json models = Json::array();
    for (const ModelPool::Listed& model : pool.listed()) {
        if (only_loaded && !model.model) continue;
        Json entry = {{"name", model.name},
                      {"model", model.name},
                      {"modified_at", ollama_time()},
                      {"size", model.bytes},
                      {"digest", ""},
                      {"details", model.model ? model.model->model_details() : Json::object()}};
        if (only_loaded) {
            entry["expires_at"] = "2318-01-01T00:00:00Z";
            entry["size_vram"] = 0;
            entry["context_length"] = model.model->scheduler().context();
        }
        models.push_back(std::move(entry));
    }
    return json_reply({{"models", std::move(models)}});
}

// How Ollama's clients have a model go: none is loaded for that.
std::optional<HttpReply> ollama_unload(ModelPool& pool, const HttpRequest& request) {
    const Json body = parse_json<Json>(request.body);
    if (!body.is_object()) return std::nullopt;
    const Json keep = body.value("keep_alive", Json());
    const bool goes = keep == 0 || keep == "0" || keep == "0s" || keep == "0m";
    const auto is_empty = [&](const char* name) {
        return !body.contains(name) || body[name].empty() || body[name] == "";
    };
    const Json model = body.value("model", Json());
    if (!goes || !is_empty("prompt") || !is_empty("messages") || !model.is_string()) return std::nullopt;
    const auto unloaded = pool.unload(model.get<std::string>());
    if (!unloaded && unloaded.error().status == 404) return ollama_error(unloaded.error());
    return json_reply(
        {{"model", model}, {"created_at", ollama_time()}, {"response", ""}, {"done", true}, {"done_reason", "unload"}});
}

}  // namespace

std::optional<HttpReply> pool_reply(ModelPool& pool, const HttpRequest& request, const std::string& path) {
    const bool is_get = request.method == "GET" || request.method == "HEAD", is_post = request.method == "POST";
    if (is_get && (path == "/health" || path == "/v1/health")) return json_reply({{"status", "ok"}});
    if (is_get && (path == "/models" || path == "/v1/models")) return list(pool, request);
    if (is_get && path.starts_with("/v1/models/"))
        return one(pool, path.substr(std::string_view("/v1/models/").size()));
    if (is_get && path == "/props" && !request.query.contains("model")) return pool_props(pool);
    if (is_post && path == "/models/load") return change(pool, request, &ModelPool::load);
    if (is_post && path == "/models/unload") return change(pool, request, &ModelPool::unload);
    if (is_get && path == "/api/tags") return ollama_list(pool, false);
    if (is_get && path == "/api/ps") return ollama_list(pool, true);
    if (is_get && path == "/api/version") return json_reply({{"version", kOllamaVersion}});
    if (is_post && (path == "/api/generate" || path == "/api/chat")) return ollama_unload(pool, request);
    return std::nullopt;
}

}  // namespace riftjit::server
