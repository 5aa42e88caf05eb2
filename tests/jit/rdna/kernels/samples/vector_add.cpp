#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class VectorAddKernel final : public RdnaKernel<VectorAddSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_arguments();
        locate_lane();
        add();
    }

private:
    // Register map: scalars are shared by the wave, vectors hold one value per lane.
    const Sgpr args = launch_args(), workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr a = sgpr(2), b = sgpr(2), out = sgpr(2), count = sgpr();
    const Vgpr index = vgpr(), offset = vgpr(), left = vgpr(), right = vgpr();

    void describe_arguments() {
        header_.args = {buffer("a", offsetof(VectorAddArgs, a)), buffer("b", offsetof(VectorAddArgs, b)),
                        buffer("out", offsetof(VectorAddArgs, out)),
                        scalar("count", offsetof(VectorAddArgs, count), 4)};
        header_.kernarg_size = sizeof(VectorAddArgs);
        header_.max_flat_workgroup_size = spec_.group_lanes;
    }
    void load_arguments() {
        s_load_b64(a, args, offsetof(VectorAddArgs, a));
        s_load_b64(b, args, offsetof(VectorAddArgs, b));
        s_load_b64(out, args, offsetof(VectorAddArgs, out));
        s_load_b32(count, args, offsetof(VectorAddArgs, count));
    }
    void locate_lane() {  // lanes beyond the end are switched off for good
        v_lshl_add_u32(index, workgroup, std::countr_zero(spec_.group_lanes), lane);
        v_cmp_gt_u32(vcc(), count, index);
        keep_lanes(vcc());
        v_lshlrev_b32(offset, 2, index);
    }
    void add() {
        global_load_b32(left, offset, a);
        global_load_b32(right, offset, b);
        v_add_f32(left, left, right);
        global_store_b32(offset, left, out);
    }
};

}  // namespace

Result<KernelProgram> vector_add(KernelTarget target, const VectorAddSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_group("vector_add", target.wave_size, spec.group_lanes));
    return assemble<VectorAddKernel>(target, spec, "vector_add", options);
}

}  // namespace riftjit::rdna::kernels
