// The RDNA back end, as far as it has kernels: plans over it fail by the name of the first that is missing.
#pragma once

#include "jit/backend.h"
#include "jit/rdna/emit/assembler.h"

namespace riftjit::runtime {

// How a spec's kernel is launched: one workgroup for so many units of work.
struct RdnaGroups {
    uint32_t lanes;          // of a workgroup
    uint32_t per_token = 1;  // workgroups
};

class RdnaBackend final : public Backend {
public:
    explicit RdnaBackend(rdna::Target chip) : chip_(chip) {}

    rdna::Target chip() const { return chip_; }
    Target target() const override;
    // Rows are f32, and weights lie as in the file: the kernels there are read nothing else.
    RowFormat activation_format(DType) const override { return RowFormat::f32; }
    uint32_t row_bytes(RowFormat format, uint32_t width) const override;
    uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) const override;
    Result<void> supports(const KernelSpec& spec) const override;
    // The kernel is named as in plans, and takes the pointers that its spec's signature has (without absent ones and
    // the batch), in that order.
    Result<CodeObject> compile(const KernelSpec& spec) const override;
    Result<RdnaGroups> groups(const KernelSpec& spec) const;

private:
    rdna::Target chip_;
};

}  // namespace riftjit::runtime
