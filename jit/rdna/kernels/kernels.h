// The project's RDNA kernels: what may change the code of each (Spec), what one launch passes (Args), and the function
// that assembles it. A workgroup is one-dimensional, of spec.group_lanes lanes: a power of two, whole waves. Byte
// offsets are 32 bits: no buffer may reach 4 GiB.
#pragma once

#include <compare>
#include <cstdint>

#include "jit/rdna/emit/assembler.h"

namespace riftjit::rdna::kernels {

// out = gate * sigmoid(gate) * up; one element per lane.
struct SwigluSpec {
    uint32_t group_lanes = 128;
    auto operator<=>(const SwigluSpec&) const = default;
};
struct SwigluArgs {
    const float *gate, *up;
    float* out;
};
Result<KernelProgram> swiglu(KernelTarget target, const SwigluSpec& spec, PassOptions options = {});

// y = x * gain / sqrt(mean(x * x) + epsilon); a workgroup per row.
struct RmsNormSpec {
    uint32_t width = 1024;  // multiple of group_lanes
    float epsilon = 1e-5f;
    uint32_t group_lanes = 128;
    auto operator<=>(const RmsNormSpec&) const = default;
};
struct RmsNormArgs {
    const float *x, *gain;
    float* y;
};
Result<KernelProgram> rms_norm(KernelTarget target, const RmsNormSpec& spec, PassOptions options = {});

// Rotates the pairs (x[i], x[i + half]) of each head by the angle whose cosine and sine are in a table of
// [position][half][2]; a workgroup per head, half = group_lanes.
struct RopeSpec {
    uint32_t head_width = 128;  // twice group_lanes
    auto operator<=>(const RopeSpec&) const = default;
};
struct RopeArgs {
    float* x;
    const float* table;
    uint32_t position;
};
Result<KernelProgram> rope(KernelTarget target, const RopeSpec& spec, PassOptions options = {});

}  // namespace riftjit::rdna::kernels
