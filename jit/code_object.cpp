#include "jit/code_object.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "host/bytes.h"
#include "host/round_up.h"

namespace riftjit {

namespace {

// The file, from the start: ELF header, .strtab, .shstrtab, .comment, .symtab, .text, section headers. The names come
// first so that a reader of the first kX86NameBytes has them (the gABI leaves the order of sections free).
enum SectionIndex : uint16_t { kNull, kStrings, kSectionNames, kComment, kSymbols, kText, kStackNote, kSectionCount };

constexpr std::array<std::string_view, kSectionCount> kNames = {"",        ".strtab", ".shstrtab",      ".comment",
                                                                ".symtab", ".text",   ".note.GNU-stack"};
constexpr std::string_view kCommentPrefix = "riftjit x86_64 ";
constexpr std::string_view kConstantsSuffix = "_constants";
constexpr size_t kTextAlignment = 64;
constexpr size_t kMaxNameBytes = 255;
constexpr size_t kSymbolCount = 3;      // null, constants (local, so first), the kernel (global)
constexpr size_t kConstantsSymbol = 1;  // locals come before sh_info
constexpr size_t kKernelSymbol = 2;

std::string comment_text(Isa isa) { return std::string(kCommentPrefix).append(name(isa)); }

// .strtab: "", the kernel's name, the name of its constants.
std::string symbol_names(std::string_view kernel) {
    std::string names(1, '\0');
    names.append(kernel).push_back('\0');
    names.append(kernel).append(kConstantsSuffix).push_back('\0');
    return names;
}

std::string section_names() {
    std::string names;
    for (std::string_view name : kNames) names.append(name).push_back('\0');
    return names;
}

std::array<Elf64_Sym, kSymbolCount> symbols(std::string_view kernel, const MachineCode& code) {
    std::array<Elf64_Sym, kSymbolCount> table{};
    table[kConstantsSymbol] = {.st_name = uint32_t(1 + kernel.size() + 1),
                               .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
                               .st_other = STV_DEFAULT,
                               .st_shndx = kText,
                               .st_value = code.instruction_bytes,
                               .st_size = code.bytes.size() - code.instruction_bytes};
    table[kKernelSymbol] = {.st_name = 1,
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                            .st_other = STV_DEFAULT,
                            .st_shndx = kText,
                            .st_value = 0,
                            .st_size = code.instruction_bytes};
    return table;
}

Elf64_Ehdr file_header(uint64_t section_headers_offset) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ident[EI_OSABI] = ELFOSABI_SYSV;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = section_headers_offset;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = kSectionCount;
    header.e_shstrndx = kSectionNames;
    return header;
}

// Lays sections one after the other and remembers where.
class ObjectWriter {
public:
    ObjectWriter() : bytes_(sizeof(Elf64_Ehdr)) {
        size_t name_offset = 0;
        for (size_t section = 0; section < kSectionCount; ++section) {
            headers_[section].sh_name = uint32_t(name_offset);
            name_offset += kNames[section].size() + 1;
        }
    }

    void add(SectionIndex section, uint32_t type, uint64_t flags, uint64_t alignment, const void* data, size_t size) {
        bytes_.resize(round_up(bytes_.size(), alignment));
        Elf64_Shdr& header = headers_[section];
        header.sh_type = type;
        header.sh_flags = flags;
        header.sh_addralign = alignment;
        header.sh_offset = bytes_.size();
        header.sh_size = size;
        const auto* first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    Elf64_Shdr& header(SectionIndex section) { return headers_[section]; }

    std::vector<std::byte> finish() {
        bytes_.resize(round_up(bytes_.size(), alignof(Elf64_Shdr)));
        const Elf64_Ehdr header = file_header(bytes_.size());
        std::memcpy(bytes_.data(), &header, sizeof header);
        const auto* first = reinterpret_cast<const std::byte*>(headers_.data());
        bytes_.insert(bytes_.end(), first, first + sizeof headers_);
        return std::move(bytes_);
    }

private:
    std::vector<std::byte> bytes_;
    std::array<Elf64_Shdr, kSectionCount> headers_{};
};

// A view of bytes that is never read beyond its end.
class ObjectReader {
public:
    explicit ObjectReader(std::span<const std::byte> elf) : elf_(elf) {}

    bool holds(uint64_t offset, uint64_t size) const { return offset <= elf_.size() && size <= elf_.size() - offset; }
    template <class T>
    T read(uint64_t offset) const {
        check(holds(offset, sizeof(T)), "an object is read within its bytes");
        T value;
        std::memcpy(&value, elf_.data() + offset, sizeof value);
        return value;
    }
    // What holds() says is there.
    std::span<const std::byte> bytes(uint64_t offset, uint64_t size) const { return elf_.subspan(offset, size); }
    // The section's bytes, if it is of the type we write. After check_file_header and check_size.
    Result<std::span<const std::byte>> section(SectionIndex index, uint32_t type) const {
        const auto header = read<Elf64_Shdr>(read<Elf64_Ehdr>(0).e_shoff + index * sizeof(Elf64_Shdr));
        if (header.sh_type != type)
            return fail(ErrorKind::Format, "code object: {} has type {}, not {}", kNames[index], header.sh_type, type);
        if (!holds(header.sh_offset, header.sh_size))
            return fail(ErrorKind::Format, "code object: {} lies outside the file", kNames[index]);
        return elf_.subspan(header.sh_offset, header.sh_size);
    }

private:
    std::span<const std::byte> elf_;
};

// The section headers are the end of the file.
Result<void> check_size(std::span<const std::byte> elf) {
    const uint64_t headers_offset = ObjectReader(elf).read<Elf64_Ehdr>(0).e_shoff;
    constexpr uint64_t kHeadersBytes = kSectionCount * sizeof(Elf64_Shdr);
    if (headers_offset > elf.size() || elf.size() - headers_offset != kHeadersBytes)
        return fail(ErrorKind::Format, "code object: {} bytes do not end with the section headers", elf.size());
    return {};
}

Result<void> check_file_header(const ObjectReader& reader) {
    if (!reader.holds(0, sizeof(Elf64_Ehdr))) return fail(ErrorKind::Format, "code object: shorter than an ELF header");
    const auto header = reader.read<Elf64_Ehdr>(0);
    const Elf64_Ehdr expected = file_header(header.e_shoff);
    if (std::memcmp(&header, &expected, sizeof expected) != 0)
        return fail(ErrorKind::Format, "code object: not an x86-64 ELF object of this program");
    return {};
}

// A word that messages, listings and profilers can show as it stands.
Result<std::string> kernel_name(std::string_view name) {
    const bool is_word = std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; });
    if (name.empty() || name.size() > kMaxNameBytes || !is_word)
        return fail(ErrorKind::Format, "code object: the kernel has no name of 1 to {} printable characters",
                    kMaxNameBytes);
    return std::string(name);
}

// The kernel's name: the string at offset 1, given what follows the ELF header.
Result<std::string> first_name(std::string_view strings) {
    if (strings.empty() || strings[0] != '\0')
        return fail(ErrorKind::Format, "code object: .strtab does not start with an empty name");
    const size_t end = strings.find('\0', 1);
    if (end == std::string_view::npos) return kernel_name({});
    return kernel_name(strings.substr(1, end - 1));
}

// The first global function in the symbols of an ELF file that another writer made.
Result<std::string> first_function(const ObjectReader& file) {
    const auto header = file.read<Elf64_Ehdr>(0);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || !file.holds(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
        return fail(ErrorKind::Format, "code object: the section headers lie outside the file");
    const auto section = [&](uint32_t i) { return file.read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)); };
    for (uint32_t i = 0; i < header.e_shnum; ++i) {
        const Elf64_Shdr table = section(i);
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum) continue;
        const Elf64_Shdr strings = section(table.sh_link);
        if (!file.holds(table.sh_offset, table.sh_size) || !file.holds(strings.sh_offset, strings.sh_size))
            return fail(ErrorKind::Format, "code object: the symbols lie outside the file");
        for (uint64_t entry = 0; entry < table.sh_size / sizeof(Elf64_Sym); ++entry) {
            const auto symbol = file.read<Elf64_Sym>(table.sh_offset + entry * sizeof(Elf64_Sym));
            const bool is_kernel = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
                                   ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && symbol.st_name < strings.sh_size;
            if (!is_kernel) continue;
            const auto names = file.bytes(strings.sh_offset + symbol.st_name, strings.sh_size - symbol.st_name);
            return kernel_name(bytes_of(names).substr(0, bytes_of(names).find('\0')));
        }
    }
    return fail(ErrorKind::Format, "code object: its symbols name no kernel");
}

Result<Isa> isa_of_comment(std::string_view comment) {
    for (Isa isa : all_isas())
        if (comment == comment_text(isa) + '\0') return isa;
    return fail(ErrorKind::Format, "code object: .comment names none of {}", isa_names());
}

// The symbols must be those we would write: then nothing in them is left to trust.
Result<void> check_symbols(std::span<const std::byte> table, std::string_view kernel, const MachineCode& code) {
    const auto expected = symbols(kernel, code);
    if (table.size() != sizeof expected || std::memcmp(table.data(), expected.data(), sizeof expected) != 0)
        return fail(ErrorKind::Format, "code object: the symbols do not describe {}", kernel);
    return {};
}

}  // namespace

CodeObject write_x86_object(std::string name, Isa isa, const MachineCode& code) {
    check(!name.empty() && name.size() <= kMaxNameBytes, "a kernel's name has 1 to 255 bytes");
    check(code.instruction_bytes > 0 && code.instruction_bytes <= code.bytes.size(),
          "instructions lie within the code");
    const std::string strings = symbol_names(name), sections = section_names(), comment = comment_text(isa) + '\0';
    const auto symbol_table = symbols(name, code);

    ObjectWriter writer;
    writer.add(kStrings, SHT_STRTAB, 0, 1, strings.data(), strings.size());
    writer.add(kSectionNames, SHT_STRTAB, 0, 1, sections.data(), sections.size());
    writer.add(kComment, SHT_PROGBITS, SHF_MERGE | SHF_STRINGS, 1, comment.data(), comment.size());
    writer.add(kSymbols, SHT_SYMTAB, 0, alignof(Elf64_Sym), symbol_table.data(), sizeof symbol_table);
    writer.add(kText, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kTextAlignment, code.bytes.data(), code.bytes.size());
    writer.add(kStackNote, SHT_PROGBITS, 0, 1, nullptr, 0);  // its presence says: the stack is not executable
    writer.header(kComment).sh_entsize = 1;
    writer.header(kSymbols).sh_entsize = sizeof(Elf64_Sym);
    writer.header(kSymbols).sh_link = kStrings;
    writer.header(kSymbols).sh_info = kKernelSymbol;  // index of the first global symbol
    std::vector<std::byte> elf = writer.finish();
    return {std::move(name), isa, std::move(elf)};
}

Result<X86Object> read_x86_object(std::span<const std::byte> elf) {
    const ObjectReader reader(elf);
    RIFTJIT_TRY_VOID(check_file_header(reader));
    RIFTJIT_TRY_VOID(check_size(elf));
    RIFTJIT_TRY(strings, reader.section(kStrings, SHT_STRTAB));
    RIFTJIT_TRY(comment, reader.section(kComment, SHT_PROGBITS));
    RIFTJIT_TRY(symbol_table, reader.section(kSymbols, SHT_SYMTAB));
    RIFTJIT_TRY(text, reader.section(kText, SHT_PROGBITS));
    RIFTJIT_TRY(name, first_name(bytes_of(strings)));
    RIFTJIT_TRY(isa, isa_of_comment(bytes_of(comment)));

    if (symbol_table.size() != kSymbolCount * sizeof(Elf64_Sym))
        return fail(ErrorKind::Format, "code object: {} bytes of symbols, not {}", symbol_table.size(),
                    kSymbolCount * sizeof(Elf64_Sym));
    const uint64_t instruction_bytes =
        ObjectReader(symbol_table).read<Elf64_Sym>(kKernelSymbol * sizeof(Elf64_Sym)).st_size;
    if (instruction_bytes == 0 || instruction_bytes > text.size())
        return fail(ErrorKind::Format, "code object: {} of {} bytes are instructions", instruction_bytes, text.size());
    X86Object object{name, isa, {{text.begin(), text.end()}, uint32_t(instruction_bytes)}};
    RIFTJIT_TRY_VOID(check_symbols(symbol_table, object.name, object.code));
    return object;
}

Result<std::string> read_x86_object_name(std::span<const std::byte> elf_start) {
    RIFTJIT_TRY_VOID(check_file_header(ObjectReader(elf_start)));
    return first_name(bytes_of(elf_start.subspan(sizeof(Elf64_Ehdr))));
}

Result<CodeObject> read_code_object(std::span<const std::byte> elf, Target target) {
    if (target.architecture == Architecture::x86_64) {
        RIFTJIT_TRY(object, read_x86_object(elf));
        if (target != object.isa)
            return fail(ErrorKind::Format, "code for {} under target {}", name(object.isa), name(target));
        return CodeObject{object.name, target, {elf.begin(), elf.end()}};
    }
    const ObjectReader reader(elf);
    if (!reader.holds(0, sizeof(Elf64_Ehdr))) return fail(ErrorKind::Format, "code object: shorter than an ELF header");
    const auto header = reader.read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != EM_AMDGPU)
        return fail(ErrorKind::Format, "code object: not a 64-bit ELF file for {}", name(target));
    RIFTJIT_TRY(kernel, first_function(reader));
    return CodeObject{std::move(kernel), target, {elf.begin(), elf.end()}};
}

std::vector<std::byte> place_x86_object(std::span<const std::byte> elf, const std::byte* address) {
    check(read_x86_object(elf).has_value(), "only our own objects are placed");
    std::vector<std::byte> placed(elf.begin(), elf.end());
    const uint64_t headers_offset = ObjectReader(elf).read<Elf64_Ehdr>(0).e_shoff;
    const auto value = reinterpret_cast<uint64_t>(address);
    std::memcpy(placed.data() + headers_offset + kText * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr), &value,
                sizeof value);
    return placed;
}

}  // namespace riftjit
