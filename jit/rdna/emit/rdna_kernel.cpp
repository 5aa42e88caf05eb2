#include "jit/rdna/emit/rdna_kernel.h"

#include <algorithm>
#include <bit>

namespace riftjit::rdna {

KernelArgument KernelAssembler::buffer(std::string name, size_t offset) {
    return {static_cast<uint32_t>(offset), 8, ValueKind::global_buffer, AddressSpace::global, std::move(name)};
}

KernelArgument KernelAssembler::scalar(std::string name, size_t offset, size_t size) {
    return {static_cast<uint32_t>(offset), static_cast<uint32_t>(size), ValueKind::by_value, std::nullopt,
            std::move(name)};
}

std::vector<LoadedArguments> KernelAssembler::load_arguments(std::span<const ArgumentField> fields) {
    uint32_t end = 0;
    for (const ArgumentField& field : fields) {
        check(field.offset >= end, "fields are bound in the order of the struct");
        end = field.offset + field.size;
        header_.args.push_back(field.is_buffer ? buffer(field.name, field.offset)
                                               : scalar(field.name, field.offset, field.size));
    }
    // The widest load that does not reach beyond the last field, again and again: no pair is split, since all widths
    // before the last one are even.
    constexpr std::pair<unsigned, Opcode> kLoads[] = {{16, Opcode::s_load_b512},
                                                      {8, Opcode::s_load_b256},
                                                      {4, Opcode::s_load_b128},
                                                      {2, Opcode::s_load_b64},
                                                      {1, Opcode::s_load_b32}};
    std::vector<LoadedArguments> loads;
    for (uint32_t offset = 0; offset < end;) {
        const auto& [dwords, opcode] =
            *std::ranges::find_if(kLoads, [&](const auto& load) { return offset + 4 * load.first <= end; });
        loads.push_back({offset, sgpr(dwords)});
        emit(opcode, {loads.back().registers, launch_args(), offset});
        offset += 4 * dwords;
    }
    return loads;
}

void KernelAssembler::loop(Sgpr counter, uint32_t first, const Argument& end, uint32_t step,
                           const std::function<void()>& body) {
    const Label top = label();
    s_mov_b32(counter, first);
    bind(top);
    body();
    s_add_co_u32(counter, counter, step);
    s_cmp_lt_u32(counter, end);
    s_cbranch_scc1(top);
}

void KernelAssembler::if_lanes(Sgpr condition, const std::function<void()>& body) {
    const Sgpr saved = lane_mask();
    const Label skip = label();
    if (wave_size() == WaveSize::wave32)
        s_and_saveexec_b32(saved, condition);
    else
        s_and_saveexec_b64(saved, condition);
    s_cbranch_execz(skip);
    body();
    bind(skip);
    s_mov_mask(exec(), saved);
}

void KernelAssembler::for_lanes(Vgpr lane, uint32_t count, const std::function<void()>& body) {
    if (count >= lanes()) return body();
    const Sgpr is_inside = lane_mask();
    v_cmp_gt_u32(is_inside, count, lane);
    if_lanes(is_inside, body);
}

void KernelAssembler::keep_lanes(Sgpr condition) {
    if (!end_) end_ = label();
    s_and_mask(exec(), exec(), condition);
    s_cbranch_execz(*end_);
}

void KernelAssembler::s_mov_mask(const Argument& destination, const Argument& source) {
    emit(wave_size() == WaveSize::wave32 ? Opcode::s_mov_b32 : Opcode::s_mov_b64, {destination, source});
}

void KernelAssembler::s_and_mask(const Argument& destination, const Argument& a, const Argument& b) {
    emit(wave_size() == WaveSize::wave32 ? Opcode::s_and_b32 : Opcode::s_and_b64, {destination, a, b});
}

void KernelAssembler::end() {
    if (end_) bind(*end_);
    s_endpgm(0);
}

void KernelAssembler::barrier(Exchange exchange) {
    if (exchange == Exchange::lds_and_global) release_memory(Scope::workgroup);
    if (exchange == Exchange::lds) drain({Counter::ds});
    if (generation() == Generation::gfx12) {
        s_barrier_signal(-1);
        s_barrier_wait(-1);
    } else {
        s_barrier();
    }
    if (exchange == Exchange::lds_and_global) acquire_memory(Scope::workgroup);
}

void KernelAssembler::release_memory(Scope scope) {
    if (generation() == Generation::gfx12) {
        drain({Counter::load, Counter::ds});
        global_wb(load_policy(scope));
        drain({Counter::store});
    } else {
        drain({Counter::load, Counter::ds, Counter::store});
    }
}

void KernelAssembler::acquire_memory(Scope scope) {
    if (generation() == Generation::gfx12) {
        global_inv(load_policy(scope));
        return;
    }
    if (scope != Scope::workgroup) buffer_gl1_inv();
    buffer_gl0_inv();
}

CachePolicy KernelAssembler::load_policy(Scope scope) const {
    CachePolicy policy;
    if (generation() == Generation::gfx12) {
        policy.scope = static_cast<uint8_t>(scope) + 1;  // 1 SE, 2 DEV, 3 SYS
    } else {
        policy.glc = true;
        policy.dlc = generation() == Generation::gfx10 && scope != Scope::workgroup;
    }
    return policy;
}

CachePolicy KernelAssembler::atomic_policy(Scope scope) const {
    return generation() == Generation::gfx12 ? load_policy(scope) : CachePolicy{};
}

CachePolicy KernelAssembler::streaming_load_policy() const {
    CachePolicy policy;
    constexpr uint8_t kNonTemporal = 1;
    if (generation() == Generation::gfx12) policy.temporal_hint = kNonTemporal;
    policy.slc = generation() != Generation::gfx12;
    policy.dlc = generation() == Generation::gfx11;
    return policy;
}

void KernelAssembler::dot4_i8(Vgpr acc, Vgpr a, const Argument& b) {
    if (generation() == Generation::gfx10)
        v_dot4_i32_i8(acc, a, b, acc);
    else
        v_dot4_i32_iu8(acc, a, b, acc, Negate{.low = 3});  // both sources signed
}

void KernelAssembler::dot2_f16(Vgpr acc, Vgpr a, Vgpr b) { v_dot2_f32_f16(acc, a, b, acc); }

void KernelAssembler::wave_lane(Vgpr destination) {
    v_mbcnt_lo_u32_b32(destination, -1, 0);
    if (wave_size() == WaveSize::wave64) v_mbcnt_hi_u32_b32(destination, -1, destination);
}

void KernelAssembler::s_add_u64(Sgpr destination, Sgpr base, const Argument& offset) {
    s_add_co_u32(destination[0], base[0], offset);
    s_add_co_ci_u32(destination[1], base[1], 0);
}

// Rows of 16 by DPP; then the rows, which are uniform by now, so any lane of the other row will do; in wave64 the
// halves at last, by lanes 0 and 32. Every lane combines the same pairs in the same order up to commutation.
void KernelAssembler::reduce_wave(Vgpr value, Vgpr other, const Combine& combine) {
    for (const unsigned bit : {1u, 2u, 4u, 8u}) combine(value, value, value, row_xmask(bit));
    for (unsigned i = 0; i < value.dwords(); ++i) v_permlanex16_b32(other[i], value[i], 0, 0, kNoOldValue);
    combine(value, value, other, std::nullopt);
    if (wave_size() == WaveSize::wave32) return;
    const Sgpr low = sgpr(value.dwords()), high = sgpr(value.dwords());
    for (unsigned i = 0; i < value.dwords(); ++i) {
        v_readlane_b32(low[i], value[i], 0);
        v_readlane_b32(high[i], value[i], 32);
        v_mov_b32(other[i], high[i]);
    }
    combine(value, low, other, std::nullopt);
}

void KernelAssembler::reduce_group(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes, const Combine& combine) {
    reduce_wave(value, other, combine);
    const unsigned waves = group_lanes / lanes(), bytes = value.dwords() * 4;
    if (waves <= 1) return;
    const uint32_t partials = lds(waves * bytes);
    const Vgpr address = vgpr(), in_wave = vgpr();
    const Sgpr is_first = lane_mask();
    v_lshrrev_b32(address, std::countr_zero(lanes()), lane);
    v_lshlrev_b32(address, std::countr_zero(bytes), address);
    v_and_b32(in_wave, lanes() - 1, lane);
    v_cmp_eq_u32(is_first, 0, in_wave);
    const bool is_wide = value.dwords() == 2;
    if_lanes(is_first,
             [&] { emit(is_wide ? Opcode::ds_store_b64 : Opcode::ds_store_b32, {address, value, partials}); });
    barrier();
    const Vgpr zero = vgpr();
    v_mov_b32(zero, 0);
    for (unsigned wave = 0; wave < waves; ++wave) {
        const Vgpr& partial = wave == 0 ? value : other;
        emit(is_wide ? Opcode::ds_load_b64 : Opcode::ds_load_b32, {partial, zero, partials + wave * bytes});
        if (wave != 0) combine(value, value, other, std::nullopt);
    }
}

KernelAssembler::Combine KernelAssembler::add_f32() {
    return [this](Vgpr result, const Argument& a, Vgpr b, std::optional<Dpp> dpp) {
        if (dpp)
            v_add_f32(result, a, b, *dpp);
        else
            v_add_f32(result, a, b);
    };
}

KernelAssembler::Combine KernelAssembler::max_f32() {
    return [this](Vgpr result, const Argument& a, Vgpr b, std::optional<Dpp> dpp) {
        if (dpp)
            v_max_num_f32(result, a, b, *dpp);
        else
            v_max_num_f32(result, a, b);
    };
}

// There is no DPP form for 64 bits: the halves move first.
KernelAssembler::Combine KernelAssembler::add_f64(Vgpr value, Vgpr other) {
    return [this, value, other](Vgpr result, const Argument& a, Vgpr b, std::optional<Dpp> dpp) {
        if (!dpp) return v_add_f64(result, a, b);
        for (unsigned i = 0; i < 2; ++i) v_mov_b32(other[i], value[i], *dpp);
        v_add_f64(result, other, b);
    };
}

void KernelAssembler::wave_sum_f32(Vgpr value, Vgpr other) { reduce_wave(value, other, add_f32()); }
void KernelAssembler::wave_max_f32(Vgpr value, Vgpr other) { reduce_wave(value, other, max_f32()); }
void KernelAssembler::wave_sum_f64(Vgpr value, Vgpr other) { reduce_wave(value, other, add_f64(value, other)); }

void KernelAssembler::wave_sum_i32(Vgpr value, Vgpr other) {
    reduce_wave(value, other, [this](Vgpr result, const Argument& a, Vgpr b, std::optional<Dpp> dpp) {
        if (dpp)
            v_add_nc_u32(result, a, b, *dpp);
        else
            v_add_nc_u32(result, a, b);
    });
}

void KernelAssembler::wave_max_u32(Vgpr value, Vgpr other) {
    reduce_wave(value, other, [this](Vgpr result, const Argument& a, Vgpr b, std::optional<Dpp> dpp) {
        if (dpp)
            v_max_u32(result, a, b, *dpp);
        else
            v_max_u32(result, a, b);
    });
}

void KernelAssembler::group_sum_f32(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes) {
    reduce_group(value, other, lane, group_lanes, add_f32());
}
void KernelAssembler::group_max_f32(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes) {
    reduce_group(value, other, lane, group_lanes, max_f32());
}
void KernelAssembler::group_sum_f64(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes) {
    reduce_group(value, other, lane, group_lanes, add_f64(value, other));
}

// By ceil(2^(32 + shift) / divisor), which times the divisor is too large by `excess`: a dividend's quotient is right
// while dividend * excess stays below 2^(32 + shift). The excess is below the divisor, so a shift is found before the
// factor needs 33 bits.
void KernelAssembler::s_divide_u32(Sgpr quotient, Sgpr dividend, uint32_t divisor) {
    if (divisor == 1) return s_mov_b32(quotient, dividend);
    constexpr uint64_t kMostDividend = uint64_t{1} << 27;
    for (uint32_t shift = 0;; ++shift) {
        const uint64_t power = uint64_t{1} << (32 + shift), factor = (power + divisor - 1) / divisor;
        if ((factor * divisor - power) * kMostDividend > power) continue;
        check(factor >> 32 == 0, "a factor of 32 bits divides");
        s_mul_hi_u32(quotient, dividend, uint32_t(factor));
        if (shift != 0) s_lshr_b32(quotient, quotient, shift);
        return;
    }
}

void KernelAssembler::s_divide_u32(Sgpr quotient, Sgpr remainder, Sgpr dividend, uint32_t divisor) {
    s_divide_u32(quotient, dividend, divisor);
    s_mul_i32(remainder, quotient, divisor);
    s_sub_co_u32(remainder, dividend, remainder);
}

void KernelAssembler::s_advance(Sgpr address, Sgpr count, uint32_t bytes) {
    const Sgpr low = sgpr(), high = sgpr();
    s_mul_i32(low, count, bytes);
    s_mul_hi_u32(high, count, bytes);
    s_add_co_u32(address[0], address[0], low);
    s_add_co_ci_u32(address[1], address[1], high);
}

// RDNA3 ISA, V_DIV_SCALE_F32: scale both, refine the reciprocal and the quotient by FMA, undo the scale.
void KernelAssembler::divide_f32(Vgpr quotient, Vgpr numerator, Vgpr denominator, std::array<Vgpr, 3> scratch) {
    const auto [scaled, reciprocal, error] = scratch;
    v_div_scale_f32(scaled, null(), denominator, denominator, numerator);
    v_rcp_f32(reciprocal, scaled);
    v_fma_f32(error, -scaled, reciprocal, 1.0f);
    v_fma_f32(reciprocal, error, reciprocal, reciprocal);
    const Vgpr numerator_scaled = vgpr();
    v_div_scale_f32(numerator_scaled, vcc(), numerator, denominator, numerator);
    v_mul_f32(quotient, numerator_scaled, reciprocal);
    v_fma_f32(error, -scaled, quotient, numerator_scaled);
    v_fma_f32(quotient, error, reciprocal, quotient);
    v_fma_f32(error, -scaled, quotient, numerator_scaled);
    v_div_fmas_f32(quotient, error, reciprocal, quotient);
    v_div_fixup_f32(quotient, quotient, denominator, numerator);
}

}  // namespace riftjit::rdna
