#include "jit/rdna/object/kernel_descriptor.h"

#include <algorithm>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "host/little_endian.h"

namespace riftjit::rdna {
namespace {

// Byte offsets in the descriptor.
constexpr size_t kLdsOffset = 0, kScratchOffset = 4, kKernargOffset = 8, kEntryOffset = 16;
constexpr size_t kFixedReserved[][2] = {{12, 16}, {24, 44}, {60, 64}};

struct Word {
    std::string_view name;
    size_t offset;
};
constexpr Word kRsrc3 = {"compute_pgm_rsrc3", 44};
constexpr Word kRsrc1 = {"compute_pgm_rsrc1", 48};
constexpr Word kRsrc2 = {"compute_pgm_rsrc2", 52};
constexpr Word kProperties = {"kernel_code_properties", 56};  // 16 bits, and the 16 of kernarg preload, zero on RDNA
constexpr Word kWords[] = {kRsrc3, kRsrc1, kRsrc2, kProperties};

// Where a field lies; width 0: nowhere in this generation, so it must be zero.
struct Bits {
    Word word;
    unsigned low;
    unsigned width = 1;
};

constexpr uint32_t mask(unsigned width) { return width == 32 ? ~0U : (1U << width) - 1; }

// The one list of fields, read in both directions: field(name, bits, value) is called for each.
template <class Descriptor, class Field>
void visit_rsrc1(Descriptor& d, Generation generation, Field&& field) {
    const unsigned until_gfx11 = generation == Generation::gfx12 ? 0 : 1, from_gfx12 = 1 - until_gfx11;
    field("vgpr_blocks", Bits{kRsrc1, 0, 6}, d.vgpr_blocks);
    field("sgpr_blocks", Bits{kRsrc1, 6, 4}, d.sgpr_blocks);
    field("round_f32", Bits{kRsrc1, 12, 2}, d.float_modes.round_f32);
    field("round_f16_f64", Bits{kRsrc1, 14, 2}, d.float_modes.round_f16_f64);
    field("denormals_f32", Bits{kRsrc1, 16, 2}, d.float_modes.denormals_f32);
    field("denormals_f16_f64", Bits{kRsrc1, 18, 2}, d.float_modes.denormals_f16_f64);
    field("dx10_clamp", Bits{kRsrc1, 21, until_gfx11}, d.dx10_clamp);
    field("round_robin", Bits{kRsrc1, 21, from_gfx12}, d.round_robin);
    field("ieee_mode", Bits{kRsrc1, 23, until_gfx11}, d.ieee_mode);
    field("disable_perf", Bits{kRsrc1, 23, from_gfx12}, d.disable_perf);
    field("f16_overflow", Bits{kRsrc1, 26}, d.f16_overflow);
    field("workgroup_mode", Bits{kRsrc1, 29}, d.workgroup_mode);
    field("memory_ordered", Bits{kRsrc1, 30}, d.memory_ordered);
    field("forward_progress", Bits{kRsrc1, 31}, d.forward_progress);
}

template <class Descriptor, class Field>
void visit_rsrc2(Descriptor& d, Field&& field) {
    field("scratch_enabled", Bits{kRsrc2, 0}, d.scratch_enabled);
    field("user_sgpr_count", Bits{kRsrc2, 1, 5}, d.user_sgpr_count);
    field("workgroup_id_x", Bits{kRsrc2, 7}, d.workgroup_ids.x);
    field("workgroup_id_y", Bits{kRsrc2, 8}, d.workgroup_ids.y);
    field("workgroup_id_z", Bits{kRsrc2, 9}, d.workgroup_ids.z);
    field("workgroup_info", Bits{kRsrc2, 10}, d.workgroup_info);
    field("work_item_ids", Bits{kRsrc2, 11, 2}, d.work_item_ids);
    field("traps.invalid", Bits{kRsrc2, 24}, d.traps.invalid);
    field("traps.denormal", Bits{kRsrc2, 25}, d.traps.denormal);
    field("traps.f64_division_by_zero", Bits{kRsrc2, 26}, d.traps.f64_division_by_zero);
    field("traps.overflow", Bits{kRsrc2, 27}, d.traps.overflow);
    field("traps.underflow", Bits{kRsrc2, 28}, d.traps.underflow);
    field("traps.inexact", Bits{kRsrc2, 29}, d.traps.inexact);
    field("traps.integer_division_by_zero", Bits{kRsrc2, 30}, d.traps.integer_division_by_zero);
}

template <class Descriptor, class Field>
void visit_rsrc3(Descriptor& d, Generation generation, Field&& field) {
    const bool gfx10 = generation == Generation::gfx10, gfx12 = generation == Generation::gfx12;
    const unsigned from_gfx11 = gfx10 ? 0 : 1;
    field("shared_vgpr_blocks", Bits{kRsrc3, 0, gfx12 ? 0U : 4U}, d.shared_vgpr_blocks);
    field("instruction_prefetch", Bits{kRsrc3, 4, gfx10 ? 0U : (gfx12 ? 8U : 6U)}, d.instruction_prefetch);
    field("traps_on_start", Bits{kRsrc3, gfx12 ? 12U : 10U, gfx12 ? 0U : from_gfx11}, d.traps_on_start);
    field("traps_on_end", Bits{kRsrc3, 11, gfx12 ? 0U : from_gfx11}, d.traps_on_end);
    field("group_launch_guarantee", Bits{kRsrc3, 13, gfx12 ? 1U : 0U}, d.group_launch_guarantee);
    field("has_image_instructions", Bits{kRsrc3, 31, from_gfx11}, d.has_image_instructions);
}

template <class Descriptor, class Field>
void visit_properties(Descriptor& d, Generation generation, Field&& field) {
    const unsigned only_gfx10 = generation == Generation::gfx10 ? 1 : 0;
    field("private_segment_buffer", Bits{kProperties, 0, only_gfx10}, d.user_sgprs.private_segment_buffer);
    field("dispatch_ptr", Bits{kProperties, 1}, d.user_sgprs.dispatch_ptr);
    field("queue_ptr", Bits{kProperties, 2}, d.user_sgprs.queue_ptr);
    field("kernarg_ptr", Bits{kProperties, 3}, d.user_sgprs.kernarg_ptr);
    field("dispatch_id", Bits{kProperties, 4}, d.user_sgprs.dispatch_id);
    field("flat_scratch_init", Bits{kProperties, 5, only_gfx10}, d.user_sgprs.flat_scratch_init);
    field("private_segment_size", Bits{kProperties, 6}, d.user_sgprs.private_segment_size);
    field("wave_size", Bits{kProperties, 10}, d.wave_size);
    field("uses_dynamic_stack", Bits{kProperties, 11}, d.uses_dynamic_stack);
}

template <class Descriptor, class Field>
void visit_fields(Descriptor& descriptor, Generation generation, Field&& field) {
    visit_rsrc1(descriptor, generation, field);
    visit_rsrc2(descriptor, field);
    visit_rsrc3(descriptor, generation, field);
    visit_properties(descriptor, generation, field);
}

// What a field's bits hold: the value itself, except that 1 stands for wave32.
template <class Value>
uint32_t to_bits(Value value) {
    if constexpr (std::same_as<Value, WaveSize>)
        return value == WaveSize::wave32;
    else
        return static_cast<uint32_t>(value);
}
template <class Value>
void from_bits(uint32_t bits, Value& value) {
    if constexpr (std::same_as<Value, WaveSize>)
        value = bits ? WaveSize::wave32 : WaveSize::wave64;
    else
        value = static_cast<Value>(bits);
}

// Combinations that fit their bits and yet mean nothing.
Result<void> check_values(const KernelDescriptor& descriptor) {
    if (descriptor.work_item_ids > WorkItemIds::xyz)
        return fail(ErrorKind::Format, "kernel descriptor: work_item_ids 3 is reserved");
    const uint8_t wanted = layout(descriptor.user_sgprs).count;
    if (descriptor.user_sgpr_count < wanted || descriptor.user_sgpr_count > kMaxUserSgprs)
        return fail(ErrorKind::Format, "kernel descriptor: user_sgpr_count {} is not between the {} asked for and {}",
                    descriptor.user_sgpr_count, wanted, kMaxUserSgprs);
    if (descriptor.vgprs() > kMaxVgprs)
        return fail(ErrorKind::Format, "kernel descriptor: {} VGPRs are more than {}", descriptor.vgprs(), kMaxVgprs);
    return {};
}

Result<void> check_reserved(std::span<const std::byte, kKernelDescriptorBytes> bytes, Generation generation) {
    for (const auto& [first, end] : kFixedReserved)
        for (size_t at = first; at < end; ++at)
            if (bytes[at] != std::byte{0})
                return fail(ErrorKind::Format, "kernel descriptor: reserved byte {} is {:#x}", at,
                            std::to_integer<unsigned>(bytes[at]));
    for (const Word& word : kWords) {
        uint32_t reserved = ~0U;
        KernelDescriptor any;
        visit_fields(any, generation, [&](std::string_view, const Bits& bits, auto&) {
            if (bits.word.offset == word.offset) reserved &= ~(mask(bits.width) << bits.low);
        });
        const auto value = get_little_endian<uint32_t>(bytes, word.offset);
        if (value & reserved)
            return fail(ErrorKind::Format, "kernel descriptor: {} {:#x} sets bits {:#x}, reserved on {}", word.name,
                        value, value & reserved, name(generation));
    }
    return {};
}

}  // namespace

UserSgprLayout layout(const UserSgprs& wanted) {
    UserSgprLayout result;
    const auto place = [&](bool is_wanted, std::optional<uint8_t>& first, uint8_t registers) {
        if (!is_wanted) return;
        first = result.count;
        result.count = static_cast<uint8_t>(result.count + registers);
    };
    place(wanted.private_segment_buffer, result.private_segment_buffer, 4);
    place(wanted.dispatch_ptr, result.dispatch_ptr, 2);
    place(wanted.queue_ptr, result.queue_ptr, 2);
    place(wanted.kernarg_ptr, result.kernarg_ptr, 2);
    place(wanted.dispatch_id, result.dispatch_id, 2);
    place(wanted.flat_scratch_init, result.flat_scratch_init, 2);
    place(wanted.private_segment_size, result.private_segment_size, 1);
    return result;
}

uint32_t user_sgpr_count(Target target, WaveSize wave_size, const UserSgprs& wanted, const WorkgroupIds& ids) {
    const uint32_t count = layout(wanted).count;
    if (!info(target).workgroup_id_in_s15 || wave_size != WaveSize::wave32) return count;
    const uint32_t system = uint32_t(ids.x) + ids.y + ids.z;
    return std::max(count, kMaxUserSgprs - system);
}

uint8_t vgpr_blocks(uint32_t vgprs, WaveSize wave_size) {
    check(vgprs <= kMaxVgprs, "a wave has at most 256 VGPRs");
    const uint32_t block = wave_size == WaveSize::wave32 ? 8 : 4;
    return static_cast<uint8_t>((std::max(vgprs, 1U) + block - 1) / block - 1);
}

Result<KernelDescriptorBytes> encode(const KernelDescriptor& descriptor, Generation generation) {
    RIFTJIT_TRY_VOID(check_values(descriptor));
    KernelDescriptorBytes bytes{};
    put_little_endian(bytes, kLdsOffset, descriptor.lds_bytes);
    put_little_endian(bytes, kScratchOffset, descriptor.scratch_bytes);
    put_little_endian(bytes, kKernargOffset, descriptor.kernarg_bytes);
    put_little_endian(bytes, kEntryOffset, static_cast<uint64_t>(descriptor.entry_offset));
    Result<void> status;
    visit_fields(descriptor, generation, [&](std::string_view field, const Bits& bits, auto& value) {
        // A field that the generation lacks holds the bit pattern of zero, whatever its type.
        const uint32_t raw = to_bits(value);
        if (raw > mask(bits.width))
            status = fail(ErrorKind::Encoding, "kernel descriptor: {} {} does not fit {} bits on {}", field, raw,
                          bits.width, name(generation));
        const auto word = get_little_endian<uint32_t>(bytes, bits.word.offset);
        put_little_endian(bytes, bits.word.offset, word | (raw & mask(bits.width)) << bits.low);
    });
    if (!status) return std::unexpected(status.error());
    return bytes;
}

Result<KernelDescriptor> decode_kernel_descriptor(std::span<const std::byte, kKernelDescriptorBytes> bytes,
                                                  Generation generation) {
    RIFTJIT_TRY_VOID(check_reserved(bytes, generation));
    KernelDescriptor descriptor;
    descriptor.lds_bytes = get_little_endian<uint32_t>(bytes, kLdsOffset);
    descriptor.scratch_bytes = get_little_endian<uint32_t>(bytes, kScratchOffset);
    descriptor.kernarg_bytes = get_little_endian<uint32_t>(bytes, kKernargOffset);
    descriptor.entry_offset = static_cast<int64_t>(get_little_endian<uint64_t>(bytes, kEntryOffset));
    visit_fields(descriptor, generation, [&](std::string_view, const Bits& bits, auto& value) {
        from_bits(get_little_endian<uint32_t>(bytes, bits.word.offset) >> bits.low & mask(bits.width), value);
    });
    RIFTJIT_TRY_VOID(check_values(descriptor));
    return descriptor;
}

}  // namespace riftjit::rdna
