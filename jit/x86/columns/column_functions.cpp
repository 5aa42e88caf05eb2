// u below is 2^-53, half an ulp of 1. Polynomials interpolate at Chebyshev nodes (make_column_polynomials.py, which
// prints their errors).
#include "jit/x86/columns/column_functions.h"

#include <array>
#include <limits>

namespace riftjit::x86 {

namespace {

using Cc = ColumnCompiler;
using Vec = Cc::Vec;
using Mask = Cc::Mask;

constexpr double kInfinityF64 = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kSignBit = uint64_t(1) << 63, kOneBits = std::bit_cast<uint64_t>(1.0);

// Adding it rounds |x| < 2^51 to an integer, whose low bits are then those of the sum.
constexpr double kRounder = 0x1.8p52;

constexpr double kLog2OfE = 0x1.71547652b82fep+0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
// ln 2 to 42 bits, times an integer of 11 bits exact, and the rest.
constexpr double kLn2Short = 0x1.62e42fefa3800p-1, kLn2ShortRest = 0x1.ef35793c76730p-45;

// (exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2: exp to 2^-61.4.
constexpr std::array kExpTerms = {0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,
                                  0x1.11111111100dfp-7,  0x1.6c16c16c162d6p-10, 0x1.a01a01abe6323p-13,
                                  0x1.a01a01a6d7831p-16, 0x1.71de0237484cdp-19, 0x1.27e4db67ac2b0p-22,
                                  0x1.af4ddda1c08cdp-26, 0x1.1f72fc83bcbc7p-29};
// (2 atanh(s) / s - 2) / z, z = s^2 <= ((sqrt 2 - 1) / (sqrt 2 + 1))^2: log to 2^-57.6.
constexpr std::array kLogTerms = {0x1.5555555555558p-1, 0x1.99999999952e2p-2, 0x1.2492492df14bcp-2,
                                  0x1.c71c62e57c3c4p-3, 0x1.7462b4ac441afp-3, 0x1.39fe604146b74p-3,
                                  0x1.2b584c6b42d60p-3};
// The same without its first term 2/3, over z: log to 2^-66.4.
constexpr std::array kLogTailTerms = {0x1.999999999999ap-2, 0x1.2492492492521p-2, 0x1.c71c71c6eaa8cp-3,
                                      0x1.745d177a8f30dp-3, 0x1.3b1395d4f2df4p-3, 0x1.1118c749a1ccap-3,
                                      0x1.df7ce956c7572p-4, 0x1.e02d1cc03596ep-4};
constexpr double kTwoThirds = 0x1.5555555555555p-1, kTwoThirdsRest = 0x1.5555555555555p-55;
// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in z = r^2, |r| <= pi / 4 + 1/256: to 2^-57.3 and 2^-60.
constexpr std::array kSinTerms = {-0x1.5555555555555p-3, 0x1.1111111111110p-7,   -0x1.a01a01a0198dep-13,
                                  0x1.71de3a5455c18p-19, -0x1.ae6454000e981p-26, 0x1.6121704996439p-33,
                                  -0x1.ab0f2c0f7446ep-41};
constexpr std::array kCosTerms = {0x1.5555555555555p-5,   -0x1.6c16c16c16944p-10, 0x1.a01a019f4677dp-16,
                                  -0x1.27e4fa0d3edf7p-22, 0x1.1eeb5de9da3bap-29,  -0x1.9075c11574920p-37};
// pi / 2 = sum of the parts to 2^-164, and 2 / pi.
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54,
                 kHalfPiTail = -0x1.f1976b7ed8fbcp-110, kTwoOverPi = 0x1.45f306dc9c883p-1;

// x = n ln 2 + r + rest, |r| <= ln 2 / 2. `shifted` is kRounder + n.
struct Reduced {
    Vec shifted, n, r;
};

Vec clamp(Cc& cc, const Vec& x, double low, double high) {  // NaN stays
    return cc.maximum(cc.broadcast_f64(low), cc.minimum(cc.broadcast_f64(high), x));
}

// n ln 2 has two parts. The first difference is exact: both sides are multiples of 2^-53 or, where n is 0 or 1, of
// 2^-54, and the result is below 1/2. r has one rounding: with |r| <= 0.3466 at most u / 4.
Vec round_to_multiples_of_ln2(Cc& cc, Reduced& out, const Vec& x) {
    out.shifted = cc.multiply_add(x, cc.splat_f64(kLog2OfE), cc.broadcast_f64(kRounder));
    out.n = cc.subtract(out.shifted, cc.splat_f64(kRounder));
    const Vec difference = cc.new_vector();
    cc.vmovapd(difference, x);
    cc.subtract_product(difference, out.n, cc.splat_f64(kLn2));
    return difference;
}
Reduced reduce(Cc& cc, const Vec& x) {
    Reduced out;
    out.r = round_to_multiples_of_ln2(cc, out, x);
    cc.subtract_product(out.r, out.n, cc.splat_f64(kLn2Rest));
    return out;
}
// Also what that rounding lost.
Vec reduce_with_rest(Cc& cc, Reduced& out, const Vec& x) {
    const Vec difference = round_to_multiples_of_ln2(cc, out, x);
    out.r = cc.new_vector();
    cc.vmovapd(out.r, difference);
    cc.subtract_product(out.r, out.n, cc.splat_f64(kLn2Rest));
    const Vec rest = cc.subtract(difference, out.r);
    cc.subtract_product(rest, out.n, cc.splat_f64(kLn2Rest));
    return rest;
}

// y * 2^n for -1100 < n <= 1024, rounded once: below AVX-512 in two products, the first exact for 1/4 < y < 4.
Vec scale(Cc& cc, const Vec& y, const Reduced& reduced) {
    if (cc.is_avx512()) return cc.emit_new(Inst::kIdVscalefpd, y, reduced.n);
    const Vec half = cc.new_vector(), other = cc.new_vector();
    cc.vpsrad(half, reduced.shifted, 1);  // n / 2 in the low dwords; what is above leaves by the shift
    cc.vpsubd(other, reduced.shifted, half);
    const auto power_of_two = [&](const Vec& n) {
        return cc.add_u64(cc.shift_left_u64(n, 52), cc.splat_u64(kOneBits));
    };
    return cc.multiply(cc.multiply(y, power_of_two(half)), power_of_two(other));
}

// For -40 <= x <= 710: 2^n ((1 - 2^-n) + r + tail), in which the first two are added without loss (the first is 0 or
// larger than r). What rounds is the tail, r^2 times the polynomial, in four places: together below 0.22 u for r > 0
// and 0.14 u for r < 0. What 2^n multiplies is at least 0.41 in size, of ulp u / 2, for r = 0.35 and n = 0, and 0.2, of
// ulp u / 4, for r = -0.35 and n = 1: 0.6 ulp, less elsewhere; and the last rounding is 0.5. 1 - 2^-n is exact to |n| =
// 53, and what it loses is added later; for n < -53 the result is -1 + e^x, and losing all of e^x costs half an ulp.
Vec expm1_of_clamped(Cc& cc, const Vec& x) {
    Reduced reduced;
    const Vec rest = reduce_with_rest(cc, reduced, x), &r = reduced.r;
    cc.add_product(rest, rest, r);  // exp(r + rest) = exp(r) + rest (1 + r)
    const Vec tail = cc.multiply_add(cc.multiply(r, r), cc.polynomial(kExpTerms, r), rest);
    const Vec bounded = cc.minimum(reduced.n, cc.splat_f64(1000));
    const Vec negated = cc.subtract(cc.broadcast_f64(kRounder), bounded);
    const Vec inverse = cc.add_u64(cc.shift_left_u64(negated, 52), cc.splat_u64(kOneBits));
    const Vec one = cc.broadcast_f64(1), base = cc.subtract(one, inverse);
    const Vec base_rest = cc.subtract(cc.subtract(one, base), inverse);
    const Vec sum = cc.add(base, r);
    const Vec lost = cc.add(cc.subtract(r, cc.subtract(sum, base)), base_rest);
    return scale(cc, cc.add(sum, cc.add(lost, tail)), reduced);
}

// m 2^exponent = x, sqrt(1/2) <= m < sqrt(2), for normal x.
struct Split {
    Vec fraction, exponent;
};
Split split(Cc& cc, const Vec& x) {
    constexpr uint64_t kHalfRootBits = 0x3fe6a09e667f3bcd, kFractionBits = (uint64_t(1) << 52) - 1;
    // Biased so that the exponent is positive and can be shifted without sign.
    const Vec shifted = cc.add_u64(x, cc.splat_u64(kOneBits - kHalfRootBits));
    const Vec fraction = cc.add_u64(cc.bit_and(shifted, cc.splat_u64(kFractionBits)), cc.splat_u64(kHalfRootBits));
    const Vec biased = cc.bit_or(cc.shift_right_u64(shifted, 52), cc.splat_f64(0x1p52));
    return {fraction, cc.subtract(biased, cc.splat_f64(0x1p52 + 1023))};
}
// The same for every positive x, subnormal ones scaled first.
Split split_any(Cc& cc, const Vec& x) {
    const Mask is_small = cc.compare_f64(x, cc.splat_f64(std::numeric_limits<double>::min()), Compare::less);
    const Split parts = split(cc, cc.select_f64(is_small, cc.multiply(x, cc.splat_f64(0x1p54)), x));
    const Vec shift = cc.select_f64(is_small, cc.splat_f64(54), cc.broadcast_f64(0));
    return {parts.fraction, cc.subtract(parts.exponent, shift)};
}

// log(m 2^e) with f = m - 1, s = f / (2 + f): e ln2 + f - (f^2/2 - s (f^2/2 + z P(z))), as fdlibm has it. e ln2Short is
// exact and added to f without loss; what remains is below 0.09 and takes four roundings of at most u / 16, and those
// of s, z and P, below 0.05 u. The result is at least 0.34 in size, of ulp u / 2, or e is 0 and all shrinks with f:
// below 0.5 + 0.6 ulp.
Vec log_of_parts(Cc& cc, const Split& parts) {
    const Vec f = cc.subtract(parts.fraction, cc.splat_f64(1));
    const Vec s = cc.divide(f, cc.add(f, cc.splat_f64(2))), z = cc.multiply(s, s);
    const Vec half_square = cc.multiply(cc.multiply(f, cc.splat_f64(0.5)), f);
    const Vec inner = cc.multiply_add(z, cc.polynomial(kLogTerms, z), half_square);
    const Vec correction = cc.multiply_subtract(s, inner, half_square);
    const Vec sum = cc.multiply_add(parts.exponent, cc.splat_f64(kLn2Short), f);
    const Vec lost = cc.multiply_subtract(parts.exponent, cc.splat_f64(kLn2Short), sum);
    const Vec low = cc.add(cc.add(lost, f), correction);
    cc.add_product(low, parts.exponent, cc.splat_f64(kLn2ShortRest));
    return cc.add(sum, low);
}

// A number as an unevaluated sum.
struct Pair {
    Vec high, low;
};

Pair exact_product(Cc& cc, const Vec& left, const Vec& right) {
    const Vec high = cc.multiply(left, right);
    return {high, cc.multiply_subtract(left, right, high)};
}
Pair exact_sum_of_larger_first(Cc& cc, const Vec& large, const Vec& small) {
    const Vec high = cc.add(large, small);
    return {high, cc.subtract(small, cc.subtract(high, large))};
}

// An angle as quarter turns and r + rest, |r| <= pi / 4 + 2^-8. The low bits of `quarters` count.
struct Angle {
    Vec quarters, r, rest;
};

// By Cody and Waite, with fused products: the first difference is exact (its sides are multiples of 2^-53, or of ulp(x)
// when that is smaller and n is 0); the second, which may cancel, is kept whole in two parts (Knuth's sum); the third
// is n 2^-162 away from the truth, 2^-117 at kMostAngle, while no f64 below it comes closer than about 2^-60 to a
// multiple of pi / 2. The quotient is off by n 2^-54 or less, 2^-9 at kMostAngle, which widens |r| as said.
Angle reduce_angle(Cc& cc, const Vec& x) {
    const Vec quarters = cc.multiply_add(x, cc.splat_f64(kTwoOverPi), cc.broadcast_f64(kRounder));
    const Vec n = cc.subtract(quarters, cc.splat_f64(kRounder));
    const Vec difference = cc.new_vector();
    cc.vmovapd(difference, x);
    cc.subtract_product(difference, n, cc.splat_f64(kHalfPi));
    const Pair second = exact_product(cc, n, cc.broadcast_f64(kHalfPiRest));
    const Vec r = cc.subtract(difference, second.high), change = cc.subtract(r, difference);
    const Vec lost = cc.subtract(cc.subtract(difference, cc.subtract(r, change)), cc.add(second.high, change));
    const Vec rest = cc.subtract(lost, second.low);
    cc.subtract_product(rest, n, cc.splat_f64(kHalfPiTail));
    return {quarters, r, rest};
}

// sin(r + rest) = r + (r z S(z) + rest (1 - z/2)): the second term is at most 0.08 and takes three roundings, 0.2 ulp
// of the result, and the last rounding 0.5. cos = w + ((1 - w - z/2) + (z^2 C(z) - r rest)), w = 1 - z/2, in which the
// rounding of z shows as u / 4, 0.25 ulp, beside the last. Odd quarters exchange the two; quarters 2 and 3 negate.
Vec sin_of_angle(Cc& cc, const Angle& angle) {
    const Vec &r = angle.r, &rest = angle.rest;
    const Vec z = cc.multiply(r, r), half = cc.multiply(z, cc.splat_f64(0.5));
    const Vec one = cc.broadcast_f64(1), w = cc.subtract(one, half);
    const Vec sin_term = cc.multiply(cc.multiply(z, r), cc.polynomial(kSinTerms, z));
    cc.add_product(sin_term, rest, w);
    const Vec sine = cc.add(r, sin_term);
    const Vec cos_term = cc.subtract(cc.subtract(one, w), half);
    cc.add_product(cos_term, cc.multiply(z, z), cc.polynomial(kCosTerms, z));
    cc.subtract_product(cos_term, r, rest);
    const Vec cosine = cc.add(w, cos_term);
    const Mask is_odd = cc.mask_of_signs(cc.shift_left_u64(angle.quarters, 63));
    const Vec sign = cc.bit_and(cc.shift_left_u64(angle.quarters, 62), cc.splat_u64(kSignBit));
    return cc.bit_xor(cc.select_f64(is_odd, cosine, sine), sign);
}

Angle next_quarter(Cc& cc, const Angle& angle) {
    return {cc.add_u64(angle.quarters, cc.splat_u64(1)), angle.r, angle.rest};
}

Vec nan_beyond_most_angle(Cc& cc, const Vec& x, const Vec& value) {
    const Vec size = cc.bit_and(x, cc.splat_u64(~kSignBit));
    const Mask is_beyond = cc.compare_f64(size, cc.splat_f64(kMostAngle), Compare::not_less_equal);
    return cc.select_f64(is_beyond, cc.splat_f64(kNaN), value);
}

Vec sign_of(Cc& cc, const Vec& x) { return cc.bit_and(x, cc.splat_u64(kSignBit)); }

// s = f / (2 + f) with its remainder; 2 + f = 1 + m may lose its last bit, which counts too.
Pair log_argument(Cc& cc, const Vec& fraction) {
    const Vec one = cc.broadcast_f64(1), f = cc.subtract(fraction, one);
    const Pair divisor = exact_sum_of_larger_first(cc, one, fraction);  // m < 2 has no larger exponent
    const Vec s = cc.divide(f, divisor.high);
    const Vec remainder = cc.new_vector();
    cc.vmovapd(remainder, f);
    cc.subtract_product(remainder, s, divisor.high);
    cc.subtract_product(remainder, s, divisor.low);
    return {s, cc.divide(remainder, divisor.high)};
}

// 2 s + s z (2/3 + z Q(z)) + e ln2 as a pair. Relative to the sum of 2 s, the term in 2/3 is at most 2^-6.6 and is kept
// in pairs, the one in Q at most 2^-12, so that its roundings count 2^-65; the polynomial adds 2^-66.4, the low parts a
// few 2^-100. In all below 2^-64 of the logarithm.
Pair log_pair(Cc& cc, const Split& parts) {
    const Pair s = log_argument(cc, parts.fraction);
    Pair z = exact_product(cc, s.high, s.high);
    cc.add_product(z.low, cc.add(s.high, s.high), s.low);
    const Vec tail = cc.multiply(z.high, cc.polynomial(kLogTailTerms, z.high));
    Pair factor = exact_sum_of_larger_first(cc, cc.broadcast_f64(kTwoThirds), tail);
    factor.low = cc.add(factor.low, cc.splat_f64(kTwoThirdsRest));
    Pair cube = exact_product(cc, s.high, z.high);
    cc.add_product(cube.low, s.high, z.low);
    cc.add_product(cube.low, s.low, z.high);
    Pair term = exact_product(cc, cube.high, factor.high);
    cc.add_product(term.low, cube.high, factor.low);
    cc.add_product(term.low, cube.low, factor.high);
    const Vec twice = cc.add(s.high, s.high);
    Pair sum = exact_sum_of_larger_first(cc, twice, term.high);
    sum.low = cc.add(sum.low, cc.add(term.low, cc.add(s.low, s.low)));
    const Vec whole = cc.multiply(parts.exponent, cc.splat_f64(kLn2Short));  // exact; 0 or larger than the sum
    Pair out = exact_sum_of_larger_first(cc, whole, sum.high);
    out.low = cc.add(out.low, sum.low);
    cc.add_product(out.low, parts.exponent, cc.splat_f64(kLn2ShortRest));
    return exact_sum_of_larger_first(cc, out.high, out.low);
}

// exp of a pair: its high part is clamped to where the result is 0 or infinite, and beyond that the low one, which may
// be NaN there, is left out. It may reach 2^-44, so it is added to r before what that rounds off is treated as in
// expm1.
Vec exp_of_pair(Cc& cc, const Pair& x) {
    Reduced reduced;
    const Vec rest = reduce_with_rest(cc, reduced, clamp(cc, x.high, -746, 710));
    const Vec size = cc.bit_and(x.high, cc.splat_u64(~kSignBit));
    const Mask is_inside = cc.compare_f64(size, cc.splat_f64(746), Compare::less);
    const Vec low = cc.add(rest, cc.select_f64(is_inside, x.low, cc.broadcast_f64(0)));
    const Pair r = exact_sum_of_larger_first(cc, reduced.r, low);
    const Vec tail = cc.multiply_add(r.low, r.high, r.low);
    cc.add_product(tail, cc.multiply(r.high, r.high), cc.polynomial(kExpTerms, r.high));
    return scale(cc, cc.add(cc.add(r.high, tail), cc.splat_f64(1)), reduced);
}

// Of a negative base: NaN unless the exponent is an integer, and negative if that is odd.
Vec with_sign_of_power(Cc& cc, const Vec& base, const Vec& exponent, const Vec& power) {
    const auto whole = [&](const Vec& x) {  // towards zero: enough to tell integers
        const Vec out = cc.new_vector();
        cc.is_avx512() ? cc.vrndscalepd(out, x, 0x0b) : cc.vroundpd(out, x, 0x0b);
        return out;
    };
    const Vec half = cc.multiply(exponent, cc.splat_f64(0.5));
    const Mask is_even = cc.compare_f64(whole(half), half, Compare::equal);
    const Mask is_integer = cc.compare_f64(whole(exponent), exponent, Compare::equal);
    const Vec odd_sign = cc.select_f64(is_even, cc.splat_f64(0), sign_of(cc, base));
    const Vec sign = cc.select_f64(is_integer, odd_sign, cc.broadcast_f64(0));
    const Vec signed_power = cc.bit_or(power, sign);
    // base < 0, finite and a fraction as exponent: of the base's sign alone, a root is NaN.
    const Mask is_negative = cc.compare_f64(base, cc.splat_f64(0), Compare::less);
    const Vec of_negative = cc.select_f64(is_integer, signed_power, cc.broadcast_f64(kNaN));
    const Vec of_finite = cc.select_f64(is_negative, of_negative, signed_power);
    const Mask is_infinite = cc.compare_f64(base, cc.splat_f64(-kInfinityF64), Compare::equal);
    return cc.select_f64(is_infinite, signed_power, of_finite);
}

}  // namespace

// exp(x) = 2^n (1 + (r + tail)). In units of u, for r < 0, where the result's mantissa lies in [0.7, 1) and its ulp is
// u: the last rounding 0.5, that of r + tail at most 0.25 (it lies below 1/2), that of r 0.25 exp(r) = 0.18, those of
// the tail 0.06, the polynomial 2^-8.4: below 1. For r >= 0 the unit doubles. A subnormal result is rounded once more.
Vec emit_exp(Cc& cc, const Vec& x) {
    const Reduced reduced = reduce(cc, clamp(cc, x, -746, 710));
    const Vec square = cc.multiply(reduced.r, reduced.r);
    const Vec sum = cc.multiply_add(square, cc.polynomial(kExpTerms, reduced.r), reduced.r);
    return scale(cc, cc.add(sum, cc.splat_f64(1)), reduced);
}

Vec emit_expm1(Cc& cc, const Vec& x) {
    return cc.bit_or(expm1_of_clamped(cc, clamp(cc, x, -40, 710)), sign_of(cc, x));  // -0 stays
}

Vec emit_log(Cc& cc, const Vec& x) {
    const Vec finite = log_of_parts(cc, split_any(cc, x));
    const Mask is_special = cc.compare_f64(x, cc.splat_f64(kInfinityF64), Compare::not_less);  // infinity and NaN
    const Mask is_zero = cc.compare_f64(x, cc.splat_f64(0), Compare::equal);
    const Mask is_negative = cc.compare_f64(x, cc.splat_f64(0), Compare::less);
    const Vec of_positive = cc.select_f64(is_special, x, finite);
    return cc.select_f64(is_negative, cc.splat_f64(kNaN),
                         cc.select_f64(is_zero, cc.splat_f64(-kInfinityF64), of_positive));
}
Vec emit_log_of_unit(Cc& cc, const Vec& x) { return log_of_parts(cc, split(cc, x)); }

Vec emit_sin(Cc& cc, const Vec& x) {
    const Vec sine = nan_beyond_most_angle(cc, x, sin_of_angle(cc, reduce_angle(cc, x)));
    return cc.select_f64(cc.compare_f64(x, cc.splat_f64(0), Compare::equal), x, sine);  // -0 stays
}
Vec emit_cos(Cc& cc, const Vec& x) {
    return nan_beyond_most_angle(cc, x, sin_of_angle(cc, next_quarter(cc, reduce_angle(cc, x))));
}
// 4 x = n + f exactly, |f| <= 1/2; r + rest = f pi / 2.
Vec emit_cos_of_turn(Cc& cc, const Vec& x) {
    const Vec quarters_of_x = cc.multiply(x, cc.splat_f64(4));
    const Vec quarters = cc.add(quarters_of_x, cc.splat_f64(kRounder));
    const Vec f = cc.subtract(quarters_of_x, cc.subtract(quarters, cc.splat_f64(kRounder)));
    const Vec r = cc.multiply(f, cc.splat_f64(kHalfPi));
    const Vec rest = cc.multiply_subtract(f, cc.splat_f64(kHalfPi), r);
    cc.add_product(rest, f, cc.splat_f64(kHalfPiRest));
    return sin_of_angle(cc, next_quarter(cc, {quarters, r, rest}));
}

// t = E / (E + 2), E = expm1(2 |x|). The slope of t in E is 2 / (E + 2)^2. Where t lies a binade below E / 2, an ulp of
// E is 4 of t; then E < 0.67, and E is within 0.8 ulp (as above: the tail is small beside r, or the result is above
// 0.5), of which 1.3 ulp of t remain at most. Elsewhere an ulp of E is 2 of t, and 1.2 ulp remain. The sum's rounding
// is at most 1 ulp of t, the quotient's 0.5: below 3. Beyond 20 the quotient rounds to 1.
Vec emit_tanh(Cc& cc, const Vec& x) {
    const Vec size = cc.minimum(cc.broadcast_f64(20), cc.bit_and(x, cc.splat_u64(~kSignBit)));
    const Vec e = expm1_of_clamped(cc, cc.add(size, size));
    return cc.bit_or(cc.divide(e, cc.add(e, cc.splat_f64(2))), sign_of(cc, x));
}

// exp(b log |a|) in pairs. The logarithm's 2^-64 is multiplied by |b log a| < 745: at most 2^-54.4, 0.4 ulp at the ends
// of the range; exp, whose reduction loses nothing here, adds 0.85. Special values: log 0 = -inf and log inf = inf
// lead to 0 and inf; 1 to any and any to 0 is 1, also where the product is NaN; -1 to +-inf too.
Vec emit_power(Cc& cc, const Vec& base, const Vec& exponent) {
    const Vec size = cc.bit_and(base, cc.splat_u64(~kSignBit)), zero = cc.broadcast_f64(0);
    const Pair finite = log_pair(cc, split_any(cc, size));
    const Mask is_zero = cc.compare_f64(size, zero, Compare::equal);
    const Mask is_special = cc.compare_f64(size, cc.splat_f64(kInfinityF64), Compare::not_less);
    const Vec high = cc.select_f64(is_zero, cc.splat_f64(-kInfinityF64), cc.select_f64(is_special, size, finite.high));
    const Pair product = exact_product(cc, exponent, high);
    cc.add_product(product.low, exponent, finite.low);
    const Vec power = with_sign_of_power(cc, base, exponent, exp_of_pair(cc, product));
    const Vec one = cc.broadcast_f64(1);
    const Vec of_one = cc.select_f64(cc.compare_f64(base, one, Compare::equal), one, power);
    const Vec of_zero = cc.select_f64(cc.compare_f64(exponent, zero, Compare::equal), one, of_one);
    const Vec exponent_size = cc.bit_and(exponent, cc.splat_u64(~kSignBit));
    const Vec is_minus_one_to_infinity =
        cc.select_f64(cc.compare_f64(base, cc.splat_f64(-1), Compare::equal), exponent_size, zero);
    return cc.select_f64(cc.compare_f64(is_minus_one_to_infinity, cc.splat_f64(kInfinityF64), Compare::equal), one,
                         of_zero);
}

}  // namespace riftjit::x86
