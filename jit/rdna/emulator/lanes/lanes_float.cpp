// Float operations over lanes. The host rounds to nearest and keeps denormals, as the default modes do.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_float {
namespace {

using E = LaneEmitter;
constexpr LaneKernelResult kWords = LaneKernelResult::words;
constexpr LaneCheck kNanResult = LaneCheck::nan_result, kNone = LaneCheck::none, kNanF64 = LaneCheck::nan_result_f64;
constexpr uint32_t kLowest = 0x80000000, kByte = 0xFF, kHighHalf = 0xFFFF0000;

// a * b + c, left in a.
void fused(E& e) {
    e.vfmadd213ps(e.a, e.b, e.c);
    e.and_bits(e.d, e.a, e.a);
}
// AVX2 converts signed integers only. Halves convert exactly, and their sum is rounded once.
constexpr uint32_t kLowHalf = 0xFFFF, kHighWeight = 0x47800000;
void from_unsigned(E& e) {
    if (e.is_avx512()) return e.vcvtudq2ps(e.d, e.a);
    e.vpsrld(e.t, e.a, 16);
    e.vcvtdq2ps(e.t, e.t);
    e.vmulps(e.t, e.t, e.constant[1]);
    e.vpand(e.a, e.a, e.constant[0]);
    e.vcvtdq2ps(e.a, e.a);
    e.vaddps(e.d, e.t, e.a);
}
// NaN and negative numbers become 0 first. AVX-512 saturates above. AVX2 gives 0x80000000 from 2^31 on, to which what
// goes beyond is added.
constexpr uint32_t kTwoTo31 = 0x4F000000, kTwoTo32 = 0x4F800000;
void to_unsigned(E& e) {
    e.xor_bits(e.t, e.t, e.t);
    e.vmaxps(e.a, e.a, e.t);
    if (e.is_avx512()) return e.vcvttps2udq(e.d, e.a);
    e.vsubps(e.t, e.a, e.constant[0]);
    e.vcvttps2dq(e.t, e.t);
    e.vcvttps2dq(e.d, e.a);
    e.vpsrad(e.u, e.d, 31);
    e.vpand(e.t, e.t, e.u);
    e.vpor(e.d, e.d, e.t);
    e.vcmpps(e.t, e.a, e.constant[1], kGe);
    e.vpor(e.d, e.d, e.t);
}
// DX9's rule: zero times anything is +0.
void product_dx9(E& e) {
    e.vmulps(e.d, e.a, e.b);
    e.xor_bits(e.t, e.t, e.t);
    e.compare_f32(e.u, e.a, e.t, kEq);
    e.compare_f32(e.t, e.b, e.t, kEq);
    e.or_bits(e.t, e.t, e.u);
    e.and_not_bits(e.d, e.t, e.d);
}
// The fused form flushes denormals. Sources first, and both factors where either is zero then; of the result the zeros
// stay. One that is the smallest normal number may have been rounded up to it, and is declined.
void flush(E& e, const Xbyak::Xmm& value) {
    e.and_bits(e.t, value, e.constant[0]);
    e.compare_f32(e.t, e.t, e.constant[1], kLt);
    e.and_not_bits(e.t, e.t, e.constant[0]);
    e.or_bits(e.t, e.t, e.constant[2]);
    e.and_bits(value, value, e.t);
}
void fused_dx9(E& e) {
    flush(e, e.a);
    flush(e, e.b);
    flush(e, e.c);
    e.xor_bits(e.t, e.t, e.t);
    e.compare_f32(e.u, e.a, e.t, kEq);
    e.compare_f32(e.t, e.b, e.t, kEq);
    e.or_bits(e.u, e.u, e.t);
    e.and_not_bits(e.a, e.u, e.a);
    e.and_not_bits(e.b, e.u, e.b);
    e.vfmadd213ps(e.a, e.b, e.c);
    e.decline_unordered(e.a, e.a);
    e.and_bits(e.t, e.a, e.constant[0]);
    e.compare_f32(e.t, e.t, e.constant[1], kEq);
    e.decline(e.t);
    flush(e, e.a);
    e.move(e.d, e.a);
}
constexpr LaneOperation fused_dx9_row(Opcode opcode) {
    constexpr uint32_t kMagnitude = 0x7FFFFFFF, kMinNormal = 0x00800000, kSign = 0x80000000;
    return {opcode, 3, kWords, LaneCheck::by_operation, {kMagnitude, kMinNormal, kSign}, fused_dx9};
}
template <int Byte>
void from_byte(E& e) {
    if (Byte != 0) e.vpsrld(e.a, e.a, 8 * Byte);
    e.and_bits(e.a, e.a, e.constant[0]);
    e.vcvtdq2ps(e.d, e.a);
}

constexpr LaneOperation doubles(Opcode opcode, uint8_t sources, void (*emit)(LaneEmitter&)) {
    return {opcode, sources, kWords, kNanF64, {}, emit, LaneIsa::avx2, {{2, 2, 2}, 2}, PairLayout::joined};
}

constexpr LaneOperation kOperations[] = {
    {Opcode::v_add_f32, 2, kWords, kNanResult, {}, [](E& e) { e.vaddps(e.d, e.a, e.b); }},
    {Opcode::v_sub_f32, 2, kWords, kNanResult, {}, [](E& e) { e.vsubps(e.d, e.a, e.b); }},
    {Opcode::v_subrev_f32, 2, kWords, kNanResult, {}, [](E& e) { e.vsubps(e.d, e.b, e.a); }},
    {Opcode::v_mul_f32, 2, kWords, kNanResult, {}, [](E& e) { e.vmulps(e.d, e.a, e.b); }},
    {Opcode::v_fma_f32, 3, kWords, kNanResult, {}, fused},
    {Opcode::v_fmac_f32, 3, kWords, kNanResult, {}, fused},
    {Opcode::v_fmamk_f32, 3, kWords, kNanResult, {}, fused},
    {Opcode::v_fmaak_f32, 3, kWords, kNanResult, {}, fused},
    {Opcode::v_mul_dx9_zero_f32, 2, kWords, kNanResult, {}, product_dx9},
    fused_dx9_row(Opcode::v_fma_dx9_zero_f32),
    fused_dx9_row(Opcode::v_fmac_dx9_zero_f32),
    {Opcode::v_trunc_f32, 1, kWords, kNanResult, {}, [](E& e) { e.round_f32(e.d, e.a, kToZero); }},
    {Opcode::v_ceil_f32, 1, kWords, kNanResult, {}, [](E& e) { e.round_f32(e.d, e.a, kUp); }},
    {Opcode::v_floor_f32, 1, kWords, kNanResult, {}, [](E& e) { e.round_f32(e.d, e.a, kDown); }},
    {Opcode::v_rndne_f32, 1, kWords, kNanResult, {}, [](E& e) { e.round_f32(e.d, e.a, kNearest); }},
    {Opcode::v_cvt_f32_i32, 1, kWords, kNone, {}, [](E& e) { e.vcvtdq2ps(e.d, e.a); }},
    lane_words(Opcode::v_cvt_f32_u32, 1, from_unsigned, {kLowHalf, kHighWeight}),
    {Opcode::v_cvt_i32_f32, 1, kWords, LaneCheck::lowest_result, {kLowest}, [](E& e) { e.vcvttps2dq(e.d, e.a); }},
    lane_words(Opcode::v_cvt_u32_f32, 1, to_unsigned, {kTwoTo31, kTwoTo32}),
    {Opcode::v_cvt_f32_ubyte0, 1, kWords, kNone, {kByte}, from_byte<0>},
    {Opcode::v_cvt_f32_ubyte1, 1, kWords, kNone, {kByte}, from_byte<1>},
    {Opcode::v_cvt_f32_ubyte2, 1, kWords, kNone, {kByte}, from_byte<2>},
    {Opcode::v_cvt_f32_ubyte3, 1, kWords, kNone, {kByte}, from_byte<3>},
    doubles(Opcode::v_add_f64, 2, [](E& e) { e.vaddpd(e.d, e.a, e.b); }),
    doubles(Opcode::v_mul_f64, 2, [](E& e) { e.vmulpd(e.d, e.a, e.b); }),
    doubles(Opcode::v_fma_f64, 3,
            [](E& e) {
                e.vfmadd213pd(e.a, e.b, e.c);
                e.move(e.d, e.a);
            }),
};

}  // namespace
}  // namespace lanes_float

std::span<const LaneOperation> float_lane_operations() { return lanes_float::kOperations; }

}  // namespace riftjit::rdna::emulator
