// A kernel of any length, for tests and benchmarks of how the passes scale.
#pragma once

#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna {

// Sections of 79 instructions, more where waves of 64 or gfx12 want it: a loop whose body loads under a mask,
// multiplies, takes exponentials, selects and hands its result through LDS, and straight code that selects under scalar
// masks.
class LongKernel final : public KernelAssembler {
public:
    static constexpr unsigned kSectionLines = 79;

    LongKernel(KernelTarget target, unsigned sections) : KernelAssembler(target, "long") {
        header_.args = {buffer("in", 0), buffer("out", 8)};
        header_.kernarg_size = 16;
        header_.max_flat_workgroup_size = lanes();
        s_load_b64(in, launch_args());
        s_load_b64(out, launch_args(), 8);
        v_lshlrev_b32(offset, 4, launch_lane());
        v_mov_b32(sum, 0);
        for (unsigned i = 0; i < sections; ++i) section();
        global_store_b32(offset, sum, out);
        end();
    }

private:
    const Sgpr in = sgpr(2), out = sgpr(2), counter = sgpr();
    const Vgpr offset = vgpr(), sum = vgpr();
    const uint32_t exchange = lds(4096);

    void section() {
        const Sgpr inside = lane_mask();
        loop(counter, 0, 4, 1, [&] {
            v_cmp_gt_u32(inside, 400, offset);
            if_lanes(inside, [&] { masked_products(); });
            exponentials();
        });
        selections();
    }
    void masked_products() {  // 4 loads, 16 products
        for (unsigned load = 0; load < 4; ++load) {
            const Vgpr values = vgpr(4);
            global_load_b128(values, offset, in, 16 * load);
            for (unsigned i = 0; i < 4; ++i) v_fmac_f32(sum, values[i], values[i]);
        }
    }
    void exponentials() {
        const Vgpr power = vgpr(), partner = vgpr();
        for (unsigned i = 0; i < 8; ++i) {
            v_exp_f32(power, -sum);
            v_add_f32(sum, power, sum);
        }
        ds_store_b32(offset, sum, exchange);
        ds_load_b32(partner, offset, exchange);
        v_max_num_f32(sum, sum, partner);
    }
    void selections() {
        const Sgpr mask = lane_mask(), saved = lane_mask();
        for (unsigned i = 0; i < 8; ++i) {
            const Vgpr chosen = vgpr();
            v_cmp_gt_f32(mask, sum, 1.0f);
            v_cndmask_b32(chosen, sum, offset, mask);
            s_mov_mask(saved, mask);
            v_add_f32(sum, chosen, sum);
        }
    }
};

}  // namespace riftjit::rdna
