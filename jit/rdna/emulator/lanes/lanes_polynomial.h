// Functions of f32 over lanes as polynomials in f64, rounded once to f32.
//
// valu_transcendental.cpp takes the C library's functions, which err by less than a unit in the last place of f64; the
// polynomials err by less than 2^-49 of the result, which is 16 units at most. Both round to the same f32 unless a tie
// lies between: results within 64 units of a tie, one in four million, are declined.
#pragma once

#include <array>
#include <bit>

#include "jit/rdna/emulator/lanes/lanes_emitter.h"

namespace riftjit::rdna::emulator {

inline void load_f64(LaneEmitter& e, const Xbyak::Xmm& to, double value) {
    e.load_quad(to, std::bit_cast<uint64_t>(value));
}
inline Xbyak::Address every_f64(LaneEmitter& e, double value) { return e.every_quad(std::bit_cast<uint64_t>(value)); }

// 29 bits of f64 are lost in f32; a tie has the first of them alone. u and condition_lanes are used.
inline void decline_near_ties(LaneEmitter& e, const Xbyak::Xmm& sums) {
    constexpr uint64_t kTie = 1 << 28, kNear = 64, kLost = (1 << 29) - 1;
    const Xbyak::Xmm& distance = e.condition_lanes;
    e.vpsubq(distance, sums, e.every_quad(kTie - kNear));
    e.decline_clear_quads(distance, kLost & ~(2 * kNear - 1));
}

// value: the word in the lanes where x and the limit compare so, itself elsewhere. t and u are used.
inline void replace_where(LaneEmitter& e, const Xbyak::Xmm& value, const Xbyak::Xmm& x, uint8_t predicate,
                          uint32_t limit, uint32_t word) {
    if (e.is_avx512()) {
        e.vcmpps(e.k4, x, e.every_word(limit), predicate);
        e.load_word(value | e.k4, word);
    } else {
        e.vcmpps(e.t, x, e.every_word(limit), predicate);
        e.load_word(e.u, word);
        e.vblendvps(value, value, e.u, e.t);
    }
}

// t = the polynomial in x, whose coefficients come highest first: that of the even powers and that of the odd ones
// beside each other, since one multiply-add after the other takes their latency. The registers of constants 1 and 2 are
// used.
template <size_t Count>
void evaluate(LaneEmitter& e, const Xbyak::Xmm& x, const std::array<double, Count>& coefficients) {
    const Xbyak::Xmm &odd = e.constant[1], &square = e.constant[2];
    const auto sum_with = [&](size_t i) { return (Count - 1 - i) % 2 == 0 ? e.t : odd; };
    e.vmulpd(square, x, x);
    load_f64(e, sum_with(0), coefficients[0]);
    load_f64(e, sum_with(1), coefficients[1]);
    for (size_t i = 2; i < Count; ++i) e.vfmadd213pd(sum_with(i), square, every_f64(e, coefficients[i]));
    e.vfmadd231pd(e.t, x, odd);
}

}  // namespace riftjit::rdna::emulator
