// Converts f32 values to the element types of the KV cache (jit/x86/kv_layout.h has its layout).
#pragma once

#include "jit/formats/cache_format.h"
#include "jit/kernel_spec.h"
#include "jit/x86/emit/wide.h"

namespace riftjit::x86 {

class CacheWriter : public WideEmitter {
public:
    using WideEmitter::WideEmitter;

protected:
    // position = that of the batch's row number `row`, page = the page of its sequence that holds it. The registers
    // differ; batch points to the BatchState. Clobbers scratch.
    struct RowPlace {
        Reg64 position, page;
    };
    void locate_row(const RowPlace& place, const Reg64& batch, const Reg64& row, const Reg64& scratch);

    // out = 16 halves, rounded to nearest even; overflow becomes infinity. Clobbers value.
    void convert_to_f16(const Ymm& out, const Wide& value);

    // One block of 32 values as Q8_0: bytes 0..15 and 16..31 of the codes, and the f16 scale in word 0.
    //
    // scale = f16(max|x| / 127), code = rint(x / scale) saturated: a scale that f16 rounds down by more than 2^-9,
    // which only subnormals do, costs range and not sign. 0 / 0 gives code 0 by way of an inverse of 0.
    struct Q8Block {
        Wide low, high;  // the values, clobbered
        Xmm codes_low, codes_high, scale;
    };
    void convert_to_q8_0(const Q8Block& block, const Wide& spare);

    // The 32 floats from `block` on as a block of a packed type, in the words and order of graph/quantize_row.h: bytes
    // of low bits and, in word 0, f16 scale and minimum; the fifth bits in bits[0]. Clobbers both of `bits` and all of
    // wide(0..7).
    struct PackedBlock {
        Xmm codes, scale, minimum;
    };
    PackedBlock convert_to_packed(const PackedCache& format, const Xbyak::RegExp& block, const Reg64 (&bits)[2]);

    // Stores the first `count` (1..16) halves at `start` and nothing beyond. Clobbers halves and k7.
    void store_halves(const Xbyak::RegExp& start, const Ymm& halves, uint32_t count);

private:
    void find_extreme(const Xmm& out, const Xbyak::RegExp& block, const Reg64 (&bits)[2]);
    void find_even_codes(const PackedCache& format, const Xbyak::RegExp& block, const Reg64 (&bits)[2]);
    void find_table_codes(const PackedCache& format, const Xbyak::RegExp& block, const Reg64 (&bits)[2]);
    void invert_scale();
    void equal_lanes(const Reg32& out, const Reg32& spare, const Wide& left, const Wide& right);

    // While a packed block is made: its values, what is computed of them, scalars.
    const Wide block_low = wide(0), block_high = wide(1), left = wide(2), right = wide(3), splatted = wide(4);
    const Xmm block_scale = xmm_of(wide(5)), block_minimum = xmm_of(wide(6)), scalar = xmm_of(wide(7));
    const Xmm codes_of_low = xmm_of(left), codes_of_high = xmm_of(right);

    void pack_to_bytes(const Xmm& out, const Wide& words);
};

}  // namespace riftjit::x86
