// Types of keys and values in the KV cache.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "jit/formats/dtype.h"
#include "jit/formats/quant_grids.h"

namespace riftjit {

inline constexpr DType kCacheTypes[] = {DType::F16,  DType::F32,  DType::Q8_0, DType::BF16,  DType::Q4_0,
                                        DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::IQ4_NL};

inline bool is_cache_type(DType type) { return std::ranges::find(kCacheTypes, type) != std::end(kCacheTypes); }

// "f16, f32, ..."
inline std::string cache_type_names() {
    std::string names;
    for (const DType type : kCacheTypes) names.append(names.empty() ? "" : ", ").append(name(type));
    return names;
}

// Those whose codes have 4 or 5 bits, in blocks of 32 as GGUF has them: an f16 scale, an f16 minimum, the fifth bits,
// and 16 bytes of which number j holds the low bits of elements j and 16 + j. An element is
//     scale * table[code]    or    scale * (code - zero) + minimum.
// An f16 times so few bits is exact in f32, so that all is rounded once, fused or not.
struct PackedCache {
    static constexpr uint32_t kElements = 32;

    int bits;
    bool has_minimum;
    const int8_t* table = nullptr;

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
        default:
            return std::nullopt;
    }
}

// Bytes of an element where it has no scale, or of its code where they are whole bytes.
constexpr uint32_t cache_code_bytes(DType type) {
    return type == DType::F32 ? 4 : type == DType::F16 || type == DType::BF16 ? 2 : 1;
}

}  // namespace riftjit
