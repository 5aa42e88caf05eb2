// Modifiers of memory instructions: offsets, cache policy and flags.
#pragma once

#include "jit/rdna/instruction.h"
#include "jit/rdna/parse_line.h"
#include "jit/result.h"

namespace riftjit::rdna {

Result<void> apply_address_modifier(Generation generation, const LineModifier& modifier, Instruction& instruction);

}  // namespace riftjit::rdna
