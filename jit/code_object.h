// One compiled kernel: an ELF file (x86: relocatable with one .text and a symbol, read by objdump and gdb).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/result.h"
#include "jit/target.h"

namespace riftjit {

struct CodeObject {
    std::string name;  // the kernel's symbol
    Target target;
    std::vector<std::byte> elf;  // the whole file
};

// Position-independent machine code: instructions, then 64-byte aligned constants addressed relative to rip.
struct MachineCode {
    std::vector<std::byte> bytes;  // instructions and constants
    uint32_t instruction_bytes;    // the rest is constants
};

// What an x86 object holds.
struct X86Object {
    std::string name;
    Isa isa;
    MachineCode code;
};

// Deterministic: equal arguments give equal bytes.
CodeObject write_x86_object(std::string name, Isa isa, const MachineCode& code);
// Checks every header field it relies on; a payload that is not our ELF is an error, never a crash.
Result<X86Object> read_x86_object(std::span<const std::byte> elf);
// Only the name, from the first bytes of an object (kX86NameBytes are enough): listing a cache reads no code.
inline constexpr size_t kX86NameBytes = 512;
Result<std::string> read_x86_object_name(std::span<const std::byte> elf_start);

// What a file holds that a back end wrote for this target. An x86 object is read whole; of others, that they are ELF of
// the target's architecture, and their first global function: whoever loads them checks the rest.
Result<CodeObject> read_code_object(std::span<const std::byte> elf, Target target);

// A copy of the object whose .text claims to lie at `address`, as gdb wants it from a JIT.
std::vector<std::byte> place_x86_object(std::span<const std::byte> elf, const std::byte* address);

}  // namespace riftjit
