#include "jit/rdna/object/elf_writer.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "host/result.h"
#include "host/round_up.h"
#include "jit/rdna/object/elf_amdgpu.h"

namespace riftjit::rdna::elf {
namespace {

// In file order. Up to .rodata they share the first, readable segment.
enum SectionIndex : uint16_t {
    kNull,
    kNote,
    kDynamicSymbols,
    kGnuHash,
    kHash,
    kDynamicStrings,
    kRelocations,
    kRodata,
    kText,
    kDynamic,
    kData,
    kBss,
    kComment,
    kSymbols,
    kSectionNames,
    kStrings,
    kSectionCount
};
constexpr std::array<std::string_view, kSectionCount> kNames = {
    "",      ".note",    ".dynsym", ".gnu.hash", ".hash",    ".dynstr", ".rela.dyn", ".rodata",
    ".text", ".dynamic", ".data",   ".bss",      ".comment", ".symtab", ".shstrtab", ".strtab"};
constexpr std::string_view kCommentText = {"riftjit", 8};  // its zero byte ends it

enum ProgramHeaderIndex : uint8_t {
    kHeaders,
    kLoadRead,
    kLoadExecute,
    kLoadWrite,
    kDynamicTable,
    kRelro,
    kStack,
    kNotes,
    kLoadData,  // the last: absent without data
    kProgramHeaderCount
};

// Segments lie this much further apart in memory than in the file, so that none shares a page with another.
constexpr uint64_t kPageBytes = 0x1000;
constexpr uint64_t kTextBias = kPageBytes, kDynamicBias = 2 * kPageBytes, kDataBias = 3 * kPageBytes;

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, const T& value) {
    const size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}
Bytes as_bytes(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

uint32_t gnu_hash(std::string_view name) {
    uint32_t hash = 5381;
    for (char c : name) hash = hash * 33 + static_cast<uint8_t>(c);
    return hash;
}

// One bucket: a chain through every symbol, in order. Any hash modulo one is that bucket, so no name is hashed.
Bytes sysv_table(size_t symbol_count) {
    Bytes table;
    const auto count = static_cast<uint32_t>(symbol_count);
    for (uint32_t word : {1U, count, count > 1 ? 1U : 0U}) append(table, word);
    append(table, uint32_t{0});
    for (uint32_t i = 1; i < count; ++i) append(table, i + 1 < count ? i + 1 : 0U);
    return table;
}
// One bucket and one word of filter. The last hash of a chain has bit 0 set.
Bytes gnu_table(std::span<const WrittenSymbol> symbols) {
    constexpr uint32_t kFilterShift = 26, kFilterBits = 64;
    uint64_t filter = 0;
    for (const WrittenSymbol& symbol : symbols) {
        const uint32_t hash = gnu_hash(symbol.name);
        filter |= uint64_t{1} << hash % kFilterBits | uint64_t{1} << (hash >> kFilterShift) % kFilterBits;
    }
    Bytes table;
    for (uint32_t word : {1U, 1U, 1U, kFilterShift}) append(table, word);  // buckets, first symbol, filter words
    append(table, filter);
    append(table, uint32_t{1});
    for (size_t i = 0; i < symbols.size(); ++i)
        append(table, (gnu_hash(symbols[i].name) & ~1U) | (i + 1 == symbols.size() ? 1U : 0U));
    return table;
}

class Layout {
public:
    explicit Layout(const ObjectContents& contents) : contents_(contents) {
        bytes_.resize(sizeof(Elf64_Ehdr) + segment_count() * sizeof(Elf64_Phdr));
    }

    WrittenObject write() {
        place_readable();
        place_text();
        place_dynamic();
        place_data();
        place_unloaded();
        write_symbols();
        write_headers();
        return {std::move(bytes_), sections_[kRodata].sh_offset, sections_[kText].sh_addr, sections_[kData].sh_addr,
                sections_[kBss].sh_addr};
    }

private:
    bool has_data() const { return !contents_.data.empty() || contents_.bss_bytes != 0; }
    size_t segment_count() const { return kProgramHeaderCount - (has_data() ? 0 : 1); }
    bool is_present(size_t section) const {
        if (section == kRelocations) return !contents_.relocations.empty();
        return (section != kData && section != kBss) || has_data();
    }
    // Its index in the file: sections that are absent have none.
    uint16_t number(SectionIndex index) const {
        uint16_t number = 0;
        for (size_t before = 0; before < index; ++before) number += is_present(before);
        return number;
    }

    // Appends a section; `bias` is its address minus its file offset.
    void place(SectionIndex index, uint32_t type, uint64_t flags, uint64_t alignment, const Bytes& data,
               uint64_t bias = 0) {
        bytes_.resize(round_up(bytes_.size(), alignment));
        Elf64_Shdr& section = sections_[index];
        section.sh_type = type;
        section.sh_flags = flags;
        section.sh_addralign = alignment;
        section.sh_offset = bytes_.size();
        section.sh_addr = flags & SHF_ALLOC ? bytes_.size() + bias : 0;
        section.sh_size = data.size();
        bytes_.insert(bytes_.end(), data.begin(), data.end());
    }

    Bytes symbol_table() const { return Bytes((contents_.symbols.size() + 1) * sizeof(Elf64_Sym)); }
    Bytes symbol_names() const {
        std::string names(1, '\0');
        for (const WrittenSymbol& symbol : contents_.symbols) names.append(symbol.name).push_back('\0');
        return as_bytes(names);
    }

    void place_readable() {
        place(kNote, SHT_NOTE, SHF_ALLOC, kNoteAlignment, contents_.note);
        place(kDynamicSymbols, SHT_DYNSYM, SHF_ALLOC, alignof(Elf64_Sym), symbol_table());
        place(kGnuHash, SHT_GNU_HASH, SHF_ALLOC, 8, gnu_table(contents_.symbols));
        place(kHash, SHT_HASH, SHF_ALLOC, 4, sysv_table(contents_.symbols.size() + 1));
        place(kDynamicStrings, SHT_STRTAB, SHF_ALLOC, 1, symbol_names());
        if (is_present(kRelocations))
            place(kRelocations, SHT_RELA, SHF_ALLOC, alignof(Elf64_Rela),
                  Bytes(contents_.relocations.size() * sizeof(Elf64_Rela)));
        place(kRodata, SHT_PROGBITS, SHF_ALLOC, contents_.rodata_alignment, Bytes(contents_.rodata_bytes));
    }
    void place_text() {
        place(kText, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kCodeAlignment, contents_.text, kTextBias);
    }
    void place_dynamic() {
        std::vector<std::pair<int64_t, uint64_t>> entries = {
            {DT_SYMTAB, sections_[kDynamicSymbols].sh_addr}, {DT_SYMENT, sizeof(Elf64_Sym)},
            {DT_STRTAB, sections_[kDynamicStrings].sh_addr}, {DT_STRSZ, sections_[kDynamicStrings].sh_size},
            {DT_GNU_HASH, sections_[kGnuHash].sh_addr},      {DT_HASH, sections_[kHash].sh_addr},
        };
        if (is_present(kRelocations))
            entries.insert(entries.end(), {{DT_RELA, sections_[kRelocations].sh_addr},
                                           {DT_RELASZ, sections_[kRelocations].sh_size},
                                           {DT_RELAENT, sizeof(Elf64_Rela)},
                                           {DT_RELACOUNT, contents_.relocations.size()}});
        entries.emplace_back(DT_NULL, 0);
        Bytes table;
        for (const auto& [tag, value] : entries) append(table, Elf64_Dyn{.d_tag = tag, .d_un = {.d_val = value}});
        place(kDynamic, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 8, table, kDynamicBias);
    }
    void place_data() {
        if (!has_data()) return;
        place(kData, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, contents_.data_alignment, contents_.data, kDataBias);
        Elf64_Shdr& bss = sections_[kBss];
        bss = sections_[kData];
        bss.sh_type = SHT_NOBITS;
        bss.sh_offset += contents_.data.size();
        bss.sh_addr = (sections_[kData].sh_addr + contents_.data.size() + contents_.data_alignment - 1) /
                      contents_.data_alignment * contents_.data_alignment;
        bss.sh_size = contents_.bss_bytes;
        for (size_t i = 0; i < contents_.relocations.size(); ++i) {
            const auto& [place, address] = contents_.relocations[i];
            const Elf64_Rela entry = {.r_offset = sections_[kData].sh_addr + place,
                                      .r_info = ELF64_R_INFO(0UL, kRelocationRelative64),
                                      .r_addend = static_cast<int64_t>(address)};
            std::memcpy(bytes_.data() + sections_[kRelocations].sh_offset + i * sizeof entry, &entry, sizeof entry);
        }
    }
    void place_unloaded() {
        place(kComment, SHT_PROGBITS, SHF_MERGE | SHF_STRINGS, 1, as_bytes(kCommentText));
        place(kSymbols, SHT_SYMTAB, 0, alignof(Elf64_Sym), symbol_table());
        std::string names;
        for (size_t i = 0; i < kSectionCount; ++i) {
            if (!is_present(i)) continue;
            sections_[i].sh_name = static_cast<uint32_t>(names.size());
            names.append(kNames[i]).push_back('\0');
        }
        place(kSectionNames, SHT_STRTAB, 0, 1, as_bytes(names));
        place(kStrings, SHT_STRTAB, 0, 1, symbol_names());
        link_sections();
    }
    void link_sections() {
        const auto first_global = uint32_t{1};  // only the null symbol is local
        sections_[kDynamicSymbols].sh_link = number(kDynamicStrings);
        sections_[kDynamicSymbols].sh_info = first_global;
        sections_[kSymbols].sh_link = number(kStrings);
        sections_[kSymbols].sh_info = first_global;
        sections_[kDynamicSymbols].sh_entsize = sections_[kSymbols].sh_entsize = sizeof(Elf64_Sym);
        sections_[kGnuHash].sh_link = sections_[kHash].sh_link = number(kDynamicSymbols);
        sections_[kHash].sh_entsize = 4;
        sections_[kDynamic].sh_link = number(kDynamicStrings);
        if (is_present(kRelocations)) {
            sections_[kRelocations].sh_link = number(kDynamicSymbols);
            sections_[kRelocations].sh_entsize = sizeof(Elf64_Rela);
        }
        sections_[kDynamic].sh_entsize = sizeof(Elf64_Dyn);
        sections_[kComment].sh_entsize = 1;
    }

    // The same symbols in both tables: AMD's runtime walks .symtab unless told otherwise, dlsym-like lookups .dynsym.
    void write_symbols() {
        uint64_t at = sizeof(Elf64_Sym);
        uint32_t name_offset = 1;
        for (const WrittenSymbol& symbol : contents_.symbols) {
            const bool is_code = symbol.kind == SymbolKind::kernel_code;
            const SectionIndex section = is_code ? kText : kRodata;
            const Elf64_Sym entry = {
                .st_name = name_offset,
                .st_info = static_cast<uint8_t>(ELF64_ST_INFO(STB_GLOBAL, is_code ? STT_FUNC : STT_OBJECT)),
                .st_other = STV_PROTECTED,
                .st_shndx = number(section),
                .st_value = sections_[section].sh_addr + symbol.offset,
                .st_size = symbol.size};
            for (SectionIndex table : {kDynamicSymbols, kSymbols})
                std::memcpy(bytes_.data() + sections_[table].sh_offset + at, &entry, sizeof entry);
            at += sizeof entry;
            name_offset += static_cast<uint32_t>(symbol.name.size() + 1);
        }
    }

    std::array<Elf64_Phdr, kProgramHeaderCount> program_headers() const {
        const uint64_t headers_bytes = segment_count() * sizeof(Elf64_Phdr);
        const uint64_t readable_end = sections_[kRodata].sh_offset + sections_[kRodata].sh_size;
        const auto segment = [](uint32_t type, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size,
                                uint64_t alignment) {
            return Elf64_Phdr{type, flags, offset, address, address, size, size, alignment};
        };
        const auto over = [&](uint32_t type, uint32_t flags, SectionIndex index, uint64_t alignment) {
            const Elf64_Shdr& section = sections_[index];
            return segment(type, flags, section.sh_offset, section.sh_addr, section.sh_size, alignment);
        };
        std::array<Elf64_Phdr, kProgramHeaderCount> table{};
        table[kHeaders] = segment(PT_PHDR, PF_R, sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr), headers_bytes, 8);
        table[kLoadRead] = segment(PT_LOAD, PF_R, 0, 0, readable_end, kPageBytes);
        table[kLoadExecute] = over(PT_LOAD, PF_R | PF_X, kText, kPageBytes);
        table[kLoadWrite] = over(PT_LOAD, PF_R | PF_W, kDynamic, kPageBytes);
        table[kDynamicTable] = over(PT_DYNAMIC, PF_R | PF_W, kDynamic, 8);
        table[kRelro] = over(PT_GNU_RELRO, PF_R, kDynamic, 1);
        table[kStack] = segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0);
        table[kNotes] = over(PT_NOTE, PF_R, kNote, kNoteAlignment);
        if (has_data()) {
            table[kLoadData] = over(PT_LOAD, PF_R | PF_W, kData, kPageBytes);
            table[kLoadData].p_memsz = sections_[kBss].sh_addr + sections_[kBss].sh_size - sections_[kData].sh_addr;
        }
        return table;
    }

    Elf64_Ehdr file_header() const {
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_ident[EI_OSABI] = kOsAbiAmdHsa;
        header.e_ident[EI_ABIVERSION] = contents_.abi_version;
        header.e_type = ET_DYN;
        header.e_machine = kMachineAmdGpu;
        header.e_version = EV_CURRENT;
        header.e_phoff = sizeof(Elf64_Ehdr);
        header.e_shoff = bytes_.size();
        header.e_flags = contents_.flags;
        header.e_ehsize = sizeof(Elf64_Ehdr);
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_phnum = static_cast<uint16_t>(segment_count());
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = number(kSectionCount);
        header.e_shstrndx = number(kSectionNames);
        return header;
    }

    void write_headers() {
        bytes_.resize((bytes_.size() + alignof(Elf64_Shdr) - 1) / alignof(Elf64_Shdr) * alignof(Elf64_Shdr));
        const Elf64_Ehdr header = file_header();
        const auto segments = program_headers();
        std::memcpy(bytes_.data(), &header, sizeof header);
        std::memcpy(bytes_.data() + sizeof header, segments.data(), segment_count() * sizeof(Elf64_Phdr));
        for (size_t i = 0; i < kSectionCount; ++i)
            if (is_present(i)) append(bytes_, sections_[i]);
    }

    const ObjectContents& contents_;
    Bytes bytes_;
    std::array<Elf64_Shdr, kSectionCount> sections_{};
};

}  // namespace

WrittenObject write_object(const ObjectContents& contents) { return Layout(contents).write(); }

}  // namespace riftjit::rdna::elf
