#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/row_writer.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class QuantizeKernel final : public RdnaKernel<QuantizeSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = rows.group_lanes();
        rows.locate();
        writer.locate(launch_lane(), rows.lanes().block());
        s_advance(x_row, rows.row(), f32_row_bytes(spec_.width));
        s_advance(out_row, rows.row(), RowWriter::row_bytes(spec_.output, spec_.width));
        writer.write(rows.lanes(), rows.lanes().load(x_row), out_row);
    }

private:
    const BoundArguments<QuantizeArgs> bound =
        bind_arguments<QuantizeArgs>({field("x", &QuantizeArgs::x), field("out", &QuantizeArgs::out)});
    const Sgpr x_row = bound[&QuantizeArgs::x], out_row = bound[&QuantizeArgs::out];
    SplitRows rows{*this, spec_.width};
    RowWriter writer{*this, spec_.output, spec_.width};
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const QuantizeSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("quantize", target.wave_size));
    RIFTJIT_TRY_VOID(RowWriter::check_format("quantize", spec.output));
    return SplitRows::shape(spec.width);
}

Result<KernelProgram> program_of(KernelTarget target, const QuantizeSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<QuantizeKernel>(target, spec, "quantize", options);
}

}  // namespace riftjit::rdna::kernels
