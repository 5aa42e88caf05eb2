// What a lane function has to give, by the C++ function of one lane.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {

inline constexpr unsigned kLanes = 32;
using Words = std::array<uint32_t, 8 * kLanes>;  // up to four registers, each a stride later

struct Expected {
    Words words;
    uint32_t mask = 0;
};

inline uint64_t pair(const Words& words, unsigned lane, unsigned stride, unsigned first = 0) {
    return words[first * stride + lane] | uint64_t{words[(first + 1) * stride + lane]} << 32;
}

// A result of 16 bits leaves the other half of the destination.
inline uint32_t merged(const LaneSemantics& semantics, uint8_t variant, uint32_t before, uint64_t result) {
    if (semantics.result != ResultKind::half && semantics.result != ResultKind::f16)
        return static_cast<uint32_t>(result);
    return (variant & kHighHalfVariant) != 0 ? pack_halves(before, result) : pack_halves(result, high_half(before));
}

inline Expected by_lane_functions(const LaneKernel& kernel, Opcode opcode, uint8_t variant, const Words& d,
                                  const Words (&sources)[3], uint64_t lanes, unsigned stride) {
    Expected expected{d};
    const LaneSemantics* semantics = lane_semantics(opcode);
    LaneContext context;
    if (kernel.halves.sources == HalfSources::mixed) {
        context.op_sel_hi = variant & 7;
    } else {
        context.neg = variant & 3;  // read by the dot products of either sign alone
        context.op_sel = static_cast<uint8_t>(variant << variant_shift(opcode));  // by conversions of bytes alone
    }
    const bool accumulates = info(opcode).sources < kernel.sources;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        LaneData data;
        const bool condition = (lanes >> (32 + lane) & 1) != 0;
        data.lane = kernel.condition == LaneCondition::upper_lane && condition ? kLanes + lane : lane;
        data.condition = condition;
        for (unsigned i = 0; i < 3; ++i) {
            data.source[i] = kernel.widths.sources[i] >= 2 ? pair(sources[i], lane, stride) : sources[i][lane];
            if (kernel.halves.reads_low_half(i, variant)) data.source[i] = low_half(data.source[i]);
        }
        if (kernel.widths.sources[2] == 4) data.source2_high = pair(sources[2], lane, stride, 2);
        data.previous = accumulates ? data.source[2] : d[lane];
        semantics->function(context, data);
        expected.mask |= static_cast<uint32_t>(data.bit) << lane;
        if (kernel.result == LaneKernelResult::mask) continue;
        expected.words[lane] = merged(*semantics, variant, d[lane], data.result);
        const uint64_t upper[] = {data.result >> 32, data.result_high, data.result_high >> 32};
        for (unsigned part = 1; part < kernel.widths.result; ++part)
            expected.words[part * stride + lane] = static_cast<uint32_t>(upper[part - 1]);
    }
    return expected;
}

}  // namespace riftjit::rdna::emulator
