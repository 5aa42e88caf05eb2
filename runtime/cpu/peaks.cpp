#include "runtime/cpu/peaks.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "host/pages.h"
#include "host/thread_pool.h"
#include "jit/code_memory.h"
#include "jit/kernel_spec.h"

namespace riftjit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kBufferBytes = 512 << 20;  // beyond any last-level cache
constexpr uint64_t kBytesPerRun = 64 << 20;
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

// A run reads the piece that follows that of the run before, so that no piece is still in a cache unless all fit.
double best_rate_of_reading(ThreadPool& pool, Job job, std::span<const std::byte> data) {
    job.args.data = data.data();
    const auto pieces = uint32_t(std::max<uint64_t>(1, data.size() / kBytesPerRun));
    job.units = uint32_t(data.size() / x86::kPeakReadBytes / pieces);
    double best = 0;
    for (int run = 0; run < kRuns && job.units > 0; ++run) {
        job.first = job.units * (uint32_t(run) % pieces);
        best = std::max(best, job.units / seconds_of(pool, job));
    }
    return best;
}

// 10^9 operations or bytes per second.
double measure(KernelFunction function, x86::Peak peak, Isa isa, std::span<const std::byte> data, ThreadPool& pool) {
    const Job job{function, {}, 0, 0, pool.size()};
    const double rate =
        peak == x86::Peak::read ? best_rate_of_reading(pool, job, data) : best_rate_of_arithmetic(pool, job);
    return rate * double(x86::peak_work_per_unit(peak, isa)) * 1e-9;
}

struct PeakLoops {
    CodeMemory memory;
    std::array<KernelFunction, kPeaks.size()> functions{};

    Result<void> compile(Isa isa) {
        for (size_t i = 0; i < kPeaks.size(); ++i) {
            const auto code = x86::generate_peak(kPeaks[i], isa);
            if (!code) continue;
            RIFTJIT_TRY(address, memory.add(code->bytes));
            functions[i] = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(address));
        }
        return memory.seal();
    }
};

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
        case x86::Peak::bf16_tile:
            return "bf16_tile_gflops";
        case x86::Peak::i8_tile:
            return "i8_tile_gops";
    }
    return "";
}

Result<double> measure_read_rate(Isa isa, uint32_t threads, std::span<const std::byte> data) {
    RIFTJIT_TRY(pool, ThreadPool::create(threads));
    PeakLoops loops;
    RIFTJIT_TRY_VOID(loops.compile(isa));
    return measure(loops.functions[0], x86::Peak::read, isa, data, pool) * 1e9;
}

Result<Peaks> measure_peaks(Isa isa, uint32_t threads) {
    RIFTJIT_TRY(buffer, Pages::allocate(kBufferBytes, Pages::Size::huge, "the buffer of the memory measurement"));
    std::memset(buffer.data(), 1, kBufferBytes);  // untouched pages would all be the same zeros, in the cache
    const std::span<const std::byte> data(buffer.data(), kBufferBytes);
    RIFTJIT_TRY(single, ThreadPool::create(1));
    RIFTJIT_TRY(all, ThreadPool::create(threads));
    PeakLoops loops;
    RIFTJIT_TRY_VOID(loops.compile(isa));
    Peaks peaks{isa, threads, {}};
    for (size_t i = 0; i < kPeaks.size(); ++i)
        if (loops.functions[i] != nullptr)
            peaks.values[i] = MeasuredPeak{measure(loops.functions[i], kPeaks[i], isa, data, single),
                                           measure(loops.functions[i], kPeaks[i], isa, data, all)};
    return peaks;
}

}  // namespace riftjit::runtime
