#include "jit/rdna/object/loader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "host/little_endian.h"
#include "jit/rdna/object/elf_reader.h"
#include "jit/rdna/object/offload_bundle.h"

namespace riftjit::rdna {
namespace {

using elf::ElfReader;
using elf::ReadSection;
using elf::ReadSymbol;

// Memory beyond the file's own bytes is zeros that the file merely claims: kernels' .bss is small, and this keeps a
// malformed file from asking for more than a machine has.
constexpr uint64_t kMaxZeroBytes = 64 << 20;
constexpr uint64_t kMaxAddress = uint64_t{1} << 40;  // linkers start at 0; sums of addresses cannot overflow
constexpr uint64_t kPageBytes = 4096;

Result<Target> target_of(const Elf64_Ehdr& header) {
    const uint32_t flags = header.e_flags;
    const std::optional<Target> target = target_from_mach(static_cast<uint8_t>(flags & elf::kMachMask));
    if (!target)
        return fail(ErrorKind::Unsupported, "code object: e_flags {:#x} name none of {}", flags, target_names());
    if (flags & ~elf::kMachMask)
        return fail(ErrorKind::Unsupported, "code object: e_flags {:#x} set more than the chip, {}", flags,
                    name(*target));
    return *target;
}

Result<CodeObjectVersion> version_of(const Elf64_Ehdr& header) {
    const unsigned abi = header.e_ident[EI_ABIVERSION];
    if (abi < elf::kAbiVersionV4 || abi > elf::kAbiVersionV4 + 2U)
        return fail(ErrorKind::Unsupported, "code object: ABI version {} is not {} to {} (code object 4 to 6)", abi,
                    elf::kAbiVersionV4, elf::kAbiVersionV4 + 2);
    return static_cast<CodeObjectVersion>(abi - elf::kAbiVersionV4 + 4);
}

Result<SegmentAccess> access_of(const Elf64_Phdr& header) {
    switch (header.p_flags & (PF_R | PF_W | PF_X)) {
        case PF_R:
            return SegmentAccess::read;
        case PF_R | PF_W:
            return SegmentAccess::read_write;
        case PF_R | PF_X:
            return SegmentAccess::read_execute;
        default:
            return fail(ErrorKind::Format, "code object: PT_LOAD at {:#x} has flags {:#x}", header.p_vaddr,
                        header.p_flags);
    }
}

Result<void> check_segment(const Elf64_Phdr& header, uint64_t previous_end) {
    if (header.p_vaddr >= kMaxAddress || header.p_memsz > kMaxAddress || header.p_filesz > header.p_memsz)
        return fail(ErrorKind::Format, "code object: PT_LOAD at {:#x}: {} bytes in the file, {} in memory",
                    header.p_vaddr, header.p_filesz, header.p_memsz);
    if (header.p_vaddr < previous_end)
        return fail(ErrorKind::Format,
                    "code object: PT_LOAD at {:#x} does not lie beyond the one before, which ends at {:#x}",
                    header.p_vaddr, previous_end);
    const uint64_t alignment = std::max<uint64_t>(header.p_align, 1);
    if ((alignment & (alignment - 1)) != 0 || ((header.p_vaddr - header.p_offset) & (alignment - 1)) != 0)
        return fail(ErrorKind::Format, "code object: PT_LOAD at {:#x}, file offset {:#x}, breaks its alignment {:#x}",
                    header.p_vaddr, header.p_offset, header.p_align);
    return {};
}

class Loader {
public:
    Loader(const ElfReader& elf, LoadedObject& object) : elf_(elf), object_(object) {}

    Result<void> load() {
        RIFTJIT_TRY_VOID(load_segments());
        RIFTJIT_TRY_VOID(find_text());
        find_data();
        RIFTJIT_TRY_VOID(relocate());
        RIFTJIT_TRY_VOID(read_symbols());
        RIFTJIT_TRY_VOID(find_functions());
        RIFTJIT_TRY(metadata, read_object_metadata());
        for (const KernelMetadata& kernel : metadata.kernels) RIFTJIT_TRY_VOID(add_kernel(kernel));
        object_.metadata_others = std::move(metadata.others);
        return check_complete();
    }

private:
    Result<void> load_segments() {
        uint64_t previous_end = 0, memory_bytes = 0;
        for (const Elf64_Phdr& header : elf_.segments()) {
            if (header.p_type != PT_LOAD) continue;
            RIFTJIT_TRY_VOID(check_segment(header, previous_end));
            RIFTJIT_TRY(access, access_of(header));
            RIFTJIT_TRY(contents, elf_.bytes(header.p_offset, header.p_filesz, "PT_LOAD"));
            memory_bytes += header.p_memsz;
            if (memory_bytes > elf_.file_bytes() + kMaxZeroBytes)
                return fail(
                    ErrorKind::Unsupported,
                    "code object: PT_LOAD at {:#x} makes {} bytes of memory from a file of {}, more than {} beyond",
                    header.p_vaddr, memory_bytes, elf_.file_bytes(), kMaxZeroBytes);
            Segment segment{header.p_vaddr, access, std::vector<std::byte>(header.p_memsz)};
            std::ranges::copy(contents, segment.bytes.begin());
            object_.segments.push_back(std::move(segment));
            previous_end = header.p_vaddr + header.p_memsz;
        }
        return {};
    }

    const Segment* segment_with(const AddressRange& range) const {
        const auto found = std::ranges::find_if(object_.segments, [&](const Segment& segment) {
            return segment.range().contains(range.address, range.size);
        });
        return found == object_.segments.end() ? nullptr : &*found;
    }
    const AddressRange* text_with(uint64_t address, uint64_t size) const {
        const auto found =
            std::ranges::find_if(object_.text, [&](const AddressRange& text) { return text.contains(address, size); });
        return found == object_.text.end() ? nullptr : &*found;
    }

    Result<void> find_text() {
        for (const ReadSection& section : elf_.sections()) {
            if (!(section.header.sh_flags & SHF_EXECINSTR) || section.header.sh_size == 0) continue;
            const AddressRange range = {section.header.sh_addr, section.header.sh_size};
            const Segment* segment = segment_with(range);
            if (!segment || segment->access != SegmentAccess::read_execute || range.address % 4 != 0)
                return fail(ErrorKind::Format,
                            "code object: section {}: {} bytes at {:#x} are not in an executable segment", section.name,
                            range.size, range.address);
            object_.text.push_back(range);
        }
        return {};
    }

    // What the linker adds for the loader alone is of other section types, but for .relro_padding.
    void find_data() {
        for (const ReadSection& section : elf_.sections()) {
            const Elf64_Shdr& header = section.header;
            const bool is_data = header.sh_type == SHT_PROGBITS || header.sh_type == SHT_NOBITS;
            const AddressRange range = {header.sh_addr, header.sh_size};
            if (!is_data || !(header.sh_flags & SHF_ALLOC) || (header.sh_flags & SHF_EXECINSTR) || range.size == 0 ||
                section.name == ".relro_padding" || !segment_with(range))
                continue;
            object_.data.push_back({std::string(section.name), range, std::max<uint64_t>(header.sh_addralign, 1),
                                    (header.sh_flags & SHF_WRITE) != 0});
        }
    }

    // Linked for address 0, a word that holds an address of the object holds it without further ado.
    Result<void> relocate() {
        for (const ReadSection& section : elf_.sections()) {
            if (section.header.sh_type != SHT_RELA || !(section.header.sh_flags & SHF_ALLOC)) continue;
            if (section.header.sh_link >= elf_.sections().size())
                return fail(ErrorKind::Format, "code object: {}: symbols in section {} of {}", section.name,
                            section.header.sh_link, elf_.sections().size());
            RIFTJIT_TRY(relocations, elf_.relocations(section));
            std::vector<ReadSymbol> symbols;
            if (section.header.sh_link != 0) {
                RIFTJIT_TRY(linked, elf_.symbols(elf_.sections()[section.header.sh_link]));
                symbols = std::move(linked);
            }
            for (const Elf64_Rela& relocation : relocations) RIFTJIT_TRY_VOID(apply(relocation, symbols));
        }
        return check_address_words();
    }
    Result<void> apply(const Elf64_Rela& relocation, std::span<const ReadSymbol> symbols) {
        const AddressRange word = {relocation.r_offset, sizeof(uint64_t)};
        const Segment* segment = segment_with(word);
        if (!segment || segment->access == SegmentAccess::read_execute)
            return fail(ErrorKind::Format, "code object: relocation at {:#x} is not in data", relocation.r_offset);
        auto value = static_cast<uint64_t>(relocation.r_addend);
        bool is_address = true;
        if (const auto type = ELF64_R_TYPE(relocation.r_info); type == elf::kRelocationAbs64) {
            const uint64_t index = ELF64_R_SYM(relocation.r_info);
            if (index >= symbols.size())
                return fail(ErrorKind::Format, "code object: relocation at {:#x}: symbol {} of {}", relocation.r_offset,
                            index, symbols.size());
            const ReadSymbol& symbol = symbols[index];
            is_address = symbol.entry.st_shndx != SHN_UNDEF && symbol.entry.st_shndx != SHN_ABS;
            if (symbol.entry.st_shndx == SHN_UNDEF && symbol.binding() != STB_WEAK)
                return fail(ErrorKind::Unsupported, "code object: relocation at {:#x} needs \"{}\", which is elsewhere",
                            relocation.r_offset, symbol.name);
            value += symbol.entry.st_value;
        } else if (type != elf::kRelocationRelative64) {
            return fail(ErrorKind::Unsupported, "code object: relocation at {:#x} is of type {}", relocation.r_offset,
                        type);
        }
        const auto at = static_cast<size_t>(relocation.r_offset - segment->address);
        put_little_endian(std::span(object_.segments[segment - object_.segments.data()].bytes), at, value);
        if (is_address) object_.address_words.push_back(relocation.r_offset);
        return {};
    }
    Result<void> check_address_words() {
        std::ranges::sort(object_.address_words);
        for (size_t i = 1; i < object_.address_words.size(); ++i)
            if (object_.address_words[i] - object_.address_words[i - 1] < sizeof(uint64_t))
                return fail(ErrorKind::Format, "code object: two relocations overlap at {:#x}",
                            object_.address_words[i]);
        return {};
    }

    // .symtab as AMD's runtime does; .dynsym names the kernels of a stripped object. Hidden kernels, which compilers
    // make of C++ by default, have local symbols: these count where the metadata name them.
    Result<void> read_symbols() {
        const ReadSection* table = elf_.find_section(SHT_SYMTAB);
        if (!table) table = elf_.find_section(SHT_DYNSYM);
        if (!table) return fail(ErrorKind::Format, "code object: no symbol table");
        RIFTJIT_TRY(symbols, elf_.symbols(*table));
        for (const ReadSymbol& symbol : symbols) {
            if (symbol.entry.st_shndx == SHN_UNDEF) continue;
            if (symbol.type() == STT_FUNC) function_symbols_.push_back(symbol);
            if (symbol.type() != STT_OBJECT || !symbol.name.ends_with(elf::kDescriptorSuffix)) continue;
            if (symbol.binding() == STB_LOCAL)
                local_descriptors_.emplace(symbol.name, symbol.entry);
            else if (!descriptors_.emplace(symbol.name, symbol.entry).second)
                return fail(ErrorKind::Format, "code object: two symbols \"{}\"", symbol.name);
        }
        return {};
    }

    // A function without a size reaches to the end of its section.
    Result<void> find_functions() {
        for (const ReadSymbol& symbol : function_symbols_) {
            AddressRange range = {symbol.entry.st_value, symbol.entry.st_size};
            const AddressRange* text = text_with(range.address, std::max<uint64_t>(range.size, 4));
            if (!text || range.address % 4 != 0)
                return fail(ErrorKind::Format, "code object: function \"{}\": {} bytes at {:#x} are not instructions",
                            symbol.name, range.size, range.address);
            if (range.size == 0) range.size = text->address + text->size - range.address;
            object_.functions.push_back({std::string(symbol.name), range});
        }
        std::ranges::sort(object_.functions, {}, [](const LoadedFunction& function) {
            return std::tuple(function.code.address, function.code.size, std::string_view(function.name));
        });
        return {};
    }

    Result<Metadata> read_object_metadata() {
        RIFTJIT_TRY(note, elf::find_metadata_note(elf_));
        RIFTJIT_TRY(metadata, read_metadata(note));
        if ((metadata.version == CodeObjectVersion::v4) != (object_.version == CodeObjectVersion::v4))
            return fail(ErrorKind::Format, "code object: metadata of version {} in an object of version {}",
                        static_cast<int>(metadata.version), static_cast<int>(object_.version));
        if (metadata.target && *metadata.target != target_id(object_.target))
            return fail(ErrorKind::Format, "code object: metadata for \"{}\" in an object for {}", *metadata.target,
                        name(object_.target));
        return std::move(metadata);
    }

    Result<Elf64_Sym> find_descriptor(const KernelMetadata& metadata) const {
        if (const auto found = descriptors_.find(metadata.symbol); found != descriptors_.end()) return found->second;
        const auto [first, last] = local_descriptors_.equal_range(metadata.symbol);
        if (first == last)
            return fail(ErrorKind::Format, "code object: kernel \"{}\" has no symbol \"{}\"", metadata.name,
                        metadata.symbol);
        if (std::next(first) != last)
            return fail(ErrorKind::Format, "code object: two symbols \"{}\"", metadata.symbol);
        return first->second;
    }

    Result<void> add_kernel(const KernelMetadata& metadata) {
        RIFTJIT_TRY(symbol, find_descriptor(metadata));
        const AddressRange range = {symbol.st_value, kKernelDescriptorBytes};
        const auto raw = object_.bytes(range);
        if (symbol.st_size != kKernelDescriptorBytes || range.address % elf::kDescriptorAlignment != 0 || raw.empty())
            return fail(ErrorKind::Format, "code object: \"{}\": {} bytes at {:#x} are no kernel descriptor",
                        metadata.symbol, symbol.st_size, range.address);
        auto descriptor = decode_kernel_descriptor(raw.first<kKernelDescriptorBytes>(), generation(object_.target));
        if (!descriptor)
            return fail(descriptor.error().kind, "code object: kernel \"{}\": {}", metadata.name,
                        descriptor.error().message);
        RIFTJIT_TRY_VOID(check_agreement(*descriptor, metadata));
        RIFTJIT_TRY_VOID(check_sizes(*descriptor, metadata));
        RIFTJIT_TRY(code, code_of(metadata.name, range.address + static_cast<uint64_t>(descriptor->entry_offset)));
        if (!names_.insert(metadata.name).second || !described_.insert(metadata.symbol).second)
            return fail(ErrorKind::Format, "code object: two kernels are named \"{}\" or described by \"{}\"",
                        metadata.name, metadata.symbol);
        object_.kernels.push_back({metadata.name, *descriptor, metadata, range.address, code});
        return {};
    }
    static Result<void> check_agreement(const KernelDescriptor& descriptor, const KernelMetadata& metadata) {
        const auto equal = [&](std::string_view what, uint32_t described, uint32_t told) -> Result<void> {
            if (described == told) return {};
            return fail(ErrorKind::Format, "code object: kernel \"{}\": {} is {} in the descriptor, {} in the metadata",
                        metadata.name, what, described, told);
        };
        RIFTJIT_TRY_VOID(equal("LDS size", descriptor.lds_bytes, metadata.lds_bytes));
        RIFTJIT_TRY_VOID(equal("scratch size", descriptor.scratch_bytes, metadata.scratch_bytes));
        // Older compilers leave it to the metadata.
        if (descriptor.kernarg_bytes != 0)
            RIFTJIT_TRY_VOID(equal("kernarg size", descriptor.kernarg_bytes, metadata.kernarg_bytes));
        return equal("wave size", lanes(descriptor.wave_size), lanes(metadata.wave_size));
    }
    // What no launch could give.
    Result<void> check_sizes(const KernelDescriptor& descriptor, const KernelMetadata& metadata) const {
        const auto at_most = [&](std::string_view what, uint32_t size, uint32_t most) -> Result<void> {
            if (size <= most) return {};
            return fail(ErrorKind::Format, "code object: kernel \"{}\": {} bytes of {}, {} has {} at most",
                        metadata.name, size, what, name(object_.target), most);
        };
        const uint32_t most_scratch = max_scratch_bytes(generation(object_.target), descriptor.wave_size);
        RIFTJIT_TRY_VOID(at_most("LDS", descriptor.lds_bytes, kMaxLdsBytes));
        RIFTJIT_TRY_VOID(at_most("scratch of a lane", descriptor.scratch_bytes, most_scratch));
        if (metadata.kernarg_bytes <= kMaxKernargBytes) return {};
        return fail(ErrorKind::Format, "code object: kernel \"{}\": {} bytes of arguments, {} are possible",
                    metadata.name, metadata.kernarg_bytes, kMaxKernargBytes);
    }
    Result<AddressRange> code_of(std::string_view kernel, uint64_t entry) const {
        const AddressRange* text = text_with(entry, 4);
        if (!text || entry % elf::kCodeAlignment != 0)
            return fail(ErrorKind::Format, "code object: kernel \"{}\" starts at {:#x}, which is not aligned code",
                        kernel, entry);
        const auto function = std::ranges::lower_bound(object_.functions, entry, {},
                                                       [](const LoadedFunction& one) { return one.code.address; });
        if (function != object_.functions.end() && function->code.address == entry) return function->code;
        return AddressRange{entry, text->address + text->size - entry};
    }

    Result<void> check_complete() {
        for (const auto& [symbol, entry] : descriptors_)
            if (!described_.contains(symbol))
                return fail(ErrorKind::Format, "code object: the metadata do not mention \"{}\"", symbol);
        std::ranges::sort(object_.kernels, {}, &LoadedKernel::name);
        return {};
    }

    const ElfReader& elf_;
    LoadedObject& object_;
    std::vector<ReadSymbol> function_symbols_;
    std::map<std::string_view, Elf64_Sym> descriptors_;  // by symbol
    std::multimap<std::string_view, Elf64_Sym> local_descriptors_;
    std::set<std::string, std::less<>> names_, described_;
};

}  // namespace

const LoadedKernel* LoadedObject::find(std::string_view kernel) const {
    const auto found = std::ranges::find(kernels, kernel, &LoadedKernel::name);
    return found == kernels.end() ? nullptr : &*found;
}

std::span<const std::byte> LoadedObject::bytes(const AddressRange& range) const {
    for (const Segment& segment : segments)
        if (segment.range().contains(range.address, range.size))
            return std::span(segment.bytes).subspan(range.address - segment.address, range.size);
    return {};
}

Result<LoadedObject> load_code_object(std::span<const std::byte> file, std::optional<Target> wanted) {
    if (is_offload_bundle(file)) {
        RIFTJIT_TRY(picked, pick_from_bundle(file, wanted));
        file = picked;
    }
    RIFTJIT_TRY(elf, ElfReader::open(file));
    RIFTJIT_TRY(version, version_of(elf.header()));
    RIFTJIT_TRY(target, target_of(elf.header()));
    if (wanted && target != *wanted)
        return fail(ErrorKind::Unsupported, "code object: made for {}, not for {}", name(target), name(*wanted));
    LoadedObject object{.target = target, .version = version};
    if (const auto loaded = Loader(elf, object).load(); !loaded) {
        std::string message = loaded.error().message;  // in one line, whatever is in the names of a damaged file
        for (size_t at = 0; (at = message.find('\n', at)) != std::string::npos;) message.replace(at, 1, "\\x0a");
        return fail(loaded.error().kind, "{}", message);
    }
    return object;
}

void move_object(LoadedObject& object, uint64_t base) {
    check(base % kPageBytes == 0, "objects move by whole pages");
    for (const uint64_t address : object.address_words) {
        const auto holds = [&](const Segment& segment) { return segment.range().contains(address, sizeof(uint64_t)); };
        Segment& segment = *std::ranges::find_if(object.segments, holds);
        const std::span<std::byte> bytes = segment.bytes;
        const size_t at = address - segment.address;
        put_little_endian(bytes, at, get_little_endian<uint64_t>(bytes, at) + base);
    }
    object.base += base;
    for (Segment& segment : object.segments) segment.address += base;
    for (AddressRange& text : object.text) text.address += base;
    for (LoadedData& data : object.data) data.range.address += base;
    for (LoadedFunction& function : object.functions) function.code.address += base;
    for (uint64_t& address : object.address_words) address += base;
    for (LoadedKernel& kernel : object.kernels) {
        kernel.descriptor_address += base;
        kernel.code.address += base;
    }
}

}  // namespace riftjit::rdna
