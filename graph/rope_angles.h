// How far a rotary embedding turns: angle = position * frequency, cosines and sines times a magnitude.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace riftjit::graph {

// Of pair i of n = rotary_dims / 2: frequency = scale * base^(-i / n) / factor[i]. With `yarn` (Peng et al. 2023,
// arXiv 2309.00071, 3.2 and 3.4) only slow pairs are scaled: those that turn less than beta_slow times within
// original_context positions; those that turn more than beta_fast times are not; between them the share rises linearly
// with i.
struct RopeAngles {
    uint32_t rotary_dims;
    float base;
    float scale = 1.0f;      // 1 / factor
    float magnitude = 1.0f;  // of cosines and sines: attention grows with its square
    bool yarn = false;
    float beta_fast = 32.0f, beta_slow = 1.0f;
    uint32_t original_context = 0;
    // Of queries, whose scores else fall behind with ever more positions: cosines and sines also times
    // 1 + temperature ln(1 + floor((position + temperature_offset) / original_context)). Needs a head that is rotated
    // whole; with a scale of 0 it is not rotated by any angle.
    float temperature = 0.0f;
    uint32_t temperature_offset = 0;
    bool operator==(const RopeAngles&) const = default;

    double magnitude_at(uint32_t position) const {
        if (temperature == 0 || original_context == 0) return magnitude;
        return magnitude * (1 + temperature * std::log1p((position + temperature_offset) / original_context));
    }
    double frequency(uint32_t pair, double factor) const {
        const double plain = std::pow(double(base), -2.0 * pair / rotary_dims) / factor;
        if (!yarn) return scale * plain;
        // The pair that turns `turns` times within the original context, as a number with a fraction.
        const auto pair_of = [this](double turns) {
            return rotary_dims * std::log(original_context / (turns * 2 * std::numbers::pi)) /
                   (2 * std::log(double(base)));
        };
        const double low = std::max(0.0, std::floor(pair_of(beta_fast)));
        const double high = std::min(rotary_dims - 1.0, std::ceil(pair_of(beta_slow)));
        const double scaled = std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
        return plain * (scale * scaled + (1 - scaled));
    }
};

}  // namespace riftjit::graph
