// Keys and values of every layer, reserved for the whole context and touched as far as the text goes.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device.h"

namespace riftjit::runtime {

struct KvShape {
    uint32_t layers, kv_heads, head_dim;
    uint32_t positions;
    DType key_type, value_type;
};

struct KvCache {
    std::vector<Address> keys, values;  // by layer; layouts: jit/kernel_spec.h
    uint64_t bytes = 0;
};

uint64_t kv_bytes(const KvShape& shape);
Result<KvCache> reserve_kv_cache(const KvShape& shape, Device& device);

}  // namespace riftjit::runtime
