#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class HistogramKernel final : public RdnaKernel<HistogramSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_pointers();
        clear_bins();
        count_bytes();
        add_bins();
    }

private:
    static constexpr unsigned kBins = 256;  // as many as lanes

    const Sgpr args = launch_args(), workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr data = sgpr(2), bins = sgpr(2), bytes = sgpr(), round = sgpr();
    const Vgpr own_bin = vgpr(), offset = vgpr(), zero = vgpr(), one = vgpr(), word = vgpr(), bin = vgpr();
    const Vgpr count = vgpr();
    const uint32_t counts = lds(kBins * 4);

    void describe_arguments() {
        header_.args = {buffer("data", offsetof(HistogramArgs, data)), buffer("bins", offsetof(HistogramArgs, bins))};
        header_.kernarg_size = sizeof(HistogramArgs);
        header_.max_flat_workgroup_size = kBins;
    }
    void load_pointers() {
        s_load_b64(data, args, offsetof(HistogramArgs, data));
        s_load_b64(bins, args, offsetof(HistogramArgs, bins));
        s_mul_i32(bytes, workgroup, spec_.rounds * kBins * 4);
        s_add_u64(data, data, bytes);
    }
    void clear_bins() {
        v_lshlrev_b32(own_bin, 2, lane);
        v_mov_b32(zero, 0);
        v_mov_b32(one, 1);
        ds_store_b32(own_bin, zero, counts);
        barrier();
    }
    void count_bytes() {
        v_mov_b32(offset, own_bin);
        loop(round, 0, spec_.rounds, 1, [&] {
            global_load_b32(word, offset, data);
            for (unsigned i = 0; i < 4; ++i) {
                v_bfe_u32(bin, word, 8 * i, 8);
                v_lshlrev_b32(bin, 2, bin);
                ds_add_u32(bin, one, counts);
            }
            v_add_nc_u32(offset, kBins * 4, offset);
        });
        barrier();
    }
    void add_bins() {
        ds_load_b32(count, own_bin, counts);
        global_atomic_add_u32(own_bin, count, bins, atomic_policy(Scope::device));
    }
};

}  // namespace

Result<KernelProgram> histogram(KernelTarget target, const HistogramSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_at_most("histogram", "rounds", spec.rounds, uint32_t{1} << 20));
    return assemble<HistogramKernel>(target, spec, "histogram", options);
}

}  // namespace riftjit::rdna::kernels
