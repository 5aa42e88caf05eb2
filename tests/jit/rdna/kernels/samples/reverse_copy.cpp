#include <array>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/validate.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {
namespace {

// One barrier per chunk: LDS holds two, and who writes a buffer again has passed the barrier that all reach only after
// they have read it. The loads of the next chunk are under way meanwhile.
class ReverseCopyKernel final : public RdnaKernel<ReverseCopySpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        describe_arguments();
        load_pointers();
        locate_lane();
        load(0);
        for (unsigned chunk = 0; chunk < spec_.chunks; ++chunk) pass_on(chunk);
    }

private:
    const Sgpr args = launch_args(), workgroup = launch_workgroup();
    const Vgpr lane = launch_lane();
    const Sgpr in = sgpr(2), out = sgpr(2), bytes = sgpr();
    const Vgpr own = vgpr(), mirrored = vgpr(), in_offset = vgpr(), out_offset = vgpr(), reversed = vgpr(4);
    const std::array<Vgpr, 2> loaded = {vgpr(4), vgpr(4)};
    const std::array<uint32_t, 2> buffers = {lds(chunk_bytes()), lds(chunk_bytes())};

    uint32_t chunk_bytes() const { return spec_.group_lanes * 16; }

    void describe_arguments() {
        header_.args = {buffer("in", offsetof(ReverseCopyArgs, in)), buffer("out", offsetof(ReverseCopyArgs, out))};
        header_.kernarg_size = sizeof(ReverseCopyArgs);
        header_.max_flat_workgroup_size = spec_.group_lanes;
    }
    void load_pointers() {
        s_load_b64(in, args, offsetof(ReverseCopyArgs, in));
        s_load_b64(out, args, offsetof(ReverseCopyArgs, out));
        s_mul_i32(bytes, workgroup, spec_.chunks * chunk_bytes());
        s_add_u64(in, in, bytes);
        s_add_u64(out, out, bytes);
    }
    void locate_lane() {
        v_lshlrev_b32(own, 4, lane);
        v_sub_nc_u32(mirrored, chunk_bytes() - 16, own);
        v_mov_b32(in_offset, own);
        v_mov_b32(out_offset, own);
    }
    void load(unsigned chunk) {
        global_load_b128(loaded[chunk % 2], in_offset, in, streaming_load_policy());
        v_add_nc_u32(in_offset, chunk_bytes(), in_offset);
    }
    void pass_on(unsigned chunk) {
        if (chunk + 1 < spec_.chunks) load(chunk + 1);
        ds_store_b128(own, loaded[chunk % 2], buffers[chunk % 2]);
        barrier();
        ds_load_b128(reversed, mirrored, buffers[chunk % 2]);
        global_store_b128(out_offset, reversed, out);
        v_add_nc_u32(out_offset, chunk_bytes(), out_offset);
    }
};

}  // namespace

Result<KernelProgram> reverse_copy(KernelTarget target, const ReverseCopySpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(check_group("reverse_copy", target.wave_size, spec.group_lanes));
    RIFTJIT_TRY_VOID(check_at_most("reverse_copy", "chunks", spec.chunks, 64));
    return assemble<ReverseCopyKernel>(target, spec, "reverse_copy", options);
}

}  // namespace riftjit::rdna::kernels
