#include "jit/rdna/emulator/memory/memory_shape.h"

#include <string>

namespace riftjit::rdna::emulator::memory {
namespace {

struct NamedAccess {
    std::string_view name;  // after "load_" or "store_"
    uint8_t bytes;
    bool sign_extend = false;
    RegisterPart part = RegisterPart::whole;
};

constexpr NamedAccess kAccesses[] = {
    {"u8", 1},
    {"i8", 1, true},
    {"b8", 1},
    {"u16", 2},
    {"i16", 2, true},
    {"b16", 2},
    {"b32", 4},
    {"b64", 8},
    {"b96", 12},
    {"b128", 16},
    {"b256", 32},
    {"b512", 64},
    // FLAT, GLOBAL, SCRATCH, MUBUF
    {"d16_u8", 1, false, RegisterPart::low_half},
    {"d16_i8", 1, true, RegisterPart::low_half},
    {"d16_b16", 2, false, RegisterPart::low_half},
    {"d16_hi_u8", 1, false, RegisterPart::high_half},
    {"d16_hi_i8", 1, true, RegisterPart::high_half},
    {"d16_hi_b16", 2, false, RegisterPart::high_half},
    {"d16_hi_b8", 1, false, RegisterPart::high_half},
    // DS
    {"u8_d16", 1, false, RegisterPart::low_half},
    {"u8_d16_hi", 1, false, RegisterPart::high_half},
    {"i8_d16", 1, true, RegisterPart::low_half},
    {"i8_d16_hi", 1, true, RegisterPart::high_half},
    {"u16_d16", 2, false, RegisterPart::low_half},
    {"u16_d16_hi", 2, false, RegisterPart::high_half},
    {"b8_d16_hi", 1, false, RegisterPart::high_half},
    {"b16_d16_hi", 2, false, RegisterPart::high_half},
};

struct NamedAtomic {
    std::string_view name;  // after "atomic_" or "ds_", without "_rtn"
    AtomicOp op;
    uint8_t bytes;
    bool second_operand = false, compare_first = false;
};

constexpr NamedAtomic kAtomics[] = {
    {"add_u32", AtomicOp::add, 4},
    {"add_u64", AtomicOp::add, 8},
    {"sub_u32", AtomicOp::sub, 4},
    {"sub_u64", AtomicOp::sub, 8},
    {"rsub_u32", AtomicOp::rsub, 4},
    {"rsub_u64", AtomicOp::rsub, 8},
    {"sub_clamp_u32", AtomicOp::sub_clamp, 4},
    {"cond_sub_u32", AtomicOp::cond_sub, 4},
    {"inc_u32", AtomicOp::inc, 4},
    {"inc_u64", AtomicOp::inc, 8},
    {"dec_u32", AtomicOp::dec, 4},
    {"dec_u64", AtomicOp::dec, 8},
    {"min_i32", AtomicOp::min_signed, 4},
    {"min_i64", AtomicOp::min_signed, 8},
    {"max_i32", AtomicOp::max_signed, 4},
    {"max_i64", AtomicOp::max_signed, 8},
    {"min_u32", AtomicOp::min_unsigned, 4},
    {"min_u64", AtomicOp::min_unsigned, 8},
    {"max_u32", AtomicOp::max_unsigned, 4},
    {"max_u64", AtomicOp::max_unsigned, 8},
    {"and_b32", AtomicOp::bit_and, 4},
    {"and_b64", AtomicOp::bit_and, 8},
    {"or_b32", AtomicOp::bit_or, 4},
    {"or_b64", AtomicOp::bit_or, 8},
    {"xor_b32", AtomicOp::bit_xor, 4},
    {"xor_b64", AtomicOp::bit_xor, 8},
    {"mskor_b32", AtomicOp::mask_or, 4, true},
    {"mskor_b64", AtomicOp::mask_or, 8, true},
    {"swap_b32", AtomicOp::swap, 4},
    {"swap_b64", AtomicOp::swap, 8},
    {"storexchg_b32", AtomicOp::swap, 4},
    {"storexchg_b64", AtomicOp::swap, 8},
    {"cmpswap_b32", AtomicOp::compare_swap, 4, true},
    {"cmpswap_b64", AtomicOp::compare_swap, 8, true},
    {"cmpswap_f32", AtomicOp::compare_swap_float, 4, true},
    {"fcmpswap_x2", AtomicOp::compare_swap_float, 8, true},
    {"cmpst_b32", AtomicOp::compare_swap, 4, true, true},
    {"cmpst_b64", AtomicOp::compare_swap, 8, true, true},
    {"cmpst_f32", AtomicOp::compare_swap_float, 4, true, true},
    {"cmpst_f64", AtomicOp::compare_swap_float, 8, true, true},
    {"cmpstore_b32", AtomicOp::compare_swap, 4, true},
    {"cmpstore_b64", AtomicOp::compare_swap, 8, true},
    {"cmpstore_f32", AtomicOp::compare_swap_float, 4, true},
    {"cmpstore_f64", AtomicOp::compare_swap_float, 8, true},
    {"wrap_b32", AtomicOp::wrap, 4, true},
    {"condxchg32_b64", AtomicOp::conditional_swap_halves, 8},
    {"add_f32", AtomicOp::add_float, 4},
    {"min_num_f32", AtomicOp::min_float, 4},
    {"max_num_f32", AtomicOp::max_float, 4},
    {"min_num_f64", AtomicOp::min_float, 8},
    {"max_num_f64", AtomicOp::max_float, 8},
    {"fmin_x2", AtomicOp::min_float, 8},
    {"fmax_x2", AtomicOp::max_float, 8},
    {"pk_add_f16", AtomicOp::add_f16x2, 4},
    {"pk_add_bf16", AtomicOp::add_bf16x2, 4},
};

struct NamedAction {
    std::string_view name;  // whole
    MemoryAction action;
};

constexpr NamedAction kActions[] = {
    {"ds_nop", MemoryAction::nothing},
    {"ds_append", MemoryAction::append},
    {"ds_consume", MemoryAction::consume},
    {"ds_swizzle_b32", MemoryAction::swizzle},
    {"ds_permute_b32", MemoryAction::permute},
    {"ds_bpermute_b32", MemoryAction::bpermute},
    {"s_memtime", MemoryAction::clock},
    {"s_memrealtime", MemoryAction::clock},
    {"buffer_gl0_inv", MemoryAction::invalidate_l0},
    {"buffer_gl1_inv", MemoryAction::invalidate_l1},
    {"s_gl1_inv", MemoryAction::invalidate_l1},
    {"s_dcache_inv", MemoryAction::invalidate_scalar},
    {"global_inv", MemoryAction::invalidate_scope},
    {"global_wb", MemoryAction::write_back},
    {"global_wbinv", MemoryAction::write_back_invalidate},
    {"s_prefetch_inst", MemoryAction::prefetch},
    {"s_prefetch_inst_pc_rel", MemoryAction::prefetch},
    {"s_prefetch_data", MemoryAction::prefetch},
    {"s_prefetch_data_pc_rel", MemoryAction::prefetch},
    {"s_buffer_prefetch_data", MemoryAction::prefetch},
};

struct LeftOut {
    std::string_view part;  // of the name
    std::string_view why;
};

constexpr LeftOut kLeftOut[] = {
    {"_gws_", "global wave sync needs the kernel driver"},
    {"ds_ordered_count", "ordered count belongs to graphics"},
    {"_gs_reg_rtn", "the global shader registers belong to graphics"},
    {"ds_bvh_stack", "ray tracing"},
    {"atc_probe", "address translation is not modelled"},
    {"_load_tr_", "which lane holds which element has no published description that could be checked"},
    {"_ordered_add_", "its ordering has no published description"},
    {"_load_block", "its addressing has no published description"},
    {"_store_block", "its addressing has no published description"},
    {"_format_", "typed buffer accesses; compute code uses untyped ones"},
};

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

std::optional<MemoryShape> access_shape(std::string_view name, MemoryAction action) {
    MemoryShape shape{.action = action};
    if (take(name, "2addr_stride64_")) {
        shape.elements = 2;
        shape.element_stride = 64;
    } else if (take(name, "2addr_")) {
        shape.elements = 2;
    }
    shape.thread_address = take(name, "addtid_");
    for (const NamedAccess& access : kAccesses) {
        if (access.name != name) continue;
        shape.bytes = access.bytes;
        shape.sign_extend = access.sign_extend;
        shape.part = access.part;
        return shape;
    }
    return std::nullopt;
}

std::optional<MemoryShape> atomic_shape(std::string_view name) {
    MemoryShape shape{.action = MemoryAction::atomic};
    std::string plain(name);  // storexchg_2addr_stride64_rtn_b32 -> storexchg_b32
    const auto cut = [&](std::string_view part) {
        const size_t at = plain.find(part);
        if (at == std::string::npos) return false;
        plain.erase(at, part.size());
        return true;
    };
    shape.returns = cut("_rtn");
    if (cut("_stride64")) shape.element_stride = 64;
    if (cut("_2addr")) shape.elements = 2;
    for (const NamedAtomic& atomic : kAtomics) {
        if (atomic.name != plain) continue;
        shape.atomic = atomic.op;
        shape.bytes = atomic.bytes;
        shape.second_operand = atomic.second_operand;
        shape.compare_first = atomic.compare_first;
        return shape;
    }
    return std::nullopt;
}

}  // namespace

std::string_view why_not_executed(const InstructionInfo& row) {
    if (!is_memory_format(row.format)) return "";
    for (const LeftOut& left_out : kLeftOut)
        if (row.name.find(left_out.part) != std::string_view::npos) return left_out.why;
    return "";
}

std::optional<MemoryShape> memory_shape(const InstructionInfo& row) {
    if (!is_memory_format(row.format) || !why_not_executed(row).empty()) return std::nullopt;
    for (const NamedAction& named : kActions)
        if (named.name == row.name) return MemoryShape{.action = named.action, .bytes = 4};
    std::string_view name = row.name;
    if (take(name, "s_buffer_load_")) return access_shape(name, MemoryAction::scalar_buffer_load);
    if (take(name, "s_load_")) return access_shape(name, MemoryAction::scalar_load);
    name.remove_prefix(name.find('_') + 1);  // ds_, flat_, global_, scratch_, buffer_
    if (take(name, "load_")) return access_shape(name, MemoryAction::load);
    if (take(name, "store_")) return access_shape(name, MemoryAction::store);
    take(name, "atomic_");
    return atomic_shape(name);
}

}  // namespace riftjit::rdna::emulator::memory
