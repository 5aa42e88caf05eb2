// The x86 back end: a spec and a level in, a code object out.
#pragma once

#include "jit/code_object.h"
#include "jit/kernel_spec.h"

namespace riftjit::x86 {

// Deterministic: the same spec and level give the same bytes in any process. Never runs what it generates, so levels
// that this machine lacks compile too. The only place that catches what emitters throw.
Result<CodeObject> compile(const KernelSpec& spec, Isa isa);

// One generator per op, each in its own file beside this one. They may throw Xbyak::Error or std::exception.
MachineCode generate_embed(const EmbedSpec&, Isa);
MachineCode generate_rms_norm(const RmsNormSpec&, Isa);
MachineCode generate_quantize(const QuantizeSpec&, Isa);
MachineCode generate_matmul(const MatmulSpec&, Isa);
MachineCode generate_rope(const RopeSpec&, Isa);
MachineCode generate_value_store(const ValueStoreSpec&, Isa);
MachineCode generate_attention(const AttentionSpec&, Isa);
MachineCode generate_swiglu(const SwigluSpec&, Isa);
MachineCode generate_elementwise(const ElementwiseSpec&, Isa);
MachineCode generate_reduce(const ReduceSpec&, Isa);
MachineCode generate_lif_step(const LifStepSpec&, Isa);
MachineCode generate_column_program(const ColumnProgramSpec&, Isa);

}  // namespace riftjit::x86
