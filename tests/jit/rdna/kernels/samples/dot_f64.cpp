#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class DotF64Kernel final : public RdnaKernel<DotF64Spec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_pointers();
        sum_products();
        store();
    }

private:
    const Sgpr args = launch_args();
    const Vgpr lane = launch_lane();
    const Sgpr a = sgpr(2), b = sgpr(2), result = sgpr(2), chunk = sgpr();
    const Vgpr offset = vgpr(), left = vgpr(2), right = vgpr(2), sum = vgpr(2), other = vgpr(2), zero = vgpr();

    void describe_arguments() {
        header_.args = {buffer("a", offsetof(DotF64Args, a)), buffer("b", offsetof(DotF64Args, b)),
                        buffer("result", offsetof(DotF64Args, result))};
        header_.kernarg_size = sizeof(DotF64Args);
        header_.max_flat_workgroup_size = spec_.group_lanes;
    }
    void load_pointers() {
        s_load_b64(a, args, offsetof(DotF64Args, a));
        s_load_b64(b, args, offsetof(DotF64Args, b));
        s_load_b64(result, args, offsetof(DotF64Args, result));
    }
    void sum_products() {
        v_mov_b32(sum[0], 0);
        v_mov_b32(sum[1], 0);
        v_lshlrev_b32(offset, 3, lane);
        loop(chunk, 0, spec_.count / spec_.group_lanes, 1, [&] {
            global_load_b64(left, offset, a);
            global_load_b64(right, offset, b);
            v_add_nc_u32(offset, spec_.group_lanes * 8, offset);
            v_fma_f64(sum, left, right, sum);
        });
        group_sum_f64(sum, other, lane, spec_.group_lanes);
    }
    void store() {
        v_cmp_eq_u32(vcc(), 0, lane);
        keep_lanes(vcc());
        v_mov_b32(zero, 0);
        global_store_b64(zero, sum, result);
    }
};

}  // namespace

Result<KernelProgram> dot_f64(KernelTarget target, const DotF64Spec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_group("dot_f64", target.wave_size, spec.group_lanes));
    RIFTJIT_TRY_VOID(check_multiple("dot_f64", "element count", spec.count, spec.group_lanes));
    return assemble<DotF64Kernel>(target, spec, "dot_f64", options);
}

}  // namespace riftjit::rdna::kernels
