// A code object's ELF file, read within its bytes: headers, sections, symbols. Every offset is checked before it is
// used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/object/elf_amdgpu.h"

namespace riftjit::rdna::elf {

struct ReadSection {
    std::string_view name;
    Elf64_Shdr header;
};

struct ReadSymbol {
    std::string_view name;
    Elf64_Sym entry;

    unsigned char type() const { return ELF64_ST_TYPE(entry.st_info); }
    unsigned char binding() const { return ELF64_ST_BIND(entry.st_info); }
};

// Views into the file, which must outlive it.
class ElfReader {
public:
    // Checks that the file is a little-endian 64-bit shared object for AMD's GPU runtime, and reads its header tables.
    static Result<ElfReader> open(std::span<const std::byte> file);

    uint64_t file_bytes() const { return file_.size(); }
    const Elf64_Ehdr& header() const { return header_; }
    const std::vector<Elf64_Phdr>& segments() const { return segments_; }
    const std::vector<ReadSection>& sections() const { return sections_; }
    const ReadSection* find_section(uint32_t type) const;  // the first of the type

    // `what` begins the message if the range does not lie in the file.
    Result<std::span<const std::byte>> bytes(uint64_t offset, uint64_t size, std::string_view what) const;
    Result<std::vector<ReadSymbol>> symbols(const ReadSection& table) const;
    Result<std::vector<Elf64_Rela>> relocations(const ReadSection& table) const;

private:
    explicit ElfReader(std::span<const std::byte> file) : file_(file) {}

    Result<void> read_segments();
    Result<void> read_sections();
    Result<void> name_sections();
    template <class Entry>
    Result<std::vector<Entry>> table(const ReadSection& section) const;

    std::span<const std::byte> file_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    std::vector<ReadSection> sections_;
};

// The description of the AMDGPU metadata note.
Result<std::span<const std::byte>> find_metadata_note(const ElfReader& elf);

}  // namespace riftjit::rdna::elf
