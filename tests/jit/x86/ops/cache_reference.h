// The KV cache as jit/kernel_spec.h lays it out, written and read by plain scalar code.
#pragma once

#include <span>
#include <vector>

#include "graph/dequantize.h"
#include "graph/quantize_row.h"
#include "jit/kernel_spec.h"
#include "jit/x86/kv_layout.h"

namespace riftjit::x86 {

struct CacheLayout {
    DType type;
    uint32_t kv_heads, head_dim;
    std::vector<uint32_t> pages = {};  // by position / 256; empty: in order

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
        return panel * 16 * row_bytes(type, head_dim);
    }
    size_t row_offset(uint32_t position, uint32_t head) const {
        return ((page_of(position) * kv_heads + head) * 256 + position % 256) * row_bytes(type, head_dim);
    }
};

// What lies in the cache of a head's element: bytes of its GGUF block (or itself), each where the layout has it. A
// key's bytes lie 16 positions apart; those of a scale stay together, and Q8_0 has scales behind all codes.
template <class Visit>
void visit_bytes(const CacheLayout& layout, uint32_t position, uint32_t head, bool is_key, const Visit& visit) {
    const uint32_t block_elements = traits(layout.type).block_elements, block_bytes = traits(layout.type).block_bytes;
    const size_t lanes = is_key ? 16 : 1, lane = is_key ? position % 16 : 0;
    const size_t start = is_key ? layout.panel_offset(position, head) : layout.row_offset(position, head);
    const auto packed = packed_cache(layout.type);
    for (uint32_t block = 0; block < layout.head_dim / block_elements; ++block)
        for (uint32_t byte = 0; byte < block_bytes; ++byte) {
            uint32_t word = 1, first = byte, field = block * block_bytes + byte;  // bytes together, before them
            if (packed) {
                if (byte < uint32_t(packed->high_bits_at())) word = 2;
                first = byte / word * word;
                field = block * block_bytes + first;
            } else if (layout.type == DType::Q8_0) {
                if (byte < 2)
                    word = 2, first = 0, field = layout.head_dim + block * 2;
                else
                    field = block * 32 + byte - 2;
            } else {
                word = block_bytes, first = 0, field = block * block_bytes;
            }
            visit(start + field * lanes + lane * word + (byte - first), block * block_bytes + byte);
        }
}

inline void store_head(const CacheLayout& layout, std::byte* cache, uint32_t position, uint32_t head, bool is_key,
                       std::span<const float> values) {
    const std::vector<std::byte> row = graph::quantize_row(layout.type, values.first(layout.head_dim));
    visit_bytes(layout, position, head, is_key, [&](size_t there, size_t here) { cache[there] = row[here]; });
}
inline void store_key(const CacheLayout& layout, std::byte* cache, uint32_t position, uint32_t head,
                      std::span<const float> values) {
    store_head(layout, cache, position, head, true, values);
}
inline void store_value(const CacheLayout& layout, std::byte* cache, uint32_t position, uint32_t head,
                        std::span<const float> values) {
    store_head(layout, cache, position, head, false, values);
}

inline std::vector<float> load_head(const CacheLayout& layout, const std::byte* cache, uint32_t position, uint32_t head,
                                    bool is_key) {
    std::vector<std::byte> row(row_bytes(layout.type, layout.head_dim));
    visit_bytes(layout, position, head, is_key, [&](size_t there, size_t here) { row[here] = cache[there]; });
    std::vector<float> values(layout.head_dim);
    graph::dequantize_row(layout.type, row.data(), layout.head_dim, values.data());
    return values;
}

}  // namespace riftjit::x86
