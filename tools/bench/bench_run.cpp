#include "tools/bench/bench_run.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "engine/model_files.h"
#include "host/available_memory.h"
#include "jit/cache/build_id.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "runtime/cpu/peaks.h"
#include "runtime/logits_hash.h"
#include "tools/bench/bench_work.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

// Seconds that this process's threads could have run but had to wait for a CPU, since they started: the second number
// of each schedstat file. 0 where the kernel does not count it.
double seconds_in_queue() {
    double nanoseconds = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::ifstream file(task.path() / "schedstat");
        double running = 0, waiting = 0;
        if (file >> running >> waiting) nanoseconds += waiting;
    }
    return nanoseconds * 1e-9;
}

std::string build_name() {
    std::string hex;
    for (const std::byte byte : running_build_id().first(std::min<size_t>(4, running_build_id().size())))
        hex += fmt::format("{:02x}", uint32_t(byte));
    return hex.empty() ? RIFTJIT_VERSION : hex;
}

// 0.1.0 is 100: major, minor and patch in two digits each.
uint32_t build_number() {
    uint32_t number = 0, part = 0;
    for (const char* c = RIFTJIT_VERSION;; ++c) {
        if (*c >= '0' && *c <= '9') {
            part = part * 10 + uint32_t(*c - '0');
            continue;
        }
        number = number * 100 + part;
        part = 0;
        if (*c == '\0') return number;
    }
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%FT%TZ", &parts);
    return text;
}

// "qwen3 596.05 M q8_0": the architecture, parameters, and the type that most bytes have.
BenchModel describe_model(const models::Model& model) {
    BenchModel described{model.file.path().string(), {}, 0, 0};
    std::map<DType, uint64_t> bytes_of_type;
    for (const models::GgufTensor& tensor : model.file.tensors()) {
        described.size_bytes += tensor.size_bytes;
        described.parameters += tensor.rows() * tensor.width();
        bytes_of_type[tensor.type] += tensor.size_bytes;
    }
    DType most = DType::F32;
    for (const auto& [type, bytes] : bytes_of_type)
        if (bytes > bytes_of_type[most]) most = type;
    described.type = fmt::format("{} {:.2f} M {}", model.hyperparameters.architecture,
                                 double(described.parameters) / 1e6, name(most));
    return described;
}

uint64_t plan_weight_bytes(const graph::Plan& plan) {
    uint64_t bytes = 0;
    for (const graph::Step& step : plan.steps) bytes += cost(step.spec).weight_bytes;
    return bytes;
}

struct Arithmetic {
    double per_token = 0, per_token_and_position = 0;  // the latter in attention
};

Arithmetic plan_arithmetic(const graph::Plan& plan) {
    Arithmetic flops;
    for (const graph::Step& step : plan.steps) {
        const auto amount = double(cost(step.spec).flops);
        const bool once_per_batch = step.rows != graph::StepRows::batch && plan.max_tokens > 1;
        if (std::holds_alternative<AttentionSpec>(step.spec))
            flops.per_token_and_position += amount;
        else
            flops.per_token += once_per_batch ? amount / plan.max_tokens : amount;
    }
    return flops;
}

}  // namespace

Result<BenchSession> BenchSession::open(const BenchSetup& setup, uint32_t context, const BenchOptions& options,
                                        Reporter& reporter) {
    const engine::EngineOptions engine_options{
        .max_isa = options.kernels.max_isa,
        .tries_levels = !options.kernels.leaves_levels_untried,
        .device = options.device,
        .threads = setup.threads,
        .context = context,
        .batch = std::min(setup.ubatch, setup.batch),
        .key_type = setup.type_k,
        .value_type = setup.type_v,
        .cache_directory = options.kernels.cache_directory,
        .cache_mode = cache_mode_from_name(options.kernels.cache_mode).value(),
        .passes = options.kernels.passes,
        .activations = activations_from_name(options.kernels.activations).value(),
    };
    RIFTJIT_TRY_VOID(engine::select_isa(options.kernels.max_isa));  // a machine that cannot run it reads no model
    RIFTJIT_TRY(model, engine::open_model(setup.model, reporter.warner()));
    BenchModel described = describe_model(model);
    RIFTJIT_TRY(loaded, engine::load(std::move(model), engine_options, engine::Sampling::no, reporter.warner()));
    BenchSession bench(std::move(loaded), std::move(described));
    const runtime::Session& session = *bench.loaded_.session;
    bench.kv_bytes_per_position_ = session.kv_bytes() / round_up(context, kKvPage);
    if (options.device.is_cpu()) {
        RIFTJIT_TRY(read_peak, session.weights_read_rate());
        bench.peak_read_bytes_per_second_ = read_peak;
    }
    std::mt19937 engine(42);
    bench.tokens_.resize(context);
    for (int32_t& token : bench.tokens_) token = int32_t(engine() % session.vocabulary());
    return bench;
}

Result<std::span<const float>> BenchSession::evaluate(uint32_t count) {
    return context_.evaluate(std::span(tokens_).subspan(context_.ids().size(), count));
}

Result<void> BenchSession::fill(uint32_t depth, uint32_t batch) {
    while (context_.ids().size() < depth)
        RIFTJIT_TRY_VOID(evaluate(std::min(batch, depth - uint32_t(context_.ids().size()))));
    return {};
}

Result<void> BenchSession::warm_up(const BenchTest& test) {
    RIFTJIT_TRY_VOID(context_.truncate(0));
    RIFTJIT_TRY_VOID(fill(test.prompt, test.setup.batch));
    if (test.generate > 0) RIFTJIT_TRY_VOID(evaluate(1));
    RIFTJIT_TRY_VOID(context_.truncate(0));
    return {};
}

// Hashing is not part of the time; nor is sampling: the tokens are known beforehand.
Result<BenchSession::Sample> BenchSession::time_once(const BenchTest& test) {
    RIFTJIT_TRY_VOID(context_.truncate(test.depth));
    RIFTJIT_TRY_VOID(fill(test.depth, test.setup.batch));
    runtime::LogitsHash hash;
    std::span<const float> logits;
    const double queued_before = seconds_in_queue();
    const auto start = Clock::now();
    for (uint32_t done = 0; done < test.prompt;) {
        const uint32_t count = std::min(test.setup.batch, test.prompt - done);
        RIFTJIT_TRY(last, evaluate(count));
        logits = last;
        done += count;
    }
    for (uint32_t done = 0; done < test.generate; ++done) {
        RIFTJIT_TRY(last, evaluate(1));
        logits = last;
    }
    const auto elapsed = Clock::now() - start;
    const double seconds = std::chrono::duration<double>(elapsed).count();
    const double queued = (seconds_in_queue() - queued_before) / (seconds * test.setup.threads);
    hash.add(logits);
    return Sample{uint64_t(std::chrono::nanoseconds(elapsed).count()), queued, hash.hex()};
}

// The run is one more: reading the clock around every launch takes time too.
Result<void> BenchSession::profile(const BenchTest& test, const BenchOptions& options, BenchResult& result) {
    RIFTJIT_TRY_VOID(context_.truncate(test.depth));
    RIFTJIT_TRY_VOID(fill(test.depth, test.setup.batch));
    loaded_.session->set_timed(true);
    RIFTJIT_TRY_VOID(time_once(test));
    if (options.profile) result.profile = kernel_times();
    if (!options.roofline.empty()) result.work = plan_work(test);
    loaded_.session->set_timed(false);
    return {};
}

std::vector<KernelTime> BenchSession::kernel_times() const {
    std::map<std::string, KernelTime> kernels;
    for (const auto& [plan, threads] : loaded_.session->times()) {
        for (size_t step = 0; step < plan.steps.size(); ++step) {
            const std::string op = describe(plan.steps[step].spec);
            KernelTime& kernel =
                kernels.try_emplace(op, KernelTime{op, 0, std::vector<double>(threads.size()), 0}).first->second;
            ++kernel.steps;
            for (size_t thread = 0; thread < threads.size(); ++thread) {
                kernel.seconds[thread] += threads[thread].working[step];
                kernel.waiting += threads[thread].waiting[step];
            }
        }
    }
    std::vector<KernelTime> longest;
    for (const auto& [op, kernel] : kernels)
        if (kernel.total() > 0) longest.push_back(kernel);
    std::ranges::sort(longest, std::greater(), &KernelTime::total);
    return longest;
}

// Of each plan that ran.
std::vector<PlanWork> BenchSession::plan_work(const BenchTest& test) const {
    const std::vector<PlanRun> runs = plan_runs(test);
    std::vector<PlanWork> plans;
    double all_seconds = 0;
    for (const auto& [plan, threads] : loaded_.session->times()) {
        const bool is_decode = &plan == &loaded_.session->decode_plan();
        const Backend& backend = x86::backend(plan.target ? isa_of(*plan.target) : loaded_.isa);
        std::map<std::string, std::pair<Work, std::vector<double>>> kernels;
        for (size_t step = 0; step < plan.steps.size(); ++step) {
            auto& [work, seconds] = kernels[describe(plan.steps[step].spec)];
            seconds.resize(threads.size());
            for (const PlanRun& run : runs) {
                if ((run.rows == 1) != is_decode) continue;
                const auto [operations, bytes] = work_of(plan.steps[step], run, backend);
                work.operations += operations;
                work.bytes += bytes;
            }
            for (size_t thread = 0; thread < threads.size(); ++thread) {
                seconds[thread] += threads[thread].working[step];
                all_seconds += threads[thread].working[step] + threads[thread].waiting[step];
            }
        }
        PlanWork& found = plans.emplace_back(is_decode);
        for (const auto& [op, kernel] : kernels) {
            const auto& [work, seconds] = kernel;
            const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
            if (work.bytes > 0 && total > 0)
                found.kernels.push_back({op, work.operations, work.bytes, std::ranges::max(seconds), total});
        }
        if (found.kernels.empty()) plans.pop_back();
    }
    for (PlanWork& plan : plans)
        for (KernelWork& kernel : plan.kernels) kernel.share /= all_seconds;
    return plans;
}

// The least that must be read: for every step all weights, and all keys and values up to its last token, once.
void BenchSession::describe_work(const BenchTest& test, BenchResult& result) const {
    const runtime::Session& session = *loaded_.session;
    const uint32_t rows = std::min(test.setup.ubatch, test.setup.batch);
    const uint32_t tokens = test.prompt + test.generate;
    result.weight_bytes = plan_weight_bytes(session.decode_plan());
    double bytes = 0;
    for (uint32_t done = 0; done < tokens;) {
        done += done < test.prompt ? std::min(rows, test.prompt - done) : 1;
        bytes += double(result.weight_bytes) + double(kv_bytes_per_position_) * (test.depth + done);
    }
    result.bytes_per_token = bytes / tokens;
    const double mean_position = test.depth + (tokens + 1) / 2.0;  // of those that a token looks at
    const Arithmetic prompt = plan_arithmetic(session.prompt_plan()), decode = plan_arithmetic(session.decode_plan());
    result.flops_per_token = (prompt.per_token * test.prompt + decode.per_token * test.generate) / tokens +
                             decode.per_token_and_position * mean_position;
}

Result<BenchResult> BenchSession::measure(const BenchTest& test, const BenchOptions& options,
                                          const Progress& progress) {
    if (options.delay_seconds > 0) std::this_thread::sleep_for(std::chrono::seconds(options.delay_seconds));
    if (options.warmup) {
        progress("warm-up");
        RIFTJIT_TRY_VOID(warm_up(test));
    }
    RIFTJIT_TRY_VOID(context_.truncate(0));
    const CacheStatistics& cache = loaded_.kernels->statistics();
    BenchResult result{.test = test,
                       .model = model_,
                       .processor = x86::detect().name,
                       .device = options.device.is_cpu() ? "" : loaded_.device,
                       .isa = std::string(name(loaded_.isa)),
                       .prompt_isa = std::string(name(loaded_.levels.prompts)),
                       .build = build_name(),
                       .test_time = utc_now(),
                       .build_number = build_number(),
                       .jit_compile_ns = uint64_t(cache.compile_ms * 1e6),
                       .cache_hits = cache.hits,
                       .cache_misses = cache.misses,
                       .peak_read_bytes_per_second = peak_read_bytes_per_second_};
    for (uint32_t repetition = 0; repetition < options.repetitions; ++repetition) {
        progress(fmt::format("run {}/{}", repetition + 1, options.repetitions));
        RIFTJIT_TRY(sample, time_once(test));
        if (repetition > 0 && sample.logits_hash != result.logits_hash)
            return fail(ErrorKind::Unsupported, "{}: repetition {} computed other logits than the first ({}, {})",
                        test_name(test), repetition + 1, sample.logits_hash, result.logits_hash);
        result.logits_hash = sample.logits_hash;
        result.samples_ns.push_back(sample.nanoseconds);
        result.queued += sample.queued / options.repetitions;
    }
    if (options.profile || !options.roofline.empty()) {
        progress("profile");
        RIFTJIT_TRY_VOID(profile(test, options, result));
    }
    result.peak_rss_bytes = peak_rss_bytes();
    describe_work(test, result);
    return result;
}

}  // namespace riftjit::tools
