#include <bit>
#include <numbers>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class SwigluKernel final : public RdnaKernel<SwigluSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = group_lanes;
        locate_lane();
        load_inputs();
        activate();
        store();
    }

private:
    const uint32_t group_lanes = shape_of({target(), wave_size()}, spec_)->lanes;

    // Register map: scalars are shared by the wave, vectors hold one value per lane.
    const BoundArguments<SwigluArgs> bound = bind_arguments<SwigluArgs>(
        {field("gate", &SwigluArgs::gate), field("up", &SwigluArgs::up), field("out", &SwigluArgs::out)});
    const Sgpr gate_row = bound[&SwigluArgs::gate], up_row = bound[&SwigluArgs::up], out_row = bound[&SwigluArgs::out];
    const Sgpr workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Vgpr offset = vgpr(), gate = vgpr(), up = vgpr(), sigmoid = vgpr();

    void locate_lane() {  // offset = (workgroup * group_lanes + lane) * sizeof(float)
        v_lshl_add_u32(offset, workgroup, std::countr_zero(group_lanes), lane);
        v_lshlrev_b32(offset, 2, offset);
    }
    void load_inputs() {
        global_load_b32(gate, offset, gate_row);
        global_load_b32(up, offset, up_row);
    }
    void activate() {  // sigmoid(g) = 1 / (1 + 2^(-g * log2 e)); v_exp_f32 is base two
        v_mul_f32(sigmoid, -std::numbers::log2e_v<float>, gate);
        v_exp_f32(sigmoid, sigmoid);
        v_add_f32(sigmoid, 1.0f, sigmoid);
        v_rcp_f32(sigmoid, sigmoid);
        v_mul_f32(gate, gate, sigmoid);
        v_mul_f32(gate, gate, up);
    }
    void store() { global_store_b32(offset, gate, out_row); }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const SwigluSpec& spec) {
    RIFTJIT_TRY_VOID(refuse_if(spec.output != RowFormat::f32, "swiglu", "rows that are not f32"));
    RIFTJIT_TRY_VOID(refuse_if(spec.in_stride != spec.width, "swiglu", "rows that do not lie side by side"));
    RIFTJIT_TRY(group_lanes, lanes_for_rows("swiglu", target.wave_size, spec.width));
    return LaunchShape{group_lanes, spec.width / group_lanes};
}

Result<KernelProgram> program_of(KernelTarget target, const SwigluSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<SwigluKernel>(target, spec, "swiglu", options);
}

}  // namespace riftjit::rdna::kernels
