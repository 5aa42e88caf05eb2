// Lays the sections of a loadable code object into a file: addresses, symbols, hash tables, dynamic table, headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/rdna/object/elf_amdgpu.h"

namespace riftjit::rdna::elf {

enum class SymbolKind : uint8_t { kernel_code, kernel_descriptor };

struct WrittenSymbol {
    std::string name;
    SymbolKind kind;
    uint64_t offset;  // in .text, or in .rodata for a descriptor
    uint64_t size;
};

// The 8 bytes at `place` of .data receive an address of the object, moved by what the whole object is moved by.
struct WrittenRelocation {
    uint64_t place;
    uint64_t address;
};

struct ObjectContents {
    uint8_t abi_version;
    uint32_t flags;
    std::vector<std::byte> note;  // all of .note
    std::vector<std::byte> text;
    std::vector<WrittenSymbol> symbols;
    size_t rodata_bytes;
    uint64_t rodata_alignment = kDescriptorAlignment;  // at most a page, like the other
    std::vector<std::byte> data = {};                  // can be written to
    uint64_t bss_bytes = 0;                            // zeros behind it
    uint64_t data_alignment = 8;                       // of both
    std::vector<WrittenRelocation> relocations = {};
};

struct WrittenObject {
    std::vector<std::byte> bytes;  // .rodata is zeros, for the caller to fill
    uint64_t rodata_offset;        // in the file, and in memory
    uint64_t text_address;
    uint64_t data_address = 0, bss_address = 0;  // of sections that are there
};

WrittenObject write_object(const ObjectContents& contents);

}  // namespace riftjit::rdna::elf
