// Which operand of a row lies in which register field of its format.
#pragma once

#include <cstdint>

#include "jit/rdna/instruction.h"

namespace riftjit::rdna {

inline constexpr uint8_t kNoOperand = 0xFF;

// Indices into Instruction::operands, kNoOperand where the field is not used.
struct OperandSlots {
    uint8_t destination = kNoOperand;       // sdst, vdst, sdata
    uint8_t mask_destination = kNoOperand;  // the carry or compare mask beside or instead of vdst
    uint8_t source[3] = {kNoOperand, kNoOperand, kNoOperand};
    uint8_t mask_source = kNoOperand;  // read from vcc in the short form, the last source in VOP3
    uint8_t constant = kNoOperand;     // k16, k32: the literal
    uint8_t immediate = kNoOperand;    // imm, barrier, length
};

// Memory formats: source[0] is the first data operand, source[1] the second.
const OperandSlots& slots_of(Opcode opcode);

}  // namespace riftjit::rdna
