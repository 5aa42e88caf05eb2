// The operations that have an emitted form.
#pragma once

#include <span>

#include "jit/rdna/emulator/lanes/lanes_emitter.h"
#include "jit/rdna/emulator/valu/dot.h"

namespace riftjit::rdna::emulator {

using LaneEmit = void (*)(LaneEmitter&);
constexpr LaneOperation lane_words(Opcode opcode, uint8_t sources, LaneEmit emit,
                                   std::array<uint32_t, 3> constants = {}) {
    return {opcode, sources, LaneKernelResult::words, LaneCheck::none, constants, emit};
}

// d: the high words of a * b; clobbers t and u.
void multiply_high(LaneEmitter& e, Sign sign);

std::span<const LaneOperation> integer_lane_operations();
std::span<const LaneOperation> pair_lane_operations();
std::span<const LaneOperation> dot_lane_operations();
std::span<const LaneOperation> bit_lane_operations();
std::span<const LaneOperation> compare_lane_operations();
std::span<const LaneOperation> float_lane_operations();
std::span<const LaneOperation> float_compare_lane_operations();
std::span<const LaneOperation> extreme_lane_operations();
std::span<const LaneOperation> double_lane_operations();
std::span<const LaneOperation> exponent_lane_operations();
std::span<const LaneOperation> conversion_lane_operations();
std::span<const LaneOperation> transcendental_lane_operations();
std::span<const LaneOperation> power_lane_operations();
std::span<const LaneOperation> circular_lane_operations();
std::span<const LaneOperation> float8_lane_operations();
std::span<const LaneOperation> half_lane_operations();
std::span<const LaneOperation> division_lane_operations();
std::span<const LaneOperation> lighting_lane_operations();

}  // namespace riftjit::rdna::emulator
