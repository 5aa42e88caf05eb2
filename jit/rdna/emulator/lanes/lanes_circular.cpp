// v_sin_f32 and v_cos_f32 over lanes, whose arguments count turns.
#include "jit/rdna/emulator/lanes/lanes_operations.h"
#include "jit/rdna/emulator/lanes/lanes_polynomial.h"

namespace riftjit::rdna::emulator {
namespace lanes_circular {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr uint32_t kMagnitude = 0x7FFFFFFF, kSign = 0x80000000, kMinNormal = 0x00800000;
constexpr double kPi = 0x1.921fb54442d18p+1, kPiRest = 0x1.1a62633145c07p-53;  // their sum is pi to 107 bits

// sin z / z in z^2; the first term left out is below 2^-51 for |z| <= pi / 2.
constexpr auto kSineTerms = [] {
    constexpr size_t kTerms = 10;
    std::array<double, kTerms> terms{};
    double term = 1;
    for (size_t k = 0; k < kTerms; ++k) {
        terms[kTerms - 1 - k] = term;
        term /= -static_cast<double>((2 * k + 2) * (2 * k + 3));
    }
    return terms;
}();

// b: the distance to the nearest whole turn, c: its sign. Both are exact.
void reduce(E& e) {
    e.round_f32(e.b, e.a, kNearest);
    e.vsubps(e.b, e.a, e.b);
    e.decline_unordered(e.b, e.b);  // infinities too
    e.and_word(e.c, e.b, kSign);
    e.xor_bits(e.b, e.b, e.c);
}
// to = whole - angle, where whole is pi times `parts`; exact but for the last bit where it is small.
void subtract_from_pi(E& e, const Xmm& to, const Xmm& angle, double parts) {
    load_f64(e, e.u, parts * kPi);
    e.vsubpd(to, e.u, angle);
    e.vaddpd(to, to, every_f64(e, parts * kPiRest));
}
// found_lanes: the angle whose sine is wanted, within a quarter turn, of the turns in t. The product by 2 pi is rounded
// as in C++.
void sine_angle(E& e) {
    const Xmm &angle = e.found_lanes, &folded = e.condition_lanes, &is_beyond = e.constant[0];
    e.compare_f64(is_beyond, e.t, every_f64(e, 0.25), kGt);
    e.vmulpd(angle, e.t, every_f64(e, 2 * kPi));
    subtract_from_pi(e, folded, angle, 1);
    e.blend(angle, angle, folded, is_beyond);
}
void cosine_angle(E& e) {  // a quarter turn less the angle
    e.vmulpd(e.t, e.t, every_f64(e, 2 * kPi));
    subtract_from_pi(e, e.found_lanes, e.t, 0.5);
}
// d = the sines of the angles that b comes to.
void sines(E& e, LaneEmit find_angle) {
    const Xmm &angle = e.found_lanes, &square = e.condition_lanes;
    for (int half = 0; half < 2; ++half) {
        e.convert_half_to_f64(e.t, e.b, half);
        find_angle(e);
        e.vmulpd(square, angle, angle);
        evaluate(e, square, kSineTerms);
        e.vmulpd(e.t, e.t, angle);
        decline_near_ties(e, e.t);
        e.vcvtpd2ps(half == 0 ? e.half_width(e.d) : e.half_width(e.t), e.t);
    }
    e.join_halves(e.d, e.d, e.t);
}
// +0 where b is that many turns exactly.
void clear_at(E& e, float turns) { replace_where(e, e.d, e.b, kEq, std::bit_cast<uint32_t>(turns), 0); }
// Zeros, which denormals are, keep their sign.
void keep_zeros(E& e) {
    e.and_word(e.t, e.a, kMagnitude);
    e.compare_f32(e.t, e.t, e.every_word(kMinNormal), kLt);
    e.and_word(e.u, e.a, kSign);
    e.blend(e.d, e.d, e.u, e.t);
}
void sine(E& e) {
    reduce(e);
    sines(e, sine_angle);
    e.or_bits(e.d, e.d, e.c);
    clear_at(e, 0.5F);
    keep_zeros(e);
}
void cosine(E& e) {
    reduce(e);
    sines(e, cosine_angle);
    clear_at(e, 0.25F);
}

constexpr LaneOperation kOperations[] = {
    {Opcode::v_sin_f32, 1, LaneKernelResult::words, LaneCheck::by_operation, {}, sine},
    {Opcode::v_cos_f32, 1, LaneKernelResult::words, LaneCheck::by_operation, {}, cosine},
};

}  // namespace
}  // namespace lanes_circular

std::span<const LaneOperation> circular_lane_operations() { return lanes_circular::kOperations; }

}  // namespace riftjit::rdna::emulator
