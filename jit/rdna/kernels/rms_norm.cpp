#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/row_sums.h"
#include "jit/rdna/kernels/row_writer.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

// s = x (+ addend); out = s * gain / sqrt(mean(s * s) + epsilon). The row stays in registers if it is one piece.
class RmsNormKernel final : public RdnaKernel<RmsNormSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = pieces.waves() * RowLanes::kWave;
        locate();
        sum_squares();
        scale_row();
    }

private:
    const BoundArguments<RmsNormArgs> bound =
        bind_arguments<RmsNormArgs>({field("x", &RmsNormArgs::x), field("addend", &RmsNormArgs::addend),
                                     field("gain", &RmsNormArgs::gain), field("out", &RmsNormArgs::out)});
    const Sgpr x_row = bound[&RmsNormArgs::x], addend_row = bound[&RmsNormArgs::addend];
    const Sgpr gain_row = bound[&RmsNormArgs::gain], out_row = bound[&RmsNormArgs::out];
    const bool has_gain = spec_.gain == Presence::present, adds = spec_.addend == Addend::residual;

    RowPieces pieces{*this, spec_.width};
    RowSums row_sums{*this, pieces};
    RowWriter writer{*this, spec_.output, spec_.width};
    const Sgpr x = pieces.follow(x_row), addend = adds ? pieces.follow(addend_row) : addend_row;
    const Sgpr gain = has_gain ? pieces.follow(gain_row) : gain_row;
    const Sgpr out = spec_.output == RowFormat::f32 ? pieces.follow(out_row) : out_row;
    const Vgpr sums = vgpr(2), scale = vgpr();
    RowLanes::Quads values, gains;  // of the one piece

    void locate() {
        s_advance(x_row, launch_workgroup(), f32_row_bytes(spec_.width));
        if (adds) s_advance(addend_row, launch_workgroup(), f32_row_bytes(spec_.width));
        s_advance(out_row, launch_workgroup(), RowWriter::row_bytes(spec_.output, spec_.width));
        pieces.locate(launch_lane());
        row_sums.locate(launch_lane());
        writer.locate(launch_lane(), pieces.block());
    }
    void sum_squares() {
        row_sums.begin(sums);
        pieces.for_each([&](RowLanes& lanes) {
            values = add_residual(lanes);
            if (has_gain && pieces.is_one()) gains = lanes.load(gain);
            row_sums.lay_out(lanes, values);
            row_sums.for_first_wave([&] {
                row_sums.add_up(sums, lanes.width(),
                                [&](Vgpr sum, Vgpr element, const auto&) { v_fmac_f32(sum, element, element); });
                if (pieces.is_one()) invert_rms();
            });
            if (!pieces.is_one()) row_sums.wait();
        });
        if (!pieces.is_one()) row_sums.for_first_wave([&] { invert_rms(); });
        row_sums.wait();
        row_sums.take(scale);
    }
    RowLanes::Quads add_residual(RowLanes& lanes) {
        if (!adds) return lanes.load(x);
        const Sgpr rows[] = {x, addend};
        const auto loaded = lanes.load(rows);
        for (size_t quad = 0; quad < loaded[0].size(); ++quad)
            for (unsigned i = 0; i < 4; ++i) v_add_f32(loaded[0][quad][i], loaded[0][quad][i], loaded[1][quad][i]);
        lanes.store(loaded[0], x);
        return loaded[0];
    }
    void invert_rms() {
        emit_lanes64_fold(*this, sums);
        emit_inverse_rms(*this, scale, sums[0], spec_.width, spec_.epsilon);
        row_sums.give(scale);
    }
    void scale_row() {
        pieces.for_each([&](RowLanes& lanes) {
            if (!pieces.is_one()) {
                values = lanes.load(x);
                if (has_gain) gains = lanes.load(gain);
            }
            for (size_t quad = 0; quad < values.size(); ++quad)
                for (unsigned i = 0; i < 4; ++i) {
                    v_mul_f32(values[quad][i], values[quad][i], scale);
                    if (has_gain) v_mul_f32(values[quad][i], values[quad][i], gains[quad][i]);
                }
            if (spec_.output != RowFormat::f32) lanes.clear_outside(values);  // where zeros became something else
            writer.write(lanes, values, out);
            if (!pieces.is_one()) writer.advance(RowPieces::kPiece / kI16Block);
        });
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const RmsNormSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("rms_norm", target.wave_size));
    RIFTJIT_TRY_VOID(RowWriter::check_format("rms_norm", spec.output));
    return LaunchShape{RowLanes::waves_for(spec.width) * RowLanes::kWave, 1};
}

Result<KernelProgram> program_of(KernelTarget target, const RmsNormSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<RmsNormKernel>(target, spec, "rms_norm", options);
}

}  // namespace riftjit::rdna::kernels
