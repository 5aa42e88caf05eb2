#include "jit/rdna/assembly_object.h"

#include <algorithm>
#include <map>

#include "jit/little_endian.h"
#include "jit/rdna/elf_amdgpu.h"
#include "jit/rdna/elf_writer.h"

namespace riftjit::rdna {
namespace {

uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

std::vector<std::byte> note_of(const Metadata& metadata) {
    const std::vector<std::byte> map = write_metadata(metadata);
    constexpr size_t kHeaderBytes = 12;
    const size_t name_bytes = elf::kNoteName.size() + 1;
    const size_t map_at = kHeaderBytes + align_up(name_bytes, elf::kNoteAlignment);
    std::vector<std::byte> note(map_at + align_up(map.size(), elf::kNoteAlignment));
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

// Where each read-only section lies in .rodata, behind the descriptors.
struct Rodata {
    std::map<size_t, uint64_t> offset_of_section;
    uint64_t bytes = 0;
};
Result<Rodata> place_sections(const AssembledFile& file) {
    Rodata rodata{.offset_of_section = {}, .bytes = file.kernels.size() * kKernelDescriptorBytes};
    for (size_t i = 1; i < file.sections.size(); ++i) {
        const AssemblySection& section = file.sections[i];
        if (section.bytes.empty() || section.name.starts_with(".AMDGPU.") || section.name.starts_with(".comment"))
            continue;
        if (!section.name.starts_with(".rodata"))
            return fail(ErrorKind::Unsupported, "section {} is neither .text nor .rodata", section.name);
        rodata.bytes = align_up(rodata.bytes, std::max(section.alignment, 1U));
        rodata.offset_of_section[i] = rodata.bytes;
        rodata.bytes += section.bytes.size();
    }
    return rodata;
}

class ObjectWriter {
public:
    ObjectWriter(const AssembledFile& file, Rodata rodata) : file_(file), rodata_(std::move(rodata)) {}

    Result<std::vector<std::byte>> write() {
        elf::ObjectContents finished = contents();
        object_ = elf::write_object(finished);
        // The layout is known now, and does not depend on what .text holds.
        for (const SectionDistance& distance : file_.distances) RIFTJIT_TRY_VOID(resolve(distance, finished.text));
        if (!file_.distances.empty()) object_ = elf::write_object(finished);
        for (size_t i = 0; i < file_.kernels.size(); ++i) RIFTJIT_TRY_VOID(write_descriptor(i));
        for (const auto& [section, offset] : rodata_.offset_of_section)
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
            .rodata_bytes = rodata_.bytes};
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

    Result<void> resolve(const SectionDistance& distance, std::vector<std::byte>& text) const {
        const auto target = rodata_.offset_of_section.find(distance.target_section);
        if (distance.section != 0 || target == rodata_.offset_of_section.end())
            return fail(ErrorKind::Unsupported, "a reference to section {}",
                        file_.sections[distance.target_section].name);
        const uint64_t from = object_.text_address + distance.offset;
        const uint64_t to = object_.rodata_offset + target->second + static_cast<uint64_t>(distance.addend);
        put_little_endian(text, distance.offset,
                          static_cast<uint32_t>((to - from) >> (distance.is_high_half ? 32 : 0)));
        return {};
    }

    const AssembledFile& file_;
    Rodata rodata_;
    elf::WrittenObject object_;
};

}  // namespace

Result<std::vector<std::byte>> write_code_object(const AssembledFile& file) {
    if (file.kernels.empty()) return fail(ErrorKind::Usage, "code object: no kernel to write");
    RIFTJIT_TRY(rodata, place_sections(file));
    return ObjectWriter(file, std::move(rodata)).write();
}

}  // namespace riftjit::rdna
