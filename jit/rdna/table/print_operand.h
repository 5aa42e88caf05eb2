// Registers and constants as text.
#pragma once

#include <string>

#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// "s[4:5]", "vcc_lo", "v7", "src_scc", "ttmp[0:3]": the register of `dwords` dwords that a code names.
std::string print_register(Generation generation, Operand operand, unsigned dwords);

// An inline constant or literal as an operand of that type.
std::string print_constant(OperandType type, Operand operand, uint32_t literal, bool doubles_floats = false);

}  // namespace riftjit::rdna
