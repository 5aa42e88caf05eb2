// Lane programs run step by step on the host: what the code that a back end makes of them is compared with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jit/formats/weight_format.h"

namespace riftjit {

inline constexpr uint32_t kMostLanes = 32;

// The parts of consecutive elements (weight_format.h). What a format lacks is 1 as a code or multiplier, 0 as an offset
// or minimum.
struct LaneGroup {
    template <class T>
    using Lanes = std::array<T, kMostLanes>;
    Lanes<int32_t> code, multiplier, minimum;
    Lanes<float> scale, offset, minimum_scale;
};

// Elements [first, first + count) of a block, count <= kMostLanes.
LaneGroup decode_group(const WeightFormat& format, const std::byte* block, uint32_t first, uint32_t count);

// The file decoder's f32: ((scale * multiplier) * code) + offset or - (minimum_scale * minimum), every operation
// rounded; a format's absent parts take no operation. Where the result is NaN, its sign and payload may differ.
void lane_values(const WeightFormat& format, const LaneGroup& group, uint32_t count, float* values);

}  // namespace riftjit
