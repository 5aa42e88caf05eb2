// Which instructions may share an issue slot, as far as their registers do not matter.
#pragma once

#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

enum class DualRole : uint8_t { none, first_or_second, second };

DualRole dual_role(const Line& line, Generation generation);

// Whether one of the roles can be the first half, and both lines agree on their literal.
bool may_be_paired(DualRole a, const Instruction& a_instruction, DualRole b, const Instruction& b_instruction);

}  // namespace riftjit::rdna
