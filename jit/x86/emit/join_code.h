// Several functions as one piece of machine code.
#pragma once

#include <span>

#include "jit/code_object.h"

namespace riftjit::x86 {

// Bytes of the instructions of `code`, as join_code() lays them out.
uint32_t joined_bytes(const MachineCode& code);

// `first`, whose size is a multiple of 64 and which has no constants, then the instructions of each part, padded to 64
// bytes, then everyone's constants. So part i begins joined_bytes(part 0) + ... + joined_bytes(part i - 1) behind the
// end of `first`.
MachineCode join_code(MachineCode first, std::span<const MachineCode> parts);

}  // namespace riftjit::x86
