// Generated code as assembler text that llvm-mc (Intel syntax) takes back, and what it uses of the processor.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jit/code_object.h"

namespace riftjit::x86 {

struct Listing {
    std::string text;       // one instruction a line, "# offset: bytes" after it; labels where branches go
    std::string registers;  // "rax rdx zmm0-zmm7 zmm16 k1"
    uint32_t general_registers = 0, vector_registers = 0, mask_registers = 0;  // how many of each kind
    uint32_t instructions = 0;
    std::vector<std::pair<std::string, uint32_t>> histogram;  // mnemonics and how often they occur, most frequent first
};

// Fails when the bytes are no instructions. The constants follow the instructions as .long lines. Labels begin with
// `label_prefix`: different ones let several listings share a file.
Result<Listing> disassemble(const MachineCode& code, std::string_view label_prefix = "L");

}  // namespace riftjit::x86
