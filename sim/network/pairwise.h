// Independent trials with one probability, by the lengths of the gaps between successes.
#pragma once

#include <cstdint>

#include "sim/network/random.h"

namespace riftjit::sim {

// Calls receive(trial, draw) for each of `trials` that succeeds, ascending; draw counts the successes. The gap before a
// success has the geometric distribution floor(log(u) / log(1 - p)) (Devroye, "Non-uniform random variate generation",
// X.2), so the cost is that of the successes.
template <class Receive>
void for_each_success(uint64_t key, uint32_t id, uint32_t trials, double probability, const Receive& receive) {
    if (probability <= 0) return;
    if (probability >= 1) {
        for (uint32_t trial = 0; trial < trials; ++trial) receive(trial, trial);
        return;
    }
    const double scale = 1 / portable_log1p(-probability);
    uint64_t trial = 0;
    for (uint64_t draw = 0;; ++draw, ++trial) {
        const double gap = portable_log(open_uniform(philox_first(random_words(key, id, draw)))) * scale;
        if (gap >= static_cast<double>(trials - trial)) return;
        trial += static_cast<uint64_t>(gap);
        receive(static_cast<uint32_t>(trial), draw);
        if (trial + 1 >= trials) return;
    }
}

}  // namespace riftjit::sim
