// Operations of f64 over lanes, and what passes through f64: conversions, and f32 scaled by a power of two.
#include <bit>

#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_double {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words;

void load_double(E& e, const Xmm& to, double value) { e.load_quad(to, std::bit_cast<uint64_t>(value)); }
void round_f64(E& e, const Xmm& to, const Xmm& from, uint8_t mode) {
    e.is_avx512() ? e.vrndscalepd(to, from, mode) : e.vroundpd(to, from, mode);
}
template <uint8_t Mode>
void rounded(E& e) {
    round_f64(e, e.d, e.a, Mode);
}

void from_f32(E& e) {
    e.low_words(e.a, e.a);
    e.vcvtps2pd(e.d, e.half_width(e.a));
}
void from_i32(E& e) {
    e.low_words(e.a, e.a);
    e.vcvtdq2pd(e.d, e.half_width(e.a));
}
constexpr double kTwoTo52 = 0x1p52;
void from_u32(E& e) {  // as the low bits of 2^52, which is then taken away
    load_double(e, e.t, kTwoTo52);
    e.or_bits(e.d, e.a, e.t);
    e.vsubpd(e.d, e.d, e.t);
}
void to_f32(E& e) {
    e.vcvtpd2ps(e.half_width(e.d), e.a);
    e.vpmovzxdq(e.d, e.half_width(e.d));
}

// The host's minimum and maximum give their second operand where one is NaN: zero. Cut at the limits and to an integer,
// the number lies in the low bits of its sum with 2^52; 1.5 times that where it may be negative.
void to_u32(E& e) {
    e.xor_bits(e.t, e.t, e.t);
    e.vmaxpd(e.a, e.a, e.t);
    load_double(e, e.t, 4294967295.0);
    e.vminpd(e.a, e.a, e.t);
    round_f64(e, e.a, e.a, kToZero);
    load_double(e, e.t, kTwoTo52);
    e.vaddpd(e.d, e.a, e.t);
}
void to_i32(E& e) {
    e.xor_bits(e.t, e.t, e.t);
    e.vmaxpd(e.u, e.a, e.t);  // one of the two is zero
    e.vminpd(e.a, e.a, e.t);
    load_double(e, e.t, 2147483647.0);
    e.vminpd(e.u, e.u, e.t);
    load_double(e, e.t, -2147483648.0);
    e.vmaxpd(e.a, e.a, e.t);
    e.vaddpd(e.a, e.a, e.u);
    round_f64(e, e.a, e.a, kToZero);
    load_double(e, e.t, 1.5 * kTwoTo52);
    e.vaddpd(e.d, e.a, e.t);
}

// Below 1 however it rounds; an infinity gives a NaN.
void fraction(E& e) {
    round_f64(e, e.t, e.a, kDown);
    e.vsubpd(e.t, e.a, e.t);
    load_double(e, e.u, 0x1.fffffffffffffp-1);
    e.vminpd(e.d, e.u, e.t);
}

// b, an integer, to 2^b between the limits, by its exponent.
void power_of_two(E& e, uint32_t furthest) {
    constexpr uint32_t kBias = 1023;
    e.load_word(e.t, furthest);
    e.vpminsd(e.b, e.b, e.t);
    e.load_word(e.t, -furthest);
    e.vpmaxsd(e.b, e.b, e.t);
    e.load_word(e.t, kBias);
    e.vpaddd(e.b, e.b, e.t);
    e.vpsllq(e.b, e.b, 52);
}
// Beyond 2^300 every f32 overflows or vanishes; below that the product is exact in f64, then rounded once.
void scale_f32(E& e) {
    power_of_two(e, 300);
    e.low_words(e.a, e.a);
    e.vcvtps2pd(e.a, e.half_width(e.a));
    e.vmulpd(e.a, e.a, e.b);
    to_f32(e);
}
void scale_f64(E& e) {
    e.low_words(e.b, e.b);
    e.vcvtdq2pd(e.b, e.half_width(e.b));
    e.vscalefpd(e.d, e.a, e.b);
}

constexpr LaneOperation joined(Opcode opcode, LaneWidths widths, LaneEmit emit, LaneCheck check = LaneCheck::none,
                               LaneIsa least = LaneIsa::avx2) {
    const auto sources = static_cast<uint8_t>(widths.sources[1] == 0 ? 1 : 2);
    return {opcode, sources, kWords, check, {}, emit, least, widths, PairLayout::joined};
}
constexpr LaneWidths kUnary{{2, 0, 0}, 2}, kWiden{{1, 0, 0}, 2}, kNarrow{{2, 0, 0}, 1};

constexpr LaneOperation kOperations[] = {
    joined(Opcode::v_trunc_f64, kUnary, rounded<kToZero>),
    joined(Opcode::v_ceil_f64, kUnary, rounded<kUp>),
    joined(Opcode::v_floor_f64, kUnary, rounded<kDown>),
    joined(Opcode::v_rndne_f64, kUnary, rounded<kNearest>),
    joined(Opcode::v_fract_f64, kUnary, fraction, LaneCheck::nan_result_f64),
    joined(Opcode::v_cvt_f64_f32, kWiden, from_f32),
    joined(Opcode::v_cvt_f64_i32, kWiden, from_i32),
    joined(Opcode::v_cvt_f64_u32, kWiden, from_u32),
    joined(Opcode::v_cvt_f32_f64, kNarrow, to_f32),
    joined(Opcode::v_cvt_i32_f64, kNarrow, to_i32),
    joined(Opcode::v_cvt_u32_f64, kNarrow, to_u32),
    joined(Opcode::v_ldexp_f32, {{1, 1, 0}, 1}, scale_f32),
    joined(Opcode::v_ldexp_f64, {{2, 1, 0}, 2}, scale_f64, LaneCheck::none, LaneIsa::avx512),
};

}  // namespace
}  // namespace lanes_double

std::span<const LaneOperation> double_lane_operations() { return lanes_double::kOperations; }

}  // namespace riftjit::rdna::emulator
