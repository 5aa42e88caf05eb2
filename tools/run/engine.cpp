#include "tools/run/engine.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "host/cpus.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::filesystem::path executable_path() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error);
}

uint32_t choose_threads(std::optional<uint32_t> wanted, Reporter& reporter) {
    const uint32_t usable = usable_cpus();
    if (!wanted) return physical_cores();
    if (*wanted > usable)
        reporter.warn(fmt::format("-t {}: only {} CPUs are usable here; the threads will share them", *wanted, usable));
    return *wanted;
}

Result<uint32_t> choose_context(uint32_t wanted, const models::Hyperparameters& hyper, Reporter& reporter) {
    if (wanted == 0) return hyper.context_length;
    if (wanted > hyper.context_length)
        reporter.warn(fmt::format("-c {}: the model was trained for {} positions; beyond them it gets worse", wanted,
                                  hyper.context_length));
    return wanted;
}

// Before the session is made: it seals the cache.
Result<runtime::LogitKernels> get_logit_kernels(KernelCache& kernels, Isa isa, uint32_t vocabulary) {
    const auto [argmax_spec, collect_spec] = logit_kernel_specs(vocabulary);
    RIFTJIT_TRY(argmax, kernels.get(argmax_spec, isa));
    RIFTJIT_TRY(collect, kernels.get(collect_spec, isa));
    return runtime::LogitKernels{argmax->function, collect->function};
}

}  // namespace

std::array<ReduceSpec, 2> logit_kernel_specs(uint32_t vocabulary) {
    return {ReduceSpec{ReduceKind::argmax, vocabulary}, ReduceSpec{ReduceKind::collect_above, vocabulary}};
}

Result<std::filesystem::path> shipped_model() {
    constexpr std::string_view kName = "storyteller-9m-q8_0.gguf";
    const std::filesystem::path directory = executable_path().parent_path();
    const std::filesystem::path candidates[] = {
        directory.parent_path() / "share/riftjit/models/storyteller" / kName,  // installed
        directory.parent_path() / "share/models/storyteller" / kName,          // build/ in the source tree
        std::filesystem::path(RIFTJIT_SHARE_DIR) / "models/storyteller" / kName,
    };
    for (const auto& candidate : candidates) {
        std::error_code error;
        if (std::filesystem::exists(candidate, error)) return candidate;
    }
    return fail(ErrorKind::Io, "no -m FILE, and the shipped model was not found at {}", candidates[0].string());
}

Result<std::optional<Isa>> isa_from_environment() {
    const char* text = std::getenv("RIFTJIT_ISA");
    if (text == nullptr || *text == '\0') return std::nullopt;
    const auto isa = isa_from_name(text);
    if (!isa) return fail(ErrorKind::Usage, "RIFTJIT_ISA: unknown level \"{}\", expected one of {}", text, isa_names());
    return isa;
}

Result<Isa> select_isa(std::optional<Isa> max_isa) {
    RIFTJIT_TRY(environment, isa_from_environment());
    std::optional<Isa> limit = max_isa;
    if (environment && (!limit || *environment < *limit)) limit = environment;
    return x86::choose_isa(x86::detect(), limit);
}

std::unique_ptr<KernelCache> open_kernel_cache(const std::string& directory, CacheMode mode, KernelCache::Use use,
                                               Reporter& reporter) {
    auto disk = DiskCache::open(directory, mode, [&reporter](const std::string& message) { reporter.warn(message); });
    return std::make_unique<KernelCache>(x86::compile, std::move(disk), use);
}

Result<Engine> open_engine(const EngineOptions& options, Reporter& reporter) {
    const auto start = Clock::now();
    RIFTJIT_TRY(isa, select_isa(options.max_isa));
    std::filesystem::path path = options.model;
    if (path.empty()) {
        RIFTJIT_TRY(shipped, shipped_model());
        path = shipped;
    }
    RIFTJIT_TRY(model, models::load_model(path));
    for (const std::string& warning : model.warnings) reporter.warn(warning);
    std::optional<std::string_view> pre;
    if (options.pre) pre = *options.pre;
    RIFTJIT_TRY(tokenizer, models::Tokenizer::from_gguf(model.file, pre));
    for (const std::string& warning : tokenizer.warnings()) reporter.warn(warning);
    RIFTJIT_TRY(context, choose_context(options.context, model.hyperparameters, reporter));
    RIFTJIT_TRY(graph, model.build(options.logits));

    Engine engine{
        std::move(model), std::move(tokenizer), isa, choose_threads(options.threads, reporter), context, {}, {}, {}};
    engine.kernels =
        open_kernel_cache(options.cache_directory, options.cache_mode, KernelCache::Use::execute, reporter);
    engine.kernels->set_profile(options.profile);
    RIFTJIT_TRY(logit_kernels, get_logit_kernels(*engine.kernels, isa, graph.tensor(graph.logits).width));
    engine.logit_kernels = logit_kernels;
    const runtime::SessionOptions session_options{
        .isa = isa,
        .threads = engine.threads,
        .context = context,
        .batch = options.batch,
        .key_type = options.key_type,
        .value_type = options.value_type,
        .passes = options.passes,
        .all_logits = options.logits == models::Logits::all,
    };
    const models::Gguf& file = engine.model.file;
    RIFTJIT_TRY(session,
                runtime::Session::create(graph, session_options, *engine.kernels,
                                         [&file](std::span<const std::byte> range) { file.drop_pages(range); }));
    engine.session = std::make_unique<runtime::Session>(std::move(session));
    const CacheStatistics& statistics = engine.kernels->statistics();
    engine.kernels_ms = statistics.compile_ms + statistics.load_ms;
    engine.load_ms = milliseconds_since(start) - engine.kernels_ms;
    return engine;
}

}  // namespace riftjit::tools
