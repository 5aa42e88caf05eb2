#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/row_sums.h"
#include "jit/rdna/kernels/row_writer.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

// out = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * gain (+ bias). The row stays in registers if it is one
// piece, and in LDS for both sums.
class LayerNormKernel final : public RdnaKernel<LayerNormSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = pieces.waves() * RowLanes::kWave;
        locate();
        sum_up();
        scale_row();
    }

private:
    const BoundArguments<LayerNormArgs> bound =
        bind_arguments<LayerNormArgs>({field("x", &LayerNormArgs::x), field("gain", &LayerNormArgs::gain),
                                       field("bias", &LayerNormArgs::bias), field("out", &LayerNormArgs::out)});
    const Sgpr x_row = bound[&LayerNormArgs::x], gain_row = bound[&LayerNormArgs::gain];
    const Sgpr bias_row = bound[&LayerNormArgs::bias], out_row = bound[&LayerNormArgs::out];
    const bool has_bias = spec_.bias == Presence::present;

    RowPieces pieces{*this, spec_.width};
    RowSums row_sums{*this, pieces};
    RowWriter writer{*this, spec_.output, spec_.width};
    const Sgpr x = pieces.follow(x_row), gain = pieces.follow(gain_row);
    const Sgpr bias = has_bias ? pieces.follow(bias_row) : bias_row;
    const Sgpr out = spec_.output == RowFormat::f32 ? pieces.follow(out_row) : out_row;
    const Vgpr sums = vgpr(2), results = vgpr(2), mean = results[0], scale = results[1];
    RowLanes::Quads values, gains, biases;  // of the one piece

    void locate() {
        s_advance(x_row, launch_workgroup(), f32_row_bytes(spec_.width));
        s_advance(out_row, launch_workgroup(), RowWriter::row_bytes(spec_.output, spec_.width));
        pieces.locate(launch_lane());
        row_sums.locate(launch_lane());
        writer.locate(launch_lane(), pieces.block());
    }
    void load_vectors(RowLanes& lanes) {
        gains = lanes.load(gain);
        if (has_bias) biases = lanes.load(bias);
    }
    void sum_up() {
        row_sums.begin(sums);
        if (pieces.is_one())
            sum_one_piece();
        else
            sum_pieces();
        row_sums.wait();
        row_sums.take(results);
    }
    void sum_one_piece() {
        pieces.for_each([&](RowLanes& lanes) {
            values = lanes.load(x);
            load_vectors(lanes);
            row_sums.lay_out(lanes, values);
            row_sums.for_first_wave([&] {
                add_elements(lanes);
                find_mean();
                add_squares(lanes);
                invert_rms();
            });
        });
    }
    void sum_pieces() {
        const auto for_pieces = [&](const std::function<void(RowLanes&)>& add) {
            pieces.for_each([&](RowLanes& lanes) {
                row_sums.lay_out(lanes, lanes.load(x));
                row_sums.for_first_wave([&] { add(lanes); });
                row_sums.wait();
            });
        };
        row_sums.begin(results);
        for_pieces([&](RowLanes& lanes) { add_elements(lanes); });
        row_sums.for_first_wave([&] { find_mean(); });
        for_pieces([&](RowLanes& lanes) { add_squares(lanes); });
        row_sums.for_first_wave([&] { invert_rms(); });
    }
    void add_elements(RowLanes& lanes) {
        row_sums.add_up(sums, lanes.width(),
                        [&](Vgpr sum, Vgpr element, const auto&) { v_add_f32(sum, sum, element); });
    }
    void find_mean() {
        emit_lanes64_fold(*this, sums);
        emit_divide(*this, mean, sums[0], static_cast<float>(spec_.width));
        row_sums.begin(sums);
    }
    void add_squares(RowLanes& lanes) {  // of the differences
        row_sums.add_up(sums, lanes.width(), [&](Vgpr sum, Vgpr element, const RowSums::Clear& clear) {
            v_sub_f32(element, element, mean);
            clear(element);
            v_fmac_f32(sum, element, element);
        });
    }
    void invert_rms() {
        emit_lanes64_fold(*this, sums);
        emit_inverse_rms(*this, scale, sums[0], spec_.width, spec_.epsilon);
        row_sums.give(results);
    }
    void scale_row() {
        pieces.for_each([&](RowLanes& lanes) {
            if (!pieces.is_one()) {
                values = lanes.load(x);
                load_vectors(lanes);
            }
            for (size_t quad = 0; quad < values.size(); ++quad)
                for (unsigned i = 0; i < 4; ++i) scale_element(quad, i);
            if (spec_.output != RowFormat::f32) lanes.clear_outside(values);  // where zeros became something else
            writer.write(lanes, values, out);
            if (!pieces.is_one()) writer.advance(RowPieces::kPiece / kI16Block);
        });
    }
    void scale_element(size_t quad, unsigned i) {
        const Vgpr value = values[quad][i];
        v_sub_f32(value, value, mean);
        v_mul_f32(value, value, scale);
        if (has_bias)
            v_fma_f32(value, value, gains[quad][i], biases[quad][i]);
        else
            v_mul_f32(value, value, gains[quad][i]);
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const LayerNormSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("layer_norm", target.wave_size));
    RIFTJIT_TRY_VOID(RowWriter::check_format("layer_norm", spec.output));
    return LaunchShape{RowLanes::waves_for(spec.width) * RowLanes::kWave, 1};
}

Result<KernelProgram> program_of(KernelTarget target, const LayerNormSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<LayerNormKernel>(target, spec, "layer_norm", options);
}

}  // namespace riftjit::rdna::kernels
