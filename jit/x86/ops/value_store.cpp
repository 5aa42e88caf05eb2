// Appends f32 value rows to the value cache.
#include "jit/x86/backend.h"
#include "jit/x86/kv_layout.h"
#include "jit/x86/ops/cache_writer.h"

namespace riftjit::x86 {

namespace {

class ValueStoreKernel final : public X86Kernel<ValueStoreSpec, CacheWriter> {
    using X86Kernel::X86Kernel;

    const std::optional<PackedCache> packed_ = packed_cache(spec_.cache_type);

    // Register map. v, codes and scales advance through what the unit's token has of one head after the other.
    const Reg64 args = rdi, v = rcx, codes = r8, scales = r9, counter = rax, head = r10, row = r11;
    const Reg64 batch = r12;
    const Reg32 token = esi, end = edx;
    const Wide value = wide(0), value_high = wide(1), spare = wide(2);
    const Ymm halves = ymm_of(wide(2));
    const Xmm scale = xmm_of(wide(4)), codes_low = part_xmm(0), codes_high = part_xmm(1);

    // Two vectors that together are wide(3), or apart at the AVX-512 levels.
    Xmm part_xmm(int half) const { return Xmm(has_avx512(isa_) ? 3 + 5 * half : part(wide(3), half).getIdx()); }
    uint64_t row_bytes() const { return value_row_bytes(spec_.cache_type, spec_.head_dim); }

    void generate() override {
        packed_ ? prologue({r12, r13}) : prologue({r12});
        mov(batch, ptr[args + offsetof(ValueStoreArgs, batch)]);
        for_units(token, end, [&] {
            locate_rows();
            for_count(head, spec_.kv_heads, 1, [&] {
                mov(codes, row);
                packed_ ? store_packed() : spec_.cache_type == DType::Q8_0 ? store_q8_0() : store_floats();
                add(row, int(kKvPage * row_bytes()));
            });
        });
        epilogue();
    }
    void locate_rows() {  // v and row: of the token's first head, in [page][head][position][head_dim]
        const Reg64 position = counter;
        mov(v.cvt32(), token);
        locate_row({position, row}, batch, v, codes);
        imul(v, v, spec_.row_stride * uint32_t(sizeof(float)));
        add(v, ptr[args + offsetof(ValueStoreArgs, v)]);
        imul(row, row, int(spec_.kv_heads * kKvPage));
        and_(position.cvt32(), kKvPage - 1);
        add(row, position);
        imul(row, row, int(row_bytes()));
        add(row, ptr[args + offsetof(ValueStoreArgs, cache)]);
    }
    void store_floats() {
        const uint32_t element_bytes = cache_code_bytes(spec_.cache_type), rest = spec_.head_dim % 16;
        for_count(counter, spec_.head_dim / 16, 1, [&] {
            store_group(16);
            add(v, 64);
            add(codes, 16 * element_bytes);
        });
        if (rest == 0) return;
        store_group(rest);
        add(v, rest * uint32_t(sizeof(float)));
    }
    void store_group(uint32_t count) {
        load_lanes(value, v, count);
        if (spec_.cache_type == DType::F32) return store_lanes(codes, value, count, spare);
        spec_.cache_type == DType::F16 ? convert_to_f16(halves, value) : round_to_bf16(halves, value, wide(1), wide(4));
        store_halves(codes, halves, count);
    }
    void store_packed() {
        const Reg64 bits[2] = {r9, r13};
        for_count(counter, spec_.head_dim / PackedCache::kElements, 1, [&] {
            const auto [packed_codes, block_scale, minimum] = convert_to_packed(*packed_, v, bits);
            vpextrw(ptr[codes], block_scale, 0);
            if (packed_->has_minimum) vpextrw(ptr[codes + packed_->minimum_at()], minimum, 0);
            if (packed_->bits == 5) mov(dword[codes + packed_->high_bits_at()], r9d);
            vmovdqu(ptr[codes + packed_->codes_at()], packed_codes);
            add(v, PackedCache::kElements * uint32_t(sizeof(float)));
            add(codes, packed_->block_bytes());
        });
    }
    void store_q8_0() {
        lea(scales, ptr[codes + spec_.head_dim]);
        for_count(counter, spec_.head_dim / 32, 1, [&] {
            vmovups(value, lanes_at(v));
            vmovups(value_high, lanes_at(v + 64));
            convert_to_q8_0({value, value_high, codes_low, codes_high, scale}, spare);
            vmovdqu(ptr[codes], codes_low);
            vmovdqu(ptr[codes + 16], codes_high);
            vpextrw(ptr[scales], scale, 0);
            add(v, 128);
            add(codes, 32);
            add(scales, 2);
        });
    }
};

}  // namespace

MachineCode generate(OpOf<ValueStoreSpec>, const ValueStoreSpec& spec, Isa isa) {
    return ValueStoreKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
