#include "tools/serve/serve_options.h"

#include <algorithm>

#include "tools/cli/device_options.h"
#include "tools/cli/input_file.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

constexpr int64_t kMostSlots = 1024;
// Each costs its stack's address space; slots are what bounds the work.
constexpr uint32_t kConnections = 512;
constexpr int64_t kSlots = 4;

void add_server_options(CLI::App& app, ServeOptions& o) {
    constexpr const char* kGroup = "Server";
    app.add_option("--host", o.server.host, "address to listen at; others than this machine's are reachable from afar")
        ->type_name("ADDRESS")
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
    add_integer(app, "-n,--predict,--n-predict", o.most_tokens, -1, INT32_MAX,
                "tokens that an answer may have at most, -1: no limit but the context")
        ->group(kGroup);
    app.add_option("-r,--reverse-prompt", o.service.stop_words, "stop answers where this text appears")
        ->type_name("TEXT")
        ->group(kGroup);
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
    add_embedding_options(app, options);
    add_template_options(app, run);
    add_sampling_options(app, run);
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
    if (o.server.host.ends_with(".sock") || o.server.host.contains(','))
        return fail(ErrorKind::Unsupported, "--host {}: one address of a network, no socket file and no list",
                    o.server.host);
    o.server.port = uint16_t(o.port);
    o.server.threads = o.threads_http <= 0 ? kConnections : uint32_t(o.threads_http);
    o.server.timeout = std::chrono::seconds(o.timeout);
    o.server.body_limit = uint64_t(o.body_limit);
    o.service.names = divided(o.aliases);
    o.service.tags = divided(o.tags);
    o.service.version = RIFTJIT_VERSION;
    o.service.embedding_norm = int(o.embedding_norm);
    if (o.ranks && !o.pooling.empty() && o.pooling != "rank")
        return fail(ErrorKind::Usage, "--pooling {}: --reranking asks for rank", o.pooling);
    o.service.most_tokens = o.most_tokens;
    o.service.sampling = {o.run.sampling, {}, o.run.ignore_eos};
    const auto& breakers = o.run.dry_breakers;
    if (std::ranges::find(breakers, "none") == breakers.end()) o.service.sampling.dry_breakers = breakers;
    return {};
}

Result<engine::EngineOptions> serve_engine_options(const ServeOptions& o) {
    RIFTJIT_TRY(engine, engine_options(o.run));
    engine.purpose = {.embeds = o.embeds || o.ranks,
                      .embeds_encoders = true,
                      .pooling = o.ranks ? models::Pooling::rank : models::pooling_from_name(o.pooling)};
    engine.embeds_in_f32 = !o.has_cache_type;
    engine.sequences = uint32_t(o.parallel < 0 ? kSlots : o.parallel);
    engine.shares_cache = o.shares_cache == Toggle::on || (o.shares_cache == Toggle::automatic && o.parallel < 0);
    if (!engine.shares_cache && engine.context != 0 && engine.context < engine.sequences)
        return fail(ErrorKind::Usage, "-c {}: fewer positions than slots (-np {})", engine.context, engine.sequences);
    return engine;
}

}  // namespace riftjit::tools
