// Attention with linear biases (Press et al. 2021, arXiv 2108.12409): what a score loses with each position's distance.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace riftjit {

// Of n heads, n a power of two, 2^(-max_bias (head + 1) / n). With other numbers the first n heads, n the largest power
// of two among them, have those slopes and the others, in order, every second one of twice as many heads.
inline double alibi_slope(uint32_t head, uint32_t heads, double max_bias) {
    const uint32_t n = std::bit_floor(heads);
    if (head < n) return std::exp2(-max_bias * (head + 1) / n);
    return std::exp2(-max_bias / 2 * (2 * (head - n) + 1) / n);
}

}  // namespace riftjit
