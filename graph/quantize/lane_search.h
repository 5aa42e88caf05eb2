// Searches of scale_search.h for eight groups at once, a lane each: the same operations in the same order, so the same
// bits, in a fraction of the time. Sums in a group's own order leave a processor idle.
#pragma once

#include "graph/quantize/scale_search.h"

namespace riftjit::graph::blocks {

inline constexpr size_t kLanes = 8;

// x, weights, codes: the groups behind each other, `kLanes` of equal size, at most 32.
void fit_eight_with_minimum(Values x, Values weights, int most, const MinimumSearch& search, Codes codes,
                            std::span<ScaleAndMinimum, kLanes> found);
void fit_eight_signed(Values x, Values weights, int zero, Codes codes, std::span<float, kLanes> scales);

}  // namespace riftjit::graph::blocks
