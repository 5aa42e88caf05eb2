// Modifiers of memory instructions: offsets, cache policy and flags.
#pragma once

#include "host/result.h"
#include "jit/rdna/table/instruction.h"
#include "jit/rdna/text/parse_line.h"

namespace riftjit::rdna {

Result<void> apply_address_modifier(Generation generation, const LineModifier& modifier, Instruction& instruction);

}  // namespace riftjit::rdna
