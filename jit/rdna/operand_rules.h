// What may stand in the operands of an instruction, whatever its bits: classes, widths, alignment, literals, the
// constant bus, modifiers, VOPD's banks.
#pragma once

#include "jit/rdna/instruction.h"
#include "jit/result.h"

namespace riftjit::rdna {

// ErrorKind::Encoding, naming mnemonic, target and operand.
Result<void> check_instruction(Target target, WaveSize wave, const Instruction& instruction);

// Whether `form` of the row exists there.
bool has_form(Target target, const InstructionInfo& row, Encoding form);

}  // namespace riftjit::rdna
