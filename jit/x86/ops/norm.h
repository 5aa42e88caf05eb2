// What the kernels with a norm share: sums over a row, and the inverse root.
#pragma once

#include <array>

#include "jit/x86/emit/wide.h"

namespace riftjit::x86 {

// Four partial sums of 16 lanes: group g of the row adds its terms to sums[g % 4].
using RowSums = std::array<Wide, 4>;
using SquareSums = RowSums;

// total = the sum of all lanes, as KOrder::lanes64 has it. Clobbers the sums and scratch.
inline void emit_row_sum(WideEmitter& e, const Xbyak::Xmm& total, const RowSums& sums, const Xbyak::Xmm& scratch) {
    e.vaddps(sums[0], sums[0], sums[1]);
    e.vaddps(sums[2], sums[2], sums[3]);
    e.vaddps(sums[0], sums[0], sums[2]);
    e.fold_sum(total, sums[0], scratch);
}

// scale = 1 / sqrt((sum of all lanes) / width + epsilon), in every lane; each step is rounded once. Clobbers the sums;
// scale may be one of them, mean and inverse not.
inline void emit_inverse_rms(WideEmitter& e, const Wide& scale, const SquareSums& sums, uint32_t width, float epsilon,
                             const Xbyak::Xmm& mean, const Xbyak::Xmm& inverse) {
    emit_row_sum(e, mean, sums, inverse);
    e.vdivss(mean, mean, e.constant(float(width)));
    e.vaddss(mean, mean, e.constant(epsilon));
    e.vsqrtss(mean, mean, mean);
    e.vmovss(inverse, e.constant(1.0f));
    e.vdivss(inverse, inverse, mean);
    e.vbroadcastss(scale, inverse);
}

}  // namespace riftjit::x86
