#include "jit/rdna/kernels/activation.h"

#include <array>

#include "jit/rdna/kernels/numerics.h"

namespace riftjit::rdna::kernels {
namespace {

// out = x / (1 + exp(exponent)).
void emit_gated_by_exp(KernelAssembler& k, Vgpr out, Vgpr x, Vgpr exponent) {
    const Vgpr denominator = k.vgpr();
    emit_exp(k, denominator, exponent, ExpDomain::any);
    k.v_add_f32(denominator, 1.0f, denominator);
    emit_divide(k, out, x, denominator);
}

void emit_gelu_tanh(KernelAssembler& k, Vgpr out, Vgpr x) {
    constexpr float kFactor = -0x1.988454p+0f;  // -2 sqrt(2 / pi)
    const Vgpr exponent = k.vgpr();
    k.v_mul_f32(exponent, x, x);
    k.v_mul_f32(exponent, kFactor * 0.044715f, exponent);
    k.v_add_f32(exponent, kFactor, exponent);
    k.v_mul_f32(exponent, exponent, x);
    emit_gated_by_exp(k, out, x, exponent);
}

// Half erfc(|x| / sqrt(2)), the smaller side of the normal distribution, times x or its complement to 1.
void emit_gelu_erf(KernelAssembler& k, Vgpr out, Vgpr x) {
    constexpr float kP = 0.3275911f * 0x1.6a09e6p-1f;
    constexpr std::array<float, 5> kHalves = {0.5f * 1.061405429f, 0.5f * -1.453152027f, 0.5f * 1.421413741f,
                                              0.5f * -0.284496736f, 0.5f * 0.254829592f};
    const Vgpr power = k.vgpr(), t = k.vgpr(), side = k.vgpr(), reciprocal = k.vgpr();
    const Sgpr is_positive = k.lane_mask();
    k.v_mul_f32(t, x, x);
    k.v_mul_f32(t, -0.5f, t);
    emit_exp(k, power, t, ExpDomain::not_positive);
    k.v_and_b32(t, 0x7fff'ffff, x);
    k.v_mul_f32(t, kP, t);
    k.v_add_f32(t, 1.0f, t);
    emit_divide(k, reciprocal, 1.0f, t);
    k.v_mul_f32(side, kHalves[0], reciprocal);
    for (size_t term = 1; term < kHalves.size(); ++term) {
        k.v_add_f32(side, kHalves[term], side);
        k.v_mul_f32(side, side, reciprocal);
    }
    k.v_mul_f32(side, side, power);
    k.v_sub_f32(t, 1.0f, side);
    k.v_cmp_lt_f32(is_positive, 0.0f, x);
    k.v_cndmask_b32(side, side, t, is_positive);
    k.v_mul_f32(out, side, x);
}

void emit_xielu(KernelAssembler& k, Vgpr out, Vgpr x, const Xielu& xielu) {
    const auto& [positive, negative, linear, limit] = xielu;
    const Vgpr below = k.vgpr(), above = k.vgpr();
    const Sgpr is_positive = k.lane_mask();
    emit_at_most(k, above, x, limit);
    emit_exp(k, below, above, ExpDomain::not_positive);
    k.v_add_f32(below, -1.0f, below);
    k.v_sub_f32(below, below, x);
    k.v_mul_f32(below, negative, below);
    k.v_mul_f32(above, x, x);
    k.v_mul_f32(above, positive, above);
    k.v_cmp_lt_f32(is_positive, 0.0f, x);
    k.v_cndmask_b32(below, below, above, is_positive);
    k.v_mul_f32(above, linear, x);
    k.v_add_f32(out, below, above);
}

}  // namespace

void emit_at_most(KernelAssembler& k, Vgpr out, Vgpr x, float bound) {
    const Sgpr is_above = k.lane_mask();
    k.v_cmp_lt_f32(is_above, bound, x);
    k.v_cndmask_b32(out, x, bound, is_above);
}

void emit_at_least(KernelAssembler& k, Vgpr out, Vgpr x, float bound) {
    const Sgpr is_below = k.lane_mask();
    k.v_cmp_gt_f32(is_below, bound, x);
    k.v_cndmask_b32(out, x, bound, is_below);
}

void emit_tanh(KernelAssembler& k, Vgpr out, Vgpr x) {
    const Vgpr denominator = k.vgpr();
    k.v_add_f32(out, x, x);
    emit_exp(k, denominator, out, ExpDomain::any);
    k.v_add_f32(denominator, 1.0f, denominator);
    emit_divide(k, out, -2.0f, denominator);
    k.v_add_f32(out, 1.0f, out);
}

void emit_softcap(KernelAssembler& k, Vgpr out, Vgpr x, float cap) {
    const Vgpr quotient = k.vgpr();
    k.v_mul_f32(quotient, 1.0f / cap, x);
    emit_tanh(k, out, quotient);
    k.v_mul_f32(out, cap, out);
}

void emit_activation(KernelAssembler& k, Vgpr out, Vgpr gate, Activation activation, const Xielu& xielu) {
    switch (activation) {
        case Activation::silu:
            return emit_silu(k, out, gate);
        case Activation::gelu_tanh:
            return emit_gelu_tanh(k, out, gate);
        case Activation::gelu_erf:
            return emit_gelu_erf(k, out, gate);
        case Activation::relu:
            return emit_at_least(k, out, gate, 0.0f);
        case Activation::relu_squared:
            emit_at_least(k, out, gate, 0.0f);
            return k.v_mul_f32(out, out, out);
        case Activation::clamped_silu: {
            const Vgpr clamped = k.vgpr(), exponent = k.vgpr();
            emit_at_most(k, clamped, gate, kClampedLimit);
            k.v_mul_f32(exponent, -kClampedSteepness, clamped);
            return emit_gated_by_exp(k, out, clamped, exponent);
        }
        case Activation::sigmoid: {
            const Vgpr exponent = k.vgpr(), one = k.vgpr();
            k.v_xor_b32(exponent, 0x8000'0000u, gate);
            k.v_mov_b32(one, 1.0f);
            return emit_gated_by_exp(k, out, one, exponent);
        }
        case Activation::xielu:
            return emit_xielu(k, out, gate, xielu);
    }
}

void emit_up(KernelAssembler& k, Vgpr up, Activation activation) {
    if (activation != Activation::clamped_silu) return;
    emit_at_most(k, up, up, kClampedLimit);
    emit_at_least(k, up, up, -kClampedLimit);
    k.v_add_f32(up, 1.0f, up);
}

}  // namespace riftjit::rdna::kernels
