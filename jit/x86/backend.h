// The x86 back end: a spec and a level in, a code object out. Specs whose KOrder is not sequence have no kernel.
#pragma once

#include "jit/backend.h"

namespace riftjit::x86 {

// Lasts as long as the program.
const Backend& backend(Isa isa);

// As Backend::compile, for any x86 target: levels that this machine lacks compile too. The only place that catches what
// emitters throw.
Result<CodeObject> compile(const KernelSpec& spec, Target target);

// One generator per op, in the op's own file (ops/, columns/): generate(OpOf<Spec>, spec, isa), which this declares for
// every spec. May throw Xbyak::Error or std::exception. An op without one does not link.
template <class Spec>
struct OpOf {
    friend MachineCode generate(OpOf, const Spec& spec, Isa isa);
};
template <class Spec>
MachineCode generate(const Spec& spec, Isa isa) {
    return generate(OpOf<Spec>(), spec, isa);
}

}  // namespace riftjit::x86
