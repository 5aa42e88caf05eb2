// How rows of activations lie in memory on x86, where wider than f32 they need to be known by kernels.
#pragma once

#include "host/round_up.h"
#include "jit/isa.h"
#include "jit/kernel_spec.h"

namespace riftjit::x86 {

// RowFormat::i16: codes, scales, and the sums of codes that weights with minima or zero points take.
struct I16Row {
    uint32_t width;
    constexpr uint32_t blocks() const { return (width + kI16Block - 1) / kI16Block; }
    constexpr uint32_t codes_offset_bytes() const { return 0; }                          // int16_t[blocks*256]
    constexpr uint32_t scales_offset_bytes() const { return blocks() * kI16Block * 2; }  // float[round_up(blocks,16)]
    constexpr uint32_t sums32_offset_bytes() const {
        return scales_offset_bytes() + uint32_t(round_up(blocks(), 16)) * 4;
    }  // int32_t[blocks*8]: sum of codes per 32
    constexpr uint32_t sums16_offset_bytes() const {
        return sums32_offset_bytes() + blocks() * 8 * 4;
    }  // int32_t[blocks*16]: per 16
    constexpr uint32_t bytes() const { return uint32_t(round_up(sums16_offset_bytes() + blocks() * 16 * 4, 64)); }
};

// f32: float[round_up(width, 16)]; bf16: uint16_t[round_up(width, 32)], zero padded; both and I16Row 64-byte aligned.
constexpr uint32_t activation_row_bytes(RowFormat format, uint32_t width) {
    switch (format) {
        case RowFormat::f32:
            return f32_row_bytes(width);
        case RowFormat::bf16:
            return uint32_t(round_up(round_up(width, 32) * 2, 64));
        case RowFormat::i16:
            return I16Row{width}.bytes();
    }
    return 0;
}

// The row format that a matmul with weights of this type reads at this level.
inline RowFormat activation_format(DType weight, Isa isa) {
    if (weight == DType::F32 || weight == DType::F16) return RowFormat::f32;
    if (weight == DType::BF16) return has_bf16(isa) ? RowFormat::bf16 : RowFormat::f32;
    return RowFormat::i16;
}

}  // namespace riftjit::x86
