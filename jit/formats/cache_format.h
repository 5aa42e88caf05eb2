// Types of keys and values in the KV cache.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>

#include "jit/formats/dtype.h"
#include "jit/formats/quant_grids.h"

namespace riftjit {

inline constexpr DType kCacheTypes[] = {DType::F16,  DType::F32,  DType::Q8_0, DType::BF16,   DType::Q4_0,
                                        DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::IQ4_NL, DType::RQ4};

inline bool is_cache_type(DType type) { return std::ranges::find(kCacheTypes, type) != std::end(kCacheTypes); }

// "f16, f32, ..."
inline std::string cache_type_names() {
    std::string names;
    for (const DType type : kCacheTypes) names.append(names.empty() ? "" : ", ").append(name(type));
    return names;
}

// A cache of codes for normally distributed values, which elements of keys and values are not: one channel is often far
// larger than the rest. So blocks are rotated first, by a Walsh-Hadamard matrix, after which each element is a sum of
// all (QuaRot, arXiv 2404.00456; TurboQuant, arXiv 2504.19874). Queries are rotated as keys are, and what attention
// adds up is rotated back: the matrix is its own inverse. Not whole heads, as published: that spreads a large channel's
// error over all others of its head, where a block's stays within its own scale. Gemma 3, whose keys have such
// channels, loses twice as much by it, and four times with 64 elements.
constexpr bool is_rotated(DType type) { return type == DType::RQ4; }
inline constexpr uint32_t kRotatedElements = 32;

// The 16 values with the least mean square error of a normal distribution (Lloyd and Max), whose largest is 2.73259
// deviations, in 127ths of that.
inline constexpr std::array<int8_t, 16> kNormalCodebook = {-127, -96, -75, -58, -44, -31, -18, -6,
                                                           6,    18,  31,  44,  58,  75,  96,  127};
inline constexpr float kNormalDeviation = 127 / 2.73259f;  // of the values that they stand for

// Those whose codes have 4 or 5 bits, in blocks of 32 as GGUF has them: an f16 scale, an f16 minimum, the fifth bits,
// and 16 bytes of which number j holds the low bits of elements j and 16 + j. An element is
//     scale * table[code]    or    scale * (code - zero) + minimum.
// An f16 times so few bits is exact in f32, so that all is rounded once, fused or not.
struct PackedCache {
    static constexpr uint32_t kElements = 32;

    int bits;
    bool has_minimum;
    const int8_t* table = nullptr;
    bool is_by_norm = false;  // codes for a deviation of kNormalDeviation, and the scale of the least squares

    int largest_code() const { return (1 << bits) - 1; }
    int zero() const { return has_minimum || table != nullptr ? 0 : 1 << (bits - 1); }

    // Bytes of a block before the field.
    int minimum_at() const { return 2; }
    int high_bits_at() const { return has_minimum ? 4 : 2; }
    int codes_at() const { return high_bits_at() + (bits == 5 ? 4 : 0); }
    int block_bytes() const { return codes_at() + 16; }
};

inline std::optional<PackedCache> packed_cache(DType type) {
    switch (type) {
        case DType::Q4_0:
            return PackedCache{4, false};
        case DType::Q4_1:
            return PackedCache{4, true};
        case DType::Q5_0:
            return PackedCache{5, false};
        case DType::Q5_1:
            return PackedCache{5, true};
        case DType::IQ4_NL:
            return PackedCache{4, false, kNonlinearCodebook.data()};
        case DType::RQ4:
            return PackedCache{4, false, kNormalCodebook.data(), true};
        default:
            return std::nullopt;
    }
}

// Bytes of an element where it has no scale, or of its code where they are whole bytes.
constexpr uint32_t cache_code_bytes(DType type) {
    return type == DType::F32 ? 4 : type == DType::F16 || type == DType::BF16 ? 2 : 1;
}

}  // namespace riftjit
