#include <cstddef>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/row_lanes.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class GatherRowsKernel final : public RdnaKernel<GatherRowsSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = rows.group_lanes();
        rows.locate();
        find_source();
        s_advance(x, source, f32_row_bytes(spec_.width));
        s_advance(out, rows.row(), f32_row_bytes(spec_.width));
        rows.lanes().store(rows.lanes().load(x), out);
    }

private:
    const BoundArguments<GatherRowsArgs> bound = bind_arguments<GatherRowsArgs>(
        {field("x", &GatherRowsArgs::x), field("out", &GatherRowsArgs::out), field("batch", &GatherRowsArgs::batch)});
    const Sgpr x = bound[&GatherRowsArgs::x], out = bound[&GatherRowsArgs::out];
    const Sgpr batch = bound[&GatherRowsArgs::batch], source = sgpr();
    SplitRows rows{*this, spec_.width};

    void find_source() {
        const Sgpr output_rows = sgpr(2), bytes = sgpr();
        s_load_b64(output_rows, batch, offsetof(BatchState, output_row));
        s_lshl_b32(bytes, rows.row(), 2);
        s_load_b32(source, output_rows, bytes);
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const GatherRowsSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("gather_rows", target.wave_size));
    return SplitRows::shape(spec.width);
}

Result<KernelProgram> program_of(KernelTarget target, const GatherRowsSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<GatherRowsKernel>(target, spec, "gather_rows", options);
}

}  // namespace riftjit::rdna::kernels
