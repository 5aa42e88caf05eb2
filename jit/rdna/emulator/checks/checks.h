// The state that the checks keep of a wave, and what they need to know of each instruction beforehand.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/rdna/emulator/checks/footprint.h"
#include "jit/rdna/emulator/checks/hazards.h"
#include "jit/rdna/emulator/checks/undefined.h"
#include "jit/rdna/emulator/checks/undefined_lanes.h"
#include "jit/rdna/emulator/checks/waits.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator {

struct OpChecks {
    Footprint footprint;
    RegisterSet touched;  // reads and writes
    uint16_t vgpr_end = 0, sgpr_end = 0;
    HazardTraits hazards;
    CounterUse counters;
    Spread spread = Spread::everything;
    std::vector<LaneSpread> lanes;  // of a lane-wise vector instruction: one, of VOPD: two
    OperandRange loaded;            // destination of a memory instruction
    bool keeps_half = false;        // of that register: d16
    std::string overlap;            // which rule about destinations it breaks; empty: none
    bool loses_upper_half = false;
};
OpChecks make_checks(const Instruction& instruction, Target target, WaveSize wave);

// Where the upper half of a product went that was lost (below): what a finding about it names as the cause.
struct LostHalf {
    const Op* multiply = nullptr;  // the last instruction whose result that befell
    RegisterSet registers;         // with bits that come of it
    bool scc = false;
};

struct WaveTracking {
    Checks checks;
    WaitTracker waits;
    HazardState hazards;
    LostHalf lost_half;
    RegisterSet undefined;  // VGPRs with any undefined lane, scalars with any undefined bit
};

// Declared register counts and WMMA's demands. Returns false if the wave cannot go on.
bool check_registers(WaveState& wave, const Op& op);
// Where v_mad_u64_u32 (gfx1100 to gfx1103) writes the lower half of its result over the upper half of its addend, and
// over no other source, the upper half of the result alone is wrong: LLVM emits this where it wants no more than the
// lower half, and leaves the upper half of the addend undefined. So it is followed as undefined bits are. The first
// says whether that is to be done, and reports what is a fault in any case, or cannot be followed with that check off;
// the second is called when the instruction's other undefined bits are known.
bool check_overlap(WaveState& wave, const Op& op);
void lose_upper_half(WaveState& wave, const Op& op);
// Whether an instruction reads, or hands on, what was lost.
bool reads_lost_half(const WaveState& wave, const Op& op);
void follow_lost_half(WaveState& wave, const Op& op);
void check_wmma_exec(WaveState& wave, const Op& op);

}  // namespace riftjit::rdna::emulator
