// Undefined bits through a vector instruction that works lane by lane, or a half of VOPD: what is known beforehand.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/rdna/emulator/checks/undefined.h"
#include "jit/rdna/emulator/valu/valu_op.h"

namespace riftjit::rdna::emulator {

inline constexpr unsigned kMostLanes = 64;  // of a wave

// Bits of the destination's one register that are written; the others stay.
struct WrittenField {
    uint8_t shift = 0, width = 32;
    uint32_t mask() const { return (width == 32 ? ~0u : (1u << width) - 1) << shift; }
};

struct LaneSpread {
    LaneOp op;  // where the sources are and what is done to them, as the vector ALU has it
    Spread spread = Spread::everything;
    unsigned source_count = 0;  // that the result depends on; of the others the destination's remainder is a copy
    WrittenField field;
    bool accumulates = false;  // reads what it writes
    bool cancels = false;      // 0 whatever the sources are: x ^ x, x - x
    bool writes_whole = true;  // all of the destination, in every active lane
};
// Two of VOPD, one of any other such instruction; none of those that the vector ALU refuses.
std::vector<LaneSpread> lane_spreads(const Instruction& instruction, Target target, WaveSize wave);

// Before the instruction executes.
void spread_lanes(WaveState& wave, const Op& op);

}  // namespace riftjit::rdna::emulator
