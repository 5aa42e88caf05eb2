// How pages of the KV cache lie in memory on RDNA. A page holds kKvPage positions of every KV head of a layer, head
// after head. Lanes that take products with keys are positions, lanes that add up values are elements, and either loads
// what lies side by side for it: the elements of one position's key, and one element's values at several positions.
#pragma once

#include "host/round_up.h"
#include "jit/batch.h"
#include "jit/formats/cache_format.h"

namespace riftjit::rdna::kernels {

inline constexpr uint32_t kKeyChunkBytes = 16;       // of one position's key, side by side
inline constexpr uint32_t kValueChunkPositions = 8;  // of one element's values, side by side
inline constexpr uint32_t kCacheScaleBlock = 32;     // elements of Q8_0
inline constexpr uint32_t kCacheScaleBytes = 2;

constexpr uint32_t cache_scale_blocks(DType type, uint32_t head_dim) {
    return type == DType::Q8_0 ? head_dim / kCacheScaleBlock : 0;
}

// Keys of a head: [chunk][position][16 bytes], elements ascending within and from chunk to chunk (the last padded).
// Q8_0: the codes so, then f16 scales [block of 32][position].
constexpr uint32_t key_chunk_elements(DType type) { return kKeyChunkBytes / cache_code_bytes(type); }
constexpr uint32_t key_chunks(DType type, uint32_t head_dim) {
    return uint32_t(round_up(head_dim, key_chunk_elements(type)) / key_chunk_elements(type));
}
constexpr uint64_t key_scales_offset_bytes(DType type, uint32_t head_dim) {
    return uint64_t(key_chunks(type, head_dim)) * kKvPage * kKeyChunkBytes;
}
constexpr uint64_t key_head_bytes(DType type, uint32_t head_dim) {
    return key_scales_offset_bytes(type, head_dim) + cache_scale_blocks(type, head_dim) * kKvPage * kCacheScaleBytes;
}

// Values of a head: [position / 8][element][position % 8]. Q8_0: the codes so, then f16 scales [block of 32][position].
constexpr uint32_t value_chunk_bytes(DType type) { return kValueChunkPositions * cache_code_bytes(type); }
constexpr uint64_t value_scales_offset_bytes(DType type, uint32_t head_dim) {
    return uint64_t(kKvPage) * head_dim * cache_code_bytes(type);
}
constexpr uint64_t value_head_bytes(DType type, uint32_t head_dim) {
    return value_scales_offset_bytes(type, head_dim) + cache_scale_blocks(type, head_dim) * kKvPage * kCacheScaleBytes;
}

}  // namespace riftjit::rdna::kernels
