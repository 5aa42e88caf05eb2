// The immediate of s_wait_alu (s_waitcnt_depctr before gfx12): a field of zero waits, all ones do not (RDNA3 ISA 5.7).
#pragma once

#include <cstdint>

#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

inline constexpr uint16_t kWaitVectorResults = 0x0FFF;  // va_vdst: VALU writes of VGPRs
inline constexpr uint16_t kWaitVectorScalars = 0xF1FF;  // va_sdst: VALU writes of SGPRs
inline constexpr uint16_t kWaitVectorVcc = 0xFFFD;      // va_vcc: VALU writes of vcc
inline constexpr uint16_t kWaitScalarResults = 0xFFFE;  // sa_sdst: SALU writes of SGPRs
inline constexpr uint16_t kWaitNothing = 0xFFFF;

inline Instruction wait_alu(uint16_t immediate) {
    Instruction instruction;
    instruction.opcode = Opcode::s_wait_alu;
    instruction.simm16 = immediate;
    return instruction;
}
constexpr bool waits_for(uint16_t immediate, uint16_t what) { return (immediate & ~what & 0xFFFFu) == 0; }

}  // namespace riftjit::rdna
