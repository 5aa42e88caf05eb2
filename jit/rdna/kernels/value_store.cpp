// Stores f32 value rows in the value cache: a wave per KV head of a row, whose lanes are elements.
#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/cache_writer.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class ValueStoreKernel final : public RdnaKernel<ValueStoreSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = lanes();
        locate_head();
        for (uint32_t first = 0; first < spec_.head_dim; first += lanes())
            for_lanes(lane, spec_.head_dim - first, [&] { store(first); });
    }

private:
    const BoundArguments<ValueStoreArgs> bound =
        bind_arguments<ValueStoreArgs>({field("v", &ValueStoreArgs::v), field("cache", &ValueStoreArgs::cache),
                                        field("batch", &ValueStoreArgs::batch)});
    const Sgpr v = bound[&ValueStoreArgs::v], cache = bound[&ValueStoreArgs::cache],
               batch = bound[&ValueStoreArgs::batch];
    const Sgpr workgroup = launch_workgroup(), row = sgpr(), head = sgpr();
    const Vgpr lane = launch_lane(), source = vgpr(), target = vgpr(), scales = vgpr();

    uint32_t code_bytes() const { return cache_code_bytes(spec_.cache_type); }
    bool has_scales() const { return spec_.cache_type == DType::Q8_0; }

    // source, target and scales count bytes from v, cache and, for lane 0, the cache's scales.
    void locate_head() {
        s_divide_u32(row, head, workgroup, spec_.kv_heads);
        s_advance(v, row, spec_.row_stride * sizeof(float));
        s_advance(v, head, spec_.head_dim * sizeof(float));
        const uint32_t head_bytes = uint32_t(value_head_bytes(spec_.cache_type, spec_.head_dim));
        const CachePlace place = locate_cache_row(*this, batch, row);
        s_advance(cache, place.page, spec_.kv_heads * head_bytes);
        s_advance(cache, head, head_bytes);
        const Sgpr chunk = sgpr(), in_chunk = sgpr();
        s_lshr_b32(chunk, place.position, std::countr_zero(kValueChunkPositions));
        s_mul_i32(chunk, chunk, spec_.head_dim * value_chunk_bytes(spec_.cache_type));
        s_and_b32(in_chunk, place.position, kValueChunkPositions - 1);
        s_lshl_b32(in_chunk, in_chunk, std::countr_zero(code_bytes()));
        s_add_co_u32(chunk, chunk, in_chunk);
        v_lshlrev_b32(source, 2, lane);
        v_lshl_add_u32(target, lane, std::countr_zero(value_chunk_bytes(spec_.cache_type)), chunk);
        if (!has_scales()) return;
        s_lshl_b32(in_chunk, place.position, std::countr_zero(kCacheScaleBytes));
        s_add_co_u32(in_chunk, in_chunk, uint32_t(value_scales_offset_bytes(spec_.cache_type, spec_.head_dim)));
        v_mov_b32(scales, in_chunk);
    }
    // The elements from number `first` on; of Q8_0 a whole block.
    void store(uint32_t first) {
        const Vgpr value = vgpr();
        global_load_b32(value, source, v);
        switch (spec_.cache_type) {
            case DType::F32:
                global_store_b32(target, value, cache);
                break;
            case DType::F16:
                v_cvt_f16_f32(value, value);
                global_store_b16(target, value, cache);
                break;
            default:
                store_block(value, first);
        }
        if (first + lanes() >= spec_.head_dim) return;
        v_add_nc_u32(source, lanes() * 4, source);
        v_add_nc_u32(target, lanes() * value_chunk_bytes(spec_.cache_type), target);
    }
    void store_block(Vgpr value, uint32_t first) {
        const Vgpr largest = vgpr(), other = vgpr(), code = vgpr();
        v_and_b32(largest, 0x7fff'ffff, value);
        for (const unsigned bit : {1u, 2u, 4u, 8u}) v_max_u32(largest, largest, largest, row_xmask(bit));
        v_permlanex16_b32(other, largest, 0, 0, kNoOldValue);
        v_max_u32(largest, largest, other);
        const Q8Scale scale = q8_scale(*this, largest);
        q8_code(*this, code, value, scale.inverse);
        global_store_b8(target, code, cache);
        v_cmp_eq_u32(vcc(), 0, lane);
        if_lanes(vcc(), [&] { global_store_b16(scales, scale.half, cache); });
        if (first + lanes() < spec_.head_dim) v_add_nc_u32(scales, kKvPage * kCacheScaleBytes, scales);
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const ValueStoreSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("value_store", target.wave_size));
    RIFTJIT_TRY_VOID(check_cache_type("value_store", spec.cache_type));
    return LaunchShape{lanes(target.wave_size), spec.kv_heads};
}

Result<KernelProgram> program_of(KernelTarget target, const ValueStoreSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<ValueStoreKernel>(target, spec, "value_store", options);
}

}  // namespace riftjit::rdna::kernels
