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
    const BoundArguments<RopeArgs> bound =
        bind_arguments<RopeArgs>({field("x", &RopeArgs::x), field("table", &RopeArgs::table)});
    const Sgpr x = bound[&RopeArgs::x], table = bound[&RopeArgs::table];
    const Sgpr workgroup = launch_workgroup(), row = sgpr(), head = sgpr(), bytes = sgpr();
    const Vgpr lane = launch_lane();
    const Vgpr offset = vgpr(), table_offset = vgpr(), angle = vgpr(2), low = vgpr(), high = vgpr();
    const Vgpr new_low = vgpr(), new_high = vgpr();

    uint32_t half() const { return spec_.head_dim / 2; }

    void locate_head() {
        s_divide_u32(row, workgroup, spec_.heads);
        s_mul_i32(head, row, spec_.heads);
        s_sub_co_u32(head, workgroup, head);
        s_mul_i32(bytes, row, spec_.row_stride * 4);
        s_add_u64(x, x, bytes);
        s_mul_i32(bytes, head, spec_.head_dim * 4);
        s_add_u64(x, x, bytes);
        s_mul_i32(bytes, row, half() * 8);
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

Result<LaunchShape> shape_of(KernelTarget target, const RopeSpec& spec) {
    RIFTJIT_TRY_VOID(refuse_if(spec.pairing == RopePairing::adjacent, "rope", "adjacent pairs"));
    RIFTJIT_TRY_VOID(refuse_if(spec.rotary_dims != spec.head_dim, "rope", "parts of heads"));
    RIFTJIT_TRY_VOID(refuse_if(spec.norm == Presence::present, "rope", "heads that are normed"));
    RIFTJIT_TRY_VOID(refuse_if(spec.key_cache.has_value(), "rope", "a key cache"));
    const uint32_t half = spec.head_dim / 2, wave = lanes(target.wave_size);
    constexpr uint32_t kMaxHalf = 256;  // whose bytes gfx10 can add to an address
    RIFTJIT_TRY_VOID(refuse_if(!std::has_single_bit(half) || half < wave || half > kMaxHalf, "rope",
                               fmt::format("{} pairs in a head, no power of two from {} to {}", half, wave, kMaxHalf)));
    return LaunchShape{half, spec.heads};
}

Result<KernelProgram> program_of(KernelTarget target, const RopeSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<RopeKernel>(target, spec, "rope", options);
}

}  // namespace riftjit::rdna::kernels
