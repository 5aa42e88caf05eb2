#include "engine/engine.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "engine/model_files.h"
#include "engine/weight_loading.h"
#include "host/available_memory.h"
#include "host/cpus.h"
#include "jit/x86/backend.h"
#include "models/gguf/gguf_text.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/kv_cache.h"
#include "runtime/rdna/rdna_device.h"

namespace riftjit::engine {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// What is asked for is done, but said to be unwise.
void warn_of_sizes(const EngineOptions& options, const models::Hyperparameters& hyper, const Warn& warn) {
    if (options.context > hyper.context_length)
        warn(hyper.is_encoder ? fmt::format("-c {}: texts may have the {} tokens that the encoder was trained for",
                                            options.context, hyper.context_length)
                              : fmt::format("-c {}: the model was trained for {} positions; beyond them it gets worse",
                                            options.context, hyper.context_length));
    const uint32_t usable = usable_cpus();
    if (options.threads && *options.threads > usable)
        warn(fmt::format("-t {}: only {} CPUs are usable here; the threads will share them", *options.threads, usable));
}

// The cache is address space at first, and grows with the text: to start says nothing of its end. The weights are
// packed by now, so that what is available is left for it.
void warn_of_memory(const LoadedModel& loaded, uint64_t positions, const EngineOptions& options, const Warn& warn) {
    if (!options.device.is_cpu()) return;  // has all of its memory by now
    if (!loaded.session && !loaded.sequences) return;
    const uint64_t bytes = loaded.session ? loaded.session->kv_bytes() : loaded.sequences->kv_bytes();
    if (const auto available = memory_below(bytes))
        warn(fmt::format("-c {}: a full context takes {} bytes in the KV cache, {} are available", positions, bytes,
                         *available));
}

// What the system says of memory that it cannot give names no flag.
Error with_fitting_context(Error error, const graph::Graph& graph, const EngineOptions& options, Isa isa,
                           uint64_t context) {
    if (error.kind != ErrorKind::OutOfMemory || !options.device.is_cpu()) return error;
    const uint64_t bytes =
        runtime::kv_bytes({graph.slots, context, options.key_type, options.value_type}, backend(Target(isa)));
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const uint64_t available = std::min<uint64_t>(available_memory(), limit.rlim_cur);
    error.message += fmt::format("; {}; -c {} would take the {} bytes that there are",
                                 options.context != 0 ? fmt::format("-c {} asks for that", context)
                                                      : fmt::format("the model's context_length is {}", context),
                                 std::max<uint64_t>(available / std::max<uint64_t>(bytes / context, 1), 1), available);
    return error;
}

Result<models::Tokenizer> open_tokenizer(const models::Gguf& file, const std::optional<std::string>& pre,
                                         const Warn& warn) {
    RIFTJIT_TRY(tokenizer, models::Tokenizer::from_gguf(file, pre));
    for (const std::string& warning : tokenizer.warnings()) warn(warning);
    return std::move(tokenizer);
}

Result<runtime::LogitKernels> find_logit_kernels(x86::HostKernels& kernels, Isa isa, uint32_t vocabulary) {
    const auto [argmax_spec, collect_spec] = runtime::logit_kernel_specs(vocabulary);
    RIFTJIT_TRY(argmax, kernels.get(argmax_spec, isa));
    RIFTJIT_TRY(collect, kernels.get(collect_spec, isa));
    return runtime::LogitKernels{argmax, collect};
}

// Nothing is loaded that will not fit.
Result<void> check_memory(const graph::Graph& graph, const runtime::ModelOptions& model,
                          const runtime::SequenceLimits& limits, const runtime::Accelerator& accelerator,
                          const EngineOptions& options) {
    RIFTJIT_TRY(need, runtime::memory_need(graph, model, limits, runtime::RdnaBackend(accelerator.chip())));
    RIFTJIT_TRY(memory, accelerator.memory());
    const std::string line = fmt::format(
        "{}: {} bytes are needed ({} weights, {} KV cache of {} positions (-c), {} activations), {} of {} are free",
        accelerator.name(), need.total(), need.weights, need.kv, runtime::positions_of_all(limits), need.activations,
        memory.free, memory.total);
    if (memory.free != 0 && memory.free < need.total()) return fail(ErrorKind::OutOfMemory, "{}", line);
    if (options.note) options.note(line);
    return {};
}

Result<std::unique_ptr<runtime::Device>> open_device(const graph::Graph& graph, const runtime::ModelOptions& model,
                                                     const runtime::SequenceLimits& limits,
                                                     const EngineOptions& options, LoadedModel& loaded,
                                                     const Warn& warn) {
    if (options.device.is_cpu()) {
        loaded.device = "cpu";
        const uint64_t kv_bytes =
            runtime::kv_bytes({graph.slots, runtime::positions_of_all(limits), options.key_type, options.value_type},
                              backend(Target(loaded.isa)));
        RIFTJIT_TRY(cpu, runtime::CpuDevice::create(loaded.isa, loaded.threads, runtime::Helpers::when_useful,
                                                    *loaded.kernels, options.profile,
                                                    weights_on_demand(graph, options.load_mode, kv_bytes, warn)));
        return std::unique_ptr<runtime::Device>(std::move(cpu));
    }
    RIFTJIT_TRY(accelerator, open_accelerator(options.device, loaded.threads));
    RIFTJIT_TRY_VOID(check_memory(graph, model, limits, *accelerator, options));
    loaded.device = accelerator->name();
    return std::make_unique<runtime::RdnaDevice>(std::move(accelerator), *loaded.kernels);
}

// What of the context each text has, and what all have together.
runtime::SequenceLimits sequence_limits(const EngineOptions& options, uint32_t context) {
    if (options.sequences == 0) return {.positions = context};
    if (!options.shares_cache)
        return {.sequences = options.sequences, .positions = std::max(context / options.sequences, 1U)};
    return {.sequences = options.sequences,
            .positions = context,
            // Each text's last page is its own.
            .cached_positions = round_up(uint64_t(context), kKvPage) + uint64_t(options.sequences - 1) * kKvPage};
}

Result<void> make_texts(LoadedModel& loaded, const runtime::SequenceLimits& limits, bool is_session) {
    if (is_session) {
        RIFTJIT_TRY(session, runtime::Session::create(loaded.device_model, limits.positions));
        loaded.session = std::make_unique<runtime::Session>(std::move(session));
    } else {
        RIFTJIT_TRY(sequences, runtime::Sequences::create(loaded.device_model, limits));
        loaded.sequences = std::make_unique<runtime::Sequences>(std::move(sequences));
    }
    return {};
}

uint32_t threads_of(const EngineOptions& options) { return options.threads ? *options.threads : default_threads(); }

}  // namespace

Result<LevelChoice> find_levels(const graph::Graph& graph, const runtime::PlanSetOptions& plans,
                                const EngineOptions& options, KernelCache& kernels, const Warn& warn) {
    RIFTJIT_TRY(isa, select_isa(options.max_isa));
    RIFTJIT_TRY(of_environment, isa_from_environment());
    RIFTJIT_TRY(tunes, tunes_by_environment());
    if (!options.device.is_cpu() || !options.tries_levels || !tunes || options.max_isa || of_environment)
        return LevelChoice{isa, {}};
    RIFTJIT_TRY(levels, choose_prompt_level(graph, plans, isa, threads_of(options), kernels, options.cache_directory,
                                            options.cache_mode, warn));
    if (levels.is_new && options.note)
        options.note(
            fmt::format("prompts are read at level {}, as just tried: {}", name(levels.prompts), levels.figures()));
    return levels;
}

runtime::PlanSetOptions plan_options(const EngineOptions& options, const Backend& backend) {
    return {.backend = &backend,
            .batch = options.batch,
            .outputs = options.outputs,
            .key_type = options.key_type,
            .value_type = options.value_type,
            .passes = options.passes,
            .activations = options.activations};
}

Result<LoadedModel> load(models::Model model, const EngineOptions& options, Sampling sampling, const Warn& warn) {
    RIFTJIT_TRY(isa, select_isa(options.max_isa));
    const bool embeds = model.output != models::GraphOutput::logits;
    if (embeds && !options.purpose.embeds && !options.purpose.embeds_encoders)
        return fail(ErrorKind::Unsupported,
                    "{}: architecture {} is an encoder and writes no text; it makes vectors of texts (riftjit embed)",
                    models::printable_path(model.file.path()), model.hyperparameters.architecture);
    RIFTJIT_TRY(graph, model.build());
    const models::Hyperparameters& hyper = model.hyperparameters;
    uint32_t context = options.context != 0 ? options.context : hyper.context_length;
    if (hyper.is_encoder) context = std::min(context, hyper.context_length);
    if (context == 0) return fail(ErrorKind::Usage, "context 0: expected 1 position or more");
    const runtime::SequenceLimits limits = sequence_limits(options, context);
    const uint64_t positions = runtime::positions_of_all(limits);
    if (!options.threads) keep_to_performance_cores();
    const uint32_t threads = threads_of(options);
    // Texts to embed are not the slots'.
    LoadedModel loaded{std::move(model), isa, {isa, {}}, threads, embeds ? context : limits.positions};
    loaded.kernels = open_kernel_cache(options.cache_directory, options.cache_mode, warn);
    loaded.host_kernels = std::make_unique<x86::HostKernels>(*loaded.kernels, options.profile);
    if (sampling == Sampling::yes) {
        RIFTJIT_TRY(found, find_logit_kernels(*loaded.host_kernels, isa, graph.tensor(graph.logits).width));
        loaded.logit_kernels = found;
    }
    // Of several texts, each has a row in every step. An encoder's step has room for a whole text.
    const uint32_t batch = embeds ? std::max(options.batch, loaded.model.hyperparameters.is_encoder ? context : 1)
                                  : std::max(uint32_t(std::min<uint64_t>(options.batch, positions)), limits.sequences);
    runtime::ModelOptions model_options{
        .batch = batch,
        .outputs = embeds ? batch : std::max(options.outputs, limits.sequences),
        .key_type = embeds && options.embeds_in_f32 ? DType::F32 : options.key_type,
        .value_type = embeds && options.embeds_in_f32 ? DType::F32 : options.value_type,
        .passes = options.passes,
        .activations = options.activations,
    };
    RIFTJIT_TRY(levels, find_levels(graph, runtime::plan_set_options(model_options, x86::backend(isa)), options,
                                    *loaded.kernels, warn));
    loaded.levels = std::move(levels);
    if (loaded.levels.prompts != isa) model_options.prompt_backend = &x86::backend(loaded.levels.prompts);
    const models::Gguf& file = loaded.model.file;
    RIFTJIT_TRY(device, open_device(graph, model_options, limits, options, loaded, warn));
    const auto release = [&file](std::span<const std::byte> range) { file.drop_pages(range); };
    RIFTJIT_TRY(device_model, runtime::DeviceModel::create(graph, model_options, std::move(device), release));
    loaded.device_model = std::move(device_model);
    if (!embeds || options.sequences != 0)
        if (const auto made = make_texts(loaded, limits, options.sequences == 0); !made)
            return std::unexpected(with_fitting_context(made.error(), graph, options, isa, positions));
    RIFTJIT_TRY_VOID(loaded.host_kernels->seal());
    warn_of_memory(loaded, positions, options, warn);
    return loaded;
}

Result<Engine> open_engine(const EngineOptions& options, const Warn& warn) {
    const auto start = Clock::now();
    RIFTJIT_TRY_VOID(select_isa(options.max_isa));  // a machine that cannot run it reads no model
    RIFTJIT_TRY(model, open_model(options.model, warn, options.adapters, options.purpose));
    if (const auto& unused = model.ignored_tensors; !unused.empty() && options.note)
        options.note(fmt::format("note: {} of the file {}: {}{}",
                                 unused.size() == 1 ? "a tensor" : fmt::format("{} tensors", unused.size()),
                                 unused.size() == 1 ? "is not used" : "are not used", models::printable(unused.front()),
                                 unused.size() == 1 ? "" : ", ..."));
    RIFTJIT_TRY(tokenizer, open_tokenizer(model.file, options.pre, warn));
    warn_of_sizes(options, model.hyperparameters, warn);
    const Sampling sampling = model.output == models::GraphOutput::logits ? Sampling::yes : Sampling::no;
    RIFTJIT_TRY(loaded, load(std::move(model), options, sampling, warn));
    Engine engine{std::move(loaded), std::move(tokenizer), nullptr};
    engine.grammars = std::make_shared<GrammarMasks>(engine.tokenizer);
    const CacheStatistics& statistics = engine.kernels->statistics();
    engine.kernels_ms = statistics.compile_ms + statistics.load_ms;
    engine.load_ms = milliseconds_since(start) - engine.kernels_ms;
    return engine;
}

}  // namespace riftjit::engine
