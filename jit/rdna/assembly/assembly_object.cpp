#include "jit/rdna/assembly/assembly_object.h"

#include <algorithm>
#include <map>

#include "host/little_endian.h"
#include "host/round_up.h"
#include "jit/rdna/object/elf_amdgpu.h"
#include "jit/rdna/object/elf_writer.h"

namespace riftjit::rdna {
namespace {

std::vector<std::byte> note_of(const Metadata& metadata) {
    const std::vector<std::byte> map = write_metadata(metadata);
    constexpr size_t kHeaderBytes = 12;
    const size_t name_bytes = elf::kNoteName.size() + 1;
    const size_t map_at = kHeaderBytes + round_up(name_bytes, elf::kNoteAlignment);
    std::vector<std::byte> note(map_at + round_up(map.size(), elf::kNoteAlignment));
    put_little_endian(note, 0, static_cast<uint32_t>(name_bytes));
    put_little_endian(note, 4, static_cast<uint32_t>(map.size()));
    put_little_endian(note, 8, elf::kNoteMetadata);
    std::ranges::transform(elf::kNoteName, note.begin() + kHeaderBytes, [](char c) { return std::byte(c); });
    std::ranges::copy(map, note.begin() + static_cast<std::ptrdiff_t>(map_at));
    return note;
}

Metadata metadata_from_descriptors(const AssembledFile& file) {
    Metadata metadata{.version = file.version, .target = target_id(file.target), .kernels = {}};
    for (const AssembledKernel& kernel : file.kernels) {
        const KernelDescriptor& descriptor = kernel.descriptor;
        KernelMetadata& written = metadata.kernels.emplace_back();
        written.name = kernel.name;
        written.symbol = kernel.name + std::string(elf::kDescriptorSuffix);
        written.kernarg_bytes = descriptor.kernarg_bytes;
        written.lds_bytes = descriptor.lds_bytes;
        written.scratch_bytes = descriptor.scratch_bytes;
        written.wave_size = descriptor.wave_size;
        written.vgpr_count = descriptor.vgprs();
        written.sgpr_count = kernel.sgprs;
        written.max_flat_workgroup_size = 1024;
        written.workgroup_processor_mode = descriptor.workgroup_mode == WorkgroupMode::wgp;
    }
    return metadata;
}

constexpr uint32_t kMaxAlignment = 4096;  // a page: what a loader keeps

// Where each section lies: read-only ones in .rodata, behind the descriptors.
struct Placement {
    std::map<size_t, uint64_t> offset_of_section;
    uint64_t rodata_bytes = 0, data_bytes = 0, zero_bytes = 0;
    uint64_t rodata_alignment = elf::kDescriptorAlignment, data_alignment = 8;
};
Result<Placement> place_sections(const AssembledFile& file) {
    Placement placement{.offset_of_section = {}, .rodata_bytes = file.kernels.size() * kKernelDescriptorBytes};
    for (size_t i = 1; i < file.sections.size(); ++i) {
        const AssemblySection& section = file.sections[i];
        if (section.bytes.empty() || section.kind == SectionKind::unloaded || section.kind == SectionKind::code)
            continue;
        if (section.alignment > kMaxAlignment)
            return fail(ErrorKind::Unsupported, "section {} is aligned to {} bytes, {} are possible", section.name,
                        section.alignment, kMaxAlignment);
        const bool is_zeros = section.kind == SectionKind::zeros, is_read = section.kind == SectionKind::read_only;
        if (is_zeros && !std::ranges::all_of(section.bytes, [](std::byte byte) { return byte == std::byte{0}; }))
            return fail(ErrorKind::Format, "section {} holds something else than zeros", section.name);
        uint64_t& bytes = is_read ? placement.rodata_bytes : is_zeros ? placement.zero_bytes : placement.data_bytes;
        uint64_t& alignment = is_read ? placement.rodata_alignment : placement.data_alignment;
        bytes = round_up(bytes, std::max(section.alignment, 1U));
        alignment = std::max<uint64_t>(alignment, section.alignment);
        placement.offset_of_section[i] = bytes;
        bytes += section.bytes.size();
    }
    return placement;
}

class ObjectWriter {
public:
    ObjectWriter(const AssembledFile& file, Placement placement) : file_(file), placement_(std::move(placement)) {}

    Result<std::vector<std::byte>> write() {
        elf::ObjectContents finished = contents();
        object_ = elf::write_object(finished);
        // The layout is known now, and does not depend on what .text holds.
        for (const SectionDistance& distance : file_.distances) RIFTJIT_TRY_VOID(resolve(distance, finished.text));
        for (size_t i = 0; i < file_.addresses.size(); ++i) {
            const AddressWord& word = file_.addresses[i];
            RIFTJIT_TRY(address, address_of(word.target_section, word.addend));
            finished.relocations[i] = {placement_.offset_of_section.at(word.section) + word.offset, address};
        }
        if (!file_.distances.empty() || !file_.addresses.empty()) object_ = elf::write_object(finished);
        for (size_t i = 0; i < file_.kernels.size(); ++i) RIFTJIT_TRY_VOID(write_descriptor(i));
        for (const auto& [section, offset] : placement_.offset_of_section)
            if (file_.sections[section].kind == SectionKind::read_only)
                std::ranges::copy(file_.sections[section].bytes, at(object_.rodata_offset + offset));
        return std::move(object_.bytes);
    }

private:
    elf::ObjectContents contents() const {
        elf::ObjectContents contents{
            .abi_version = static_cast<uint8_t>(static_cast<uint8_t>(file_.version) - 4 + elf::kAbiVersionV4),
            .flags = info(file_.target).mach,
            .note = note_of(file_.metadata.value_or(metadata_from_descriptors(file_))),
            .text = file_.text().bytes,
            .symbols = {},
            .rodata_bytes = placement_.rodata_bytes,
            .rodata_alignment = placement_.rodata_alignment,
            .data = std::vector<std::byte>(placement_.data_bytes),
            .bss_bytes = placement_.zero_bytes,
            .data_alignment = placement_.data_alignment,
            .relocations = std::vector<elf::WrittenRelocation>(file_.addresses.size())};
        for (const auto& [section, offset] : placement_.offset_of_section)
            if (file_.sections[section].kind == SectionKind::data)
                std::ranges::copy(file_.sections[section].bytes,
                                  contents.data.begin() + static_cast<std::ptrdiff_t>(offset));
        for (size_t i = 0; i < file_.kernels.size(); ++i) {
            const AssembledKernel& kernel = file_.kernels[i];
            contents.symbols.push_back(
                {kernel.name, elf::SymbolKind::kernel_code, kernel.code_offset, kernel.code_size});
            contents.symbols.push_back({kernel.name + std::string(elf::kDescriptorSuffix),
                                        elf::SymbolKind::kernel_descriptor, i * kKernelDescriptorBytes,
                                        kKernelDescriptorBytes});
        }
        for (const AssemblySymbol& symbol : file_.symbols)
            if (symbol.section == 0 && symbol.is_function && !is_kernel(symbol.name))
                contents.symbols.push_back({symbol.name, elf::SymbolKind::kernel_code, symbol.offset, symbol.size});
        return contents;
    }

    bool is_kernel(const std::string& name) const {
        return std::ranges::find(file_.kernels, name, &AssembledKernel::name) != file_.kernels.end();
    }

    std::vector<std::byte>::iterator at(uint64_t offset) {
        return object_.bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    }

    Result<void> write_descriptor(size_t index) {
        KernelDescriptor descriptor = file_.kernels[index].descriptor;
        const uint64_t place = object_.rodata_offset + index * kKernelDescriptorBytes;
        const uint64_t entry = object_.text_address + file_.kernels[index].code_offset;
        descriptor.entry_offset = static_cast<int64_t>(entry - place);
        const auto bytes = encode(descriptor, generation(file_.target));
        if (!bytes) return fail(bytes.error().kind, "kernel {}: {}", file_.kernels[index].name, bytes.error().message);
        std::ranges::copy(*bytes, at(place));
        return {};
    }

    Result<uint64_t> address_of(size_t section, int64_t addend) const {
        const auto within = static_cast<uint64_t>(addend);
        if (section == 0) return object_.text_address + within;
        const auto found = placement_.offset_of_section.find(section);
        if (found == placement_.offset_of_section.end())
            return fail(ErrorKind::Unsupported, "a reference to section {}, which is {}", file_.sections[section].name,
                        file_.sections[section].kind == SectionKind::unloaded ? "not loaded" : "empty");
        switch (file_.sections[section].kind) {
            case SectionKind::data:
                return object_.data_address + found->second + within;
            case SectionKind::zeros:
                return object_.bss_address + found->second + within;
            default:
                return object_.rodata_offset + found->second + within;
        }
    }

    Result<void> resolve(const SectionDistance& distance, std::vector<std::byte>& text) const {
        if (distance.section != 0)
            return fail(ErrorKind::Unsupported, "a distance in section {}", file_.sections[distance.section].name);
        RIFTJIT_TRY(to, address_of(distance.target_section, distance.addend));
        const uint64_t from = object_.text_address + distance.offset;
        put_little_endian(text, distance.offset,
                          static_cast<uint32_t>((to - from) >> (distance.is_high_half ? 32 : 0)));
        return {};
    }

    const AssembledFile& file_;
    Placement placement_;
    elf::WrittenObject object_;
};

}  // namespace

Result<std::vector<std::byte>> write_code_object(const AssembledFile& file) {
    if (file.kernels.empty()) return fail(ErrorKind::Usage, "code object: no kernel to write");
    RIFTJIT_TRY(placement, place_sections(file));
    return ObjectWriter(file, std::move(placement)).write();
}

}  // namespace riftjit::rdna
