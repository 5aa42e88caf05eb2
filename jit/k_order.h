// The order of f32 additions, by name: floats do not associate, so an order is part of what a kernel computes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace riftjit {

enum class KOrder : uint8_t {
    sequence,  // one sum takes term 0, 1, 2, ...: matmuls, whose lanes are rows
    lanes64,   // sum i of 64 takes terms i, i + 64, ...; the four groups of 16 are added as (0 + 1) + (2 + 3), and the
               // 16 lanes that remain folded by halves, 8, 4, 2, 1: norms and other reductions over a row
};

// The definition: sums `count` terms in `order`. add(sum, k) is the sum with term k, rounded as the kernel does (once,
// where it multiplies and adds in one instruction).
template <class Real, class Add>
Real sum_in_order(KOrder order, uint32_t count, Add&& add) {
    if (order == KOrder::sequence) {
        Real sum = 0;
        for (uint32_t k = 0; k < count; ++k) sum = add(sum, k);
        return sum;
    }
    std::array<Real, 64> lanes{};
    for (uint32_t first = 0; first < count; first += 64)
        for (uint32_t i = 0; i < std::min(64u, count - first); ++i) lanes[i] = add(lanes[i], first + i);
    for (uint32_t i = 0; i < 16; ++i) lanes[i] = (lanes[i] + lanes[i + 16]) + (lanes[i + 32] + lanes[i + 48]);
    for (uint32_t width = 8; width >= 1; width /= 2)
        for (uint32_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    return lanes[0];
}

}  // namespace riftjit
