// Operations on 16 bits: integers and f16, one half of a register or both.
//
// f16 is computed in f32 and rounded once more. That second rounding never does harm to sums, products and quotients,
// since f32's 24 bits are at least 2 * 11 + 2 (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3),
// 1995); products of two f16 are even exact in f32, of 22 bits and from 2^-48 to 2^32, and so is every sum whose result
// is a denormal f16, a multiple of 2^-24 below 2^-14. A fused multiply-add is none of these: see round_to_odd().
#include "jit/rdna/emulator/lanes/lanes_extremes_i16.h"
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_half {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
using Emit = void (*)(LaneEmitter&);
using Constants = std::array<uint32_t, 3>;
constexpr LaneKernelResult kWords = LaneKernelResult::words, kMask = LaneKernelResult::mask;
constexpr uint32_t kOnes = 0xFFFFFFFF, kSign = 0x80000000, kHalf = 0xFFFF, kHighHalf = 0xFFFF0000;
constexpr uint32_t kShiftMask = 15, kPackedShiftMask = 0x000F000F;

constexpr LaneOperation operation(Opcode opcode, uint8_t sources, LaneKernelResult result, LaneCheck check,
                                  Constants constants, Emit emit, LaneHalves halves) {
    LaneOperation made{opcode, sources, result, check, constants, emit};
    made.halves = halves;
    return made;
}
// 16-bit integers, one half; both halves of whole words.
constexpr LaneOperation half(Opcode opcode, uint8_t sources, Emit emit, Constants constants = {}) {
    return operation(opcode, sources, kWords, LaneCheck::none, constants, emit, {HalfSources::bits, HalfResult::bits});
}
constexpr LaneOperation packed(Opcode opcode, uint8_t sources, Emit emit, Constants constants = {}) {
    return operation(opcode, sources, kWords, LaneCheck::none, constants, emit, {});
}
// f16 by way of f32, one half; both.
constexpr LaneOperation f16(Opcode opcode, uint8_t sources, LaneCheck check, Emit emit) {
    return operation(opcode, sources, kWords, check, {}, emit, {HalfSources::f16, HalfResult::f16});
}
constexpr LaneOperation f16_pair(Opcode opcode, uint8_t sources, LaneCheck check, Emit emit) {
    return operation(opcode, sources, kWords, check, {}, emit, {HalfSources::f16_pairs, HalfResult::f16_pairs});
}
void add(E& e) { e.vpaddw(e.d, e.a, e.b); }
void subtract(E& e) { e.vpsubw(e.d, e.a, e.b); }
void multiply(E& e) { e.vpmullw(e.d, e.a, e.b); }
void multiply_add(E& e) {
    e.vpmullw(e.d, e.a, e.b);
    e.vpaddw(e.d, e.d, e.c);
}
void min_u16(E& e) { e.vpminuw(e.d, e.a, e.b); }
void max_u16(E& e) { e.vpmaxuw(e.d, e.a, e.b); }
void min3_u16(E& e) {
    min_u16(e);
    e.vpminuw(e.d, e.d, e.c);
}
void max3_u16(E& e) {
    max_u16(e);
    e.vpmaxuw(e.d, e.d, e.c);
}
void med3_u16(E& e) {  // max(min(a, b), min(max(a, b), c))
    min_u16(e);
    e.vpmaxuw(e.t, e.a, e.b);
    e.vpminuw(e.t, e.t, e.c);
    e.vpmaxuw(e.d, e.d, e.t);
}
// Shifts of b by a, in words: constants are the mask of the amount and the low half.
void shift_left(E& e) {
    e.and_bits(e.t, e.a, e.constant[0]);
    e.vpsllvd(e.d, e.b, e.t);
}
void shift_right(E& e) {
    e.and_bits(e.t, e.a, e.constant[0]);
    e.and_bits(e.u, e.b, e.constant[1]);
    e.vpsrlvd(e.d, e.u, e.t);
}
void shift_right_signed(E& e) {
    e.and_bits(e.t, e.a, e.constant[0]);
    e.vpslld(e.u, e.b, 16);
    e.vpsravd(e.u, e.u, e.t);
    e.vpsrld(e.d, e.u, 16);
}
// Of both halves; AVX2 has none by halves. t: the amounts of the low halves, v: of the high ones.
constexpr Constants kPackedShift{kPackedShiftMask, kHalf, kHighHalf};
constexpr uint8_t kOddHalves = 0xAA;
void packed_amounts(E& e) {
    e.and_bits(e.t, e.a, e.constant[0]);
    if (e.is_avx512()) return;
    e.vpsrld(e.v, e.t, 16);
    e.vpand(e.t, e.t, e.constant[1]);
}
void packed_shift_left(E& e) {
    packed_amounts(e);
    if (e.is_avx512()) return e.vpsllvw(e.d, e.b, e.t);
    e.vpsllvd(e.u, e.b, e.t);
    e.vpand(e.w, e.b, e.constant[2]);
    e.vpsllvd(e.w, e.w, e.v);
    e.vpblendw(e.d, e.u, e.w, kOddHalves);
}
void packed_shift_right(E& e) {
    packed_amounts(e);
    if (e.is_avx512()) return e.vpsrlvw(e.d, e.b, e.t);
    e.vpand(e.u, e.b, e.constant[1]);
    e.vpsrlvd(e.u, e.u, e.t);
    e.vpsrlvd(e.w, e.b, e.v);
    e.vpblendw(e.d, e.u, e.w, kOddHalves);
}
void packed_shift_right_signed(E& e) {
    packed_amounts(e);
    if (e.is_avx512()) return e.vpsravw(e.d, e.b, e.t);
    e.vpslld(e.u, e.b, 16);
    e.vpsravd(e.u, e.u, e.t);
    e.vpsrld(e.u, e.u, 16);
    e.vpsravd(e.w, e.b, e.v);
    e.vpblendw(e.d, e.u, e.w, kOddHalves);
}

// The rules for NaN operands of sums and products agree with the host's: the first one, made quiet; so does the NaN of
// an invalid operation. A difference is the sum with a negated source, whose NaN changes its sign.
void negate(E& e, const Xmm& value) {
    e.load_word(e.t, kSign);
    e.xor_bits(value, value, e.t);
}
void f32_sum(E& e) { e.vaddps(e.d, e.a, e.b); }
void f32_difference(E& e) {
    negate(e, e.b);
    f32_sum(e);
}
void f32_difference_reversed(E& e) {
    negate(e, e.a);
    f32_sum(e);
}
void f32_product(E& e) { e.vmulps(e.d, e.a, e.b); }

// c, a sum of c and a that was rounded to nearest into t, becomes the exact sum's neighbour whose last bit is odd, in
// d: rounding that once more, to fewer bits by two or more, equals one rounding of the exact sum (Boldo and Melquiond,
// "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers
// 57(4), 2008). The rounding error is exact by Knuth's TwoSum; where it points towards zero the sum is first cut.
void round_sum_to_odd(E& e) {
    e.vaddps(e.t, e.a, e.c);
    e.vsubps(e.u, e.t, e.a);
    e.vsubps(e.b, e.t, e.u);
    e.vsubps(e.a, e.a, e.b);
    e.vsubps(e.c, e.c, e.u);
    e.vaddps(e.a, e.a, e.c);           // the error
    constexpr uint8_t kNotEqual = 12;  // false for the NaN that an infinite sum leaves as its error
    e.xor_bits(e.u, e.u, e.u);
    e.compare_f32(e.b, e.a, e.u, kNotEqual);
    e.xor_bits(e.c, e.a, e.t);
    e.vpsrad(e.c, e.c, 31);
    e.and_bits(e.c, e.c, e.b);
    e.vpaddd(e.t, e.t, e.c);
    e.vpsrld(e.b, e.b, 31);
    e.or_bits(e.d, e.t, e.b);
}
// The same where the host rounds as an instruction says: the sum is exact where rounding up and down agree, else its
// last bit is set after rounding towards zero.
void round_sum_to_odd_avx512(E& e) {
    constexpr uint8_t kNotEqual = 12;
    e.vaddps(e.d | e.T_rz_sae, e.a, e.c);
    e.vaddps(e.t | e.T_ru_sae, e.a, e.c);
    e.vaddps(e.u | e.T_rd_sae, e.a, e.c);
    e.vcmpps(e.found, e.t, e.u, kNotEqual);
    e.load_word(e.b, 1);
    e.vpord(e.d | e.found, e.d, e.b);
}
// The product of two f16 is exact in f32.
void f16_fused(E& e) {
    e.vmulps(e.a, e.a, e.b);
    e.is_avx512() ? round_sum_to_odd_avx512(e) : round_sum_to_odd(e);
}

// The product of two f32 is exact in f64; there, too, the sum is rounded to odd, then cut to f32's 24 bits, the last
// one odd where anything is lost. One half of the lanes, whose f32 values are in t, u and found_lanes; the sum to
// found_lanes as f32, in half a register.
void fused_in_f64(E& e) {
    const Xmm &product = e.t, &addend = e.found_lanes, &sum = e.condition_lanes, &part = e.constant[0],
              &rest = e.constant[1];
    e.vmulpd(product, product, e.u);
    e.vaddpd(sum, product, addend);
    e.vsubpd(part, sum, product);
    e.vsubpd(rest, sum, part);
    e.vsubpd(product, product, rest);
    e.vsubpd(addend, addend, part);
    e.vaddpd(product, product, addend);  // the error
    e.xor_bits(part, part, part);
    constexpr uint8_t kNotEqual = 12, kHighWords = 0xF5;
    e.compare_f64(part, product, part, kNotEqual);
    e.xor_bits(rest, product, sum);
    e.vpsrad(rest, rest, 31);
    e.vpshufd(rest, rest, kHighWords);
    e.and_bits(rest, rest, part);
    e.vpaddq(sum, sum, rest);
    e.vpsrlq(part, part, 63);
    e.or_bits(sum, sum, part);
    constexpr int kLostBits = 53 - 24;
    e.load_word(rest, kOnes);
    e.vpsrlq(rest, rest, 64 - kLostBits);
    e.and_bits(part, sum, rest);
    e.vpaddq(part, part, rest);  // sets the last bit that stays where any other is set
    e.or_bits(sum, sum, part);
    e.and_not_bits(sum, rest, sum);
    e.vcvtpd2ps(e.half_width(addend), sum);
}
void fused(E& e) {
    e.vfmadd213ps(e.a, e.b, e.c);
    e.move(e.d, e.a);
}
void mixed_to_f16(E& e) {
    if ((e.variant() & 3) == 3) return f16_fused(e);
    for (int half = 0; half < 2; ++half) {
        e.convert_half_to_f64(e.t, e.a, half);
        e.convert_half_to_f64(e.u, e.b, half);
        e.convert_half_to_f64(e.found_lanes, e.c, half);
        fused_in_f64(e);
        if (half == 0) e.move(e.d, e.found_lanes);
    }
    e.join_halves(e.d, e.d, e.found_lanes);
}
constexpr LaneOperation mixed(Opcode opcode, Emit emit, HalfResult result) {
    return operation(opcode, 3, kWords, LaneCheck::nan_result, {}, emit, {HalfSources::mixed, result});
}

// Low products first, rounded to f32 twice.
void dot2_f16(E& e) {
    e.widen(e.t, e.a);
    e.widen(e.u, e.b);
    e.vfmadd231ps(e.c, e.t, e.u);
    e.widen_high(e.t, e.a);
    e.widen_high(e.u, e.b);
    e.vfmadd231ps(e.c, e.t, e.u);
    e.move(e.d, e.c);
}
void dot2_of_f16(E& e) {
    e.widen(e.c, e.c);
    dot2_f16(e);
}
void dot2_bf16(E& e) {
    e.vpslld(e.t, e.a, 16);
    e.vpslld(e.u, e.b, 16);
    e.vfmadd231ps(e.c, e.t, e.u);
    e.and_bits(e.t, e.a, e.constant[0]);
    e.and_bits(e.u, e.b, e.constant[0]);
    e.vfmadd231ps(e.c, e.t, e.u);
    e.move(e.d, e.c);
}

// Each number below 2^-126 to a zero with its sign.
void flush(E& e, const Xmm& value) {
    constexpr uint32_t kMagnitude = 0x7FFFFFFF, kMinNormal = 0x00800000;
    const Xmm& tiny = e.found_lanes;
    e.and_word(tiny, value, kMagnitude);
    e.compare_f32(tiny, tiny, e.every_word(kMinNormal), kLt);
    e.and_word(tiny, tiny, kMagnitude);
    e.and_not_bits(value, tiny, value);
}
// The same of two bf16.
void flush_pair(E& e, const Xmm& pair) {
    constexpr uint32_t kMagnitudes = 0x7FFF7FFF, kSigns = 0x80008000, kLargestDenormals = 0x007F007F;
    const Xmm &kept = e.t, &limit = e.u;
    e.and_word(kept, pair, kMagnitudes);
    e.load_word(limit, kLargestDenormals);
    if (e.is_avx512()) {
        e.vpcmpgtw(e.k4, kept, limit);
        e.vpmovm2w(kept, e.k4);
    } else {
        e.vpcmpgtw(kept, kept, limit);
    }
    e.or_bits(kept, kept, e.every_word(kSigns));
    e.and_bits(pair, pair, kept);
}
// c += t * u, the sum flushed. A sum that is 2^-126 may have been rounded up to it.
void add_product_flushed(E& e) {
    constexpr uint32_t kMagnitude = 0x7FFFFFFF, kMinNormal = 0x00800000;
    e.vfmadd231ps(e.c, e.t, e.u);
    e.and_word(e.t, e.c, kMagnitude);
    e.compare_f32(e.t, e.t, e.every_word(kMinNormal), kEq);
    e.decline(e.t);
    flush(e, e.c);
}
void dot2_of_bf16(E& e) {
    flush_pair(e, e.a);
    flush_pair(e, e.b);
    e.vpslld(e.c, e.c, 16);
    flush(e, e.c);
    e.vpslld(e.t, e.a, 16);
    e.vpslld(e.u, e.b, 16);
    add_product_flushed(e);
    e.and_word(e.t, e.a, kHighHalf);
    e.and_word(e.u, e.b, kHighHalf);
    add_product_flushed(e);
    e.decline_unordered(e.c, e.c);
    // To the nearest bf16, of two the even one.
    e.vpsrld(e.t, e.c, 16);
    e.and_word(e.t, e.t, 1);
    e.vpaddd(e.c, e.c, e.t);
    e.vpaddd(e.c, e.c, e.every_word(0x7FFF));
    e.vpsrld(e.d, e.c, 16);
}

// The low halves of x and y side by side.
void pack_low_halves(E& e, const Xmm& x, const Xmm& y) {
    e.vpslld(e.d, y, 16);
    e.load_word(e.t, kHalf);
    e.and_bits(e.t, x, e.t);
    e.or_bits(e.d, e.d, e.t);
}
void pack_f16(E& e) {
    pack_low_halves(e, e.a, e.b);
    e.decline_half_nans({e.d}, HalfPlaces::both);
}
template <uint8_t Mode>
void f32_rounded(E& e) {
    e.round_f32(e.d, e.a, Mode);
}

constexpr LaneOperation kOperations[] = {
    half(Opcode::v_mov_b16, 1, [](E& e) { e.move(e.d, e.a); }),
    half(Opcode::v_not_b16, 1, [](E& e) { e.invert(e.d, e.a); }, {kOnes}),
    half(Opcode::v_and_b16, 2, [](E& e) { e.and_bits(e.d, e.a, e.b); }),
    half(Opcode::v_or_b16, 2, [](E& e) { e.or_bits(e.d, e.a, e.b); }),
    half(Opcode::v_xor_b16, 2, [](E& e) { e.xor_bits(e.d, e.a, e.b); }),
    half(Opcode::v_lshlrev_b16, 2, shift_left, {kShiftMask}),
    half(Opcode::v_lshrrev_b16, 2, shift_right, {kShiftMask, kHalf}),
    half(Opcode::v_ashrrev_i16, 2, shift_right_signed, {kShiftMask}),
    half(Opcode::v_add_nc_u16, 2, add),
    half(Opcode::v_add_nc_i16, 2, add),
    half(Opcode::v_sub_nc_u16, 2, subtract),
    half(Opcode::v_sub_nc_i16, 2, subtract),
    half(Opcode::v_mul_lo_u16, 2, multiply),
    half(Opcode::v_mad_u16, 3, multiply_add),
    half(Opcode::v_mad_i16, 3, multiply_add),
    half(Opcode::v_min_u16, 2, min_u16),
    half(Opcode::v_max_u16, 2, max_u16),
    half(Opcode::v_min_i16, 2, min_i16),
    half(Opcode::v_max_i16, 2, max_i16),
    half(Opcode::v_min3_u16, 3, min3_u16),
    half(Opcode::v_max3_u16, 3, max3_u16),
    half(Opcode::v_med3_u16, 3, med3_u16),
    half(Opcode::v_min3_i16, 3, min3_i16),
    half(Opcode::v_max3_i16, 3, max3_i16),
    half(Opcode::v_med3_i16, 3, med3_i16),

    f16(Opcode::v_add_f16, 2, LaneCheck::none, f32_sum),
    f16(Opcode::v_sub_f16, 2, LaneCheck::none, f32_difference),
    f16(Opcode::v_subrev_f16, 2, LaneCheck::none, f32_difference_reversed),
    f16(Opcode::v_mul_f16, 2, LaneCheck::none, f32_product),
    f16(Opcode::v_fma_f16, 3, LaneCheck::nan_result, f16_fused),
    f16(Opcode::v_fmac_f16, 3, LaneCheck::nan_result, f16_fused),
    f16(Opcode::v_fmamk_f16, 3, LaneCheck::nan_result, f16_fused),
    f16(Opcode::v_fmaak_f16, 3, LaneCheck::nan_result, f16_fused),
    f16(Opcode::v_trunc_f16, 1, LaneCheck::none, f32_rounded<kToZero>),
    f16(Opcode::v_ceil_f16, 1, LaneCheck::none, f32_rounded<kUp>),
    f16(Opcode::v_floor_f16, 1, LaneCheck::none, f32_rounded<kDown>),
    f16(Opcode::v_rndne_f16, 1, LaneCheck::none, f32_rounded<kNearest>),

    half(Opcode::v_cndmask_b16, 2, [](E& e) { e.select(); }),
    operation(Opcode::v_pack_b32_f16, 2, kWords, LaneCheck::by_operation, {}, pack_f16,
              {HalfSources::bits, HalfResult::none}),

    packed(Opcode::v_pk_add_u16, 2, add),
    packed(Opcode::v_pk_add_i16, 2, add),
    packed(Opcode::v_pk_sub_u16, 2, subtract),
    packed(Opcode::v_pk_sub_i16, 2, subtract),
    packed(Opcode::v_pk_mul_lo_u16, 2, multiply),
    packed(Opcode::v_pk_mad_u16, 3, multiply_add),
    packed(Opcode::v_pk_mad_i16, 3, multiply_add),
    packed(Opcode::v_pk_min_u16, 2, min_u16),
    packed(Opcode::v_pk_max_u16, 2, max_u16),
    packed(Opcode::v_pk_min_i16, 2, min_i16),
    packed(Opcode::v_pk_max_i16, 2, max_i16),
    packed(Opcode::v_pk_lshlrev_b16, 2, packed_shift_left, kPackedShift),
    packed(Opcode::v_pk_lshrrev_b16, 2, packed_shift_right, kPackedShift),
    packed(Opcode::v_pk_ashrrev_i16, 2, packed_shift_right_signed, kPackedShift),
    f16_pair(Opcode::v_pk_add_f16, 2, LaneCheck::none, f32_sum),
    f16_pair(Opcode::v_pk_mul_f16, 2, LaneCheck::none, f32_product),
    f16_pair(Opcode::v_pk_fma_f16, 3, LaneCheck::nan_result, f16_fused),
    f16_pair(Opcode::v_pk_fmac_f16, 3, LaneCheck::nan_result, f16_fused),

    mixed(Opcode::v_fma_mix_f32, fused, HalfResult::none),
    mixed(Opcode::v_fma_mixlo_f16, mixed_to_f16, HalfResult::f16),
    mixed(Opcode::v_fma_mixhi_f16, mixed_to_f16, HalfResult::f16),
    operation(Opcode::v_dot2_f32_f16, 3, kWords, LaneCheck::nan_result, {}, dot2_f16, {}),
    operation(Opcode::v_dot2acc_f32_f16, 3, kWords, LaneCheck::nan_result, {}, dot2_f16, {}),
    operation(Opcode::v_dot2_f32_bf16, 3, kWords, LaneCheck::nan_result, {kHighHalf}, dot2_bf16, {}),
    operation(Opcode::v_dot2_f16_f16, 3, kWords, LaneCheck::nan_result, {}, dot2_of_f16,
              {HalfSources::none, HalfResult::f16}),
    operation(Opcode::v_dot2_bf16_bf16, 3, kWords, LaneCheck::by_operation, {}, dot2_of_bf16,
              {HalfSources::none, HalfResult::bits}),
};

}  // namespace
}  // namespace lanes_half

std::span<const LaneOperation> half_lane_operations() { return lanes_half::kOperations; }

}  // namespace riftjit::rdna::emulator
