#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class GridBarrierKernel final : public RdnaKernel<GridBarrierSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_pointers();
        locate_lane();
        for (unsigned phase = 0; phase < spec_.phases; ++phase) {
            run_phase(phase % 2 == 0 ? first : second, phase % 2 == 0 ? second : first);
            if (phase + 1 < spec_.phases) wait_for_grid(phase);
        }
    }

private:
    const Sgpr args = launch_args(), workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr first = sgpr(2), second = sgpr(2), counter = sgpr(2), arrived = sgpr();
    const Vgpr index = vgpr(), own_offset = vgpr(), neighbour_offset = vgpr(), value = vgpr();
    const Vgpr zero = vgpr(), one = vgpr(), count = vgpr();

    void describe_arguments() {
        header_.args = {buffer("first", offsetof(GridBarrierArgs, first)),
                        buffer("second", offsetof(GridBarrierArgs, second)),
                        buffer("counter", offsetof(GridBarrierArgs, counter))};
        header_.kernarg_size = sizeof(GridBarrierArgs);
        header_.max_flat_workgroup_size = spec_.group_lanes;
        header_.forward_progress = true;
    }
    void load_pointers() {
        s_load_b64(first, args, offsetof(GridBarrierArgs, first));
        s_load_b64(second, args, offsetof(GridBarrierArgs, second));
        s_load_b64(counter, args, offsetof(GridBarrierArgs, counter));
    }
    void locate_lane() {
        const uint32_t total = spec_.groups * spec_.group_lanes;
        v_lshl_add_u32(index, workgroup, std::countr_zero(spec_.group_lanes), lane);
        v_lshlrev_b32(own_offset, 2, index);
        v_add_nc_u32(neighbour_offset, spec_.group_lanes, index);
        v_and_b32(neighbour_offset, total - 1, neighbour_offset);
        v_lshlrev_b32(neighbour_offset, 2, neighbour_offset);
        v_mov_b32(zero, 0);
        v_mov_b32(one, 1);
    }
    void run_phase(Sgpr from, Sgpr to) {
        global_load_b32(value, neighbour_offset, from);
        v_add_nc_u32(value, value, index);
        global_store_b32(own_offset, value, to);
    }
    // Every wave releases, one lane of the workgroup reports its arrival and waits for the others', every wave
    // acquires.
    void wait_for_grid(unsigned phase) {
        release_memory(Scope::device);
        barrier(Exchange::nothing);
        v_cmp_eq_u32(vcc(), 0, lane);
        if_lanes(vcc(), [&] {
            const Label spin = label();
            global_atomic_add_u32(zero, one, counter, atomic_policy(Scope::device));
            bind(spin);
            s_sleep(1);
            global_load_b32(count, zero, counter, load_policy(Scope::device));
            v_readfirstlane_b32(arrived, count);
            s_cmp_lt_u32(arrived, (phase + 1) * spec_.groups);
            s_cbranch_scc1(spin);
        });
        barrier(Exchange::nothing);
        acquire_memory(Scope::device);
    }
};

}  // namespace

Result<KernelProgram> grid_barrier(KernelTarget target, const GridBarrierSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_group("grid_barrier", target.wave_size, spec.group_lanes));
    if (!std::has_single_bit(spec.groups))
        return fail(ErrorKind::Usage, "grid_barrier: {} groups are not a power of two", spec.groups);
    RIFTJIT_TRY_VOID(check_at_most("grid_barrier", "phases", spec.phases, 64));
    return assemble<GridBarrierKernel>(target, spec, "grid_barrier", options);
}

}  // namespace riftjit::rdna::kernels
