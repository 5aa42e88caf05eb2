// Activation rows as jit/kernel_spec.h defines them, in plain scalar code: kernels must produce these very bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "host/half.h"
#include "jit/kernel_spec.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

inline void store_bf16(std::byte* at, int value, float scale = 1) {
    const uint16_t word = float_to_bfloat(float(value) * scale);
    std::memcpy(at, &word, sizeof word);
}

// The digits of codes and sums, by the definition in I16Row.
inline void add_digits(const I16Row& row, std::byte* bytes) {
    const auto* codes = reinterpret_cast<const int16_t*>(bytes);
    for (uint32_t i = 0; i < row.blocks() * kI16Block; ++i) {
        const int high = (codes[i] + 64) >> 7, low = codes[i] - 128 * high;
        const uint32_t block = i / kI16Block, element = i % kI16Block;
        if (row.format == RowFormat::i16_bf16) {
            std::byte* line = bytes + row.quarter_offset_bytes(element / 64) + block * 256 + element % 64 / 32 * 128;
            store_bf16(line + element % 32 * 2, 128 * high, I16Row::kBf16DigitScale);
            store_bf16(line + 64 + element % 32 * 2, low, I16Row::kBf16DigitScale);
        }
        const uint32_t place = i / 4 * 4 + (i % 4 == 1 ? 2 : i % 4 == 2 ? 1 : i % 4);  // quads
        bytes[row.bytes_offset(I16Row::Digit::low) + place] = std::byte(low);
        bytes[row.bytes_offset(I16Row::Digit::high) + place] = std::byte(high);
        if (row.format == RowFormat::i16_bytes)
            bytes[row.bytes_offset(I16Row::Digit::sum) + place] = std::byte(low + high);
    }
    if (row.format != RowFormat::i16_bytes) return;
    for (const uint32_t elements : {32u, 16u}) {
        const uint32_t per_block = kI16Block / elements;
        const auto* sums = reinterpret_cast<const int32_t*>(
            bytes + (elements == 32 ? row.sums32_offset_bytes() : row.sums16_offset_bytes()));
        for (uint32_t i = 0; i < row.blocks() * per_block; ++i) {
            std::byte* line = bytes + row.sum_digits_offset_bytes(elements) + i / per_block * 64;
            const int high = (sums[i] + 256) >> 9;
            store_bf16(line + i % per_block * 2, sums[i] - 512 * high);
            store_bf16(line + (per_block + i % per_block) * 2, high);
        }
    }
}

inline std::vector<std::byte> reference_i16_row(RowFormat format, std::span<const float> values) {
    const I16Row row{static_cast<uint32_t>(values.size()), format};
    std::vector<std::byte> bytes(row.used_bytes());
    auto* codes = reinterpret_cast<int16_t*>(bytes.data());
    auto* scales = reinterpret_cast<float*>(bytes.data() + row.scales_offset_bytes());
    auto* sums32 = reinterpret_cast<int32_t*>(bytes.data() + row.sums32_offset_bytes());
    auto* sums16 = reinterpret_cast<int32_t*>(bytes.data() + row.sums16_offset_bytes());
    for (uint32_t block = 0; block < row.blocks(); ++block) {
        const uint32_t begin = block * kI16Block, end = std::min<uint32_t>(begin + kI16Block, row.width);
        float largest = 0;
        for (uint32_t i = begin; i < end; ++i) largest = std::max(largest, std::fabs(values[i]));
        const bool is_zero = largest < kI16Smallest;
        scales[block] = is_zero ? 0.0f : largest / float(kI16Max);
        const float inverse = is_zero ? 0.0f : float(kI16Max) / largest;
        for (uint32_t i = begin; i < end; ++i) {
            codes[i] = static_cast<int16_t>(std::nearbyint(values[i] * inverse));
            sums32[i / 32] += codes[i];
            sums16[i / 16] += codes[i];
        }
    }
    add_digits(row, bytes.data());
    return bytes;
}

// An element's place among the codes of quads.
constexpr uint32_t quad_place(uint32_t element) {
    return element % 4 == 1 ? element + 1 : element % 4 == 2 ? element - 1 : element;
}

inline std::vector<std::byte> reference_i8_row(std::span<const float> values) {
    const I8Row row{static_cast<uint32_t>(values.size())};
    std::vector<std::byte> bytes(row.used_bytes());
    auto* codes = reinterpret_cast<int8_t*>(bytes.data());
    const auto put = [&](I8Row::Array array, uint32_t group, uint32_t index, auto value) {
        std::memcpy(bytes.data() + row.array_offset_bytes(array, group) + index * 4, &value, sizeof value);
    };
    for (uint32_t block = 0; block * kI8Block < row.width; ++block) {
        const uint32_t begin = block * kI8Block, end = std::min(begin + kI8Block, row.width);
        float largest = 0;
        for (uint32_t i = begin; i < end; ++i) largest = std::max(largest, std::fabs(values[i]));
        const bool is_zero = largest < kI16Smallest;
        const float scale = is_zero ? 0.0f : largest / float(kI8Max),
                    inverse = is_zero ? 0.0f : float(kI8Max) / largest;
        int32_t sums[2] = {};
        for (uint32_t i = begin; i < end; ++i) {
            const auto code = static_cast<int8_t>(std::nearbyint(values[i] * inverse));
            codes[quad_place(i)] = code;
            sums[i % 32 / 16] += code;
        }
        const auto put_group = [&](uint32_t group, uint32_t index, int32_t sum) {
            put(I8Row::Array::scales, group, index, scale);
            put(I8Row::Array::offsets, group, index, -128 * sum);
            put(I8Row::Array::sums, group, index, float(sum) * scale);
        };
        put_group(32, block, sums[0] + sums[1]);
        for (uint32_t half = 0; half < 2; ++half) put_group(16, 2 * block + half, sums[half]);
    }
    return bytes;
}

inline std::vector<std::byte> reference_row(RowFormat format, std::span<const float> values) {
    if (format == RowFormat::i8) return reference_i8_row(values);
    if (is_quantized(format)) return reference_i16_row(format, values);
    std::vector<std::byte> bytes;
    if (format == RowFormat::f32) {
        bytes.resize(values.size_bytes());
        std::memcpy(bytes.data(), values.data(), values.size_bytes());
        return bytes;
    }
    std::vector<uint16_t> words(round_up(values.size(), 32));
    std::ranges::transform(values, words.begin(), float_to_bfloat);
    bytes.resize(words.size() * sizeof(uint16_t));
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
}

}  // namespace riftjit::x86
