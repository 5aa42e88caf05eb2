// Exact conversions between f32 and the two 16-bit float types, for host code (IEEE 754 binary16; bfloat16).
#pragma once

#include <bit>
#include <cstdint>

namespace riftjit {

// Subnormals are exact: they are significant weights in real files.
constexpr float half_to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;  // exponent still biased by 15
    if (magnitude >= 0x0f800000) return std::bit_cast<float>(sign | magnitude | 0x7f800000);  // infinity, NaN
    const float rebiased = std::bit_cast<float>(magnitude) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(rebiased));
}

// To nearest, ties to even; NaN stays NaN (quiet), overflow becomes infinity: what VCVTPS2PH does.
constexpr uint16_t float_to_half(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and up round to infinity
    if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves the subnormal's integer in the low bits
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
    }
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return static_cast<uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

constexpr float bfloat_to_float(uint16_t bfloat) { return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16); }

// To nearest, ties to even; NaN is kept, made quiet.
constexpr uint16_t float_to_bfloat(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace riftjit
