// A gfx10.3 kernel as PTX, instruction by instruction: a second opinion on its values, on hardware that runs it at full
// size. A wave of 32 lanes is a warp. Scalar registers are ordinary ones, which all lanes hold alike; what exec
// switches off is predicated; LDS is shared memory.
//
// What it can prove: values, and that workgroups and waves keep to their barriers and atomics. Not waits, hazards or
// encodings, since nothing of those is left in PTX. Two instructions differ by design: v_rcp_f32 is the other
// maker's approximation (an ulp, as AMD promises), of which code must not depend; v_sqrt_f32 is exact, as theirs
// may be two ulps off. A NaN that arithmetic makes has one form there.
#pragma once

#include <string>

#include "host/result.h"
#include "jit/rdna/object/loader.h"

namespace riftjit::hip_stand_in {

// Parameters are bytes: kernel.descriptor.kernarg_bytes, padded to whole ptx_parameter_bytes(). LDS is dynamic. Fails
// with the instruction or setting that has no translation.
Result<std::string> ptx_of(const rdna::LoadedObject& object, const rdna::LoadedKernel& kernel);

// A scalar load may take up to 64 bytes of which the last belong to no argument.
constexpr uint32_t ptx_parameter_bytes(const rdna::LoadedKernel& kernel) {
    return (kernel.descriptor.kernarg_bytes + 127) / 64 * 64;
}

}  // namespace riftjit::hip_stand_in
