// What a kernel asks of a GPU, by the descriptor in its object, and how many of its waves fit therefore.
#pragma once

#include "jit/rdna/object/loader.h"

namespace riftjit::runtime {

struct KernelNeeds {
    rdna::WaveSize wave_size;
    uint32_t vgprs, sgprs, lds_bytes, scratch_bytes;
    uint32_t waves_per_simd;
};

// Of the object's first kernel, in workgroups of so many lanes.
Result<KernelNeeds> kernel_needs(const rdna::LoadedObject& object, uint32_t lanes);

}  // namespace riftjit::runtime
