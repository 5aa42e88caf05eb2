// Functions of f32 over lanes as polynomials in f64, rounded once to f32.
//
// valu_transcendental.cpp takes the C library's functions, which err by less than a unit in the last place of f64; the
// polynomials err by less than 2^-49 of the result, which is 16 units at most. Both round to the same f32 unless a tie
// lies between: results within 64 units of a tie, one in four million, are declined.
#pragma once

#include <array>
#include <bit>

#include "jit/rdna/emulator/lanes_emitter.h"

namespace riftjit::rdna::emulator {

inline void load_f64(LaneEmitter& e, const Xbyak::Xmm& to, double value) {
    e.load_quad(to, std::bit_cast<uint64_t>(value));
}

// 29 bits of f64 are lost in f32; a tie has the first of them alone. u and condition_lanes are used.
inline void decline_near_ties(LaneEmitter& e, const Xbyak::Xmm& sums) {
    constexpr uint64_t kTie = 1 << 28, kNear = 64, kLost = (1 << 29) - 1;
    const Xbyak::Xmm& distance = e.condition_lanes;
    e.load_quad(e.u, kTie - kNear);
    e.vpsubq(distance, sums, e.u);
    e.load_quad(e.u, kLost & ~(2 * kNear - 1));
    e.and_bits(distance, distance, e.u);
    e.xor_bits(e.u, e.u, e.u);
    e.decline_equal_quads(distance, e.u);
}

// t = the polynomial in x, whose coefficients come highest first. u is used.
template <size_t Count>
void evaluate(LaneEmitter& e, const Xbyak::Xmm& x, const std::array<double, Count>& coefficients) {
    load_f64(e, e.t, coefficients[0]);
    for (size_t i = 1; i < Count; ++i) {
        load_f64(e, e.u, coefficients[i]);
        e.vfmadd213pd(e.t, x, e.u);
    }
}

}  // namespace riftjit::rdna::emulator
