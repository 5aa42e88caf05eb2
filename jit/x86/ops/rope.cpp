// Rotary embedding of query and key heads, with the heads' RMS norm before it and the key cache after it.
#include "jit/x86/backend.h"
#include "jit/x86/kv_layout.h"
#include "jit/x86/ops/cache_writer.h"
#include "jit/x86/ops/norm.h"

namespace riftjit::x86 {

namespace {

// One head at a time: copied or normed to the stack, rotated there, stored from there. The copies are padded, so that
// groups of 16 may start at any element; what lies beyond the head in them is never stored.
class RopeKernel final : public X86Kernel<RopeSpec, CacheWriter> {
    using X86Kernel::X86Kernel;

    // Register map. Units are heads; x, table, cache and scales point to what belongs to the unit.
    const Reg64 args = rdi, token = rcx, head = rbx, x = r8, table = r9, cache = r10, scales = r11, gain = r12;
    const Reg64 offset = r13, position = r14, scratch = rax;
    const Reg32 unit = esi, end = r15d;
    const Wide value = wide(0), spare = wide(2), gain_value = wide(4), scale = wide(0);
    const SquareSums sums = {wide(0), wide(1), wide(2), wide(3)};
    // Pairs (left, right) become (left cos - right sin, left sin + right cos).
    const Wide left = wide(0), right = wide(1), cosine = wide(2), sine = wide(3), angles = wide(4),
               more_angles = wide(5);
    const Wide crossed = wide(4), crossed_too = wide(5);

    uint32_t padded_head_bytes() const {
        return static_cast<uint32_t>(round_up(spec_.head_dim + 16, 16) * sizeof(float));
    }
    Xbyak::RegExp copy() const { return rsp + 0; }
    Xbyak::RegExp rotated() const {
        return spec_.rotary_dims == 0 ? copy() : rsp + static_cast<int>(padded_head_bytes());
    }

    void generate() override {
        prologue({rbx, r12, r13, r14, r15}, 2 * padded_head_bytes());
        mov(end, edx);
        if (spec_.own_gains == Presence::absent) mov(gain, ptr[args + offsetof(RopeArgs, gain)]);
        for_units(unit, end, [&] {
            locate_head();
            spec_.norm == Presence::present ? norm_head() : copy_head();
            if (spec_.rotary_dims != 0) rotate_head();
            spec_.key_cache ? store_keys() : store_row();
        });
        epilogue();
    }
    void locate_head() {
        mov(eax, unit);
        xor_(edx, edx);
        mov(ecx, spec_.heads);
        div(ecx);
        mov(token.cvt32(), eax);
        mov(head.cvt32(), edx);
        imul(x, token, spec_.row_stride * uint32_t(sizeof(float)));
        imul(scratch, head, spec_.head_dim * uint32_t(sizeof(float)));
        add(x, scratch);
        add(x, ptr[args + offsetof(RopeArgs, x)]);
        if (spec_.own_gains == Presence::present) {
            mov(gain, scratch);
            add(gain, ptr[args + offsetof(RopeArgs, gain)]);
        }
        imul(table, token, spec_.rotary_dims * uint32_t(sizeof(float)));
        add(table, ptr[args + offsetof(RopeArgs, table)]);
    }

    void copy_head() {
        for_each_group(offset, spec_.head_dim, 1, [&](int, uint32_t count) {
            load_lanes(value, x + offset, count);
            vmovups(lanes_at(copy() + offset), value);
        });
    }
    void norm_head() {
        for (const Wide& partial : sums) vxorps(partial, partial, partial);
        for_each_group(offset, spec_.head_dim, 4, [&](int group, uint32_t count) {
            const Wide element_values = wide(4);
            load_lanes(element_values, x + offset + 64 * group, count);
            vmovups(lanes_at(copy() + offset + 64 * group), element_values);
            vfmadd231ps(sums[group], element_values, element_values);
        });
        emit_inverse_rms(*this, scale, sums, spec_.head_dim, spec_.epsilon, xmm_of(wide(4)), xmm_of(wide(5)));
        for_each_group(offset, spec_.head_dim, 1, [&](int, uint32_t count) {
            const Wide normed = wide(1);
            vmulps(normed, scale, lanes_at(copy() + offset));
            load_lanes(gain_value, gain + offset, count);
            vmulps(normed, normed, gain_value);
            vmovups(lanes_at(copy() + offset), normed);
        });
    }

    void rotate_head() {
        spec_.pairing == RopePairing::adjacent ? rotate_adjacent() : rotate_halves();
        copy_unrotated();
    }
    void rotate_adjacent() {  // cosine and sine twice each, and every pair swapped: three groups in pair order
        for_each_group(offset, spec_.rotary_dims, 1, [&](int, uint32_t count) {
            load_lanes(angles, table + offset, count);
            vmovsldup(cosine, angles);
            vmovshdup(sine, angles);
            vmovups(left, lanes_at(copy() + offset));
            vpermilps(right, left, 0b10'11'00'01);
            vmulps(right, right, sine);
            vfmaddsub213ps(left, cosine, right);
            vmovups(lanes_at(rotated() + offset), left);
        });
    }
    void rotate_halves() {  // a full store of `right` may reach beyond the rotary dims: the copy of the rest follows
        const uint32_t half = spec_.rotary_dims / 2;
        const int half_bytes = static_cast<int>(half * sizeof(float));
        for_each_group(offset, half, 1, [&](int, uint32_t count) {
            load_angles(count);
            vmovups(left, lanes_at(copy() + offset));
            vmovups(right, lanes_at(copy() + offset + half_bytes));
            vmulps(crossed, right, sine);
            vmulps(crossed_too, right, cosine);
            vfmadd231ps(crossed_too, left, sine);
            vfmsub213ps(left, cosine, crossed);
            store_lanes(rotated() + offset, left, count, spare);
            vmovups(lanes_at(rotated() + offset + half_bytes), crossed_too);
        });
    }
    // Splits `count` pairs of the table in cosine and sine.
    void load_angles(uint32_t count) {
        load_lanes(angles, table + offset * 2, std::min(2 * count, 16u));
        if (count > 8) {
            load_lanes(more_angles, table + offset * 2 + 64, 2 * count - 16);
        } else {
            vxorps(more_angles, more_angles, more_angles);
        }
        if (has_avx512(isa_)) return split_angles_by_permutation();
        for (int half = 0; half < 2; ++half) {
            const Wide& source = half == 0 ? angles : more_angles;
            const Ymm even(part(cosine, half).getIdx()), odd(part(sine, half).getIdx());
            vshufps(even, source.low, source.high, 0b10'00'10'00);
            vshufps(odd, source.low, source.high, 0b11'01'11'01);
            vpermpd(even, even, 0b11'01'10'00);  // VSHUFPS works within 128 bits
            vpermpd(odd, odd, 0b11'01'10'00);
        }
    }
    void split_angles_by_permutation() {
        std::array<uint32_t, 16> even, odd;
        for (uint32_t lane = 0; lane < 16; ++lane) {
            even[lane] = 2 * lane;
            odd[lane] = 2 * lane + 1;
        }
        const Zmm low(angles.index()), high(more_angles.index());
        vmovups(cosine.low, constant_bytes(even.data(), sizeof even));
        vmovups(sine.low, constant_bytes(odd.data(), sizeof odd));
        vpermi2ps(Zmm(cosine.index()), low, high);
        vpermi2ps(Zmm(sine.index()), low, high);
    }
    void copy_unrotated() {
        const int first_bytes = static_cast<int>(spec_.rotary_dims * sizeof(float));
        for_each_group(offset, spec_.head_dim - spec_.rotary_dims, 1, [&](int, uint32_t) {
            vmovups(value, lanes_at(copy() + offset + first_bytes));
            vmovups(lanes_at(rotated() + offset + first_bytes), value);
        });
    }

    void store_row() {
        for_each_group(offset, spec_.head_dim, 1, [&](int, uint32_t count) {
            vmovups(value, lanes_at(rotated() + offset));
            store_lanes(x + offset, value, count, spare);
        });
    }

    // Element d of the head goes to [page][head][panel][d][lane].
    void store_keys() {
        const uint32_t code_bytes = cache_code_bytes(*spec_.key_cache);
        locate_keys(code_bytes);
        if (const auto packed = packed_cache(*spec_.key_cache)) return store_packed_keys(*packed);
        if (*spec_.key_cache == DType::Q8_0) return store_q8_0_keys();
        for_each_group(offset, spec_.head_dim, 1, [&](int, uint32_t count) {
            vmovups(value, lanes_at(rotated() + offset));
            *spec_.key_cache == DType::F32 ? scatter_floats(count) : scatter_halves(count);
            add(cache, 16 * 16 * code_bytes);
        });
    }
    void locate_keys(uint32_t code_bytes) {
        const Reg64 batch = offset, panel = cache;
        mov(batch, ptr[args + offsetof(RopeArgs, batch)]);
        locate_row({position, panel}, batch, token, scratch);
        imul(panel, panel, int(spec_.heads));
        add(panel, head);
        imul(panel, panel, kKvPage / 16);
        mov(scratch.cvt32(), position.cvt32());
        shr(scratch.cvt32(), 4);
        and_(scratch.cvt32(), kKvPage / 16 - 1);
        add(panel, scratch);
        imul(panel, panel, int(key_panel_bytes(*spec_.key_cache, spec_.head_dim)));
        add(panel, ptr[args + offsetof(RopeArgs, cache)]);
        and_(position.cvt32(), 15);
        lea(scales, ptr[panel + position * 2 + 16 * spec_.head_dim]);
        imul(position, position, int(code_bytes));
        add(cache, position);
    }
    void scatter_halves(uint32_t count) {
        const Xmm eight(halves().getIdx());
        *spec_.key_cache == DType::F16 ? convert_to_f16(halves(), value)
                                       : round_to_bf16(halves(), value, spare, wide(4));
        for (uint32_t lane = 0; lane < count; ++lane) {
            if (lane == 8) vextracti128(eight, halves(), 1);
            vpextrw(ptr[cache + 32 * lane], eight, lane % 8);
        }
    }
    void scatter_floats(uint32_t count) {
        const Xmm four = xmm_of(wide(1));
        for (uint32_t lane = 0; lane < count; ++lane) {
            if (lane % 4 == 0 && has_avx512(isa_)) vextractf32x4(four, Zmm(value.index()), lane / 4);
            if (lane % 4 == 0 && !has_avx512(isa_))
                vextractf128(four, Ymm(part(value, lane / 8).getIdx()), lane / 4 % 2);
            vextractps(ptr[cache + 64 * lane], four, lane % 4);
        }
    }
    void store_q8_0_keys() {
        const Wide high = wide(1);
        const Xmm codes[2] = {xmm_of(wide(3)), Xmm(has_avx512(isa_) ? 8 : part(wide(3), 1).getIdx())};
        const Xmm block_scale = xmm_of(wide(4));
        for_count(offset, spec_.head_dim / 32, 128, [&] {
            vmovups(value, lanes_at(rotated() + offset));
            vmovups(high, lanes_at(rotated() + offset + 64));
            convert_to_q8_0({value, high, codes[0], codes[1], block_scale}, spare);
            for (uint32_t element = 0; element < 32; ++element)
                vpextrb(ptr[cache + 16 * element], codes[element / 16], element % 16);
            vpextrw(ptr[scales], block_scale, 0);
            add(cache, 32 * 16);
            add(scales, 32);
        });
    }
    void store_packed_keys(const PackedCache& format) {  // cache points to the position's first byte
        const Reg64 bits[2] = {rdx, scratch}, pairs = scales;
        const auto bytes_at = [&](int field) { return cache + 16 * field; };
        for_count(offset, spec_.head_dim / PackedCache::kElements, 128, [&] {
            const auto [codes, block_scale, minimum] = convert_to_packed(format, rotated() + offset, bits);
            lea(pairs, ptr[cache + position]);
            vpextrw(ptr[pairs], block_scale, 0);
            if (format.has_minimum) vpextrw(ptr[pairs + 16 * format.minimum_at()], minimum, 0);
            for (int field = format.high_bits_at(); field < format.codes_at(); ++field) {
                mov(ptr[bytes_at(field)], dl);
                shr(edx, 8);
            }
            for (int byte = 0; byte < 16; ++byte)
                vpextrb(ptr[bytes_at(format.codes_at() + byte)], codes, uint8_t(byte));
            add(cache, 16 * format.block_bytes());
        });
    }
    Ymm halves() const { return ymm_of(wide(1)); }
};

}  // namespace

MachineCode generate(OpOf<RopeSpec>, const RopeSpec& spec, Isa isa) { return RopeKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
