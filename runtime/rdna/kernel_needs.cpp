#include "runtime/rdna/kernel_needs.h"

#include "jit/rdna/object/occupancy.h"

namespace riftjit::runtime {

Result<KernelNeeds> kernel_needs(const rdna::LoadedObject& object, uint32_t lanes) {
    const rdna::LoadedKernel& kernel = object.kernels.at(0);
    const rdna::KernelDescriptor& needs = kernel.descriptor;
    RIFTJIT_TRY(fits, rdna::occupancy(object.target, needs.wave_size, needs.vgprs(), needs.lds_bytes, lanes));
    return KernelNeeds{needs.wave_size, needs.vgprs(),       kernel.metadata.sgpr_count,
                       needs.lds_bytes, needs.scratch_bytes, fits.waves_per_simd};
}

}  // namespace riftjit::runtime
