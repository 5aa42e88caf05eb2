#include "sim/engine/slices.h"

#include <algorithm>
#include <bit>

#include "host/thread_pool.h"
#include "jit/columns/column_program.h"
#include "jit/kernel_spec.h"

namespace riftjit::sim {

namespace {

// 64 refractory counts (u16) fill two lines; small populations are split down to what a kernel can start at.
constexpr uint32_t kLog2SmallUnit = std::countr_zero(kColumnPadding), kLog2LargeUnit = 6;
constexpr uint32_t kLargeUnitsPerThread = 16;

}  // namespace

Slices::Slices(const std::vector<uint32_t>& population_sizes, uint32_t threads) : threads_(threads) {
    for (const uint32_t size : population_sizes) {
        const bool is_large = (size >> kLog2LargeUnit) >= uint64_t(threads) * kLargeUnitsPerThread;
        Units units{is_large ? kLog2LargeUnit : kLog2SmallUnit, {}};
        const auto count = static_cast<uint32_t>((uint64_t(size) + (1u << units.log2_size) - 1) >> units.log2_size);
        units.owners.resize(count);
        for (uint32_t thread = 0; thread < threads; ++thread) {
            const Share share = share_of(count, thread, threads);
            std::fill(units.owners.begin() + share.begin, units.owners.begin() + share.end,
                      static_cast<uint16_t>(thread));
            const auto element = [&](uint32_t unit) {
                return static_cast<uint32_t>(std::min<uint64_t>(uint64_t(unit) << units.log2_size, size));
            };
            slices_.push_back({element(share.begin), element(share.end)});
        }
        units_.push_back(std::move(units));
    }
}

}  // namespace riftjit::sim
