// Which instructions may share an issue slot, as far as their registers do not matter.
#pragma once

#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

enum class DualRole : uint8_t { none, first_or_second, second };

DualRole dual_role(const Line& line, Generation generation);

// Banks that hold the two halves' first sources, and their second sources, apart. The register file has four; but where
// both sources of such a pair are even or both odd, gfx11 may lose the interlock with an instruction that has yet to
// write one of them (llvm-project pull request 220348, which demands different parity as this does).
unsigned vopd_source_banks(Generation generation);

// Whether one of the roles can be the first half, and both lines agree on their literal.
bool may_be_paired(DualRole a, const Instruction& a_instruction, DualRole b, const Instruction& b_instruction);

}  // namespace riftjit::rdna
