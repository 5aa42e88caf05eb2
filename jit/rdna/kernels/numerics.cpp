#include "jit/rdna/kernels/numerics.h"

#include <bit>
#include <limits>

namespace riftjit::rdna::kernels {

void emit_divide(KernelAssembler& k, Vgpr quotient, Vgpr numerator, Vgpr denominator) {
    k.divide_f32(quotient, numerator, denominator, {k.vgpr(), k.vgpr(), k.vgpr()});
}

void emit_divide(KernelAssembler& k, Vgpr quotient, Vgpr numerator, float denominator) {
    const bool is_power_of_two = (std::bit_cast<uint32_t>(denominator) & 0x007f'ffffu) == 0;
    if (is_power_of_two && denominator >= 1) return k.v_mul_f32(quotient, 1 / denominator, numerator);  // exact
    const Vgpr value = k.vgpr();
    k.v_mov_b32(value, denominator);
    emit_divide(k, quotient, numerator, value);
}

void emit_divide(KernelAssembler& k, Vgpr quotient, float numerator, Vgpr denominator) {
    const Vgpr value = k.vgpr();
    k.v_mov_b32(value, numerator);
    emit_divide(k, quotient, value, denominator);
}

// The instruction's result is a neighbour of the root at most, and flushes denormal arguments, so small ones are
// scaled. For f32 s and x, s is too large when x <= s * pred(s) and too small when x > s * succ(s) (Tuckerman's test):
// the signs of residuals, which one fused step rounds without changing.
void emit_sqrt(KernelAssembler& k, Vgpr root, Vgpr x) {
    constexpr float kSmall = 0x1p-96f, kScale = 0x1p32f, kRootOfScale = 0x1p16f;
    constexpr uint32_t kZeroOrInfinity = 0x260;  // classes: -0, +0, +infinity
    const Sgpr is_small = k.lane_mask(), changes = k.lane_mask(), is_exact = k.lane_mask();
    const Vgpr scaled = k.vgpr(), neighbour = k.vgpr(), below = k.vgpr(), above = k.vgpr();
    k.v_cmp_gt_f32(is_small, kSmall, x);
    k.v_mul_f32(scaled, kScale, x);
    k.v_cndmask_b32(scaled, x, scaled, is_small);
    k.v_sqrt_f32(root, scaled);
    k.v_add_nc_u32(neighbour, -1, root);
    k.v_fma_f32(below, -neighbour, root, scaled);
    k.v_add_nc_u32(above, 1, root);
    k.v_fma_f32(scaled, -above, root, scaled);
    k.v_cmp_ge_f32(changes, 0.0f, below);
    k.v_cndmask_b32(root, root, neighbour, changes);
    k.v_cmp_lt_f32(changes, 0.0f, scaled);
    k.v_cndmask_b32(root, root, above, changes);
    k.v_mul_f32(neighbour, 1 / kRootOfScale, root);
    k.v_cndmask_b32(root, root, neighbour, is_small);
    k.v_cmp_class_f32(is_exact, x, kZeroOrInfinity);  // whose neighbours are no numbers
    k.v_cndmask_b32(root, root, x, is_exact);
}

void emit_exp(KernelAssembler& k, Vgpr out, Vgpr x, ExpDomain domain) {
    const Vgpr n = k.vgpr(), r = k.vgpr();
    const Sgpr is_inside = k.lane_mask();
    k.v_mul_f32(n, kLog2E, x);
    k.v_rndne_f32(n, n);
    k.v_fmamk_f32(r, n, -kLn2High, x);
    k.v_fmac_f32(r, -kLn2Low, n);
    k.v_mov_b32(out, kExpPolynomial.back());
    for (size_t power = kExpPolynomial.size() - 1; power-- > 0;) k.v_fmaak_f32(out, out, r, kExpPolynomial[power]);
    k.v_cvt_i32_f32(n, n);
    k.v_lshl_add_u32(out, n, 23, out);
    k.v_cmp_ngt_f32(is_inside, kExpMin, x);  // so NaN is inside
    k.v_cndmask_b32(out, 0, out, is_inside);
    if (domain == ExpDomain::not_positive) return;
    const Sgpr is_above = k.lane_mask();
    k.v_cmp_lt_f32(is_above, kExpMax, x);
    k.v_mov_b32(r, std::numeric_limits<float>::infinity());
    k.v_cndmask_b32(out, out, r, is_above);
}

void emit_silu(KernelAssembler& k, Vgpr out, Vgpr x) {
    const Vgpr denominator = k.vgpr();
    k.v_xor_b32(out, 0x8000'0000u, x);
    emit_exp(k, denominator, out, ExpDomain::any);
    k.v_add_f32(denominator, 1.0f, denominator);
    emit_divide(k, out, x, denominator);
}

// Groups of 16 sums are 8 lanes: neighbouring groups first, then the rows of 16 lanes, then the halves of what remains.
void emit_lanes64_fold(KernelAssembler& k, Vgpr sums) {
    const Vgpr across = k.vgpr(2);
    const Sgpr same_lanes = k.sgpr(2);
    k.s_mov_b32(same_lanes[0], 0x7654'3210);
    k.s_mov_b32(same_lanes[1], 0xfedc'ba98u);
    for (unsigned i = 0; i < 2; ++i) k.v_add_f32(sums[i], sums[i], sums[i], row_xmask(8));
    for (unsigned i = 0; i < 2; ++i) {
        k.v_permlanex16_b32(across[i], sums[i], same_lanes[0], same_lanes[1], kNoOldValue);
        k.v_add_f32(sums[i], sums[i], across[i]);
    }
    for (const unsigned lanes : {4u, 2u, 1u})
        for (unsigned i = 0; i < 2; ++i) k.v_add_f32(sums[i], sums[i], sums[i], row_xmask(lanes));
    k.v_add_f32(sums[0], sums[0], sums[1]);
}

void emit_inverse_rms(KernelAssembler& k, Vgpr inverse, Vgpr total, uint32_t width, float epsilon) {
    const Vgpr mean = k.vgpr();
    emit_divide(k, mean, total, static_cast<float>(width));
    k.v_add_f32(mean, epsilon, mean);
    emit_sqrt(k, total, mean);
    emit_divide(k, inverse, 1.0f, total);
}

}  // namespace riftjit::rdna::kernels
