// Products of a panel's rows, a lane each, with f32 activations, for f32, f16 and bf16 weights: one fused multiply-add
// for each element, in their order.
#pragma once

#include <vector>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/packed.h"

namespace riftjit::rdna::kernels {

class FloatProduct {
public:
    FloatProduct(KernelAssembler& kernel, DType weight) : k_(kernel), weight_(weight), offset_(kernel.vgpr()) {}

    void locate(Vgpr lane) { k_.v_lshlrev_b32(offset_, 4, lane); }  // once, before all else
    // Of so many elements of the panel's rows.
    uint32_t bytes(uint32_t elements) const { return elements / chunk_elements() * kPanelRows * kFloatChunkBytes; }
    // The first `count` elements from an address on.
    std::vector<Vgpr> load(Sgpr address, uint32_t count);
    // sum += element `index` of those * x.
    void multiply_add(Vgpr sum, const std::vector<Vgpr>& loaded, uint32_t index, const Argument& x);

private:
    uint32_t chunk_elements() const { return kFloatChunkBytes / uint32_t(row_bytes(weight_, 1)); }

    KernelAssembler& k_;
    const DType weight_;
    const Vgpr offset_;
};

}  // namespace riftjit::rdna::kernels
