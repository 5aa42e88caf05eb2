// Rotary embedding of query and key heads, with the heads' RMS norm before it and the key cache after it: a wave per
// head of a row. Whatever is not stored in place goes by way of LDS, where lanes become pieces of 16 bytes of a key.
#include <bit>

#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/cache_writer.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/kv_layout.h"
#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {

class RopeKernel final : public RdnaKernel<RopeSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = lanes();
        locate_head();
        if (spec_.norm == Presence::present) find_scale();
        for (uint32_t first = 0; first < pairs(); first += lanes())
            for_lanes(lane, pairs() - first, [&] { rotate(first); });
        for (uint32_t first = spec_.rotary_dims; is_moved() && first < spec_.head_dim; first += lanes())
            for_lanes(lane, spec_.head_dim - first, [&] { move(first); });
        if (spec_.key_cache) store_keys();
    }

private:
    const BoundArguments<RopeArgs> bound = bind_arguments<RopeArgs>(
        {field("x", &RopeArgs::x), field("gain", &RopeArgs::gain), field("table", &RopeArgs::table),
         field("cache", &RopeArgs::cache), field("batch", &RopeArgs::batch)});
    const Sgpr x = bound[&RopeArgs::x], gain = bound[&RopeArgs::gain], table = bound[&RopeArgs::table],
               cache = bound[&RopeArgs::cache], batch = bound[&RopeArgs::batch];
    const Sgpr workgroup = launch_workgroup(), row = sgpr(), head = sgpr();
    const Vgpr lane = launch_lane(), scale = vgpr();
    const uint32_t staged =
        spec_.key_cache ? lds(key_chunks(*spec_.key_cache, spec_.head_dim) * chunk_elements() * sizeof(float)) : 0;

    static constexpr uint32_t kLowHalves = 0x0504'0100;  // v_perm_b32: of two registers, the first one's above

    uint32_t pairs() const { return spec_.rotary_dims / 2; }
    bool is_adjacent() const { return spec_.pairing == RopePairing::adjacent; }
    bool is_moved() const { return spec_.norm == Presence::present || spec_.key_cache; }
    uint32_t chunk_elements() const { return key_chunk_elements(*spec_.key_cache); }

    void locate_head() {
        s_divide_u32(row, head, workgroup, spec_.heads);
        s_advance(x, row, spec_.row_stride * sizeof(float));
        s_advance(x, head, spec_.head_dim * sizeof(float));
        if (spec_.rotary_dims != 0) s_advance(table, row, spec_.rotary_dims * sizeof(float));
    }
    // Sum i of 64 takes the elements i, i + 64, ...
    void find_scale() {
        const Vgpr sums = vgpr(2), pair = vgpr(2), offset = vgpr();
        v_mov_b32(sums[0], 0);
        v_mov_b32(sums[1], 0);
        v_lshlrev_b32(offset, 3, lane);
        for (uint32_t first = 0; first < spec_.head_dim; first += 2 * lanes()) {
            for_lanes(lane, (spec_.head_dim - first) / 2, [&] {
                global_load_b64(pair, offset, x);
                for (unsigned i = 0; i < 2; ++i) v_fmac_f32(sums[i], pair[i], pair[i]);
            });
            if (first + 2 * lanes() < spec_.head_dim) v_add_nc_u32(offset, 2 * lanes() * 4, offset);
        }
        emit_lanes64_fold(*this, sums);
        emit_inverse_rms(*this, scale, sums[0], spec_.head_dim, spec_.epsilon);
    }

    // offset = bytes of the elements lane * step + first.
    Vgpr offset_of(uint32_t first, uint32_t step = 1) {
        const Vgpr offset = vgpr();
        v_lshlrev_b32(offset, 2 + std::countr_zero(step), lane);
        if (first != 0) v_add_nc_u32(offset, first * 4, offset);
        return offset;
    }
    // What lies in x at `offset`, normed.
    void load(Vgpr value, Vgpr offset) {
        emit(value.dwords() == 2 ? Opcode::global_load_b64 : Opcode::global_load_b32, {value, offset, x});
        if (spec_.norm == Presence::absent) return;
        const Vgpr weight = vgpr(value.dwords());
        emit(value.dwords() == 2 ? Opcode::global_load_b64 : Opcode::global_load_b32, {weight, offset, gain});
        for (unsigned i = 0; i < value.dwords(); ++i) {
            v_mul_f32(value[i], scale, value[i]);
            v_mul_f32(value[i], value[i], weight[i]);
        }
    }
    void store(Vgpr offset, Vgpr value) {
        if (spec_.key_cache) {
            const Vgpr address = vgpr();
            stage_address(address, offset);
            return value.dwords() == 2 ? ds_store_b64(address, value, staged) : ds_store_b32(address, value, staged);
        }
        value.dwords() == 2 ? global_store_b64(offset, value, x) : global_store_b32(offset, value, x);
    }
    void rotate(uint32_t first) {  // angle: cosine, sine
        const Vgpr angle = vgpr(2), crossed = vgpr();
        global_load_b64(angle, offset_of(2 * first, 2), table);
        if (is_adjacent()) {
            const Vgpr offset = offset_of(2 * first, 2), pair = vgpr(2), rotated = vgpr(2);
            load(pair, offset);
            v_mul_f32(crossed, pair[1], angle[1]);
            v_fma_f32(rotated[0], pair[0], angle[0], -crossed);
            v_mul_f32(crossed, pair[0], angle[1]);
            v_fma_f32(rotated[1], pair[1], angle[0], crossed);
            return store(offset, rotated);
        }
        const Vgpr left_offset = offset_of(first), right_offset = offset_of(first + pairs());
        const Vgpr left = vgpr(), right = vgpr(), rotated = vgpr(), other = vgpr();
        load(left, left_offset);
        load(right, right_offset);
        v_mul_f32(crossed, right, angle[1]);
        v_fma_f32(rotated, left, angle[0], -crossed);
        v_mul_f32(crossed, right, angle[0]);
        v_fma_f32(other, left, angle[1], crossed);
        store(left_offset, rotated);
        store(right_offset, other);
    }
    void move(uint32_t first) {
        const Vgpr offset = offset_of(first), value = vgpr();
        load(value, offset);
        store(offset, value);
    }

    // Where the element lies in LDS that lies `offset` bytes into the head: pieces of 16 bytes are exchanged, so that
    // neighbouring lanes find the beginnings of their chunks in different banks.
    void stage_address(Vgpr address, Vgpr offset) {
        const uint32_t chunk_pieces = chunk_elements() / 4;
        if (chunk_pieces == 1) return v_mov_b32(address, offset);
        v_bfe_u32(address, offset, 7, std::countr_zero(chunk_pieces));
        v_lshlrev_b32(address, 4, address);
        v_xor_b32(address, address, offset);
    }
    void store_keys() {
        const uint32_t head_bytes = uint32_t(key_head_bytes(*spec_.key_cache, spec_.head_dim));
        const CachePlace place = locate_cache_row(*this, batch, row);
        s_advance(cache, place.page, spec_.heads * head_bytes);
        s_advance(cache, head, head_bytes);
        pad_stage();
        const uint32_t chunks = key_chunks(*spec_.key_cache, spec_.head_dim);
        for (uint32_t first = 0; first < chunks; first += lanes())
            for_lanes(lane, chunks - first, [&] { store_chunk(first, place.position); });
    }
    void pad_stage() {
        const uint32_t padded = uint32_t(round_up(spec_.head_dim, chunk_elements()));
        if (padded == spec_.head_dim) return;
        for_lanes(lane, padded - spec_.head_dim, [&] {
            const Vgpr address = vgpr(), zero = vgpr();
            stage_address(address, offset_of(spec_.head_dim));
            v_mov_b32(zero, 0);
            ds_store_b32(address, zero, staged);
        });
    }
    // A lane takes chunk first + lane.
    void store_chunk(uint32_t first, Sgpr position) {
        const Vgpr chunk = vgpr(), offset = vgpr(), target = vgpr(), out = vgpr(4), values = vgpr(chunk_elements());
        v_add_nc_u32(chunk, first, lane);
        for (uint32_t piece = 0; piece < chunk_elements() / 4; ++piece) {
            const Vgpr address = vgpr();
            v_lshlrev_b32(offset, std::countr_zero(chunk_elements() * 4), chunk);
            if (piece != 0) v_or_b32(offset, 16 * piece, offset);
            stage_address(address, offset);
            ds_load_b128(values.part(4 * piece, 4), address, staged);
        }
        const Sgpr position_bytes = sgpr();
        s_lshl_b32(position_bytes, position, std::countr_zero(kKeyChunkBytes));
        v_lshl_add_u32(target, chunk, std::countr_zero(kKvPage * kKeyChunkBytes), position_bytes);
        switch (*spec_.key_cache) {
            case DType::F32:
                global_store_b128(target, values, cache);
                return;
            case DType::F16:  // conversions keep upper halves
                for (unsigned i = 0; i < 8; ++i) v_cvt_f16_f32(values[i], values[i]);
                for (unsigned i = 0; i < 4; ++i) v_perm_b32(out[i], values[2 * i + 1], values[2 * i], kLowHalves);
                break;
            default:
                quantize(out, values, chunk, position);
        }
        global_store_b128(target, out, cache);
    }
    // Two lanes have a block.
    void quantize(Vgpr out, Vgpr values, Vgpr chunk, Sgpr position) {
        const Vgpr largest = vgpr(), magnitude = vgpr();
        v_and_b32(largest, 0x7fff'ffff, values[0]);
        for (unsigned i = 1; i < 16; ++i) {
            v_and_b32(magnitude, 0x7fff'ffff, values[i]);
            v_max_u32(largest, largest, magnitude);
        }
        v_max_u32(largest, largest, largest, row_xmask(1));
        const Q8Scale scale = q8_scale(*this, largest);
        for (unsigned i = 0; i < 4; ++i) {
            const std::array<Vgpr, 4> codes = {vgpr(), vgpr(), vgpr(), vgpr()};
            for (unsigned j = 0; j < 4; ++j) q8_code(*this, codes[j], values[4 * i + j], scale.inverse);
            pack_bytes(*this, out[i], codes);
        }
        const Vgpr scales = vgpr(), is_second = vgpr();
        const Sgpr position_bytes = sgpr();
        s_lshl_b32(position_bytes, position, std::countr_zero(kCacheScaleBytes));
        s_add_co_u32(position_bytes, position_bytes, uint32_t(key_scales_offset_bytes(DType::Q8_0, spec_.head_dim)));
        v_lshrrev_b32(scales, 1, chunk);
        v_lshl_add_u32(scales, scales, std::countr_zero(kKvPage * kCacheScaleBytes), position_bytes);
        v_and_b32(is_second, 1, lane);
        v_cmp_eq_u32(vcc(), 0, is_second);
        if_lanes(vcc(), [&] { global_store_b16(scales, scale.half, cache); });
    }
};

}  // namespace

Result<LaunchShape> shape_of(KernelTarget target, const RopeSpec& spec) {
    RIFTJIT_TRY_VOID(check_wave32("rope", target.wave_size));
    RIFTJIT_TRY_VOID(refuse_if(spec.own_gains == Presence::present, "rope", "gains of each head's own"));
    if (spec.key_cache) RIFTJIT_TRY_VOID(check_cache_type("rope", *spec.key_cache));
    return LaunchShape{lanes(target.wave_size), spec.heads};
}

Result<KernelProgram> program_of(KernelTarget target, const RopeSpec& spec, PassOptions options) {
    RIFTJIT_TRY_VOID(shape_of(target, spec));
    return assemble<RopeKernel>(target, spec, "rope", options);
}

}  // namespace riftjit::rdna::kernels
