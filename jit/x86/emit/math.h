// exp and silu as one sequence of operations for every level: the results agree bit for bit.
//
// An emitter E provides the instructions named here on values V (16 lanes), splat() for a constant operand of
// arithmetic, constant() for one to broadcast, and compare(), keep() and select() on masks M, as WideEmitter does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "jit/exponential.h"

namespace riftjit::x86 {

// The predicates of VCMPPS that kernels use (SDM volume 2, table 3-1): `not_...` and `unordered` hold for NaN.
enum class Compare : uint8_t {
    equal = 0,
    less = 1,
    less_equal = 2,
    unordered = 3,
    not_less = 5,
    not_less_equal = 6,
    not_greater_equal = 9,
    greater_equal = 13,
    greater = 14,
};

template <class V, class M>
struct ExpScratch {
    V exponent, reduced;
    M mask;  // its lanes may be those of `exponent`
};

// out = exp(x). Below kExpMin the result is 0 (no subnormals), above kExpMax infinity; NaN gives NaN.
//
// x = n ln 2 + r; the result is the polynomial of r with n added to its exponent field, which is exact. Error in units
// in the last place of a result whose mantissa lies in [0.7, 1), the worst place: 0.5 for the last rounding, 0.35 for
// the one before (times |r|), 0.35 for the two roundings of r, 0.05 for the rest and 0.06 for the polynomial: < 1.4.
template <class E, class V, class M>
void emit_exp(E& e, const V& out, const V& x, const ExpScratch<V, M>& scratch, ExpDomain domain) {
    const V &n = scratch.exponent, &r = scratch.reduced;
    e.vmulps(n, x, e.splat(kLog2E));
    e.vcvtps2dq(n, n);  // to nearest
    e.vcvtdq2ps(out, n);
    e.vmovaps(r, x);
    e.vfnmadd231ps(r, out, e.splat(kLn2High));
    e.vfnmadd231ps(r, out, e.splat(kLn2Low));
    e.vbroadcastss(out, e.constant(kExpPolynomial.back()));
    for (size_t power = kExpPolynomial.size() - 1; power-- > 0;) e.vfmadd213ps(out, r, e.splat(kExpPolynomial[power]));
    e.vpslld(n, n, 23);
    e.vpaddd(out, out, n);
    e.compare(scratch.mask, x, e.splat(kExpMin), Compare::not_less);
    e.keep(out, scratch.mask, out);
    if (domain == ExpDomain::not_positive) return;
    e.compare(scratch.mask, x, e.splat(kExpMax), Compare::greater);
    e.vbroadcastss(r, e.constant(std::numeric_limits<float>::infinity()));
    e.select(out, scratch.mask, r, out);
}

// out = x / (1 + exp(exponent)).
template <class E, class V, class M>
void emit_gated_by_exp(E& e, const V& out, const V& x, const V& exponent, const ExpScratch<V, M>& scratch) {
    emit_exp(e, out, exponent, scratch, ExpDomain::any);
    e.vaddps(out, out, e.splat(1.0f));
    e.vdivps(out, x, out);
}

// out = x / (1 + exp(-x)). `negated` is scratch. Within 3 ulp: exp's error is halved or vanishes in 1 + exp(-x) where
// that is dominated by 1 and passes undiminished where it is not (1.4), the sum and the quotient round once each
// (0.5 and 0.5, up to 2 and 1 units of the result's last place); -0 for x below -kExpMax.
template <class E, class V, class M>
void emit_silu(E& e, const V& out, const V& x, const V& negated, const ExpScratch<V, M>& scratch) {
    e.vxorps(negated, x, e.splat_u32(0x8000'0000));
    emit_gated_by_exp(e, out, x, negated, scratch);
}

// out = softplus(x); x may not be `out`. In units of 2^-24, relatively: 2.8 of t, and 1 each for 2 + t, the quotient,
// the square's part in p, p, the product (doubling is exact) and the last sum, of numbers that are not negative:
// within 9. Below kExpMin the result is 0.
template <class E, class V, class M>
void emit_softplus(E& e, const V& out, const V& x, const V& spare, const ExpScratch<V, M>& scratch) {
    e.vorps(spare, x, e.splat_u32(0x8000'0000));
    emit_exp(e, out, spare, scratch, ExpDomain::not_positive);
    const V &s = spare, &square = scratch.reduced;
    e.vaddps(s, out, e.splat(2.0f));
    e.vdivps(s, out, s);
    e.vmulps(square, s, s);
    e.vbroadcastss(out, e.constant(kAtanhPolynomial.back()));
    for (size_t power = kAtanhPolynomial.size() - 1; power-- > 0;)
        e.vfmadd213ps(out, square, e.splat(kAtanhPolynomial[power]));
    e.vaddps(s, s, s);
    e.vxorps(square, square, square);
    e.vmaxps(square, square, x);  // the second operand where one is NaN
    e.vfmadd213ps(out, s, square);
}

// out = tanh(x) = 1 - 2 / (1 + exp(2 x)); x may be `out`. `doubled` is scratch. exp's error is damped by at least 2
// and the rounding of the last difference is that of a number up to 1: off by less than 2^-23, in absolute terms.
template <class E, class V, class M>
void emit_tanh(E& e, const V& out, const V& x, const V& doubled, const ExpScratch<V, M>& scratch) {
    e.vaddps(doubled, x, x);
    emit_exp(e, out, doubled, scratch, ExpDomain::any);
    e.vaddps(out, out, e.splat(1.0f));
    e.vbroadcastss(doubled, e.constant(-2.0f));
    e.vdivps(out, doubled, out);
    e.vaddps(out, out, e.splat(1.0f));
}

}  // namespace riftjit::x86
