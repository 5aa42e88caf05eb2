// Vector instructions that move registers between lanes, or whose register numbers come from M0.
#pragma once

#include <cstdint>

#include "host/result.h"
#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/emulator/valu/valu_source.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

struct CrossLaneOp {
    void (*run)(WaveState& wave, const CrossLaneOp& op) = nullptr;
    ValuSource value;          // what is moved
    ValuSource selects[2];     // readlane, writelane: the lane; permlane16: sixteen nibbles
    uint16_t vgpr = 0;         // destination
    uint16_t scalar = 0xFFFF;  // destination of readlane; 0xFFFF: null
    uint16_t second_vgpr = 0;  // swap: the other register
    bool fetch_inactive = false, zero_invalid = false;
};

bool is_cross_lane(Opcode opcode);
Result<CrossLaneOp> prepare_cross_lane(const Instruction& instruction, Generation generation);

}  // namespace riftjit::rdna::emulator
