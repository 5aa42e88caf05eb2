// One compiled kernel: an ELF file (x86: relocatable with one .text and a symbol, read by objdump and gdb).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/isa.h"
#include "jit/result.h"

namespace riftjit {

struct CodeObject {
    std::string name;               // the kernel's symbol
    Isa isa;
    std::vector<std::byte> elf;     // the whole file
};

// Position-independent machine code: instructions, then 64-byte aligned constants addressed relative to rip.
struct MachineCode {
    std::vector<std::byte> bytes;   // instructions and constants
    uint32_t instruction_bytes;     // the rest is constants
};

CodeObject write_x86_object(std::string name, Isa isa, const MachineCode& code);
// Checks every header field it relies on; a payload that is not our ELF is an error, never a crash.
Result<MachineCode> read_x86_object(std::span<const std::byte> elf, std::string& name);

}  // namespace riftjit
