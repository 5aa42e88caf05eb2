// What the matmul kernels share: a workgroup takes a panel of 32 rows of the matrix, a lane each, and a few rows of the
// batch.
#pragma once

#include <vector>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/packed.h"

namespace riftjit::rdna::kernels {

inline constexpr uint32_t kMaxRows = 8;  // of the batch, that a workgroup takes together

// The address of a panel of a packed matrix.
Sgpr locate_panel(KernelAssembler& kernel, DType weight, uint32_t width, Sgpr matrix, Sgpr panel);

class PanelRows {
public:
    PanelRows(KernelAssembler& kernel, const MatmulSpec& spec, uint32_t rows);

    // Which panel and rows are the workgroup's. Of a tile whose last rows are missing the last one there is stands for
    // them.
    void locate(Sgpr batch);
    // Instead, of one row: each of the workgroup's waves has a panel of its own, of which the last few may be missing.
    void locate_waves(Sgpr wave, uint32_t waves);
    Sgpr weights(Sgpr matrix);  // where the panel begins
    // Where a row of the batch begins, of rows `stride_bytes` apart.
    Sgpr row(Sgpr rows, uint32_t row, uint32_t stride_bytes);
    // `lane`: the row within the panel.
    void locate_results(Vgpr lane);
    // Of a row of the batch, with bias and what lies there as the spec says; nothing where there is no such row.
    void store(Sgpr out, Sgpr bias, uint32_t row, Vgpr value);

private:
    KernelAssembler& k_;
    const MatmulSpec& spec_;
    const uint32_t rows_;
    const Sgpr panel_, first_row_, last_row_, rows_left_;
    const Sgpr is_inside_;  // lanes whose row there is, padding to 16 included
    const Vgpr result_;     // where in a row of results the lane's lies, in bytes
};

Result<LaunchShape> fused_float_shape(const FusedMatmulSpec& spec);
Result<KernelProgram> fused_float_program(KernelTarget target, const FusedMatmulSpec& spec, PassOptions options);
uint32_t float_matmul_rows(const MatmulSpec& spec);
LaunchShape tile_matmul_shape(Target target, const MatmulSpec& spec);
uint32_t tile_matmul_rows(Target target);
Result<KernelProgram> tile_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options);
Result<KernelProgram> float_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options);

}  // namespace riftjit::rdna::kernels
