#include "runtime/peaks.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "jit/code_memory.h"
#include "jit/kernel_spec.h"
#include "runtime/pages.h"
#include "runtime/thread_pool.h"

namespace riftjit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kBufferBytes = 512 << 20;  // beyond any last-level cache
constexpr uint32_t kPieces = 8;               // of the buffer, one a run
// Many short runs, of which the best counts: some of them fall between the time slices of whatever else runs here.
constexpr int kRuns = 40;
constexpr double kSecondsPerRun = 0.004;

struct Job {
    KernelFunction function;
    x86::PeakArgs args;
    uint32_t first, units, threads;  // of all threads together

    void run(uint32_t thread) {
        const Share share = share_of(units, thread, threads);
        function(&args, first + share.begin, first + share.end);
    }
};

double seconds_of(ThreadPool& pool, Job& job) {
    const auto start = Clock::now();
    pool.run([](void* context, uint32_t thread) { static_cast<Job*>(context)->run(thread); }, &job);
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Units per second.
double best_rate_of_arithmetic(ThreadPool& pool, Job job) {
    job.units = 100 * pool.size();
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
        best = std::max(best, job.units / seconds_of(pool, job));
        job.units = uint32_t(std::clamp(best * kSecondsPerRun, 1.0, 1e9));
    }
    return best;
}

double best_rate_of_reading(ThreadPool& pool, Job job) {
    job.units = uint32_t(kBufferBytes / x86::kPeakReadBytes / kPieces);
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
        job.first = job.units * (run % kPieces);
        best = std::max(best, job.units / seconds_of(pool, job));
    }
    return best;
}

// 10^9 operations or bytes per second.
double measure(KernelFunction function, x86::Peak peak, Isa isa, const std::byte* buffer, ThreadPool& pool) {
    const Job job{function, {buffer}, 0, 0, pool.size()};
    const double rate = peak == x86::Peak::read ? best_rate_of_reading(pool, job) : best_rate_of_arithmetic(pool, job);
    return rate * double(x86::peak_work_per_unit(peak, isa)) * 1e-9;
}

}  // namespace

std::string_view name(x86::Peak peak) {
    switch (peak) {
        case x86::Peak::read:
            return "read_gb_per_s";
        case x86::Peak::f32_fma:
            return "f32_fma_gflops";
        case x86::Peak::bf16_dot:
            return "bf16_dot_gflops";
        case x86::Peak::i16_dot:
            return "i16_dot_gops";
        case x86::Peak::i8_dot:
            return "i8_dot_gops";
    }
    return "";
}

Result<Peaks> measure_peaks(Isa isa, uint32_t threads) {
    RIFTJIT_TRY(buffer, Pages::allocate(kBufferBytes, Pages::Size::huge, "the buffer of the memory measurement"));
    std::memset(buffer.data(), 1, kBufferBytes);  // untouched pages would all be the same zeros, in the cache
    RIFTJIT_TRY(single, ThreadPool::create(1));
    RIFTJIT_TRY(all, ThreadPool::create(threads));
    CodeMemory memory;
    std::array<KernelFunction, kPeaks.size()> functions{};
    for (size_t i = 0; i < kPeaks.size(); ++i) {
        const auto code = x86::generate_peak(kPeaks[i], isa);
        if (!code) continue;
        RIFTJIT_TRY(address, memory.add(code->bytes));
        functions[i] = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(address));
    }
    RIFTJIT_TRY_VOID(memory.seal());
    Peaks peaks{isa, threads, {}};
    for (size_t i = 0; i < kPeaks.size(); ++i) {
        if (functions[i] == nullptr) continue;
        peaks.values[i] = MeasuredPeak{measure(functions[i], kPeaks[i], isa, buffer.data(), single),
                                       measure(functions[i], kPeaks[i], isa, buffer.data(), all)};
    }
    return peaks;
}

}  // namespace riftjit::runtime
