// Converts f32 values to the element types of the KV cache (jit/x86/kv_layout.h has its layout).
#pragma once

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

    // Stores the first `count` (1..16) halves at `start` and nothing beyond. Clobbers halves and k7.
    void store_halves(const Xbyak::RegExp& start, const Ymm& halves, uint32_t count);

private:
    void pack_to_bytes(const Xmm& out, const Wide& words);
};

}  // namespace riftjit::x86
