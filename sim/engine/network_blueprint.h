// From a described network to what the engine runs: models become programs, programs kernels, times steps.
#pragma once

#include "jit/x86/host_kernels.h"
#include "sim/engine/blueprint.h"

namespace riftjit::sim {

Result<Blueprint> make_blueprint(const Network& network, x86::HostKernels& kernels, Isa isa, Precision precision);

}  // namespace riftjit::sim
