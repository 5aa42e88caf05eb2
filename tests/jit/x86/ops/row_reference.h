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

inline std::vector<std::byte> reference_i16_row(std::span<const float> values) {
    const I16Row row{static_cast<uint32_t>(values.size())};
    std::vector<std::byte> bytes(row.sums16_offset_bytes() + row.blocks() * 16 * sizeof(int32_t));
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
    return bytes;
}

inline std::vector<std::byte> reference_row(RowFormat format, std::span<const float> values) {
    if (format == RowFormat::i16) return reference_i16_row(values);
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
