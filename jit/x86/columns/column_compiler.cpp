#include "jit/x86/columns/column_compiler.h"

#include <array>

namespace riftjit::x86 {

using Vec = ColumnCompiler::Vec;
using Gp = ColumnCompiler::Gp;
using Mem = ColumnCompiler::Mem;
using Mask = ColumnCompiler::Mask;

Mem ColumnCompiler::splat_u64(uint64_t value) {
    if (is_avx512()) return pooled(&value, sizeof value, sizeof value)._1to8();
    std::array<uint64_t, 4> copies;
    copies.fill(value);
    return pooled(copies.data(), sizeof copies, sizeof copies);
}

Vec ColumnCompiler::broadcast_u64(uint64_t value) {
    const Vec out = new_vector();
    if (value == 0)
        vxorps(out, out, out);
    else
        vbroadcastsd(out, pooled(&value, sizeof value, sizeof value));
    return out;
}

Vec ColumnCompiler::broadcast(const Gp& value) {
    const Vec out = new_vector();
    if (is_avx512()) {
        vpbroadcastq(out, value);
    } else {
        const Vec low = new_xmm();
        vmovq(low.xmm(), value);
        vpbroadcastq(out, low.xmm());
    }
    return out;
}

Vec ColumnCompiler::emit_new(asmjit::InstId inst, const Vec& left, const Source& right) {
    const Vec out = new_vector();
    emit(inst, out, left, right);
    return out;
}

Vec ColumnCompiler::shift_left_u64(const Vec& value, int bits) {
    const Vec out = new_vector();
    vpsllq(out, value, bits);
    return out;
}

Vec ColumnCompiler::shift_right_u64(const Vec& value, int bits) {
    const Vec out = new_vector();
    vpsrlq(out, value, bits);
    return out;
}

Vec ColumnCompiler::square_root(const Vec& value) {
    const Vec out = new_vector();
    vsqrtpd(out, value);
    return out;
}

void ColumnCompiler::add_product(const Vec& sum, const Vec& left, const Source& right) {
    emit(Inst::kIdVfmadd231pd, sum, left, right);
}

void ColumnCompiler::subtract_product(const Vec& sum, const Vec& left, const Source& right) {
    emit(Inst::kIdVfnmadd231pd, sum, left, right);
}

Vec ColumnCompiler::multiply_add(const Vec& left, const Source& right, const Vec& addend) {
    const Vec out = new_vector();
    vmovapd(out, addend);
    add_product(out, left, right);
    return out;
}

Vec ColumnCompiler::multiply_subtract(const Vec& left, const Source& right, const Vec& subtrahend) {
    const Vec out = new_vector();
    vmovapd(out, subtrahend);
    emit(Inst::kIdVfmsub231pd, out, left, right);
    return out;
}

Vec ColumnCompiler::polynomial(std::span<const double> coefficients, const Vec& x) {
    const Vec sum = broadcast_f64(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) vfmadd213pd(sum, x, splat_f64(coefficients[i]));
    return sum;
}

Mask ColumnCompiler::compare_f64(const Vec& left, const Source& right, Compare predicate) {
    const Mask mask = new_mask();
    const asmjit::Imm immediate(static_cast<uint8_t>(predicate));
    is_avx512() ? emit(Inst::kIdVcmppd, mask.bits, left, right, immediate)
                : emit(Inst::kIdVcmppd, mask.words, left, right, immediate);
    return mask;
}

Vec ColumnCompiler::select_f64(const Mask& mask, const Source& yes, const Vec& no) {
    const Vec out = new_vector();
    if (is_avx512()) {
        vmovapd(out, no);
        assign_where(out, mask, yes);
    } else {
        emit(Inst::kIdVblendvpd, out, no, yes, mask.words);
    }
    return out;
}

// With opmasks a move rather than VBLENDMPD, whose output asmjit takes for an input as well, and so keeps it alive from
// one round of a loop to the next.
void ColumnCompiler::assign_where(const Vec& out, const Mask& mask, const Source& yes, Lanes lanes) {
    const bool is_f64 = lanes == Lanes::f64;
    if (!is_avx512()) {
        emit(is_f64 ? Inst::kIdVblendvpd : Inst::kIdVblendvps, out, out, yes, mask.words);
    } else if (yes.isMem() && yes.as<Mem>().hasBroadcast()) {
        k(mask.bits).emit(is_f64 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, out, yes.as<Mem>()._1to1());
    } else {
        k(mask.bits).emit(is_f64 ? Inst::kIdVmovupd : Inst::kIdVmovups, out, yes);
    }
}

Mask ColumnCompiler::mask_of_signs(const Vec& value) {
    if (!is_avx512()) return {{}, value};
    const Mask mask = new_mask();
    vpmovq2m(mask.bits, value);
    return mask;
}

Mask ColumnCompiler::mask_and(const Mask& left, const Mask& right) {
    const Mask out = new_mask();
    is_avx512() ? kandw(out.bits, left.bits, right.bits) : vandps(out.words, left.words, right.words);
    return out;
}

Mask ColumnCompiler::mask_or(const Mask& left, const Mask& right) {
    const Mask out = new_mask();
    is_avx512() ? korw(out.bits, left.bits, right.bits) : vorps(out.words, left.words, right.words);
    return out;
}

Mask ColumnCompiler::mask_not(const Mask& mask) {
    const Mask out = new_mask();
    is_avx512() ? knotw(out.bits, mask.bits) : vxorps(out.words, mask.words, splat_u64(~uint64_t(0)));
    return out;
}

Gp ColumnCompiler::bits_of(const Mask& mask) {
    const Gp bits = new_pointer().r32();
    is_avx512() ? kmovb(bits, mask.bits) : vmovmskpd(bits, mask.words);
    return bits;
}

Vec ColumnCompiler::widen(const Vec& floats, int half) {
    const Vec out = new_vector();
    if (half == 0) {
        vcvtps2pd(out, half_of(floats));
        return out;
    }
    const Vec high = new_half();
    is_avx512() ? vextractf64x4(high, floats, 1) : vextractf128(high, floats, 1);
    vcvtps2pd(out, high);
    return out;
}

Vec ColumnCompiler::join(const Vec& low, const Vec& high) {
    // Its lower half is written first, so it is no register that serves again.
    const Vec low_floats = ChainCompiler::new_vector();
    const Vec out = new_vector(), high_floats = new_half();
    vcvtpd2ps(half_of(low_floats), low);
    vcvtpd2ps(high_floats, high);
    is_avx512() ? vinsertf64x4(out, low_floats, high_floats, 1) : vinsertf128(out, low_floats, high_floats, 1);
    return out;
}

}  // namespace riftjit::x86
