#include "runtime/rope_tables.h"

#include <cmath>

#include "host/result.h"

namespace riftjit::runtime {

RopeTable::RopeTable(const graph::RopeAngles& angles, std::span<const float> factors,
                     std::span<const float> far_factors)
    : angles_(angles) {
    const uint32_t pairs = angles.rotary_dims / 2;
    for (const auto& some : {factors, far_factors})
        check(some.empty() || some.size() >= pairs, "there is one rope factor per pair");
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        frequencies_.push_back(angles.frequency(pair, factors.empty() ? 1.0 : factors[pair]));
        if (!far_factors.empty()) far_frequencies_.push_back(angles.frequency(pair, far_factors[pair]));
    }
}

std::span<const float> RopeTable::fill(std::span<const BatchRow> rows, uint32_t context, std::span<float> out) const {
    check(out.size() >= rows.size() * floats_per_row(), "a rope table has room for its rows");
    const bool is_far = !far_frequencies_.empty() && context > angles_.original_context;
    float* next = out.data();
    for (const BatchRow& row : rows) {
        const double magnitude = angles_.magnitude_at(row.position);
        for (const double frequency : is_far ? far_frequencies_ : frequencies_) {
            const double angle = double(row.position) * frequency;
            *next++ = float(magnitude * std::cos(angle));
            *next++ = float(magnitude * std::sin(angle));
        }
    }
    return out.first(rows.size() * floats_per_row());
}

}  // namespace riftjit::runtime
