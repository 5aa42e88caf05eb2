// Registers that m0 chooses when the instruction executes: v_movrel*, v_swaprel, s_movrel*.
#pragma once

#include <cstdint>

#include "jit/rdna/emulator/checks/footprint.h"
#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator {

// What m0 adds to the number of the first operand, which is written, and of the second, which is read.
struct Distances {
    uint32_t written = 0, read = 0;
};
constexpr Distances distances(Opcode opcode, uint32_t m0) {
    switch (opcode) {
        case Opcode::v_movreld_b32:
        case Opcode::s_movreld_b32:
        case Opcode::s_movreld_b64:
            return {.written = m0};
        case Opcode::v_movrels_b32:
        case Opcode::s_movrels_b32:
        case Opcode::s_movrels_b64:
            return {.read = m0};
        case Opcode::v_movrelsd_b32:
            return {m0, m0};
        default:  // _2 and the swap: m0[25:16] and m0[9:0]
            return {m0 >> 16 & 0x3FF, m0 & 0x3FF};
    }
}

// Where m0 leads now. A range is empty if its operand is no register, or if the index leads beyond the file: that is a
// fault, which whoever executes the instruction reports.
struct RelativeRanges {
    OperandRange written, read;
    bool swaps = false;  // both are written, and both read

    RegisterSet writes() const;
    RegisterSet reads() const;  // without m0
};
RelativeRanges relative_ranges(const WaveState& wave, const Instruction& instruction);

}  // namespace riftjit::rdna::emulator
