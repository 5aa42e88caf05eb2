// The RDNA back end, as far as it has kernels: plans over it fail by the name of the first that is missing.
#pragma once

#include "jit/backend.h"
#include "jit/rdna/kernels/kernels.h"

namespace riftjit::runtime {

class RdnaBackend final : public Backend {
public:
    explicit RdnaBackend(rdna::Target chip) : chip_(chip) {}

    rdna::Target chip() const { return chip_; }
    Target target() const override;
    RowFormat activation_format(DType weight, Activations activations) const override;
    uint32_t row_bytes(RowFormat format, uint32_t width) const override;
    uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) const override;
    uint64_t key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const override;
    uint64_t value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const override;
    Result<void> supports(const KernelSpec& spec) const override;
    // The kernel is named as in plans; its arguments are the op's Args struct.
    Result<CodeObject> compile(const KernelSpec& spec) const override;
    Result<rdna::kernels::LaunchShape> launch_shape(const KernelSpec& spec) const {
        return rdna::kernels::launch_shape({chip_}, spec);
    }

private:
    rdna::Target chip_;
};

// As RdnaBackend::compile of the target's chip: what a KernelCache of such kernels calls.
Result<CodeObject> compile_rdna(const KernelSpec& spec, Target target);

}  // namespace riftjit::runtime
