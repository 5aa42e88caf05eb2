// The f32 arithmetic that kernels on rows share: what the processor's have in hardware or in jit/x86/emit/math.h and
// jit/x86/ops/norm.h, with the same bits. Roundings are to nearest and denormals are kept, as kernels are launched.
#pragma once

#include "jit/exponential.h"
#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna::kernels {

// quotient = numerator / denominator, correctly rounded. Clobbers vcc; quotient is neither of the operands.
void emit_divide(KernelAssembler& k, Vgpr quotient, Vgpr numerator, Vgpr denominator);
void emit_divide(KernelAssembler& k, Vgpr quotient, Vgpr numerator, float denominator);
void emit_divide(KernelAssembler& k, Vgpr quotient, float numerator, Vgpr denominator);

// root = sqrt(x), correctly rounded; root is not x.
void emit_sqrt(KernelAssembler& k, Vgpr root, Vgpr x);

// out = exp(x) as jit/exponential.h says; out is not x.
void emit_exp(KernelAssembler& k, Vgpr out, Vgpr x, ExpDomain domain);

// out = x / (1 + exp(-x)); out is not x. Clobbers vcc.
void emit_silu(KernelAssembler& k, Vgpr out, Vgpr x);

// Sums of KOrder::lanes64, of which lane l of a wave of 32 has 2 l and 2 l + 1 in `sums`: leaves the sum of all in
// every lane's sums[0]. Every lane must be on. Clobbers sums[1].
void emit_lanes64_fold(KernelAssembler& k, Vgpr sums);

// inverse = 1 / sqrt(total / width + epsilon), each step rounded once; inverse is not total. Clobbers vcc and total.
void emit_inverse_rms(KernelAssembler& k, Vgpr inverse, Vgpr total, uint32_t width, float epsilon);

}  // namespace riftjit::rdna::kernels
