// From a spelling to the rows that it may mean.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna {

// Rows of that generation with this spelling, its own or an older one that LLVM 19 still reads there. Usually one.
std::span<const Opcode> opcodes_named(Generation generation, std::string_view mnemonic);

// Some row with this spelling on any generation, for the message that the target lacks it.
std::optional<Opcode> opcode_named_anywhere(std::string_view mnemonic);

}  // namespace riftjit::rdna
