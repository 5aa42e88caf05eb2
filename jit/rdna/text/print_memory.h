// The modifiers of memory instructions as text.
#pragma once

#include <string>

#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

// " offset:16 glc", each with a blank before it.
std::string memory_modifiers(Generation generation, const Instruction& instruction);

}  // namespace riftjit::rdna
