// The steps of division over lanes, as valu_division.cpp has them.
#include <bit>

#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_division {
namespace {

using E = LaneEmitter;
using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words, kBoth = LaneKernelResult::words_and_mask;

// What the formats spell differently. Exponents are compared as integers of the format's width.
struct Single {
    static constexpr uint8_t kSignBits = 1, kMantissaBits = 23;
    static constexpr int kScale = 64, kFarApart = 96, kMostDenominator = 252, kTinyNumerator = 23, kVanishes = 150;
    static constexpr uint64_t kMagnitude = 0x7FFFFFFF, kSign = 0x80000000, kInfinity = 0x7F800000;
    static constexpr uint64_t kInvalid = 0xFFC00000, kOne = 0x3F800000, kMinNormal = 0x00800000;
    static Address every(E& e, int64_t bits) { return e.every_word(static_cast<uint32_t>(bits)); }
    static void and_every(E& e, const Xmm& to, const Xmm& x, uint64_t bits) {
        e.and_word(to, x, static_cast<uint32_t>(bits));
    }
    static void compare(E& e, const Xmm& to, const Xmm& x, const Operand& y, uint8_t predicate) {
        e.compare_f32(to, x, y, predicate);
    }
    static void greater(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.greater_i32(to, x, y); }
    static void equal(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.equal_i32(to, x, y); }
    static void shift_left(E& e, const Xmm& to, const Xmm& x, uint8_t count) { e.vpslld(to, x, count); }
    static void shift_right(E& e, const Xmm& to, const Xmm& x, uint8_t count) { e.vpsrld(to, x, count); }
    static void add(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vpaddd(to, x, y); }
    static void subtract(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vpsubd(to, x, y); }
    static void multiply(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vmulps(to, x, y); }
    static void divide(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vdivps(to, x, y); }
    static void minimum(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vminps(to, x, y); }
    static void maximum(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vmaxps(to, x, y); }
    static void fuse(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vfmadd213ps(to, x, y); }
    static void spread_top_bit(E& e, const Xmm& lanes) { e.vpsrad(lanes, lanes, 31); }
    static void take_condition(E& e, const Xmm& to) { e.condition_to_lanes(to); }
    static void give_found(E& e) { e.found_from_lanes(); }
    static void decline(E& e, const Xmm& lanes) { e.decline(lanes); }
};
// f16 as f32, where nothing vanishes.
struct Half : Single {
    static constexpr int kVanishes = 0;
};
struct Double {
    static constexpr uint8_t kSignBits = 1, kMantissaBits = 52;
    static constexpr int kScale = 128, kFarApart = 768, kMostDenominator = 2044, kTinyNumerator = 53, kVanishes = 1075;
    static constexpr uint64_t kMagnitude = ~uint64_t{0} >> 1, kSign = ~kMagnitude, kInfinity = 0x7FF0000000000000;
    static constexpr uint64_t kInvalid = 0xFFF8000000000000, kOne = 0x3FF0000000000000;
    static constexpr uint64_t kMinNormal = 0x0010000000000000;
    static Address every(E& e, int64_t bits) { return e.every_quad(static_cast<uint64_t>(bits)); }
    static void and_every(E& e, const Xmm& to, const Xmm& x, uint64_t bits) { e.and_quad(to, x, bits); }
    static void compare(E& e, const Xmm& to, const Xmm& x, const Operand& y, uint8_t predicate) {
        e.compare_f64(to, x, y, predicate);
    }
    static void greater(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.greater_i64(to, x, y); }
    static void equal(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.equal_i64(to, x, y); }
    static void shift_left(E& e, const Xmm& to, const Xmm& x, uint8_t count) { e.vpsllq(to, x, count); }
    static void shift_right(E& e, const Xmm& to, const Xmm& x, uint8_t count) { e.vpsrlq(to, x, count); }
    static void add(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vpaddq(to, x, y); }
    static void subtract(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vpsubq(to, x, y); }
    static void multiply(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vmulpd(to, x, y); }
    static void divide(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vdivpd(to, x, y); }
    static void minimum(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vminpd(to, x, y); }
    static void maximum(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vmaxpd(to, x, y); }
    static void fuse(E& e, const Xmm& to, const Xmm& x, const Operand& y) { e.vfmadd213pd(to, x, y); }
    static void spread_top_bit(E& e, const Xmm& lanes) {
        constexpr uint8_t kOddWords = 0xF5;
        e.vpsrad(lanes, lanes, 31);
        e.vpshufd(lanes, lanes, kOddWords);
    }
    static void take_condition(E& e, const Xmm& to) { e.condition_to_quads(to); }
    static void give_found(E& e) { e.found_from_quads(); }
    static void decline(E& e, const Xmm& lanes) { e.decline_quads(lanes); }
};

template <class F>
constexpr uint64_t power_of_two(int exponent) {
    return F::kOne + (static_cast<uint64_t>(static_cast<int64_t>(exponent)) << F::kMantissaBits);
}
template <class F>
void take_exponent(E& e, const Xmm& to, const Xmm& from) {
    F::shift_left(e, to, from, F::kSignBits);
    F::shift_right(e, to, to, F::kSignBits + F::kMantissaBits);
}

// v, w: the exponents of b and c. To `ordinary` where no lane's are near the ends of the range or far apart; the signs
// of differences tell.
template <class F>
void tell_ordinary(E& e, Xbyak::Label& ordinary) {
    const Xmm &below = e.v, &above = e.w, &apart = e.found_lanes, &odd = e.t, &fits = e.u;
    take_exponent<F>(e, below, e.b);
    take_exponent<F>(e, above, e.c);
    F::subtract(e, odd, above, F::every(e, F::kTinyNumerator + 1));
    F::subtract(e, e.u, below, F::every(e, 1));
    e.or_bits(odd, odd, e.u);
    F::subtract(e, apart, above, below);
    F::add(e, e.u, apart, F::every(e, F::kFarApart - 1));
    e.or_bits(odd, odd, e.u);
    F::subtract(e, fits, apart, F::every(e, F::kFarApart));
    F::subtract(e, apart, below, F::every(e, F::kMostDenominator + 1));
    e.and_bits(fits, fits, apart);
    e.and_not_bits(fits, odd, fits);
    e.xor_bits(e.found_lanes, e.found_lanes, e.found_lanes);
    e.move(e.d, e.a);
    e.jump_where_all_negative(fits, ordinary);
}
// t: where a is scaled up, u: down; found_lanes: where the quotient leaves the range.
template <class F>
void choose_scales(E& e) {
    const Xmm &below = e.v, &above = e.w, &apart = e.w, &far = e.found_lanes, &overflows = e.condition_lanes;
    F::subtract(e, e.t, above, F::every(e, F::kTinyNumerator + 1));  // negative: a tiny numerator
    F::spread_top_bit(e, e.t);
    F::subtract(e, apart, above, below);
    e.xor_bits(e.u, e.u, e.u);
    F::equal(e, e.u, below, e.u);
    e.or_bits(e.t, e.t, e.u);
    F::greater(e, overflows, apart, F::every(e, F::kFarApart - 1));
    F::add(e, apart, apart, F::every(e, F::kFarApart - 1));  // negative: underflows
    F::spread_top_bit(e, apart);
    e.or_bits(far, overflows, apart);
    e.and_not_bits(e.t, far, e.t);
    F::equal(e, e.u, e.a, e.b);
    e.and_bits(overflows, overflows, e.u);
    e.or_bits(e.t, e.t, overflows);
    F::equal(e, overflows, e.a, e.c);
    e.and_bits(overflows, overflows, apart);
    e.or_bits(e.t, e.t, overflows);
    // The reciprocal is a denormal.
    F::greater(e, below, below, F::every(e, F::kMostDenominator));
    e.and_not_bits(e.t, below, e.t);
    e.and_not_bits(apart, e.u, apart);
    e.and_not_bits(e.u, apart, below);
}
template <class F>
void scale(E& e) {
    choose_scales<F>(e);
    constexpr uint64_t kDown = power_of_two<F>(-F::kScale), kUp = power_of_two<F>(F::kScale);
    F::and_every(e, e.v, e.t, kUp - kDown);
    F::add(e, e.v, e.v, F::every(e, kDown));
    F::multiply(e, e.v, e.v, e.a);
    e.or_bits(e.t, e.t, e.u);
    e.blend(e.d, e.a, e.v, e.t);
    // A quotient of zero, or by it, is left to the fixup.
    e.xor_bits(e.u, e.u, e.u);
    F::compare(e, e.t, e.b, e.u, kEq);
    F::compare(e, e.u, e.c, e.u, kEq);
    e.or_bits(e.t, e.t, e.u);
    e.or_bits(e.found_lanes, e.found_lanes, e.t);
    e.and_not_bits(e.d, e.t, e.d);
    F::and_every(e, e.t, e.t, F::kInvalid);
    e.or_bits(e.d, e.d, e.t);
}
template <class F>
void scale_for_division(E& e) {
    Xbyak::Label ordinary;
    tell_ordinary<F>(e, ordinary);
    scale<F>(e);
    e.L(ordinary);
    F::give_found(e);
}

// A normal number, scaled to another, has been rounded once. Lanes of any other sum that is scaled back are declined.
template <class F>
void fma_scaled_back(E& e) {
    const Xmm &condition = e.condition_lanes, &scale = e.found_lanes;
    constexpr uint64_t kDown = power_of_two<F>(-F::kScale), kUp = power_of_two<F>(F::kScale);
    F::take_condition(e, condition);
    F::shift_left(e, scale, e.c, F::kSignBits);  // the top bit of the exponent: 2 or more
    F::spread_top_bit(e, scale);
    F::and_every(e, scale, scale, kUp - kDown);
    F::add(e, scale, scale, F::every(e, kDown));
    F::subtract(e, scale, scale, F::every(e, F::kOne));
    e.and_bits(scale, scale, condition);
    F::add(e, scale, scale, F::every(e, F::kOne));
    F::fuse(e, e.a, e.b, e.c);
    F::multiply(e, e.d, e.a, scale);
    F::and_every(e, e.a, e.a, F::kMagnitude);
    F::and_every(e, e.t, e.d, F::kMagnitude);
    F::minimum(e, e.u, e.a, e.t);
    F::maximum(e, e.t, e.a, e.t);
    F::compare(e, e.u, e.u, F::every(e, F::kMinNormal), kLt);
    F::compare(e, e.t, e.t, F::every(e, F::kInfinity), kEq);
    e.or_bits(e.t, e.t, e.u);
    e.and_bits(e.t, e.t, condition);
    F::decline(e, e.t);
}

// found_lanes: where b or c is a zero, an infinity or a NaN.
template <class F>
void find_special(E& e) {
    const Xmm& special = e.found_lanes;
    e.xor_bits(e.t, e.t, e.t);
    F::and_every(e, e.u, e.b, F::kMagnitude);
    F::and_every(e, e.v, e.c, F::kMagnitude);
    F::compare(e, special, e.u, e.t, kNgtU);
    F::compare(e, e.t, e.v, e.t, kNgtU);
    e.or_bits(special, special, e.t);
    F::compare(e, e.u, e.u, F::every(e, F::kInfinity), kNltU);
    F::compare(e, e.v, e.v, F::every(e, F::kInfinity), kNltU);
    e.or_bits(special, special, e.u);
    e.or_bits(special, special, e.v);
}
// The host's own division gives special quotients: the numerator's NaN before the denominator's, quiet, and the
// negative one of 0 / 0.
template <class F>
void fix_quotient(E& e) {
    find_special<F>(e);
    // The host gives the second operand where the first is a NaN.
    F::and_every(e, e.a, e.a, F::kMagnitude);
    F::minimum(e, e.a, e.a, F::every(e, F::kInfinity));
    if (F::kVanishes != 0) {
        take_exponent<F>(e, e.t, e.b);
        take_exponent<F>(e, e.u, e.c);
        F::subtract(e, e.t, e.t, e.u);
        F::greater(e, e.t, e.t, F::every(e, F::kVanishes));
        e.and_not_bits(e.a, e.t, e.a);
    }
    e.xor_bits(e.t, e.b, e.c);
    F::and_every(e, e.t, e.t, F::kSign);
    e.or_bits(e.a, e.a, e.t);
    F::divide(e, e.c, e.c, e.b);
    e.blend(e.d, e.a, e.c, e.found_lanes);
}

constexpr LaneOperation singles(Opcode opcode, LaneKernelResult result, LaneCheck check, LaneEmit emit) {
    return {opcode, 3, result, check, {}, emit};
}
constexpr LaneOperation doubles(Opcode opcode, LaneKernelResult result, LaneCheck check, LaneEmit emit) {
    LaneOperation operation{opcode, 3, result, check, {}, emit};
    operation.widths = {{2, 2, 2}, 2};
    operation.layout = PairLayout::joined;
    return operation;
}
constexpr LaneOperation halves(Opcode opcode, LaneEmit emit) {
    LaneOperation operation{opcode, 3, kWords, LaneCheck::none, {}, emit};
    operation.halves = {HalfSources::f16, HalfResult::f16};
    return operation;
}

constexpr LaneOperation kOperations[] = {
    singles(Opcode::v_div_scale_f32, kBoth, LaneCheck::none, scale_for_division<Single>),
    singles(Opcode::v_div_fmas_f32, kWords, LaneCheck::nan_result, fma_scaled_back<Single>),
    singles(Opcode::v_div_fixup_f32, kWords, LaneCheck::none, fix_quotient<Single>),
    doubles(Opcode::v_div_scale_f64, kBoth, LaneCheck::none, scale_for_division<Double>),
    doubles(Opcode::v_div_fmas_f64, kWords, LaneCheck::nan_result_f64, fma_scaled_back<Double>),
    doubles(Opcode::v_div_fixup_f64, kWords, LaneCheck::none, fix_quotient<Double>),
    halves(Opcode::v_div_fixup_f16, fix_quotient<Half>),
};

}  // namespace
}  // namespace lanes_division

std::span<const LaneOperation> division_lane_operations() { return lanes_division::kOperations; }

}  // namespace riftjit::rdna::emulator
