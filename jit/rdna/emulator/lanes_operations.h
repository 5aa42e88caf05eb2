// The operations that have an emitted form.
#pragma once

#include <span>

#include "jit/rdna/emulator/lanes_emitter.h"

namespace riftjit::rdna::emulator {

std::span<const LaneOperation> integer_lane_operations();
std::span<const LaneOperation> float_lane_operations();

}  // namespace riftjit::rdna::emulator
