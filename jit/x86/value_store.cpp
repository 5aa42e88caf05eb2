// Appends f32 value rows to the value cache.
#include "jit/x86/backend.h"
#include "jit/x86/cache_writer.h"

namespace riftjit::x86 {

namespace {

class ValueStoreKernel final : public X86Kernel<ValueStoreSpec, CacheWriter> {
    using X86Kernel::X86Kernel;

    // Register map. v, codes and scales advance through the token's row.
    const Reg64 args = rdi, v = rcx, codes = r8, scales = r9, counter = rax, batch = r10;
    const Reg32 token = esi, end = edx;
    const Wide value = wide(0), value_high = wide(1), spare = wide(2);
    const Ymm halves = ymm_of(wide(2));
    const Xmm scale = xmm_of(wide(4)), codes_low = part_xmm(0), codes_high = part_xmm(1);

    // Two vectors that together are wide(3), or apart at the AVX-512 levels.
    Xmm part_xmm(int half) const { return Xmm(has_avx512(isa_) ? 3 + 5 * half : part(wide(3), half).getIdx()); }
    uint32_t width() const { return spec_.kv_heads * spec_.head_dim; }

    void generate() override {
        prologue({});
        mov(batch, ptr[args + offsetof(ValueStoreArgs, batch)]);
        for_units(token, end, [&] {
            locate_rows();
            spec_.cache_type == DType::Q8_0 ? store_q8_0() : store_floats();
        });
        epilogue();
    }
    void locate_rows() {
        mov(v.cvt32(), token);
        imul(v, v, spec_.row_stride * uint32_t(sizeof(float)));
        add(v, ptr[args + offsetof(ValueStoreArgs, v)]);
        mov(codes.cvt32(), ptr[batch + offsetof(BatchState, position)]);
        mov(scales.cvt32(), token);
        add(codes, scales);
        imul(codes, codes, static_cast<uint32_t>(value_row_bytes(spec_.cache_type, spec_.kv_heads, spec_.head_dim)));
        add(codes, ptr[args + offsetof(ValueStoreArgs, cache)]);
        lea(scales, ptr[codes + width()]);  // Q8_0: after the codes
    }
    void store_floats() {
        const uint32_t element_bytes = spec_.cache_type == DType::F16 ? 2 : 4;
        for_count(counter, width() / 16, 1, [&] {
            store_group(16);
            add(v, 64);
            add(codes, 16 * element_bytes);
        });
        if (width() % 16 != 0) store_group(width() % 16);
    }
    void store_group(uint32_t count) {
        load_lanes(value, v, count);
        if (spec_.cache_type == DType::F32) return store_lanes(codes, value, count, spare);
        convert_to_f16(halves, value);
        store_halves(codes, halves, count);
    }
    void store_q8_0() {
        for_count(counter, width() / 32, 1, [&] {
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

MachineCode generate_value_store(const ValueStoreSpec& spec, Isa isa) { return ValueStoreKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
