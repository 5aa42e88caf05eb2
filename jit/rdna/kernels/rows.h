// How quantised rows of activations lie in memory on RDNA: codes as the bytes that dot products take.
#pragma once

#include "host/round_up.h"
#include "jit/kernel_spec.h"

namespace riftjit::rdna::kernels {

// RowFormat::i16. Per block of 256 elements (the last is padded with zeros): high_byte() of the codes, low_byte() of
// the codes, and the sums of 16 codes each. Behind the blocks their scales. A sum over 32 codes is that of two sums.
struct I16Row {
    uint32_t width;

    static constexpr uint32_t kHighOffset = 0;                       // int8_t[256]
    static constexpr uint32_t kLowOffset = kI16Block;                // int8_t[256]
    static constexpr uint32_t kSumsOffset = 2 * kI16Block;           // int32_t[16]
    static constexpr uint32_t kBlockBytes = 2 * kI16Block + 16 * 4;  // 576, a multiple of 64

    constexpr uint32_t blocks() const { return (width + kI16Block - 1) / kI16Block; }
    constexpr uint32_t scales_offset_bytes() const { return blocks() * kBlockBytes; }  // float[blocks]
    constexpr uint32_t bytes() const { return uint32_t(round_up(scales_offset_bytes() + blocks() * 4, 64)); }
};

}  // namespace riftjit::rdna::kernels
