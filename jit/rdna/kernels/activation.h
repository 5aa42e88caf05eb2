// The non-linearities of feed-forward blocks and element-wise chains, with the bits of jit/x86/ops/swiglu.cpp and
// jit/x86/emit/math.h: the same operations in the same order, each rounded once.
#pragma once

#include "jit/kernel_spec.h"
#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna::kernels {

// out = bound < x ? bound : x and its like for the larger, so that NaN and zeros come out as the processor's MINPS and
// MAXPS have them; out may be x.
void emit_at_most(KernelAssembler& k, Vgpr out, Vgpr x, float bound);
void emit_at_least(KernelAssembler& k, Vgpr out, Vgpr x, float bound);

// out = tanh(x) = 1 - 2 / (1 + exp(2 x)); out is not x. Clobbers vcc.
void emit_tanh(KernelAssembler& k, Vgpr out, Vgpr x);

// out = cap * tanh(x / cap), the quotient by the reciprocal; out is not x. Clobbers vcc.
void emit_softcap(KernelAssembler& k, Vgpr out, Vgpr x, float cap);

// out = activation(gate), of clamped_silu the gate's part; out is not gate. Clobbers vcc.
void emit_activation(KernelAssembler& k, Vgpr out, Vgpr gate, Activation activation, const Xielu& xielu = {});

// What up is multiplied as, in place: clamped and raised beside clamped_silu, else what it is.
void emit_up(KernelAssembler& k, Vgpr up, Activation activation);

}  // namespace riftjit::rdna::kernels
