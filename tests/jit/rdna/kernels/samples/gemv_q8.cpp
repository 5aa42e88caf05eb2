#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

class GemvQ8Kernel final : public RdnaKernel<GemvQ8Spec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = spec_.rows_per_group * lanes();
        locate_row();
        sum_blocks();
        store();
    }

private:
    static constexpr unsigned kBlock = 32, kBlockDwords = kBlock / 4;

    // A lane takes every lanes()-th block of the wave's row.
    const BoundArguments<GemvQ8Args> bound =
        bind_arguments<GemvQ8Args>({field("weights", &GemvQ8Args::weights), field("scales", &GemvQ8Args::scales),
                                    field("input", &GemvQ8Args::input),
                                    field("input_scales", &GemvQ8Args::input_scales), field("y", &GemvQ8Args::y)});
    const Sgpr weights = bound[&GemvQ8Args::weights], scales = bound[&GemvQ8Args::scales],
               input = bound[&GemvQ8Args::input], input_scales = bound[&GemvQ8Args::input_scales],
               y = bound[&GemvQ8Args::y];
    const Sgpr workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr row = sgpr(), bytes = sgpr(), first = sgpr(), inside = lane_mask();
    const Vgpr wave = vgpr(), in_wave = vgpr(), block = vgpr(), offset = vgpr();
    const Vgpr weight = vgpr(kBlockDwords), activation = vgpr(kBlockDwords), scale = vgpr(), input_scale = vgpr();
    const Vgpr dot = vgpr(), sum = vgpr(), other = vgpr();

    unsigned blocks() const { return spec_.columns / kBlock; }

    void locate_row() {  // row = workgroup * rows_per_group + wave: the same in all lanes, so a scalar
        v_lshrrev_b32(wave, std::countr_zero(lanes()), lane);
        v_and_b32(in_wave, lanes() - 1, lane);
        v_readfirstlane_b32(row, wave);
        s_mul_i32(bytes, workgroup, spec_.rows_per_group);
        s_add_co_u32(row, row, bytes);
        s_mul_i32(bytes, row, spec_.columns);
        s_add_u64(weights, weights, bytes);
        s_mul_i32(bytes, row, blocks() * 2);
        s_add_u64(scales, scales, bytes);
    }
    void sum_blocks() {
        v_mov_b32(sum, 0);
        v_mov_b32(block, in_wave);
        loop(first, 0, blocks(), lanes(), [&] {
            v_cmp_gt_u32(inside, blocks(), block);
            if_lanes(inside, [&] { add_block(); });
            v_add_nc_u32(block, lanes(), block);
        });
        wave_sum_f32(sum, other);
    }
    void add_block() {
        v_lshlrev_b32(offset, 5, block);
        global_load_b128(weight.part(0, 4), offset, weights);
        global_load_b128(weight.part(4, 4), offset, weights, 16);
        global_load_b128(activation.part(0, 4), offset, input);
        global_load_b128(activation.part(4, 4), offset, input, 16);
        v_lshlrev_b32(offset, 1, block);
        global_load_u16(scale, offset, scales);
        v_lshlrev_b32(offset, 2, block);
        global_load_b32(input_scale, offset, input_scales);
        v_mov_b32(dot, 0);
        for (unsigned i = 0; i < kBlockDwords; ++i) dot4_i8(dot, weight[i], activation[i]);
        v_cvt_f32_f16(scale, scale);
        v_mul_f32(scale, scale, input_scale);
        v_cvt_f32_i32(dot, dot);
        v_fmac_f32(sum, scale, dot);
    }
    void store() {
        v_cmp_eq_u32(vcc(), 0, in_wave);
        keep_lanes(vcc());
        s_lshl_b32(bytes, row, 2);
        v_mov_b32(offset, bytes);
        global_store_b32(offset, sum, y);
    }
};

}  // namespace

Result<KernelProgram> gemv_q8(KernelTarget target, const GemvQ8Spec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_multiple("gemv_q8", "column count", spec.columns, 32));
    RIFTJIT_TRY_VOID(check_group("gemv_q8", target.wave_size, spec.rows_per_group * lanes(target.wave_size)));
    return assemble<GemvQ8Kernel>(target, spec, "gemv_q8", options);
}

}  // namespace riftjit::rdna::kernels
