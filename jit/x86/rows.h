// How rows of activations lie in memory on x86, where wider than f32 they need to be known by kernels.
#pragma once

#include "host/round_up.h"
#include "jit/isa.h"
#include "jit/kernel_spec.h"

namespace riftjit::x86 {

// Where an element stands in quads (decoders/decoder.h): 4j, 4j + 2, 4j + 1, 4j + 3 follow each other.
constexpr uint32_t place_in_quads(uint32_t element) {
    return element % 4 == 1 ? element + 1 : element % 4 == 2 ? element - 1 : element;
}

// RowFormat::i16: codes; their digits as bytes, in quads, for whom products of bytes cost less: a code is
// 128 * high + low with low in [-64, 63] and high in [-32, 32]; scales; and the sums of codes that weights with minima
// or zero points take. The other two formats have behind them what tiles multiply: digits as bf16; a third byte and the
// digits of sums, a sum being 512 * high + low with low in [-256, 255].
struct I16Row {
    uint32_t width;
    RowFormat format = RowFormat::i16;

    enum class Digit : uint8_t { low, high, sum };
    static constexpr int kMostDigit = 64;  // |low|, |high|
    static constexpr int high_digit(int code) { return (code + 64) >> 7; }
    static constexpr int low_digit(int code) { return code - 128 * high_digit(code); }

    constexpr uint32_t blocks() const { return (width + kI16Block - 1) / kI16Block; }
    constexpr uint32_t codes_offset_bytes() const { return 0; }  // int16_t[blocks*256]
    // int8_t[blocks*256] of each digit; the third, their sum, in i16_bytes alone.
    constexpr uint32_t bytes_offset(Digit digit) const {
        return digit == Digit::sum ? tiles_offset_bytes() : blocks() * kI16Block * (2 + uint32_t(digit));
    }
    constexpr uint32_t scales_offset_bytes() const { return blocks() * kI16Block * 4; }  // float[round_up(blocks,16)]
    constexpr uint32_t sums32_offset_bytes() const {
        return scales_offset_bytes() + uint32_t(round_up(blocks(), 16)) * 4;
    }  // int32_t[blocks*8]: sum of codes per 32
    constexpr uint32_t sums16_offset_bytes() const {
        return sums32_offset_bytes() + blocks() * 8 * 4;
    }  // int32_t[blocks*16]: per 16
    constexpr uint32_t sums_end() const { return sums16_offset_bytes() + blocks() * 16 * 4; }

    constexpr uint32_t tiles_offset_bytes() const { return uint32_t(round_up(sums_end(), 64)); }
    // i16_bf16: uint16_t[4][blocks][2][2][32]. Of the block's quarter q, elements 64 q + 32 h to 64 q + 32 h + 31:
    // 128 * high, then low, times kBf16DigitScale, which weights are divided by (ops/matmul_amx.cpp).
    static constexpr float kBf16DigitScale = 0x1p112f;
    constexpr uint32_t quarter_offset_bytes(uint32_t quarter) const {
        return tiles_offset_bytes() + quarter * blocks() * kI16Block;
    }
    // i16_bytes: uint16_t[blocks][32], as bf16: the low digits of a block's sums, then the high ones, then zeros.
    constexpr uint32_t sum_digits_offset_bytes(uint32_t elements_per_sum) const {
        return tiles_offset_bytes() + blocks() * kI16Block + (elements_per_sum == 16 ? blocks() * 64 : 0);
    }

    constexpr uint32_t used_bytes() const {
        if (format == RowFormat::i16) return sums_end();
        return tiles_offset_bytes() + blocks() * (format == RowFormat::i16_bf16 ? 4 * kI16Block : kI16Block + 2 * 64);
    }
    // An odd number of lines: neighbouring rows take turns through the cache's sets.
    constexpr uint32_t bytes() const { return (uint32_t(round_up(used_bytes(), 64)) / 64 | 1) * 64; }
};

// RowFormat::i8. Codes are in quads. For groups of 32 and of 16, arrays of one dword per group: scales, sums of codes
// times -128 (what weights that are stored 128 higher add too much), sums times scale.
struct I8Row {
    uint32_t width;

    enum class Array : uint8_t { scales, offsets, sums };  // f32, i32, f32
    static constexpr uint32_t kArrays = 3;

    constexpr uint32_t blocks() const { return (width + kI8Block - 1) / kI8Block; }
    static constexpr uint32_t codes_offset_bytes() { return 0; }  // int8_t[blocks*32]
    constexpr uint32_t array_offset_bytes(Array array, uint32_t group) const {
        const uint32_t first = blocks() * kI8Block + (group == 16 ? kArrays * blocks() * 4 : 0);
        return first + uint32_t(array) * blocks() * (kI8Block / group) * 4;
    }
    // From a group's scale to what another array has of it.
    constexpr int from_scales(Array array, uint32_t group) const {
        return static_cast<int>(array_offset_bytes(array, group) - array_offset_bytes(Array::scales, group));
    }
    constexpr uint32_t used_bytes() const { return blocks() * (kI8Block + kArrays * (4 + 8)); }
    constexpr uint32_t bytes() const { return uint32_t(round_up(used_bytes(), 64)); }
};

// f32: float[round_up(width, 16)]; bf16: uint16_t[round_up(width, 32)], zero padded, an odd number of lines as above.
// All rows are 64-byte aligned.
constexpr uint32_t activation_row_bytes(RowFormat format, uint32_t width) {
    switch (format) {
        case RowFormat::f32:
            return f32_row_bytes(width);
        case RowFormat::bf16:
            return (uint32_t(round_up(width, 32)) / 32 | 1) * 64;
        case RowFormat::i16:
        case RowFormat::i16_bf16:
        case RowFormat::i16_bytes:
            return I16Row{width, format}.bytes();
        case RowFormat::i8:
            return I8Row{width}.bytes();
    }
    return 0;
}

// The row format that a matmul with weights of this type reads at this level.
RowFormat activation_format(DType weight, Activations activations, Isa isa);

// Whether the vector form multiplies quantised weights by the digits of RowFormat::i16 instead of its codes. Quads of
// bytes are unpacked with half the instructions of pairs of words, and their products with two digits are as many as
// those of pairs; without VNNI signed quads would need more.
bool vector_takes_digits(DType weight, Isa isa);

}  // namespace riftjit::x86
