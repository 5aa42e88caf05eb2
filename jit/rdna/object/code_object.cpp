#include "jit/rdna/object/code_object.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "host/little_endian.h"
#include "jit/rdna/object/elf_amdgpu.h"
#include "jit/rdna/object/elf_writer.h"
#include "jit/rdna/object/occupancy.h"

namespace riftjit::rdna {
namespace {

size_t instruction_line_bytes(Generation generation) { return generation == Generation::gfx10 ? 64 : 128; }

std::string descriptor_symbol(const KernelCode& kernel) { return kernel.name + std::string(elf::kDescriptorSuffix); }

Result<void> check_names(std::span<const KernelCode> kernels) {
    std::set<std::string_view> names;
    for (const KernelCode& kernel : kernels) {
        if (kernel.name.empty() || kernel.name.find('\0') != std::string::npos)
            return fail(ErrorKind::Encoding, "code object: a kernel's name is empty or holds a zero byte");
        if (kernel.name.ends_with(elf::kDescriptorSuffix))
            return fail(ErrorKind::Encoding, "code object: kernel \"{}\" is named like a descriptor", kernel.name);
        if (!names.insert(kernel.name).second)
            return fail(ErrorKind::Encoding, "code object: two kernels are named \"{}\"", kernel.name);
    }
    return {};
}

Result<void> check_arguments(const KernelCode& kernel) {
    uint64_t end = 0;  // of the arguments so far
    for (size_t i = 0; i < kernel.args.size(); ++i) {
        const KernelArgument& argument = kernel.args[i];
        if (argument.size == 0 || argument.offset < end ||
            uint64_t(argument.offset) + argument.size > kernel.kernarg_size)
            return fail(ErrorKind::Encoding,
                        "code object: kernel \"{}\": argument {} of {} bytes at {} does not lie between {} and {}",
                        kernel.name, i, argument.size, argument.offset, end, kernel.kernarg_size);
        end = uint64_t(argument.offset) + argument.size;
    }
    return {};
}

Result<void> check_kernel(const KernelCode& kernel, Target target) {
    const KernelResources& used = kernel.resources;
    const auto at_most = [&](std::string_view what, uint32_t value, uint32_t most) -> Result<void> {
        if (value <= most) return {};
        return fail(ErrorKind::Encoding, "code object: kernel \"{}\": {} {} is more than {}", kernel.name, what, value,
                    most);
    };
    if (kernel.code.empty()) return fail(ErrorKind::Encoding, "code object: kernel \"{}\" has no code", kernel.name);
    if (kernel.max_flat_workgroup_size == 0)
        return fail(ErrorKind::Encoding, "code object: kernel \"{}\": max_flat_workgroup_size is 0", kernel.name);
    RIFTJIT_TRY_VOID(at_most("vgprs", used.vgprs, kMaxVgprs));
    RIFTJIT_TRY_VOID(at_most("lds_bytes", used.lds_bytes, kMaxLdsBytes));
    RIFTJIT_TRY_VOID(
        at_most("scratch_bytes", used.scratch_bytes, max_scratch_bytes(generation(target), kernel.wave_size)));
    RIFTJIT_TRY_VOID(at_most("kernarg_size", kernel.kernarg_size, kMaxKernargBytes));
    RIFTJIT_TRY_VOID(at_most("max_flat_workgroup_size", kernel.max_flat_workgroup_size, kMaxThreadsPerGroup));
    return check_arguments(kernel);
}

KernelMetadata metadata_of(const KernelCode& kernel) {
    return {.name = kernel.name,
            .symbol = descriptor_symbol(kernel),
            .args = kernel.args,
            .kernarg_bytes = kernel.kernarg_size,
            .kernarg_align = 8,
            .lds_bytes = kernel.resources.lds_bytes,
            .scratch_bytes = kernel.resources.scratch_bytes,
            .wave_size = kernel.wave_size,
            .sgpr_count = kernel.resources.sgprs,
            .vgpr_count = kernel.resources.vgprs,
            .max_flat_workgroup_size = kernel.max_flat_workgroup_size,
            .sgpr_spill_count = kernel.resources.sgpr_spills,
            .vgpr_spill_count = kernel.resources.vgpr_spills,
            .uses_dynamic_stack = false,
            .workgroup_processor_mode = kernel.workgroup_mode == WorkgroupMode::wgp,
            .uniform_work_group_size = false};
}

std::vector<std::byte> metadata_note(Target target, CodeObjectVersion version, std::span<const KernelCode> kernels) {
    Metadata metadata{.version = version, .target = target_id(target), .kernels = {}};
    for (const KernelCode& kernel : kernels) metadata.kernels.push_back(metadata_of(kernel));
    const std::vector<std::byte> map = write_metadata(metadata);
    const auto padded = [](size_t size) { return (size + elf::kNoteAlignment - 1) & ~(elf::kNoteAlignment - 1); };
    constexpr size_t kHeaderBytes = 12;
    const size_t name_bytes = elf::kNoteName.size() + 1, map_at = kHeaderBytes + padded(name_bytes);
    std::vector<std::byte> note(map_at + padded(map.size()));
    put_little_endian(note, 0, static_cast<uint32_t>(name_bytes));
    put_little_endian(note, 4, static_cast<uint32_t>(map.size()));
    put_little_endian(note, 8, elf::kNoteMetadata);
    std::ranges::transform(elf::kNoteName, note.begin() + kHeaderBytes, [](char c) { return std::byte(c); });
    std::ranges::copy(map, note.begin() + static_cast<ptrdiff_t>(map_at));
    return note;
}

void append_words(std::vector<std::byte>& bytes, std::span<const uint32_t> words) {
    const size_t start = bytes.size();
    bytes.resize(start + words.size() * sizeof(uint32_t));
    for (size_t i = 0; i < words.size(); ++i) put_little_endian(bytes, start + i * sizeof(uint32_t), words[i]);
}
void fill_with_code_end(std::vector<std::byte>& text, size_t alignment) {
    while (text.size() % alignment != 0) append_words(text, std::span(&kCodeEnd, 1));
}

// Kernels one after the other. What lies between and behind them is s_code_end, so that code running on is stopped.
elf::ObjectContents contents_of(Target target, CodeObjectVersion version, std::span<const KernelCode> kernels) {
    elf::ObjectContents contents{
        .abi_version = static_cast<uint8_t>(static_cast<uint8_t>(version) - 4 + elf::kAbiVersionV4),
        .flags = info(target).mach,
        .note = metadata_note(target, version, kernels),
        .text = {},
        .symbols = {},
        .rodata_bytes = kernels.size() * kKernelDescriptorBytes};
    for (size_t i = 0; i < kernels.size(); ++i) {
        fill_with_code_end(contents.text, elf::kCodeAlignment);
        const uint64_t code_bytes = kernels[i].code.size() * sizeof(uint32_t);
        contents.symbols.push_back({kernels[i].name, elf::SymbolKind::kernel_code, contents.text.size(), code_bytes});
        contents.symbols.push_back({descriptor_symbol(kernels[i]), elf::SymbolKind::kernel_descriptor,
                                    i * kKernelDescriptorBytes, kKernelDescriptorBytes});
        append_words(contents.text, kernels[i].code);
    }
    fill_with_code_end(contents.text, instruction_line_bytes(generation(target)));
    append_words(contents.text, std::vector<uint32_t>(code_end_words(generation(target)), kCodeEnd));
    return contents;
}

}  // namespace

size_t code_end_words(Generation generation) { return 3 * instruction_line_bytes(generation) / sizeof(uint32_t); }

Result<KernelDescriptor> describe(const KernelCode& kernel, Target target) {
    RIFTJIT_TRY_VOID(check_kernel(kernel, target));
    const bool until_gfx11 = generation(target) != Generation::gfx12;
    KernelDescriptor descriptor;
    descriptor.lds_bytes = kernel.resources.lds_bytes;
    descriptor.scratch_bytes = kernel.resources.scratch_bytes;
    descriptor.kernarg_bytes = kernel.kernarg_size;
    descriptor.vgpr_blocks = vgpr_blocks(kernel.resources.vgprs, kernel.wave_size);
    descriptor.float_modes = kernel.float_modes;
    descriptor.dx10_clamp = until_gfx11;  // what gfx12 does without being told
    descriptor.ieee_mode = until_gfx11;
    descriptor.workgroup_mode = kernel.workgroup_mode;
    descriptor.forward_progress = kernel.forward_progress;
    descriptor.scratch_enabled = kernel.resources.scratch_bytes != 0;
    descriptor.user_sgpr_count =
        static_cast<uint8_t>(user_sgpr_count(target, kernel.wave_size, kernel.user_sgprs, kernel.workgroup_ids));
    descriptor.workgroup_ids = kernel.workgroup_ids;
    descriptor.work_item_ids = kernel.work_item_ids;
    descriptor.user_sgprs = kernel.user_sgprs;
    descriptor.wave_size = kernel.wave_size;
    return descriptor;
}

Result<std::vector<std::byte>> write_code_object(Target target, CodeObjectVersion version,
                                                 std::span<const KernelCode> kernels) {
    if (kernels.empty()) return fail(ErrorKind::Usage, "code object: no kernel to write");
    RIFTJIT_TRY_VOID(check_names(kernels));
    std::vector<KernelDescriptor> descriptors;
    for (const KernelCode& kernel : kernels) {
        RIFTJIT_TRY(descriptor, describe(kernel, target));
        descriptors.push_back(descriptor);
    }
    const elf::ObjectContents contents = contents_of(target, version, kernels);
    elf::WrittenObject object = elf::write_object(contents);
    for (size_t i = 0; i < kernels.size(); ++i) {
        const uint64_t descriptor_at = object.rodata_offset + i * kKernelDescriptorBytes;
        const uint64_t entry = object.text_address + contents.symbols[2 * i].offset;
        descriptors[i].entry_offset = static_cast<int64_t>(entry - descriptor_at);
        auto bytes = encode(descriptors[i], generation(target));
        if (!bytes)
            return fail(bytes.error().kind, "code object: kernel \"{}\": {}", kernels[i].name, bytes.error().message);
        std::ranges::copy(*bytes, object.bytes.begin() + static_cast<ptrdiff_t>(descriptor_at));
    }
    return std::move(object.bytes);
}

}  // namespace riftjit::rdna
