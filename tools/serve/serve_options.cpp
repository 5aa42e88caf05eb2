#include "tools/serve/serve_options.h"

#include <algorithm>
#include <filesystem>

#include "tools/cli/device_options.h"
#include "tools/cli/input_file.h"
#include "tools/run/drafting.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

constexpr int64_t kMostSlots = 1024;
// Each costs its stack's address space; slots are what bounds the work.
constexpr uint32_t kConnections = 512;
constexpr int64_t kSlots = 4;

void add_server_options(CLI::App& app, ServeOptions& o) {
    constexpr const char* kGroup = "Server";
    app.add_option("--host", o.hosts,
                   "addresses to listen at, divided by commas; others than this machine's are reachable from afar; "
                   "a path that ends with .sock is a socket's file")
        ->type_name("ADDRESS,...")
        ->allow_extra_args(false)
        ->default_str("127.0.0.1")
        ->group(kGroup);
    add_integer(app, "--port", o.port, 0, 65535, "port to listen at, 0: any that is free, which is said")
        ->group(kGroup);
    app.add_option("--api-prefix", o.server.prefix, "before every path")->type_name("PATH")->group(kGroup);
    app.add_option("--api-key", o.api_keys, "a key that requests must have; several divided by commas")
        ->type_name("KEY,...")
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("--api-key-file", o.api_key_file, "keys, one a line")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_option("-a,--alias", o.aliases, "names of the model (default: its file's name), divided by commas")
        ->type_name("NAME,...")
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("--tags", o.tags, "tags of the model, divided by commas; shown in lists alone")
        ->type_name("TAG,...")
        ->allow_extra_args(false)
        ->group(kGroup);
    add_integer(app, "--timeout", o.timeout, 1, INT32_MAX, "-to: seconds after which a silent client is left")
        ->group(kGroup);
    add_integer(app, "--threads-http", o.threads_http, -1, 65535,
                fmt::format("connections at a time (-1: {})", kConnections))
        ->group(kGroup);
    add_integer(app, "--body-limit", o.body_limit, 1, INT64_MAX, "bytes that a request's body may have")->group(kGroup);
    app.add_option("--cors-origins", o.server.cors_origins,
                   "pages that browsers may send requests for: *, or origins divided by commas, among them localhost; "
                   "empty: none")
        ->type_name("ORIGIN,...")
        ->default_str("*")
        ->group(kGroup);
    add_integer(app, "--sse-ping-interval", o.service.ping_seconds, -1, INT32_MAX,
                "seconds of silence after which a stream has a comment, -1: never")
        ->group(kGroup);
    app.add_flag_callback(
           "--slots", [&o] { o.service.shows_slots = true; }, "GET /slots (how it starts)")
        ->group(kGroup);
    app.add_flag_callback("--no-slots", [&o] { o.service.shows_slots = false; }, "no GET /slots")->group(kGroup);
    app.add_flag("--metrics", o.service.shows_metrics, "GET /metrics, for Prometheus")->group(kGroup);
    app.add_flag("--props", o.service.takes_props, "POST /props")->group(kGroup);
    app.add_flag_callback(
           "--ui,--webui", [&o] { o.server.has_page = true; }, "a page at / (how it starts)")
        ->group(kGroup);
    app.add_flag_callback("--no-ui,--no-webui", [&o] { o.server.has_page = false; }, "no page")->group(kGroup);
}

// What llama-server can be told of caches that this one does without: taken where it asks for nothing more.
void add_harmless_options(CLI::App& app, ServeOptions& o) {
    constexpr const char* kGroup = "Compatibility";
    for (const char* name : {"--cache-ram", "--ctx-checkpoints", "--checkpoint-min-step", "--cache-reuse"})
        app.add_option_function<std::string>(
               name,
               [&o, name](const std::string& value) {
                   if (parse_integer(name, value, -1, INT32_MAX) != 0)
                       o.run.without_effect.push_back(
                           fmt::format("{} {}: texts are kept in slots alone, as they are", name, value));
               },
               "")
            ->group("");
    app.add_option_function<std::string>(
           "--slot-prompt-similarity",
           [&o](const std::string& value) {
               o.run.without_effect.push_back(fmt::format(
                   "--slot-prompt-similarity {}: a prompt goes on from the longest beginning that it shares", value));
           },
           "")
        ->group("");
    app.add_flag_callback(
           "--no-cache-idle-slots,--swa-full,--backend-sampling,--no-backend-sampling", [] {}, "how it always is")
        ->group(kGroup);
}

void add_pool_options(CLI::App& app, ServeOptions& o) {
    constexpr const char* kGroup = "Several models";
    app.add_option("--models-dir", o.models_folder,
                   "serve the models of this folder by their names; a request's \"model\" loads the one that it names")
        ->type_name("FOLDER")
        ->group(kGroup);
    app.add_option(
           "--models-preset", o.models_preset,
           "serve the models of this file: sections [name] with flags, \"model = m.gguf\", \"ctx-size = 4096\"; "
           "those of [*] are all models'")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    add_integer(app, "--models-max", o.most_models, 0, kMostSlots,
                "models that are loaded at a time, 0: no limit; the one that was used least recently goes")
        ->group(kGroup);
    add_integer(app, "--models-memory", o.models_memory, 0, INT32_MAX,
                "MiB of weights and caches of all loaded models, 0: no limit")
        ->group(kGroup);
    app.add_flag_callback(
           "--models-autoload", [&o] { o.loads_on_demand = true; }, "load what a request names (how it starts)")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-models-autoload", [&o] { o.loads_on_demand = false; }, "load what POST /models/load names, alone")
        ->group(kGroup);
    add_integer(app, "--models-delay", o.models_delay, 0, 60'000,
                "to try queues out: milliseconds that each load and each request waits")
        ->group(kGroup);
    add_integer(app, "--sleep-idle-seconds", o.sleep_seconds, -1, INT32_MAX,
                "seconds without a request after which a model is unloaded until the next one, -1: never")
        ->group(kGroup);
}

void add_slot_options(CLI::App& app, ServeOptions& o) {
    constexpr const char* kGroup = "Requests";
    add_integer(app, "--parallel", o.parallel, -1, kMostSlots,
                fmt::format("-np: requests answered at a time (slots); -1: {}, and -kvu", kSlots))
        ->group(kGroup);
    app.add_flag_callback(
           "--kv-unified", [&o] { o.shares_cache = Toggle::on; },
           "-kvu: each slot may have all of the context (-c), as long as the cache has room for all")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-kv-unified", [&o] { o.shares_cache = Toggle::off; },
           "-no-kvu: the context is divided evenly among the slots (how it is where -np gives their number)")
        ->group(kGroup);
    app.add_flag_callback("--cont-batching", [] {}, "-cb: how it always is")->group(kGroup);
    app.add_flag_callback(
           "--cache-prompt", [&o] { o.service.reuses_text = true; },
           "go on from what a slot holds, where a prompt begins with the same tokens (how it starts)")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-cache-prompt", [&o] { o.service.reuses_text = false; }, "read every prompt anew")
        ->group(kGroup);
    add_integer(app, "-n,--predict,--n-predict", o.service.usual_tokens, -1, INT32_MAX,
                "tokens of an answer whose request names no limit, -1: none but the context")
        ->group(kGroup);
    add_integer(app, "--most-predict", o.service.most_tokens, -1, INT32_MAX,
                "tokens that an answer may have at most, whatever its request says, -1: no limit")
        ->group(kGroup);
    app.add_option("-r,--reverse-prompt", o.service.stop_words, "stop answers where this text appears")
        ->type_name("TEXT")
        ->group(kGroup);
    app.add_flag("--context-shift", o.shifts_context,
                 "where an answer fills its context, drop half of what is not kept and read the rest again; else it "
                 "ends there")
        ->group(kGroup);
    add_integer(app, "--keep", o.service.kept_tokens, -1, INT32_MAX,
                "tokens of the prompt that --context-shift keeps, -1: all of them")
        ->group(kGroup);
    app.add_option("--slot-save-path", o.slot_folder,
                   "a folder in which POST /slots/{id}?action=save keeps what a slot holds, by a name")
        ->type_name("FOLDER")
        ->group(kGroup);
    add_harmless_options(app, o);
    app.add_flag("--special", o.service.shows_special, "-sp: show control tokens")->group(kGroup);
    add_choice(app, "--reasoning-format", o.service.reasoning_format, {"auto", "none", "deepseek", "deepseek-legacy"},
               "auto: thinking apart, as reasoning_content; none: in the content, as the model writes it")
        ->group(kGroup);
}

void add_embedding_options(CLI::App& app, ServeOptions& o) {
    constexpr const char* kGroup = "Embeddings";
    app.add_flag("--embeddings,--embedding", o.embeds,
                 "make vectors of texts in place of writing texts (how it is where the model is an encoder)")
        ->group(kGroup);
    app.add_flag("--reranking,--rerank", o.ranks, "rank documents: as --embeddings --pooling rank")->group(kGroup);
    add_choice(app, "--pooling", o.pooling, {models::kPoolingNames.begin(), models::kPoolingNames.end()},
               "which of a text's rows its vector is (default: the model's)")
        ->default_str("")
        ->group(kGroup);
    add_integer(
        app, "--embd-normalize", o.embedding_norm, -1, 1000,
        "where a request does not say: -1: vectors as they are, 0: the largest 32760, 1: the sum of sizes 1, 2: "
        "length 1, more: that norm 1")
        ->group(kGroup);
}

std::vector<std::string> divided(const std::vector<std::string>& lists) {
    std::vector<std::string> items;
    for (const std::string& list : lists)
        for (std::string& item : split(list, ',')) items.push_back(std::move(item));
    return items;
}

Result<void> read_keys(ServeOptions& o) {
    o.server.api_keys = divided(o.api_keys);
    for (const std::string& key : o.server.api_keys)
        if (key.empty()) return fail(ErrorKind::Usage, "--api-key: an empty key");
    if (o.api_key_file.empty()) return {};
    RIFTJIT_TRY(bytes, read_text_bytes(o.api_key_file));
    const size_t before = o.server.api_keys.size();
    for (std::string& line : split(bytes, '\n')) {
        line = without_line_end(std::move(line));
        if (!line.empty()) o.server.api_keys.push_back(std::move(line));
    }
    if (o.server.api_keys.size() == before) return fail(ErrorKind::Usage, "{}: no key in it", o.api_key_file);
    return {};
}

}  // namespace

void add_serve_options(CLI::App& app, ServeOptions& options) {
    RunOptions& run = options.run;
    add_model_options(app, run);
    add_server_options(app, options);
    add_slot_options(app, options);
    add_pool_options(app, options);
    add_embedding_options(app, options);
    add_agent_options(app, options.agent);
    add_template_options(app, run);
    add_sampling_options(app, run);
    add_draft_options(app, run);
    add_synthetic_options(app, run.draft);
    constexpr const char* kKernels = "Kernels";
    add_device_option(app, kKernels, run.device);
    add_check_option(app, kKernels, run.device);
    add_kernel_choice(app, kKernels, run.kernels);
    app.add_flag("--perf-map", run.perf_map, "name generated code for perf")->group(kKernels);
    app.add_flag("--check-tensors", run.check_tensors, "read every weight first; NaN and infinity are errors")
        ->group(kKernels);
    app.add_flag("--strict", run.strict, "a warning at the start is an error")->group(kKernels);
    app.add_flag("-v,--verbose,--log-verbose", run.verbose, "a line for each request, on stderr")->group("Server");
    add_compatibility_options(app, run);
    let_last_count(app);
}

Result<void> check_serve_options(ServeOptions& o) {
    if (o.parallel == 0) return fail(ErrorKind::Usage, "-np 0: expected -1 or 1 to {}", kMostSlots);
    RIFTJIT_TRY_VOID(read_keys(o));
    if (!o.server.prefix.empty() && (!o.server.prefix.starts_with('/') || o.server.prefix.ends_with('/')))
        return fail(ErrorKind::Usage, "--api-prefix {}: expected a path that begins with / and does not end with it",
                    o.server.prefix);
    if (has_several_models(o) && !o.run.model.empty() && o.models_preset.empty())
        return fail(ErrorKind::Usage, "-m {}: one model, or those of --models-dir", o.run.model);
    if (!o.slot_folder.empty()) {
        while (o.slot_folder.size() > 1 && o.slot_folder.ends_with('/')) o.slot_folder.pop_back();
        std::error_code ignored;
        if (!std::filesystem::is_directory(o.slot_folder, ignored))
            return fail(ErrorKind::Io, "--slot-save-path: there is no folder {}", o.slot_folder);
    }
    o.server.hosts = divided(o.hosts);
    for (const std::string& host : o.server.hosts)
        if (host.empty()) return fail(ErrorKind::Usage, "--host: an empty address");
    o.server.port = uint16_t(o.port);
    o.server.threads = o.threads_http <= 0 ? kConnections : uint32_t(o.threads_http);
    o.server.timeout = std::chrono::seconds(o.timeout);
    o.server.body_limit = uint64_t(o.body_limit);
    o.service.names = divided(o.aliases);
    std::ranges::sort(o.service.names);  // the first of them is the model's, as llama-server has it
    o.service.tags = divided(o.tags);
    o.service.version = RIFTJIT_VERSION;
    o.service.embedding_norm = int(o.embedding_norm);
    if (o.ranks && !o.pooling.empty() && o.pooling != "rank")
        return fail(ErrorKind::Usage, "--pooling {}: --reranking asks for rank", o.pooling);
    o.service.is_verbose = o.run.verbose;
    o.service.sampling = {o.run.sampling, {}, o.run.ignore_eos};
    const auto& breakers = o.run.dry_breakers;
    if (std::ranges::find(breakers, "none") == breakers.end()) o.service.sampling.dry_breakers = breakers;
    return {};
}

Result<engine::EngineOptions> serve_engine_options(const ServeOptions& o) {
    RIFTJIT_TRY(engine, engine_options(o.run));
    engine.purpose = {.embeds = o.embeds || o.ranks,
                      .embeds_encoders = true,
                      .pooling = o.ranks ? models::Pooling::rank : models::pooling_from_name(o.pooling),
                      .ranks_by_words = o.ranks};
    engine.embeds_in_f32 = !o.has_cache_type;
    engine.sequences = uint32_t(o.parallel < 0 ? kSlots : o.parallel);
    engine.outputs = std::min<uint32_t>(engine.sequences * engine.outputs, engine.batch);
    engine.shares_cache = o.shares_cache == Toggle::on || (o.shares_cache == Toggle::automatic && o.parallel < 0);
    if (!engine.shares_cache && engine.context != 0 && engine.context < engine.sequences)
        return fail(ErrorKind::Usage, "-c {}: fewer positions than slots (-np {})", engine.context, engine.sequences);
    return engine;
}

}  // namespace riftjit::tools
