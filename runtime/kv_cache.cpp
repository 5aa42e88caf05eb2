#include "runtime/kv_cache.h"

#include "jit/kernel_spec.h"

namespace riftjit::runtime {
namespace {

constexpr uint64_t kAlignment = 64;

uint64_t layer_key_bytes(const KvShape& shape) {
    return round_up(key_cache_bytes(shape.key_type, shape.kv_heads, shape.head_dim, shape.positions), kAlignment);
}

uint64_t layer_value_bytes(const KvShape& shape) {
    return round_up(value_cache_bytes(shape.value_type, shape.kv_heads, shape.head_dim, shape.positions), kAlignment);
}

}  // namespace

uint64_t kv_bytes(const KvShape& shape) { return shape.layers * (layer_key_bytes(shape) + layer_value_bytes(shape)); }

Result<KvCache> reserve_kv_cache(const KvShape& shape, Device& device) {
    KvCache cache;
    cache.bytes = kv_bytes(shape);
    RIFTJIT_TRY(memory, device.allocate(cache.bytes, MemoryUse::sparse,
                                        fmt::format("the KV cache of {} positions", shape.positions)));
    Address next = memory;
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
        cache.keys.push_back(next);
        cache.values.push_back(next + layer_key_bytes(shape));
        next += layer_key_bytes(shape) + layer_value_bytes(shape);
    }
    return cache;
}

}  // namespace riftjit::runtime
