// The KV cache of one layer as x86 kernels read and write it. What one head owns of a page lies together: a head that
// walks over the positions reads memory in order, which is twice as fast from DRAM as rows in which the heads
// alternate.
//   keys    [page][kv_head][panel: position / 16 % 16][head_dim][16 positions]     lanes are positions
//   values  [page][kv_head][row: position % 256][head_dim]
// Q8_0: int8 codes as above, then f16 scales at the end of each panel, [head_dim / 32][16], and of each row,
// [head_dim / 32]: split, yet as many bytes as its blocks, 34 for 32 elements.
// Packed types (jit/formats/cache_format.h): values are rows of blocks as in a GGUF file. A panel of keys has for each
// block what 16 positions have of its fields, one after the other: scales [16], minima [16], then of each byte of fifth
// and low bits [16].
#pragma once

#include <cstdint>

#include "host/round_up.h"
#include "jit/batch.h"
#include "jit/formats/dtype.h"

namespace riftjit::x86 {

// One head's 16 positions, and one head's position.
inline uint64_t key_panel_bytes(DType type, uint32_t head_dim) { return row_bytes(type, uint64_t(16) * head_dim); }
inline uint64_t value_row_bytes(DType type, uint32_t head_dim) { return row_bytes(type, head_dim); }

inline uint64_t key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) {
    return uint64_t(kKvPage / 16) * kv_heads * key_panel_bytes(type, head_dim);
}
inline uint64_t value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) {
    return uint64_t(kKvPage) * kv_heads * value_row_bytes(type, head_dim);
}

// What attention leaves of a segment for `rows` query heads, f32: outputs [rows][head_dim, padded to 16], sums
// [rows][16], maxima [rows, padded to 16].
inline uint64_t attention_part_bytes(uint32_t rows, uint32_t head_dim) {
    return (rows * (round_up(head_dim, 16) + 16) + round_up(rows, 16)) * sizeof(float);
}

}  // namespace riftjit::x86
