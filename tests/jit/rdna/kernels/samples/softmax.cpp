#include <limits>
#include <numbers>
#include <vector>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class SoftmaxKernel final : public RdnaKernel<SoftmaxSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = spec_.group_lanes;
        load_row();
        find_maximum();
        exponentiate();
        store_quotients();
    }

private:
    // The row stays in registers: values[c] is element c * group_lanes + lane.
    const BoundArguments<SoftmaxArgs> bound =
        bind_arguments<SoftmaxArgs>({field("x", &SoftmaxArgs::x), field("y", &SoftmaxArgs::y)});
    const Sgpr x = bound[&SoftmaxArgs::x], y = bound[&SoftmaxArgs::y];
    const Sgpr workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr row_bytes = sgpr();
    const Vgpr offset = vgpr(), values = vgpr(chunks()), maximum = vgpr(), sum = vgpr(), other = vgpr();
    const Vgpr reciprocal = vgpr();

    unsigned chunks() const { return spec_.width / spec_.group_lanes; }

    void load_row() {
        s_mul_i32(row_bytes, workgroup, spec_.width * 4);
        s_add_u64(x, x, row_bytes);
        s_add_u64(y, y, row_bytes);
        v_lshlrev_b32(offset, 2, lane);
        for (unsigned c = 0; c < chunks(); ++c) {
            global_load_b32(values[c], offset, x);
            v_add_nc_u32(offset, spec_.group_lanes * 4, offset);
        }
    }
    void find_maximum() {
        v_mov_b32(maximum, values[0]);
        for (unsigned c = 1; c < chunks(); ++c) v_max_num_f32(maximum, maximum, values[c]);
        group_max_f32(maximum, other, lane, spec_.group_lanes);
    }
    void exponentiate() {  // values = 2^((x - maximum) * log2 e)
        v_mov_b32(sum, 0);
        for (unsigned c = 0; c < chunks(); ++c) {
            v_sub_f32(values[c], values[c], maximum);
            v_mul_f32(values[c], std::numbers::log2e_v<float>, values[c]);
            v_exp_f32(values[c], values[c]);
            v_add_f32(sum, sum, values[c]);
        }
        group_sum_f32(sum, other, lane, spec_.group_lanes);
    }
    void store_quotients() {
        const Vgpr one = vgpr();
        v_mov_b32(one, 1.0f);
        divide_f32(reciprocal, one, sum, {vgpr(), vgpr(), vgpr()});
        v_lshlrev_b32(offset, 2, lane);
        for (unsigned c = 0; c < chunks(); ++c) {
            v_mul_f32(values[c], values[c], reciprocal);
            global_store_b32(offset, values[c], y);
            v_add_nc_u32(offset, spec_.group_lanes * 4, offset);
        }
    }
};

}  // namespace

Result<KernelProgram> softmax(KernelTarget target, const SoftmaxSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_group("softmax", target.wave_size, spec.group_lanes));
    RIFTJIT_TRY_VOID(check_multiple("softmax", "width", spec.width, spec.group_lanes));
    RIFTJIT_TRY_VOID(check_at_most("softmax", "elements per lane", spec.width / spec.group_lanes, 16));
    return assemble<SoftmaxKernel>(target, spec, "softmax", options);
}

}  // namespace riftjit::rdna::kernels
