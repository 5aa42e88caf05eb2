// Floats taken apart and put together over lanes: fraction, mantissa and exponent, scaling by a power of two.
#include <bit>

#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_exponents {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words;
constexpr uint32_t kOnes = 0xFFFFFFFF;

// What the two formats spell differently.
struct Single {
    static constexpr unsigned kMantissaBits = 23, kUpscale = 24, kBias = 127;
    static constexpr uint64_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000, kMinNormal = 0x00800000;
    static constexpr uint64_t kBelowOne = 0x3F7FFFFF, kHalf = 0x3F000000;
    static constexpr uint64_t kTwoToUpscale = std::bit_cast<uint32_t>(0x1p24f);
    static void load(E& e, const Xmm& to, uint64_t bits) { e.load_word(to, static_cast<uint32_t>(bits)); }
    static void compare(E& e, const Xmm& to, const Xmm& x, const Xmm& y, uint8_t predicate) {
        e.compare_f32(to, x, y, predicate);
    }
    static void multiply(E& e, const Xmm& to, const Xmm& x, const Xmm& y) { e.vmulps(to, x, y); }
    static void shift_right(E& e, const Xmm& to, const Xmm& x, uint8_t count) { e.vpsrld(to, x, count); }
};
struct Double {
    static constexpr unsigned kMantissaBits = 52, kUpscale = 54, kBias = 1023;
    static constexpr uint64_t kMagnitude = ~uint64_t{0} >> 1, kInfinity = 0x7FF0000000000000;
    static constexpr uint64_t kMinNormal = 0x0010000000000000, kHalf = 0x3FE0000000000000;
    static constexpr uint64_t kTwoToUpscale = std::bit_cast<uint64_t>(0x1p54);
    static void load(E& e, const Xmm& to, uint64_t bits) { e.load_quad(to, bits); }
    static void compare(E& e, const Xmm& to, const Xmm& x, const Xmm& y, uint8_t predicate) {
        e.compare_f64(to, x, y, predicate);
    }
    static void multiply(E& e, const Xmm& to, const Xmm& x, const Xmm& y) { e.vmulpd(to, x, y); }
    static void shift_right(E& e, const Xmm& to, const Xmm& x, uint8_t count) { e.vpsrlq(to, x, count); }
};

// to: the lanes of u, if chosen, or else of a. t is used.
void blend(E& e, const Xmm& to, const Xmm& chosen) {
    e.and_bits(e.u, e.u, chosen);
    e.and_not_bits(e.t, chosen, e.a);
    e.or_bits(to, e.u, e.t);
}
// c: a, denormals scaled up to normal numbers. found_lanes: which; condition_lanes: zeros, infinities and NaNs.
template <class F>
void normalize(E& e) {
    const Xmm &denormal = e.found_lanes, &special = e.condition_lanes;
    F::load(e, e.t, F::kMagnitude);
    e.and_bits(e.t, e.a, e.t);
    F::load(e, e.u, F::kInfinity);
    F::compare(e, special, e.t, e.u, kNltU);
    F::load(e, e.u, F::kMinNormal);
    F::compare(e, denormal, e.t, e.u, kLt);
    e.xor_bits(e.u, e.u, e.u);
    F::compare(e, e.u, e.t, e.u, kEq);
    e.or_bits(special, special, e.u);
    F::load(e, e.u, F::kTwoToUpscale);
    F::multiply(e, e.u, e.a, e.u);
    blend(e, e.c, denormal);
}
// With the exponent of [0.5, 1); what has none comes through as it is.
template <class F>
void mantissa(E& e) {
    normalize<F>(e);
    F::load(e, e.t, ~F::kInfinity);
    e.and_bits(e.c, e.c, e.t);
    F::load(e, e.t, F::kHalf);
    e.or_bits(e.c, e.c, e.t);
    e.move(e.u, e.a);
    e.move(e.a, e.c);
    blend(e, e.d, e.condition_lanes);
}
template <class F>
void exponent(E& e) {
    normalize<F>(e);
    F::load(e, e.t, F::kMagnitude);
    e.and_bits(e.c, e.c, e.t);
    F::shift_right(e, e.c, e.c, F::kMantissaBits);
    F::load(e, e.t, F::kBias - 1);
    e.vpsubd(e.c, e.c, e.t);
    F::load(e, e.t, F::kUpscale);
    e.and_bits(e.t, e.t, e.found_lanes);
    e.vpsubd(e.c, e.c, e.t);
    e.and_not_bits(e.d, e.condition_lanes, e.c);
}

// Below 1 however it rounds; an infinity gives a NaN.
void below_one(E& e, uint32_t greatest) {
    e.round_f32(e.t, e.a, kDown);
    e.vsubps(e.t, e.a, e.t);
    e.load_word(e.u, greatest);
    e.vminps(e.d, e.u, e.t);
}
void fraction(E& e) { below_one(e, Single::kBelowOne); }
void fraction_of_half(E& e) { below_one(e, 0x3F7FE000); }  // 0x3BFF as f32

// Times 2^b, built from its exponent. Beyond 2^60 every f16 overflows or vanishes; below that the product is exact in
// f32.
void scale_half(E& e) {
    constexpr uint32_t kFurthest = 60;
    e.widen(e.a, e.a);
    e.vpslld(e.b, e.b, 16);
    e.vpsrad(e.b, e.b, 16);
    e.load_word(e.t, kFurthest);
    e.vpminsd(e.b, e.b, e.t);
    e.load_word(e.t, -kFurthest);
    e.vpmaxsd(e.b, e.b, e.t);
    e.load_word(e.t, Single::kBias);
    e.vpaddd(e.b, e.b, e.t);
    e.vpslld(e.b, e.b, 23);
    e.vmulps(e.d, e.a, e.b);
}

constexpr LaneOperation half(Opcode opcode, uint8_t sources, LaneCheck check, LaneEmit emit, LaneHalves halves) {
    LaneOperation operation{opcode, sources, kWords, check, {}, emit};
    operation.halves = halves;
    return operation;
}
constexpr LaneOperation doubles(Opcode opcode, LaneEmit emit, uint8_t result_registers) {
    LaneOperation operation{opcode, 1, kWords, LaneCheck::none, {}, emit};
    operation.widths = {{2, 1, 1}, result_registers};
    operation.layout = PairLayout::joined;
    return operation;
}

constexpr LaneOperation kOperations[] = {
    {Opcode::v_fract_f32, 1, kWords, LaneCheck::nan_result, {}, fraction},
    lane_words(Opcode::v_frexp_mant_f32, 1, mantissa<Single>),
    lane_words(Opcode::v_frexp_exp_i32_f32, 1, exponent<Single>),
    doubles(Opcode::v_frexp_mant_f64, mantissa<Double>, 2),
    doubles(Opcode::v_frexp_exp_i32_f64, exponent<Double>, 1),
    // A signaling NaN stays one, but does not survive being widened.
    half(Opcode::v_frexp_mant_f16, 1, LaneCheck::nan_result, mantissa<Single>, {HalfSources::f16, HalfResult::f16}),
    half(Opcode::v_frexp_exp_i16_f16, 1, LaneCheck::none, exponent<Single>, {HalfSources::f16, HalfResult::bits}),
    half(Opcode::v_fract_f16, 1, LaneCheck::nan_result, fraction_of_half, {HalfSources::f16, HalfResult::f16}),
    half(Opcode::v_ldexp_f16, 2, LaneCheck::none, scale_half, {HalfSources::bits, HalfResult::f16}),
};

}  // namespace
}  // namespace lanes_exponents

std::span<const LaneOperation> exponent_lane_operations() { return lanes_exponents::kOperations; }

}  // namespace riftjit::rdna::emulator
