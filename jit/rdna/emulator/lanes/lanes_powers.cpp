// v_exp_f32 and v_log_f32 over lanes: polynomials.
#include <bit>
#include <cmath>
#include <numbers>

#include "jit/rdna/emulator/lanes/lanes_operations.h"
#include "jit/rdna/emulator/lanes/lanes_polynomial.h"

namespace riftjit::rdna::emulator {
namespace lanes_powers {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr uint32_t kInfinity = 0x7F800000, kMinNormal = 0x00800000, kRootOfHalf = 0x3F3504F3;

// 2^x = sum of (x ln 2)^k / k!, for |x| <= 1/2; the first term left out is below 2^-52.
constexpr auto kPowerTerms = [] {
    constexpr size_t kDegree = 12;
    std::array<double, kDegree + 1> terms{};
    double term = 1;
    for (size_t k = 0; k <= kDegree; ++k) {
        terms[kDegree - k] = term;
        term *= std::numbers::ln2 / static_cast<double>(k + 1);
    }
    return terms;
}();
// log2 of (1 + s) / (1 - s) = 2 / ln 2 * s * sum of s^2k / (2k + 1), for |s| <= 0.1716, in s^2; the first term left out
// is below 2^-50 of the first.
constexpr auto kLogarithmTerms = [] {
    constexpr size_t kTerms = 9;
    std::array<double, kTerms> terms{};
    for (size_t k = 0; k < kTerms; ++k)
        terms[kTerms - 1 - k] = 2 * std::numbers::log2e / static_cast<double>(2 * k + 1);
    return terms;
}();

Xbyak::Address every_f32(E& e, float value) { return e.every_word(std::bit_cast<uint32_t>(value)); }

// b = 2^x for x = a less the nearest integer, c: that integer, times 2^23.
void power_of_fraction(E& e) {
    e.vmaxps(e.b, e.a, every_f32(e, -200.0F));
    e.vminps(e.b, e.b, every_f32(e, 200.0F));
    e.round_f32(e.c, e.b, kNearest);
    e.vsubps(e.b, e.b, e.c);
    e.vcvtps2dq(e.c, e.c);
    e.vpslld(e.c, e.c, 23);
    const Xmm& fraction = e.found_lanes;
    for (int half = 0; half < 2; ++half) {
        e.convert_half_to_f64(fraction, e.b, half);
        evaluate(e, fraction, kPowerTerms);
        decline_near_ties(e, e.t);
        e.vcvtpd2ps(half == 0 ? e.half_width(e.d) : e.half_width(e.t), e.t);
    }
    e.join_halves(e.b, e.d, e.t);
}
// Beyond the range of normal numbers infinity and, since tiny results are flushed, zero. A carry into the exponent
// rounds up to infinity as well.
void power_of_two(E& e) {
    e.decline_unordered(e.a, e.a);
    power_of_fraction(e);
    e.vpaddd(e.b, e.b, e.c);
    replace_where(e, e.b, e.a, kNltU, std::bit_cast<uint32_t>(128.0F), kInfinity);
    replace_where(e, e.b, e.a, kLt, std::bit_cast<uint32_t>(-126.0F), 0);
    e.move(e.d, e.b);
}

// a to 2^c * b with b from the root of 1/2 to that of 2. Whatever comes of numbers that are not positive and normal, or
// of infinity, is replaced in the end.
void split(E& e) {
    e.vpsubd(e.c, e.a, e.every_word(kRootOfHalf));
    e.vpsrad(e.c, e.c, 23);
    e.vpslld(e.t, e.c, 23);
    e.vpsubd(e.b, e.a, e.t);
    e.vcvtdq2ps(e.c, e.c);
}
// Of infinity, of negative numbers, and of zeros, which denormals are.
void special_logarithms(E& e) {
    constexpr uint32_t kMagnitude = 0x7FFFFFFF, kMinusInfinity = 0xFF800000, kInvalid = 0xFFC00000;
    replace_where(e, e.d, e.a, kEq, kInfinity, kInfinity);
    replace_where(e, e.d, e.a, kLt, 0, kInvalid);
    e.and_word(e.t, e.a, kMagnitude);
    replace_where(e, e.d, e.t, kLt, kMinNormal, kMinusInfinity);
}
void logarithm(E& e) {
    e.decline_unordered(e.a, e.a);
    split(e);
    const Xmm &ratio = e.found_lanes, &square = e.condition_lanes;
    for (int half = 0; half < 2; ++half) {
        e.convert_half_to_f64(e.t, e.b, half);
        e.vsubpd(ratio, e.t, every_f64(e, 1.0));
        e.vaddpd(square, e.t, every_f64(e, 1.0));
        e.vdivpd(ratio, ratio, square);
        e.vmulpd(square, ratio, ratio);
        evaluate(e, square, kLogarithmTerms);
        e.convert_half_to_f64(e.u, e.c, half);
        e.vfmadd213pd(e.t, ratio, e.u);
        decline_near_ties(e, e.t);
        e.vcvtpd2ps(half == 0 ? e.half_width(e.d) : e.half_width(e.t), e.t);
    }
    e.join_halves(e.d, e.d, e.t);
    special_logarithms(e);
}

constexpr LaneOperation kOperations[] = {
    {Opcode::v_exp_f32, 1, LaneKernelResult::words, LaneCheck::by_operation, {}, power_of_two},
    {Opcode::v_log_f32, 1, LaneKernelResult::words, LaneCheck::by_operation, {}, logarithm},
};

}  // namespace
}  // namespace lanes_powers

std::span<const LaneOperation> power_lane_operations() { return lanes_powers::kOperations; }

}  // namespace riftjit::rdna::emulator
