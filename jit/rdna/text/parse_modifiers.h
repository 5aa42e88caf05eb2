// Modifiers of a line, applied to the instruction under construction.
#pragma once

#include "host/result.h"
#include "jit/rdna/table/instruction.h"
#include "jit/rdna/text/parse_line.h"

namespace riftjit::rdna {

enum class ModifierFamily : uint8_t { none, dpp16, dpp8, sdwa };

// Which word behind the instruction the modifiers ask for; none if they ask for no special one.
ModifierFamily modifier_family(const std::vector<LineModifier>& modifiers);

// An error says why this form cannot take the modifier, or what is wrong with its value.
Result<void> apply_modifier(Generation generation, const LineModifier& modifier, Instruction& instruction);

}  // namespace riftjit::rdna
