// Cosines and sines of a batch's positions, for every rope table of a plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan.h"

namespace riftjit::runtime {

// Angle of pair i at position p: p * scale * base^(-2i / rotary_dims) / factor[i]. Frequencies, angles, cosines and
// sines are computed in double, so that an entry depends on its position alone and far positions stay exact.
class RopeTable {
public:
    // factors: rotary_dims / 2 numbers, or empty.
    RopeTable(const graph::RopeTable& table, std::span<const float> factors);

    uint32_t floats_per_row() const { return uint32_t(2 * frequencies_.size()); }
    // {cos, sin} pairs of each row's position, to the front of `out`; returns what was written.
    std::span<const float> fill(std::span<const BatchRow> rows, std::span<float> out) const;

private:
    std::vector<double> frequencies_;
};

}  // namespace riftjit::runtime
