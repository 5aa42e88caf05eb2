// Cosines and sines of a batch's positions, for every rope table of a plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan.h"

namespace riftjit::runtime {

// Angle of pair i at position p: p * scale * base^(-2i / rotary_dims) / factor[i]. Frequencies, angles, cosines and
// sines are computed in double, so that an entry depends on its position alone and far positions stay exact.
class RopeTableRows {
public:
    // factors: rotary_dims / 2 numbers, or empty.
    RopeTableRows(const graph::RopeTable& table, std::span<const float> factors, uint32_t max_tokens);

    uint32_t floats_per_token() const { return uint32_t(2 * frequencies_.size()); }
    // {cos, sin} pairs of positions [position, position + tokens); valid until the next call.
    std::span<const float> fill(uint32_t position, uint32_t tokens);

private:
    std::vector<double> frequencies_;
    std::vector<float> rows_;
};

}  // namespace riftjit::runtime
