// What the matmul kernels share: a workgroup takes a panel of 32 rows of the matrix, a lane each, and a few rows of the
// batch.
#pragma once

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/packed.h"

namespace riftjit::rdna::kernels {

class PanelKernel : public RdnaKernel<MatmulSpec> {
public:
    PanelKernel(KernelTarget target, const MatmulSpec& spec, std::string name, uint32_t rows);

protected:
    const BoundArguments<MatmulArgs> bound = bind_arguments<MatmulArgs>(
        {field("weights", &MatmulArgs::weights), field("bias", &MatmulArgs::bias), field("x", &MatmulArgs::x),
         field("out", &MatmulArgs::out), field("batch", &MatmulArgs::batch)});
    const Sgpr weights = bound[&MatmulArgs::weights], bias = bound[&MatmulArgs::bias], x = bound[&MatmulArgs::x],
               out = bound[&MatmulArgs::out], batch = bound[&MatmulArgs::batch];
    const uint32_t rows_per_group;
    const Sgpr panel = sgpr(), panel_address = sgpr(2), first_row = sgpr(), rows_left = sgpr();
    const Sgpr is_inside = lane_mask();  // lanes whose row there is, padding to 16 included
    const Vgpr out_row = vgpr();         // where in a row of results the lane's lies, in bytes

    void locate_panel();
    Sgpr x_row(uint32_t row) const { return x_rows_[row]; }  // address of the batch's row `first_row` + row
    void locate_row(Vgpr lane);                              // `lane`: the row within the panel
    // Adds bias and what lies there, as the spec says; nothing where the batch has no such row.
    void store_row(uint32_t row, Vgpr value);

private:
    uint32_t x_stride_bytes() const;

    std::vector<Sgpr> x_rows_;
};

inline constexpr uint32_t kMaxRows = 8;  // of the batch, that a workgroup takes together

uint32_t float_matmul_rows(const MatmulSpec& spec);
LaunchShape tile_matmul_shape(Target target, const MatmulSpec& spec);
uint32_t tile_matmul_rows(Target target);
Result<KernelProgram> tile_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options);
Result<KernelProgram> float_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options);

}  // namespace riftjit::rdna::kernels
