// Writes an activation row in any RowFormat, whatever produces its values (jit/kernel_spec.h defines the formats).
#pragma once

#include "jit/kernel_spec.h"
#include "jit/x86/emit/wide.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

class RowWriter : public WideEmitter {
public:
    using WideEmitter::WideEmitter;

protected:
    // Emits code that leaves 16 elements of the row in wide(0); they start `at` bytes into an f32 row. `count` of them
    // belong to the row, the others may be anything. May clobber wide(1) and what is not named below.
    using Produce = std::function<void(const Xbyak::RegExp& at, uint32_t count)>;

    // Writes `width` elements at `row_out`, with the padding that the format asks for. Needs row_scratch_bytes() at
    // [rsp]. Clobbers rax, r9..r11, wide(0)..wide(2) and, at the AVX-512 levels, zmm8, zmm9 and zmm28 to zmm31.
    void write_row(RowFormat format, uint32_t width, const Produce& produce);
    static constexpr uint32_t row_scratch_bytes(RowFormat format) {
        return is_quantized(format) ? kI16Block * sizeof(float) : 0;
    }

    const Reg64 row_out = r8;

private:
    void write_f32(uint32_t width, const Produce& produce);
    void write_bf16(uint32_t width, const Produce& produce);
    void write_i16(RowFormat format, uint32_t width, const Produce& produce);
    void write_i8(uint32_t width, const Produce& produce);
    void write_i8_group(const I8Row& row, uint32_t elements, const Produce& produce);
    void collect_block(uint32_t elements, const Produce& produce);
    void collect_group(uint32_t group, uint32_t count, const Produce& produce);
    // xmm_of(spare) = the scale of what is at most `largest`, whose lanes take the inverse.
    void scale_from_largest(int most);
    void store_block_scale();
    // codes = 16 elements of the scratch at `from`, as words, which belong to the inverse in `largest`.
    void quantize_16(const Xbyak::RegExp& from);
    void quantize_64(uint32_t part);
    void store_bf16_digits(uint32_t element);
    Address order_of_quads(uint32_t element_bytes);
    Address byte_digits(I16Row::Digit digit, uint32_t element) {
        return ptr[row_out + index * 8 + row_.bytes_offset(digit) + element];
    }
    void store_byte_digits(uint32_t element);
    void store_byte_digits_avx2(uint32_t element);
    void store_sum_digits();

    // Register map of all formats. Values pass through wide(0); wide(1) is spare.
    const Wide value = wide(0), spare = wide(1);

    // f32, bf16: bytes into the f32 row, elements into it times two.
    const Reg64 offset = rax;
    const Wide unordered = wide(2);

    // i8: 32 values wait in the scratch; `source` and `index` count bytes into the f32 row and the row's scales.
    // i16: a block's values wait at [pending + source] until its largest magnitude is known.
    const Reg64 source = r10;      // bytes into the f32 row
    const Reg64 pending = r9;      // rsp minus the block's first `source`
    const Reg64 sums16 = r11;      // bytes into the row's sums of 16; 64 per block, an eighth of the bytes of codes
    const Reg64 index = rax;       // 32 bytes per block, while codes are made
    const Wide largest = wide(2);  // |x| as integers, which order as floats do and let NaN win
    const Xmm inverse = xmm_of(wide(2)), is_tiny = Xmm(sum_register(1));
    const Ymm codes = ymm_of(wide(0)), sum_low = Ymm(sum_register(0)), sum_high = Ymm(sum_register(1));
    int sum_register(int half) const { return has_avx512(isa_) ? 8 + half : part(wide(1), half).getIdx(); }

    I16Row row_{0};
};

}  // namespace riftjit::x86
