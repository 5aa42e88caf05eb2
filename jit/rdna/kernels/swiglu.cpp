#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/activation.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/row_writer.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class SwigluKernel final : public RdnaKernel<SwigluSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = rows.group_lanes();
        locate();
        const Sgpr inputs[] = {gate_row, up_row};
        const auto loaded = rows.lanes().load(std::span(inputs).first(has_up ? 2 : 1));
        RowLanes::Quads values;
        for (size_t quad = 0; quad < loaded[0].size(); ++quad) {
            values.push_back(vgpr(4));
            for (unsigned i = 0; i < 4; ++i) {
                emit_activation(*this, values[quad][i], loaded[0][quad][i], spec_.activation, spec_.xielu);
                if (!has_up) continue;
                emit_up(*this, loaded[1][quad][i], spec_.activation);
                v_mul_f32(values[quad][i], values[quad][i], loaded[1][quad][i]);
            }
        }
        // Zeros behind the row; where up is, they are already.
        if (!has_up && is_quantized(spec_.output)) rows.lanes().clear_outside(values);
        writer.write(rows.lanes(), values, out_row);
    }

private:
    const bool has_up = spec_.up == Presence::present;
    const BoundArguments<SwigluArgs> bound = bind_arguments<SwigluArgs>(
        {field("gate", &SwigluArgs::gate), field("up", &SwigluArgs::up), field("out", &SwigluArgs::out)});
    const Sgpr gate_row = bound[&SwigluArgs::gate], up_row = bound[&SwigluArgs::up], out_row = bound[&SwigluArgs::out];
    SplitRows rows{*this, spec_.width};
    RowWriter writer{*this, spec_.output, spec_.width};

    void locate() {
        rows.locate();
        writer.locate(launch_lane(), rows.lanes().block());
        const uint32_t stride = spec_.in_stride * uint32_t(sizeof(float));
        s_advance(gate_row, rows.row(), stride);
        if (has_up) s_advance(up_row, rows.row(), stride);
        s_advance(out_row, rows.row(), RowWriter::row_bytes(spec_.output, spec_.width));
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const SwigluSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("swiglu", target.wave_size));
    RIFTJIT_TRY_VOID(RowWriter::check_format("swiglu", spec.output));
    return SplitRows::shape(spec.width);
}

Result<KernelProgram> program_of(KernelTarget target, const SwigluSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<SwigluKernel>(target, spec, "swiglu", options);
}

}  // namespace riftjit::rdna::kernels
