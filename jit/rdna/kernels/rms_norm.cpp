#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class RmsNormKernel final : public RdnaKernel<RmsNormSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = group_lanes;
        locate_rows();
        sum_squares();
        invert_rms();
        scale_row();
    }

private:
    const uint32_t group_lanes = shape_of({target(), wave_size()}, spec_)->lanes;

    // Register map. offset counts bytes into the row.
    const BoundArguments<RmsNormArgs> bound = bind_arguments<RmsNormArgs>(
        {field("x", &RmsNormArgs::x), field("gain", &RmsNormArgs::gain), field("out", &RmsNormArgs::out)});
    const Sgpr x = bound[&RmsNormArgs::x], gain = bound[&RmsNormArgs::gain], out = bound[&RmsNormArgs::out];
    const Sgpr workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr row_bytes = sgpr(), chunk = sgpr();
    const Vgpr offset = vgpr(), value = vgpr(), weight = vgpr(), sum = vgpr(), other = vgpr();

    unsigned chunks() const { return spec_.width / group_lanes; }
    unsigned chunk_bytes() const { return group_lanes * 4; }

    void locate_rows() {
        s_mul_i32(row_bytes, workgroup, spec_.width * 4);
        s_add_u64(x, x, row_bytes);
        s_add_u64(out, out, row_bytes);
    }
    void sum_squares() {
        v_mov_b32(sum, 0);
        v_lshlrev_b32(offset, 2, lane);
        loop(chunk, 0, chunks(), 1, [&] {
            global_load_b32(value, offset, x);
            v_fmac_f32(sum, value, value);
            v_add_nc_u32(offset, chunk_bytes(), offset);
        });
        group_sum_f32(sum, other, lane, group_lanes);
    }
    void invert_rms() {
        v_mul_f32(sum, 1.0f / static_cast<float>(spec_.width), sum);
        v_add_f32(sum, spec_.epsilon, sum);
        v_rsq_f32(sum, sum);
    }
    void scale_row() {
        v_lshlrev_b32(offset, 2, lane);
        loop(chunk, 0, chunks(), 1, [&] {
            global_load_b32(value, offset, x);
            global_load_b32(weight, offset, gain);
            v_mul_f32(value, value, sum);
            v_mul_f32(value, value, weight);
            global_store_b32(offset, value, out);
            v_add_nc_u32(offset, chunk_bytes(), offset);
        });
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const RmsNormSpec& spec) {
    RIFTJIT_TRY_VOID(refuse_if(spec.gain == Presence::absent, "rms_norm", "rows without gain"));
    RIFTJIT_TRY_VOID(refuse_if(spec.addend == Addend::residual, "rms_norm", "a residual"));
    RIFTJIT_TRY_VOID(refuse_if(spec.output != RowFormat::f32, "rms_norm", "rows that are not f32"));
    RIFTJIT_TRY(group_lanes, lanes_for_rows("rms_norm", target.wave_size, spec.width));
    return LaunchShape{group_lanes, 1};
}

Result<KernelProgram> program_of(KernelTarget target, const RmsNormSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<RmsNormKernel>(target, spec, "rms_norm", options);
}

}  // namespace riftjit::rdna::kernels
