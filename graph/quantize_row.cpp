#include "graph/quantize_row.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "host/half.h"
#include "host/result.h"

namespace riftjit::graph {

namespace {

constexpr uint32_t kBlock = PackedCache::kElements;
using BlockValues = std::span<const float, kBlock>;

template <class T>
void append(std::vector<std::byte>& row, T value) {
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof value>>(value);
    row.insert(row.end(), bytes.begin(), bytes.end());
}

uint32_t magnitude_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fff'ffff; }

// The first of the largest magnitude, as bits: NaN wins.
float extreme_of(BlockValues x) { return *std::ranges::max_element(x, {}, magnitude_bits); }

uint16_t bf16_of(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    if (std::isnan(x)) return uint16_t((bits | 0x0040'0000) >> 16);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// CVTTPS2DQ: what no int32 holds becomes the smallest.
int32_t truncated(float x) { return std::abs(x) < 0x1p31f ? int32_t(x) : INT32_MIN; }
int32_t rounded(float x) { return truncated(std::nearbyint(x)); }

float inverse_of(float scale) { return scale == 0 ? 0.0f : 1.0f / scale; }

// Codes of evenly spaced values from -zero scales, or from the minimum, on. The inverse is that of the scale before f16
// has it, as in the original.
struct Codes {
    float scale, minimum;
    std::array<uint8_t, kBlock> codes;
};
Codes even_codes(const PackedCache& format, BlockValues x) {
    Codes block{};
    if (format.has_minimum) {
        // As MINPS and MAXPS do it: 16 lanes, then halves of what is left.
        std::array<float, 16> least, most;
        for (uint32_t lane = 0; lane < 16; ++lane) {
            least[lane] = x[lane] < x[16 + lane] ? x[lane] : x[16 + lane];
            most[lane] = x[lane] > x[16 + lane] ? x[lane] : x[16 + lane];
        }
        for (uint32_t count = 8; count > 0; count /= 2)
            for (uint32_t lane = 0; lane < count; ++lane) {
                least[lane] = least[lane] < least[lane + count] ? least[lane] : least[lane + count];
                most[lane] = most[lane] > most[lane + count] ? most[lane] : most[lane + count];
            }
        block.minimum = least[0];
        block.scale = (most[0] - least[0]) / float(format.largest_code());
    } else {
        block.scale = extreme_of(x) / -float(format.zero());
    }
    const float inverse = inverse_of(block.scale);
    for (uint32_t i = 0; i < kBlock; ++i) {
        const float code = std::fma(x[i] - block.minimum, inverse, float(format.zero()) + 0.5f);
        block.codes[i] = uint8_t(std::clamp(truncated(code), 0, format.largest_code()));
    }
    return block;
}

// As kernels fold 16 lanes.
float sum_of_lanes(std::array<float, 16> lanes) {
    for (uint32_t count = 8; count > 0; count /= 2)
        for (uint32_t lane = 0; lane < count; ++lane) lanes[lane] += lanes[lane + count];
    return lanes[0];
}

float deviation_of(BlockValues x) {
    std::array<float, 16> squares;
    for (uint32_t i = 0; i < 16; ++i) squares[i] = std::fma(x[16 + i], x[16 + i], x[i] * x[i]);
    return std::sqrt(sum_of_lanes(squares) * (1.0f / kBlock));
}

// The nearest entry of the table with the extreme at its end, or with the deviation that it was made for; then the
// scale of the least squares, in the first case weighted by squares.
Codes table_codes(const PackedCache& format, BlockValues x) {
    constexpr float kNothing = 1e-15f;
    Codes block{};
    const float extreme = extreme_of(x), inverse = inverse_of(format.is_by_norm ? deviation_of(x) / kNormalDeviation
                                                                                : extreme / float(format.table[0]));
    std::array<float, 16> products{}, squares{};
    for (uint32_t i = 0; i < kBlock; ++i) {
        const float scaled = x[i] * inverse;
        int code = 0;
        for (int entry = 1; entry < 16; ++entry)
            code += scaled >= float(format.table[entry - 1] + format.table[entry]) / 2;
        const float value = format.table[code], weighted = format.is_by_norm ? value : x[i] * x[i] * value;
        block.codes[i] = uint8_t(code);
        products[i % 16] = i < 16 ? weighted * x[i] : std::fma(weighted, x[i], products[i % 16]);
        squares[i % 16] = i < 16 ? weighted * value : std::fma(weighted, value, squares[i % 16]);
    }
    const bool is_nothing = !format.is_by_norm && std::abs(extreme) < kNothing;
    block.scale = is_nothing ? 0.0f : sum_of_lanes(products) / sum_of_lanes(squares);
    return block;
}

void append_packed(std::vector<std::byte>& row, const PackedCache& format, BlockValues x) {
    const Codes block = format.table != nullptr ? table_codes(format, x) : even_codes(format, x);
    append(row, float_to_half(block.scale));
    if (format.has_minimum) append(row, float_to_half(block.minimum));
    if (format.bits == 5) {
        uint32_t high = 0;
        for (uint32_t i = 0; i < kBlock; ++i) high |= uint32_t(block.codes[i] >> 4) << i;
        append(row, high);
    }
    for (uint32_t i = 0; i < 16; ++i) append(row, uint8_t((block.codes[i] & 15) | block.codes[16 + i] << 4));
}

// Unlike the original by the inverse of the scale that f16 has, and halves to even.
void append_q8_0(std::vector<std::byte>& row, BlockValues x) {
    const uint16_t scale = float_to_half(std::abs(extreme_of(x)) / 127.0f);
    const float inverse = inverse_of(half_to_float(scale));
    append(row, scale);
    for (const float value : x) append(row, int8_t(std::clamp(rounded(value * inverse), -128, 127)));
}

}  // namespace

std::vector<std::byte> quantize_row(DType type, std::span<const float> x) {
    check(is_cache_type(type), "rows of the cache's types are quantised");
    std::vector<std::byte> row;
    const auto packed = packed_cache(type);
    if (packed || type == DType::Q8_0) {
        for (; x.size() >= kBlock; x = x.subspan(kBlock))
            packed ? append_packed(row, *packed, x.first<kBlock>()) : append_q8_0(row, x.first<kBlock>());
        return row;
    }
    for (const float value : x)
        type == DType::F32   ? append(row, value)
        : type == DType::F16 ? append(row, float_to_half(value))
                             : append(row, bf16_of(value));
    return row;
}

}  // namespace riftjit::graph
