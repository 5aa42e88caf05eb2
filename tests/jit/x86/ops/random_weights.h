// Rows of random blocks in file layout whose values are of order one, for every weight type.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "host/half.h"
#include "jit/formats/dtype.h"
#include "tests/jit/x86/ops/kernel_runner.h"

namespace riftjit::x86 {

// Offsets of the f16 scales and minima in a block.
inline const std::vector<uint32_t>& half_offsets(DType type) {
    using enum DType;
    static const std::map<DType, std::vector<uint32_t>> offsets = {
        {Q4_0, {0}},    {Q4_1, {0, 2}}, {Q5_0, {0}},   {Q5_1, {0, 2}}, {Q8_0, {0}},   {Q2_K, {80, 82}}, {Q3_K, {108}},
        {Q4_K, {0, 2}}, {Q5_K, {0, 2}}, {Q6_K, {208}}, {IQ1_S, {0}},   {IQ1_M, {}},   {IQ2_XXS, {0}},   {IQ2_XS, {0}},
        {IQ2_S, {0}},   {IQ3_XXS, {0}}, {IQ3_S, {0}},  {IQ4_NL, {0}},  {IQ4_XS, {0}}, {TQ1_0, {52}},    {TQ2_0, {64}},
        {MXFP4, {}},    {NVFP4, {}},    {Q1_0, {0}},   {Q2_0, {0}},    {F32, {}},     {F16, {0}},       {BF16, {}},
    };
    return offsets.at(type);
}

inline void write_u16(std::byte* to, uint16_t value) {
    to[0] = static_cast<std::byte>(value);
    to[1] = static_cast<std::byte>(value >> 8);
}

// Either sign, magnitude in [2^-7, 2^-1).
inline uint16_t moderate_half(Random& random) {
    return static_cast<uint16_t>(random.below(2) << 15 | (8 + random.below(6)) << 10 | random.below(1024));
}

inline void tame_scales(DType type, std::byte* block, Random& random) {
    for (uint32_t offset : half_offsets(type)) write_u16(block + offset, moderate_half(random));
    if (type == DType::F32) {
        const float value = random.normal();
        std::memcpy(block, &value, sizeof value);
    }
    if (type == DType::BF16) write_u16(block, float_to_bfloat(random.normal()));
    if (type == DType::MXFP4) block[0] = static_cast<std::byte>(120 + random.below(6));
    if (type == DType::NVFP4)  // ue4m3 with exponents around the bias
        for (int i = 0; i < 4; ++i) block[i] = static_cast<std::byte>(4 * 8 + random.below(3 * 8));
    if (type == DType::IQ1_M) {  // the scale's nibbles are the top ones of the last four words
        const uint16_t scale = moderate_half(random);
        for (int i = 0; i < 4; ++i)
            block[49 + 2 * i] =
                (block[49 + 2 * i] & std::byte{15}) | static_cast<std::byte>((scale >> 4 * i & 15) << 4);
    }
}

inline std::vector<std::byte> random_weights(DType type, uint32_t rows, uint32_t width, uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> bytes(rows * row_bytes(type, width));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
    for (size_t at = 0; at < bytes.size(); at += traits(type).block_bytes) tame_scales(type, &bytes[at], random);
    return bytes;
}

}  // namespace riftjit::x86
