#include "jit/rdna/assembly/assembly_kernel.h"

#include <algorithm>

namespace riftjit::rdna {
namespace {

using enum Generation;
using Setter = void (*)(KernelDescriptor& descriptor, uint32_t value);
using Getter = uint32_t (*)(const KernelDescriptor& descriptor);

struct Directive {
    std::string_view name;  // without ".amdhsa_"
    Generation first, last;
    uint32_t limit;  // the largest value
    Setter set;
    Getter get;
};

constexpr uint32_t kAny = 0xFFFFFFFF;

constexpr Directive kDirectives[] = {
    {"group_segment_fixed_size", gfx10, gfx12, kMaxLdsBytes, [](auto& d, uint32_t v) { d.lds_bytes = v; },
     [](const auto& d) { return uint32_t{d.lds_bytes}; }},
    {"private_segment_fixed_size", gfx10, gfx12, kAny, [](auto& d, uint32_t v) { d.scratch_bytes = v; },
     [](const auto& d) { return uint32_t{d.scratch_bytes}; }},
    {"kernarg_size", gfx10, gfx12, kMaxKernargBytes, [](auto& d, uint32_t v) { d.kernarg_bytes = v; },
     [](const auto& d) { return uint32_t{d.kernarg_bytes}; }},
    {"user_sgpr_private_segment_buffer", gfx10, gfx10, 1,
     [](auto& d, uint32_t v) { d.user_sgprs.private_segment_buffer = v != 0; },
     [](const auto& d) { return d.user_sgprs.private_segment_buffer ? 1U : 0U; }},
    {"user_sgpr_dispatch_ptr", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.user_sgprs.dispatch_ptr = v != 0; },
     [](const auto& d) { return d.user_sgprs.dispatch_ptr ? 1U : 0U; }},
    {"user_sgpr_queue_ptr", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.user_sgprs.queue_ptr = v != 0; },
     [](const auto& d) { return d.user_sgprs.queue_ptr ? 1U : 0U; }},
    {"user_sgpr_kernarg_segment_ptr", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.user_sgprs.kernarg_ptr = v != 0; },
     [](const auto& d) { return d.user_sgprs.kernarg_ptr ? 1U : 0U; }},
    {"user_sgpr_dispatch_id", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.user_sgprs.dispatch_id = v != 0; },
     [](const auto& d) { return d.user_sgprs.dispatch_id ? 1U : 0U; }},
    {"user_sgpr_flat_scratch_init", gfx10, gfx10, 1,
     [](auto& d, uint32_t v) { d.user_sgprs.flat_scratch_init = v != 0; },
     [](const auto& d) { return d.user_sgprs.flat_scratch_init ? 1U : 0U; }},
    {"user_sgpr_private_segment_size", gfx10, gfx12, 1,
     [](auto& d, uint32_t v) { d.user_sgprs.private_segment_size = v != 0; },
     [](const auto& d) { return d.user_sgprs.private_segment_size ? 1U : 0U; }},
    {"wavefront_size32", gfx10, gfx12, 1,
     [](auto& d, uint32_t v) { d.wave_size = v != 0 ? WaveSize::wave32 : WaveSize::wave64; },
     [](const auto& d) { return d.wave_size == WaveSize::wave32 ? 1U : 0U; }},
    {"uses_dynamic_stack", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.uses_dynamic_stack = v != 0; },
     [](const auto& d) { return d.uses_dynamic_stack ? 1U : 0U; }},
    {"system_sgpr_private_segment_wavefront_offset", gfx10, gfx10, 1,
     [](auto& d, uint32_t v) { d.scratch_enabled = v != 0; },
     [](const auto& d) { return d.scratch_enabled ? 1U : 0U; }},
    {"enable_private_segment", gfx11, gfx12, 1, [](auto& d, uint32_t v) { d.scratch_enabled = v != 0; },
     [](const auto& d) { return d.scratch_enabled ? 1U : 0U; }},
    {"system_sgpr_workgroup_id_x", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.workgroup_ids.x = v != 0; },
     [](const auto& d) { return d.workgroup_ids.x ? 1U : 0U; }},
    {"system_sgpr_workgroup_id_y", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.workgroup_ids.y = v != 0; },
     [](const auto& d) { return d.workgroup_ids.y ? 1U : 0U; }},
    {"system_sgpr_workgroup_id_z", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.workgroup_ids.z = v != 0; },
     [](const auto& d) { return d.workgroup_ids.z ? 1U : 0U; }},
    {"system_sgpr_workgroup_info", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.workgroup_info = v != 0; },
     [](const auto& d) { return d.workgroup_info ? 1U : 0U; }},
    {"system_vgpr_workitem_id", gfx10, gfx12, 2,
     [](auto& d, uint32_t v) { d.work_item_ids = static_cast<WorkItemIds>(v); },
     [](const auto& d) { return static_cast<uint32_t>(d.work_item_ids); }},
    {"float_round_mode_32", gfx10, gfx12, 3,
     [](auto& d, uint32_t v) { d.float_modes.round_f32 = static_cast<Rounding>(v); },
     [](const auto& d) { return static_cast<uint32_t>(d.float_modes.round_f32); }},
    {"float_round_mode_16_64", gfx10, gfx12, 3,
     [](auto& d, uint32_t v) { d.float_modes.round_f16_f64 = static_cast<Rounding>(v); },
     [](const auto& d) { return static_cast<uint32_t>(d.float_modes.round_f16_f64); }},
    {"float_denorm_mode_32", gfx10, gfx12, 3,
     [](auto& d, uint32_t v) { d.float_modes.denormals_f32 = static_cast<Denormals>(v); },
     [](const auto& d) { return static_cast<uint32_t>(d.float_modes.denormals_f32); }},
    {"float_denorm_mode_16_64", gfx10, gfx12, 3,
     [](auto& d, uint32_t v) { d.float_modes.denormals_f16_f64 = static_cast<Denormals>(v); },
     [](const auto& d) { return static_cast<uint32_t>(d.float_modes.denormals_f16_f64); }},
    {"dx10_clamp", gfx10, gfx11, 1, [](auto& d, uint32_t v) { d.dx10_clamp = v != 0; },
     [](const auto& d) { return d.dx10_clamp ? 1U : 0U; }},
    {"ieee_mode", gfx10, gfx11, 1, [](auto& d, uint32_t v) { d.ieee_mode = v != 0; },
     [](const auto& d) { return d.ieee_mode ? 1U : 0U; }},
    {"fp16_overflow", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.f16_overflow = v != 0; },
     [](const auto& d) { return d.f16_overflow ? 1U : 0U; }},
    {"workgroup_processor_mode", gfx10, gfx12, 1,
     [](auto& d, uint32_t v) { d.workgroup_mode = v != 0 ? WorkgroupMode::wgp : WorkgroupMode::cu; },
     [](const auto& d) { return d.workgroup_mode == WorkgroupMode::wgp ? 1U : 0U; }},
    {"memory_ordered", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.memory_ordered = v != 0; },
     [](const auto& d) { return d.memory_ordered ? 1U : 0U; }},
    {"forward_progress", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.forward_progress = v != 0; },
     [](const auto& d) { return d.forward_progress ? 1U : 0U; }},
    {"shared_vgpr_count", gfx10, gfx11, 15, [](auto& d, uint32_t v) { d.shared_vgpr_blocks = static_cast<uint8_t>(v); },
     [](const auto& d) { return uint32_t{d.shared_vgpr_blocks}; }},
    {"inst_pref_size", gfx11, gfx12, 255, [](auto& d, uint32_t v) { d.instruction_prefetch = static_cast<uint8_t>(v); },
     [](const auto& d) { return uint32_t{d.instruction_prefetch}; }},
    {"round_robin_scheduling", gfx12, gfx12, 1, [](auto& d, uint32_t v) { d.round_robin = v != 0; },
     [](const auto& d) { return d.round_robin ? 1U : 0U; }},
    {"exception_fp_ieee_invalid_op", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.invalid = v != 0; },
     [](const auto& d) { return d.traps.invalid ? 1U : 0U; }},
    {"exception_fp_denorm_src", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.denormal = v != 0; },
     [](const auto& d) { return d.traps.denormal ? 1U : 0U; }},
    {"exception_fp_ieee_div_zero", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.f64_division_by_zero = v != 0; },
     [](const auto& d) { return d.traps.f64_division_by_zero ? 1U : 0U; }},
    {"exception_fp_ieee_overflow", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.overflow = v != 0; },
     [](const auto& d) { return d.traps.overflow ? 1U : 0U; }},
    {"exception_fp_ieee_underflow", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.underflow = v != 0; },
     [](const auto& d) { return d.traps.underflow ? 1U : 0U; }},
    {"exception_fp_ieee_inexact", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.inexact = v != 0; },
     [](const auto& d) { return d.traps.inexact ? 1U : 0U; }},
    {"exception_int_div_zero", gfx10, gfx12, 1, [](auto& d, uint32_t v) { d.traps.integer_division_by_zero = v != 0; },
     [](const auto& d) { return d.traps.integer_division_by_zero ? 1U : 0U; }},
};

constexpr std::string_view kPrefix = ".amdhsa_";

// Written only where they say something: not every assembler that reads the others knows these.
bool is_rare(std::string_view name) {
    return name.starts_with("exception_") || name == "uses_dynamic_stack" || name == "shared_vgpr_count" ||
           name == "inst_pref_size" || name == "round_robin_scheduling";
}

// A count from which finish() finds these blocks again.
void list_sgprs(uint8_t blocks, std::vector<ListedDirective>& listed) {
    const uint32_t sgprs = 8 * (blocks + 1U);
    const bool is_with_vcc = sgprs > kNumberedSgprs;
    listed.push_back({".amdhsa_next_free_sgpr", is_with_vcc ? kNumberedSgprs : sgprs});
    listed.push_back({".amdhsa_reserve_vcc", is_with_vcc ? 1U : 0U});
}

}  // namespace

KernelDirectives::KernelDirectives(Target target) : target_(target) {
    // What the usage guide gives as defaults where they differ from the descriptor's.
    descriptor_.dx10_clamp = descriptor_.ieee_mode = generation(target) != Generation::gfx12;
    descriptor_.float_modes.denormals_f32 = Denormals::flush;
}

Result<void> KernelDirectives::set(std::string_view directive, int64_t value) {
    if (!directive.starts_with(kPrefix)) return fail(ErrorKind::Usage, "{} is no .amdhsa_ directive", directive);
    const std::string_view name = directive.substr(kPrefix.size());
    const auto fits = [&](uint32_t limit) { return value >= 0 && value <= limit; };
    const auto too_large = [&](uint32_t limit) {
        return fail(ErrorKind::Usage, "{} {} is not between 0 and {}", directive, value, limit);
    };
    if (name == "next_free_vgpr")
        return fits(kMaxVgprs) ? (next_free_vgpr_ = value, Result<void>()) : too_large(kMaxVgprs);
    if (name == "next_free_sgpr") return fits(106) ? (next_free_sgpr_ = value, Result<void>()) : too_large(106);
    if (name == "user_sgpr_count") return fits(16) ? (user_sgpr_count_ = value, Result<void>()) : too_large(16);
    if (name == "reserve_vcc") return fits(1) ? (reserves_vcc_ = value != 0, Result<void>()) : too_large(1);
    if (name == "reserve_flat_scratch" || name == "reserve_xnack_mask") return {};  // means nothing on RDNA
    const auto* const found = std::ranges::find(kDirectives, name, &Directive::name);
    if (found == std::end(kDirectives)) return fail(ErrorKind::Usage, "{} is no directive", directive);
    if (generation(target_) < found->first || generation(target_) > found->last)
        return fail(ErrorKind::Usage, "{} has no {}", rdna::name(target_), directive);
    if (!fits(found->limit) && found->limit >= kMaxLdsBytes)  // a size, which is the chip's
        return fail(ErrorKind::Usage, "{} {} is not between 0 and {} ({})", directive, value, found->limit,
                    rdna::name(target_));
    if (!fits(found->limit)) return too_large(found->limit);
    found->set(descriptor_, static_cast<uint32_t>(value));
    return {};
}

std::vector<ListedDirective> list_directives(const KernelDescriptor& descriptor, Target target) {
    std::vector<ListedDirective> listed;
    for (const Directive& directive : kDirectives) {
        if (generation(target) < directive.first || generation(target) > directive.last) continue;
        const uint32_t value = directive.get(descriptor);
        if (value == 0 && is_rare(directive.name)) continue;
        listed.push_back({std::string(kPrefix) + std::string(directive.name), value});
    }
    listed.push_back({".amdhsa_user_sgpr_count", descriptor.user_sgpr_count});
    listed.push_back({".amdhsa_next_free_vgpr", descriptor.vgprs()});
    list_sgprs(descriptor.sgpr_blocks, listed);
    return listed;
}

Result<KernelDescriptor> KernelDirectives::finish() const {
    if (!next_free_vgpr_) return fail(ErrorKind::Usage, ".amdhsa_next_free_vgpr is missing");
    if (!next_free_sgpr_) return fail(ErrorKind::Usage, ".amdhsa_next_free_sgpr is missing");
    KernelDescriptor descriptor = descriptor_;
    descriptor.vgpr_blocks = vgpr_blocks(*next_free_vgpr_, descriptor.wave_size);
    // Compilers count vcc in and write blocks of eight, though RDNA allots no SGPRs by them.
    const uint32_t sgprs = std::max(1U, *next_free_sgpr_ + (reserves_vcc_ ? 2 : 0));
    descriptor.sgpr_blocks = static_cast<uint8_t>((sgprs + 7) / 8 - 1);
    // The wave size may stand behind it.
    if (const uint32_t most = max_scratch_bytes(generation(target_), descriptor.wave_size);
        descriptor.scratch_bytes > most)
        return fail(ErrorKind::Usage, ".amdhsa_private_segment_fixed_size {} is not between 0 and {} ({}, wave{})",
                    descriptor.scratch_bytes, most, rdna::name(target_), lanes(descriptor.wave_size));
    const uint32_t wanted = layout(descriptor.user_sgprs).count;
    if (user_sgpr_count_ && *user_sgpr_count_ < wanted)
        return fail(ErrorKind::Usage, ".amdhsa_user_sgpr_count {} is less than the {} SGPRs asked for",
                    *user_sgpr_count_, wanted);
    descriptor.user_sgpr_count = static_cast<uint8_t>(user_sgpr_count_.value_or(wanted));
    return descriptor;
}

}  // namespace riftjit::rdna
