#include <limits>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class ArgmaxKernel final : public RdnaKernel<ArgmaxSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = lanes();
        locate_row();
        scan_row();
        combine_lanes();
        store();
    }

private:
    // best and best_index are the lane's choice; candidate and candidate_index challenge it.
    const BoundArguments<ArgmaxArgs> bound =
        bind_arguments<ArgmaxArgs>({field("x", &ArgmaxArgs::x), field("index", &ArgmaxArgs::index)});
    const Sgpr x = bound[&ArgmaxArgs::x], index = bound[&ArgmaxArgs::index];
    const Sgpr workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr bytes = sgpr(), first = sgpr();
    const Sgpr is_larger = lane_mask(), is_equal = lane_mask(), is_earlier = lane_mask(), inside = lane_mask();
    const Vgpr offset = vgpr(), best = vgpr(), best_index = vgpr(), candidate = vgpr(), candidate_index = vgpr();

    void locate_row() {
        s_mul_i32(bytes, workgroup, spec_.width * 4);
        s_add_u64(x, x, bytes);
    }
    void scan_row() {
        v_mov_b32(best, -std::numeric_limits<float>::infinity());
        v_mov_b32(best_index, lane);
        v_mov_b32(candidate_index, lane);
        loop(first, 0, spec_.width, lanes(), [&] {
            v_cmp_gt_u32(inside, spec_.width, candidate_index);
            if_lanes(inside, [&] {
                v_lshlrev_b32(offset, 2, candidate_index);
                global_load_b32(candidate, offset, x);
                v_cmp_gt_f32(vcc(), candidate, best);
                v_cndmask_b32(best, best, candidate, vcc());
                v_cndmask_b32(best_index, best_index, candidate_index, vcc());
            });
            v_add_nc_u32(candidate_index, lanes(), candidate_index);
        });
    }
    // Each step takes the choice of the lane whose number differs in one bit.
    void combine_lanes() {
        for (const unsigned bit : {1u, 2u, 4u, 8u}) {
            v_mov_b32(candidate, best, row_xmask(bit));
            v_mov_b32(candidate_index, best_index, row_xmask(bit));
            take_better();
        }
        v_permlanex16_b32(candidate, best, 0, 0, kNoOldValue);
        v_permlanex16_b32(candidate_index, best_index, 0, 0, kNoOldValue);
        take_better();
        if (lanes() == 32) return;
        const Sgpr other_half = sgpr(2);
        v_readlane_b32(other_half[0], best, 32);
        v_readlane_b32(other_half[1], best_index, 32);
        v_mov_b32(candidate, other_half[0]);
        v_mov_b32(candidate_index, other_half[1]);
        take_better();
    }
    void take_better() {  // larger, or equal and earlier
        v_cmp_gt_f32(is_larger, candidate, best);
        v_cmp_eq_f32(is_equal, candidate, best);
        v_cmp_lt_u32(is_earlier, candidate_index, best_index);
        s_and_mask(is_equal, is_equal, is_earlier);
        emit(lanes() == 32 ? Opcode::s_or_b32 : Opcode::s_or_b64, {vcc(), is_larger, is_equal});
        v_cndmask_b32(best, best, candidate, vcc());
        v_cndmask_b32(best_index, best_index, candidate_index, vcc());
    }
    void store() {
        const Vgpr target_offset = vgpr();
        v_cmp_eq_u32(vcc(), 0, lane);
        keep_lanes(vcc());
        s_lshl_b32(bytes, workgroup, 2);
        v_mov_b32(target_offset, bytes);
        global_store_b32(target_offset, best_index, index);
    }
};

}  // namespace

Result<KernelProgram> argmax(KernelTarget target, const ArgmaxSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_at_most("argmax", "width", spec.width, kMaxBufferBytes / 4));
    return assemble<ArgmaxKernel>(target, spec, "argmax", options);
}

}  // namespace riftjit::rdna::kernels
