// The x86 back end: a spec and a level in, a code object out.
#pragma once

#include "jit/code_object.h"
#include "jit/kernel_spec.h"

namespace riftjit::x86 {

// Deterministic: the same spec and level give the same bytes in any process. Never runs what it generates, so levels
// that this machine lacks compile too. The only place that catches what emitters throw.
Result<CodeObject> compile(const KernelSpec& spec, Isa isa);

// One generator per op: the specialisation for its spec, in the op's own file (ops/, columns/). May throw Xbyak::Error
// or std::exception. An op without one does not link.
template <class Spec>
MachineCode generate(const Spec& spec, Isa isa);

}  // namespace riftjit::x86
