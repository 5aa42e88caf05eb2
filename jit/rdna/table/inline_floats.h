// The nine floating-point numbers that a source field can hold (codes 240 to 248): their bits and their spelling.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace riftjit::rdna {

enum class FloatFormat : uint8_t { f16, bf16, f32, f64 };

struct InlineFloat {
    std::string_view name;
    uint16_t f16, bf16;
    uint32_t f32;
    uint64_t f64;
};

inline constexpr unsigned kFirstInlineFloat = 240, kLastInlineFloat = 248;
inline constexpr std::array<InlineFloat, 9> kInlineFloats = {{
    {"0.5", 0x3800, 0x3F00, 0x3F000000, 0x3FE0000000000000},
    {"-0.5", 0xB800, 0xBF00, 0xBF000000, 0xBFE0000000000000},
    {"1.0", 0x3C00, 0x3F80, 0x3F800000, 0x3FF0000000000000},
    {"-1.0", 0xBC00, 0xBF80, 0xBF800000, 0xBFF0000000000000},
    {"2.0", 0x4000, 0x4000, 0x40000000, 0x4000000000000000},
    {"-2.0", 0xC000, 0xC000, 0xC0000000, 0xC000000000000000},
    {"4.0", 0x4400, 0x4080, 0x40800000, 0x4010000000000000},
    {"-4.0", 0xC400, 0xC080, 0xC0800000, 0xC010000000000000},
    {"0.15915494", 0x3118, 0x3E22, 0x3E22F983, 0x3FC45F306DC9C882},  // 1 / (2 pi)
}};
inline constexpr std::string_view kInverseTwoPiF64 = "0.15915494309189532";

constexpr uint64_t bits_of(const InlineFloat& constant, FloatFormat format) {
    switch (format) {
        case FloatFormat::f16:
            return constant.f16;
        case FloatFormat::bf16:
            return constant.bf16;
        case FloatFormat::f32:
            return constant.f32;
        default:
            return constant.f64;
    }
}

constexpr uint64_t inline_float_bits(FloatFormat format, unsigned code) {
    return bits_of(kInlineFloats[code - kFirstInlineFloat], format);
}

constexpr std::string_view inline_float_name(FloatFormat format, unsigned code) {
    if (code == kLastInlineFloat && format == FloatFormat::f64) return kInverseTwoPiF64;
    return code >= kFirstInlineFloat && code <= kLastInlineFloat ? kInlineFloats[code - kFirstInlineFloat].name : "";
}

// The code that supplies these bits, if one does.
constexpr std::optional<uint16_t> inline_float_code(FloatFormat format, uint64_t bits) {
    for (unsigned i = 0; i < kInlineFloats.size(); ++i)
        if (bits_of(kInlineFloats[i], format) == bits) return static_cast<uint16_t>(kFirstInlineFloat + i);
    return std::nullopt;
}

constexpr std::string_view float_name(FloatFormat format, uint64_t bits) {
    const std::optional<uint16_t> code = inline_float_code(format, bits);
    return code ? inline_float_name(format, *code) : "";
}

}  // namespace riftjit::rdna
