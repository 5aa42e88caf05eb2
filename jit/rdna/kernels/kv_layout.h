// How pages of the KV cache lie in memory on RDNA. A page holds kKvPage positions of every KV head of a layer, head
// after head. Lanes that take products with keys are positions, lanes that add up values are elements.
#pragma once

#include "host/round_up.h"
#include "jit/batch.h"
#include "jit/formats/dtype.h"

namespace riftjit::rdna::kernels {

inline constexpr uint32_t kKeyChunkBytes = 16;    // of one position's key, side by side
inline constexpr uint32_t kCacheScaleBlock = 32;  // elements of Q8_0

constexpr uint32_t cache_code_bytes(DType type) { return type == DType::F32 ? 4 : type == DType::F16 ? 2 : 1; }
constexpr uint32_t cache_scale_blocks(DType type, uint32_t head_dim) {
    return type == DType::Q8_0 ? head_dim / kCacheScaleBlock : 0;
}

// Keys of a head: [chunk][position][16 bytes], elements ascending within and from chunk to chunk (the last padded).
// Q8_0: the codes so, then f16 scales [block of 32][position].
constexpr uint32_t key_chunks(DType type, uint32_t head_dim) {
    return uint32_t(round_up(head_dim * cache_code_bytes(type), kKeyChunkBytes) / kKeyChunkBytes);
}
constexpr uint64_t key_scales_offset_bytes(DType type, uint32_t head_dim) {
    return uint64_t(key_chunks(type, head_dim)) * kKvPage * kKeyChunkBytes;
}
constexpr uint64_t key_head_bytes(DType type, uint32_t head_dim) {
    return key_scales_offset_bytes(type, head_dim) + cache_scale_blocks(type, head_dim) * kKvPage * 2;
}

// Values of a head: [position][element], a position's padded to 16 bytes. Q8_0: the codes so, then f16 scales
// [position][block of 32].
constexpr uint32_t value_position_bytes(DType type, uint32_t head_dim) {
    return uint32_t(round_up(head_dim * cache_code_bytes(type), 16));
}
constexpr uint64_t value_scales_offset_bytes(DType type, uint32_t head_dim) {
    return uint64_t(kKvPage) * value_position_bytes(type, head_dim);
}
constexpr uint64_t value_head_bytes(DType type, uint32_t head_dim) {
    return value_scales_offset_bytes(type, head_dim) + round_up(cache_scale_blocks(type, head_dim) * kKvPage * 2, 16);
}

}  // namespace riftjit::rdna::kernels
