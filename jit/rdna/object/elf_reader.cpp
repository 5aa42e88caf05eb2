#include "jit/rdna/object/elf_reader.h"

#include <algorithm>
#include <cstring>

#include "host/little_endian.h"

namespace riftjit::rdna::elf {
namespace {

constexpr uint16_t kMaxSegments = 64;    // linkers write eight or so
constexpr uint16_t kMaxSections = 1024;  // linkers write forty with debug information; bounds searches through them

Result<void> check_identity(const Elf64_Ehdr& header) {
    const auto expect = [](std::string_view field, unsigned value, unsigned expected) -> Result<void> {
        if (value == expected) return {};
        return fail(ErrorKind::Format, "code object: {} is {:#x}, not {:#x}", field, value, expected);
    };
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return fail(ErrorKind::Format, "code object: neither an ELF file nor an offload bundle");
    RIFTJIT_TRY_VOID(expect("ELF class", header.e_ident[EI_CLASS], ELFCLASS64));
    RIFTJIT_TRY_VOID(expect("byte order", header.e_ident[EI_DATA], ELFDATA2LSB));
    RIFTJIT_TRY_VOID(expect("ELF version", header.e_ident[EI_VERSION], EV_CURRENT));
    RIFTJIT_TRY_VOID(expect("machine", header.e_machine, kMachineAmdGpu));
    RIFTJIT_TRY_VOID(expect("OS ABI", header.e_ident[EI_OSABI], kOsAbiAmdHsa));
    if (header.e_type == ET_REL)
        return fail(ErrorKind::Unsupported,
                    "code object: a relocatable object, as clang -c writes it; link it with ld.lld -shared");
    return expect("file type", header.e_type, ET_DYN);
}

template <class Entry>
Entry entry_at(std::span<const std::byte> bytes, size_t index) {
    Entry entry;
    std::memcpy(&entry, bytes.data() + index * sizeof entry, sizeof entry);
    return entry;
}

// The string at `offset` of a string table, which a zero byte must end.
Result<std::string_view> string_at(std::span<const std::byte> strings, uint32_t offset, std::string_view what) {
    const std::string_view text(reinterpret_cast<const char*>(strings.data()), strings.size());
    const size_t end = offset < text.size() ? text.find('\0', offset) : std::string_view::npos;
    if (end == std::string_view::npos)
        return fail(ErrorKind::Format, "code object: {}: name offset {:#x} has no string in a table of {} bytes", what,
                    offset, strings.size());
    return text.substr(offset, end - offset);
}

// The metadata in one segment or section of notes; empty if it holds none.
Result<std::span<const std::byte>> metadata_in(std::span<const std::byte> notes) {
    constexpr size_t kHeaderBytes = 12;
    size_t at = 0;
    while (notes.size() - at >= kHeaderBytes) {
        const auto name_bytes = get_little_endian<uint32_t>(notes, at);
        const auto value_bytes = get_little_endian<uint32_t>(notes, at + 4);
        const auto type = get_little_endian<uint32_t>(notes, at + 8);
        const auto padded = [](uint64_t size) { return (size + kNoteAlignment - 1) & ~uint64_t{kNoteAlignment - 1}; };
        const uint64_t value_at = at + kHeaderBytes + padded(name_bytes);
        if (value_at > notes.size() || value_bytes > notes.size() - value_at)
            return fail(ErrorKind::Format, "code object: note at {:#x}: name of {} and value of {} bytes leave {}", at,
                        name_bytes, value_bytes, notes.size());
        const std::string_view name(reinterpret_cast<const char*>(notes.data()) + at + kHeaderBytes, name_bytes);
        if (type == kNoteMetadata && name.substr(0, name.find('\0')) == kNoteName)
            return notes.subspan(value_at, value_bytes);
        at = static_cast<size_t>(std::min<uint64_t>(value_at + padded(value_bytes), notes.size()));
    }
    return std::span<const std::byte>();
}

}  // namespace

Result<ElfReader> ElfReader::open(std::span<const std::byte> file) {
    ElfReader reader(file);
    RIFTJIT_TRY(header, reader.bytes(0, sizeof(Elf64_Ehdr), "ELF header"));
    reader.header_ = entry_at<Elf64_Ehdr>(header, 0);
    RIFTJIT_TRY_VOID(check_identity(reader.header_));
    RIFTJIT_TRY_VOID(reader.read_segments());
    RIFTJIT_TRY_VOID(reader.read_sections());
    return reader;
}

Result<std::span<const std::byte>> ElfReader::bytes(uint64_t offset, uint64_t size, std::string_view what) const {
    if (offset > file_.size() || size > file_.size() - offset)
        return fail(ErrorKind::Format, "code object: {}: {} bytes at {:#x} lie outside the file of {}", what, size,
                    offset, file_.size());
    return file_.subspan(offset, size);
}

const ReadSection* ElfReader::find_section(uint32_t type) const {
    const auto found =
        std::ranges::find_if(sections_, [&](const ReadSection& section) { return section.header.sh_type == type; });
    return found == sections_.end() ? nullptr : &*found;
}

Result<void> ElfReader::read_segments() {
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 || header_.e_phnum > kMaxSegments)
        return fail(ErrorKind::Format, "code object: {} program headers of {} bytes, not 1 to {} of {}",
                    header_.e_phnum, header_.e_phentsize, kMaxSegments, sizeof(Elf64_Phdr));
    RIFTJIT_TRY(table, bytes(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr), "program headers"));
    for (size_t i = 0; i < header_.e_phnum; ++i) segments_.push_back(entry_at<Elf64_Phdr>(table, i));
    return {};
}

Result<void> ElfReader::read_sections() {
    if (header_.e_shnum == 0)
        return fail(ErrorKind::Unsupported, "code object: no section headers, so no symbols can be found");
    if (header_.e_shnum > kMaxSections)
        return fail(ErrorKind::Unsupported, "code object: {} sections are more than {}", header_.e_shnum, kMaxSections);
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum)
        return fail(ErrorKind::Format, "code object: {} section headers of {} bytes, names in section {}",
                    header_.e_shnum, header_.e_shentsize, header_.e_shstrndx);
    RIFTJIT_TRY(table, bytes(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr), "section headers"));
    for (size_t i = 0; i < header_.e_shnum; ++i) sections_.push_back({{}, entry_at<Elf64_Shdr>(table, i)});
    return name_sections();
}

Result<void> ElfReader::name_sections() {
    const Elf64_Shdr& names_header = sections_[header_.e_shstrndx].header;
    RIFTJIT_TRY(names, bytes(names_header.sh_offset, names_header.sh_size, "section names"));
    for (size_t i = 0; i < sections_.size(); ++i) {
        RIFTJIT_TRY(name, string_at(names, sections_[i].header.sh_name, fmt::format("section {}", i)));
        sections_[i].name = name;
    }
    return {};
}

template <class Entry>
Result<std::vector<Entry>> ElfReader::table(const ReadSection& section) const {
    const Elf64_Shdr& header = section.header;
    if (header.sh_entsize != sizeof(Entry) || header.sh_size % sizeof(Entry) != 0)
        return fail(ErrorKind::Format, "code object: {}: {} bytes in entries of {}, not of {}", section.name,
                    header.sh_size, header.sh_entsize, sizeof(Entry));
    RIFTJIT_TRY(raw, bytes(header.sh_offset, header.sh_size, section.name));
    std::vector<Entry> entries(raw.size() / sizeof(Entry));
    if (!raw.empty()) std::memcpy(entries.data(), raw.data(), raw.size());
    return entries;
}

Result<std::vector<ReadSymbol>> ElfReader::symbols(const ReadSection& section) const {
    RIFTJIT_TRY(entries, table<Elf64_Sym>(section));
    if (section.header.sh_link >= sections_.size())
        return fail(ErrorKind::Format, "code object: {}: names in section {} of {}", section.name,
                    section.header.sh_link, sections_.size());
    const Elf64_Shdr& names_header = sections_[section.header.sh_link].header;
    RIFTJIT_TRY(names, bytes(names_header.sh_offset, names_header.sh_size, "symbol names"));
    std::vector<ReadSymbol> symbols;
    symbols.reserve(entries.size());
    for (const Elf64_Sym& entry : entries) {
        RIFTJIT_TRY(name, string_at(names, entry.st_name, fmt::format("symbol {}", symbols.size())));
        symbols.push_back({name, entry});
    }
    return symbols;
}

Result<std::vector<Elf64_Rela>> ElfReader::relocations(const ReadSection& section) const {
    return table<Elf64_Rela>(section);
}

Result<std::span<const std::byte>> find_metadata_note(const ElfReader& elf) {
    for (const Elf64_Phdr& segment : elf.segments()) {
        if (segment.p_type != PT_NOTE) continue;
        RIFTJIT_TRY(notes, elf.bytes(segment.p_offset, segment.p_filesz, "PT_NOTE"));
        RIFTJIT_TRY(metadata, metadata_in(notes));
        if (!metadata.empty()) return metadata;
    }
    return fail(ErrorKind::Format, "code object: no AMDGPU metadata note");
}

}  // namespace riftjit::rdna::elf
