// The KV cache as jit/kernel_spec.h lays it out, written and read by plain scalar code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "host/half.h"
#include "jit/kernel_spec.h"
#include "jit/x86/kv_layout.h"

namespace riftjit::x86 {

struct CacheLayout {
    DType type;
    uint32_t kv_heads, head_dim;
    std::vector<uint32_t> pages = {};  // by position / 256; empty: in order

    size_t element_bytes() const { return type == DType::F32 ? 4 : type == DType::F16 ? 2 : 1; }
    static size_t page_count(uint32_t positions) { return (positions + 255) / 256; }
    size_t page_of(uint32_t position) const { return pages.empty() ? position / 256 : pages[position / 256]; }
    size_t key_bytes(uint32_t positions) const {
        return page_count(positions) * key_page_bytes(type, kv_heads, head_dim);
    }
    size_t value_bytes(uint32_t positions) const {
        return page_count(positions) * value_page_bytes(type, kv_heads, head_dim);
    }

    size_t panel_offset(uint32_t position, uint32_t head) const {
        const size_t panel = (page_of(position) * kv_heads + head) * 16 + position / 16 % 16;
        return panel * (16 * head_dim * element_bytes() + (type == DType::Q8_0 ? head_dim / 32 * 16 * 2 : 0));
    }
    size_t row_offset(uint32_t position, uint32_t head) const {
        const size_t row = (page_of(position) * kv_heads + head) * 256 + position % 256;
        return row * (head_dim * element_bytes() + (type == DType::Q8_0 ? head_dim / 32 * 2 : 0));
    }
    size_t key_offset(uint32_t position, uint32_t head, uint32_t d) const {
        return panel_offset(position, head) + (d * 16 + position % 16) * element_bytes();
    }
    size_t key_scale_offset(uint32_t position, uint32_t head, uint32_t block) const {
        return panel_offset(position, head) + 16 * head_dim + (block * 16 + position % 16) * 2;
    }
    size_t value_offset(uint32_t position, uint32_t head, uint32_t d) const {
        return row_offset(position, head) + d * element_bytes();
    }
    size_t value_scale_offset(uint32_t position, uint32_t head, uint32_t block) const {
        return row_offset(position, head) + head_dim + block * 2;
    }
};

template <class T>
void put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}
template <class T>
T take(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

inline void put_float(DType type, std::byte* at, float value) {
    type == DType::F32 ? put(at, value) : put(at, float_to_half(value));
}

struct Q8Block {
    uint16_t scale;
    int8_t codes[32];
};
inline Q8Block quantize_q8_0(std::span<const float> values) {
    float largest = 0;
    for (float value : values) largest = std::max(largest, std::fabs(value));
    Q8Block block;
    block.scale = float_to_half(largest / 127.0f);
    const float scale = half_to_float(block.scale), inverse = scale == 0 ? 0.0f : 1.0f / scale;
    for (size_t i = 0; i < 32; ++i)
        block.codes[i] = static_cast<int8_t>(std::clamp(std::nearbyint(values[i] * inverse), -128.0f, 127.0f));
    return block;
}

inline void store_key(const CacheLayout& layout, std::byte* cache, uint32_t position, uint32_t head,
                      std::span<const float> values) {
    if (layout.type != DType::Q8_0) {
        for (uint32_t d = 0; d < layout.head_dim; ++d)
            put_float(layout.type, cache + layout.key_offset(position, head, d), values[d]);
        return;
    }
    for (uint32_t block = 0; block < layout.head_dim / 32; ++block) {
        const Q8Block q8 = quantize_q8_0(values.subspan(32 * block, 32));
        put(cache + layout.key_scale_offset(position, head, block), q8.scale);
        for (uint32_t i = 0; i < 32; ++i) put(cache + layout.key_offset(position, head, 32 * block + i), q8.codes[i]);
    }
}

inline void store_value(const CacheLayout& layout, std::byte* cache, uint32_t position, uint32_t head,
                        std::span<const float> values) {
    if (layout.type != DType::Q8_0) {
        for (uint32_t d = 0; d < layout.head_dim; ++d)
            put_float(layout.type, cache + layout.value_offset(position, head, d), values[d]);
        return;
    }
    for (uint32_t block = 0; block < layout.head_dim / 32; ++block) {
        const Q8Block q8 = quantize_q8_0(values.subspan(32 * block, 32));
        put(cache + layout.value_scale_offset(position, head, block), q8.scale);
        for (uint32_t i = 0; i < 32; ++i) put(cache + layout.value_offset(position, head, 32 * block + i), q8.codes[i]);
    }
}

inline double load_element(DType type, const std::byte* element, const std::byte* scale) {
    switch (type) {
        case DType::F32:
            return take<float>(element);
        case DType::F16:
            return half_to_float(take<uint16_t>(element));
        default:
            return double(take<int8_t>(element)) * half_to_float(take<uint16_t>(scale));
    }
}
inline double load_key(const CacheLayout& layout, const std::byte* cache, uint32_t position, uint32_t head,
                       uint32_t d) {
    return load_element(layout.type, cache + layout.key_offset(position, head, d),
                        cache + (layout.type == DType::Q8_0 ? layout.key_scale_offset(position, head, d / 32) : 0));
}
inline double load_value(const CacheLayout& layout, const std::byte* cache, uint32_t position, uint32_t head,
                         uint32_t d) {
    return load_element(layout.type, cache + layout.value_offset(position, head, d),
                        cache + (layout.type == DType::Q8_0 ? layout.value_scale_offset(position, head, d / 32) : 0));
}

}  // namespace riftjit::x86
