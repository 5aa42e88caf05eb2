#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class RopeKernel final : public RdnaKernel<RopeSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = half();
        locate_head();
        load_pair();
        rotate();
    }

private:
    const BoundArguments<RopeArgs> bound = bind_arguments<RopeArgs>(
        {field("x", &RopeArgs::x), field("table", &RopeArgs::table), field("position", &RopeArgs::position)});
    const Sgpr x = bound[&RopeArgs::x], table = bound[&RopeArgs::table], position = bound[&RopeArgs::position];
    const Sgpr workgroup = launch_workgroup(), bytes = sgpr();
    const Vgpr lane = launch_lane();
    const Vgpr offset = vgpr(), table_offset = vgpr(), angle = vgpr(2), low = vgpr(), high = vgpr();
    const Vgpr new_low = vgpr(), new_high = vgpr();

    uint32_t half() const { return spec_.head_width / 2; }

    void locate_head() {
        s_mul_i32(bytes, workgroup, spec_.head_width * 4);
        s_add_u64(x, x, bytes);
        s_mul_i32(bytes, position, half() * 8);
        s_add_u64(table, table, bytes);
    }
    void load_pair() {
        v_lshlrev_b32(offset, 2, lane);
        v_lshlrev_b32(table_offset, 3, lane);
        global_load_b64(angle, table_offset, table);
        global_load_b32(low, offset, x);
        global_load_b32(high, offset, x, half() * 4);
    }
    void rotate() {  // angle: cosine, sine
        v_mul_f32(new_low, low, angle[0]);
        v_mul_f32(new_high, high, angle[0]);
        v_fma_f32(new_low, -high, angle[1], new_low);
        v_fma_f32(new_high, low, angle[1], new_high);
        global_store_b32(offset, new_low, x);
        global_store_b32(offset, new_high, x, half() * 4);
    }
};

}  // namespace

Result<KernelProgram> rope(KernelTarget target, const RopeSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_group("rope", target.wave_size, spec.head_width / 2));
    RIFTJIT_TRY_VOID(check_at_most("rope", "head width", spec.head_width, 512));
    return assemble<RopeKernel>(target, spec, "rope", options);
}

}  // namespace riftjit::rdna::kernels
