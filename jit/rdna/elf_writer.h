// Lays the sections of a loadable code object into a file: addresses, symbols, hash tables, dynamic table, headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace riftjit::rdna::elf {

enum class SymbolKind : uint8_t { kernel_code, kernel_descriptor };

struct WrittenSymbol {
    std::string name;
    SymbolKind kind;
    uint64_t offset;  // in .text, or in .rodata for a descriptor
    uint64_t size;
};

struct ObjectContents {
    uint8_t abi_version;
    uint32_t flags;
    std::vector<std::byte> note;  // all of .note
    std::vector<std::byte> text;
    std::vector<WrittenSymbol> symbols;
    size_t rodata_bytes;
};

struct WrittenObject {
    std::vector<std::byte> bytes;  // .rodata is zeros, for the caller to fill
    uint64_t rodata_offset;        // in the file, and in memory
    uint64_t text_address;
};

WrittenObject write_object(const ObjectContents& contents);

}  // namespace riftjit::rdna::elf
