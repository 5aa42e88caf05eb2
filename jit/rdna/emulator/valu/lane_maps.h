// Which lane a DPP source comes from, as the checks see it (rdna-isa: DPP16 controls, DPP8 selectors). Independent of
// the vector ALU's own.
#pragma once

#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

struct SourceLane {
    bool valid = true;
    unsigned lane = 0;
};
SourceLane dpp_source(const Instruction& instruction, const WaveState& wave, unsigned lane);
// Whether an active lane is written: not if its row or bank is masked, or its source invalid without bound_ctrl.
bool dpp_writes(const Instruction& instruction, const WaveState& wave, unsigned lane);

}  // namespace riftjit::rdna::emulator
