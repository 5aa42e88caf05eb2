// The state that the checks keep of a wave, and what they need to know of each instruction beforehand.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/rdna/emulator/executors.h"
#include "jit/rdna/emulator/footprint.h"
#include "jit/rdna/emulator/hazards.h"
#include "jit/rdna/emulator/undefined.h"
#include "jit/rdna/emulator/waits.h"
#include "jit/rdna/emulator/wave.h"

namespace riftjit::rdna::emulator {

struct OpChecks {
    Footprint footprint;
    RegisterSet touched;  // reads and writes
    uint16_t vgpr_end = 0, sgpr_end = 0;
    HazardTraits hazards;
    CounterUse counters;
    UndefinedTraits undefined;
    std::array<Spread, 2> dual_spread{};  // of the halves of VOPD
    OperandRange loaded;                  // destination of a memory instruction
    std::string overlap;                  // which rule about destinations it breaks; empty: none
};
OpChecks make_checks(const Instruction& instruction, Target target, WaveSize wave);

struct WaveTracking {
    Checks checks;
    WaitTracker waits;
    HazardState hazards;
    RegisterSet undefined;  // VGPRs with any undefined lane, scalars with any undefined bit
};

// Declared register counts, overlap rules and WMMA's demands. Returns false if the wave cannot go on.
bool check_registers(WaveState& wave, const Op& op);
void check_wmma_exec(WaveState& wave, const Op& op);

}  // namespace riftjit::rdna::emulator
