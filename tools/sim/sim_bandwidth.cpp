#include "tools/sim/sim_bandwidth.h"

#include <fmt/format.h>

#include <cstring>

#include "host/available_memory.h"
#include "host/pages.h"
#include "runtime/cpu/peaks.h"

namespace riftjit::tools {

namespace {

// Below it what a step moves may stay in a cache, and a rate of memory says nothing.
constexpr uint64_t kLeastMeasuredBytes = 256ull << 20;
constexpr uint64_t kBufferBytes = 512ull << 20;  // beyond any last-level cache
constexpr const char* kCached = "what a step moves may stay in a cache, so no share of the memory's rate";

}  // namespace

Result<std::optional<double>> measured_read_rate(uint64_t resident_bytes, Isa isa, uint32_t threads) {
    if (resident_bytes < kLeastMeasuredBytes || available_memory() < 2 * kBufferBytes) return std::nullopt;
    RIFTJIT_TRY(buffer, Pages::allocate(kBufferBytes, Pages::Size::huge, "the buffer of the memory measurement"));
    // Untouched pages would all be the same zeros, in the cache.
    std::memset(buffer.data(), 1, kBufferBytes);
    RIFTJIT_TRY(rate, runtime::measure_read_rate(isa, threads, {buffer.data(), kBufferBytes}));
    return std::optional(rate);
}

std::string least_time_text(double bytes, std::optional<double> read_rate) {
    if (!read_rate) return kCached;
    return fmt::format("{:.3f} ms at least, at the {:.1f} GB/s that reading reaches", 1e3 * bytes / *read_rate,
                       1e-9 * *read_rate);
}

std::string share_text(double bytes_per_second, std::optional<double> read_rate) {
    if (!read_rate) return kCached;
    return fmt::format("{:.1f} GB/s, {:.0f} % of the {:.1f} GB/s that reading reaches", 1e-9 * bytes_per_second,
                       100 * bytes_per_second / *read_rate, 1e-9 * *read_rate);
}

}  // namespace riftjit::tools
