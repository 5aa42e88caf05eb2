// Minimum and maximum of floats, in the three families of AMD's documents.
#pragma once

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {

enum class Extreme : uint8_t { minimum, maximum };

// v_min/v_max and v_min_num/v_max_num: a NaN gives way to a number, -0 is below +0. On gfx10 and gfx11 the IEEE bit
// makes a signaling NaN win, quieted.
uint64_t float_extreme_number(const FloatFormat& format, Extreme extreme, uint64_t a, uint64_t b,
                              const LaneContext& context);
// v_minimum/v_maximum of gfx12: the first NaN wins, quieted.
uint64_t float_extreme_propagating(const FloatFormat& format, Extreme extreme, uint64_t a, uint64_t b,
                                   const LaneContext& context);

}  // namespace riftjit::rdna::emulator
