// Cosines and sines of a batch's positions, for every rope table of a plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan.h"

namespace riftjit::runtime {

// Angles as graph/rope_angles.h has them. Frequencies, angles, cosines and sines are computed in double, so that an
// entry depends on its position alone and far positions stay exact.
class RopeTable {
public:
    // factors: rotary_dims / 2 numbers, or empty; far_factors likewise, for contexts beyond the original one.
    RopeTable(const graph::RopeAngles& angles, std::span<const float> factors, std::span<const float> far_factors = {});

    uint32_t floats_per_row() const { return uint32_t(2 * frequencies_.size()); }
    // {cos, sin} pairs of each row's position, to the front of `out`, in a text of up to `context` positions; returns
    // what was written.
    std::span<const float> fill(std::span<const BatchRow> rows, uint32_t context, std::span<float> out) const;

private:
    std::vector<double> frequencies_, far_frequencies_;
    graph::RopeAngles angles_;
};

}  // namespace riftjit::runtime
