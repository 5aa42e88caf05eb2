// Keys and values of every KvSlot: pages of address space, touched as far as the texts go.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "graph/state_slot.h"
#include "runtime/device.h"
#include "runtime/page_tables.h"

namespace riftjit::runtime {

struct KvShape {
    std::vector<graph::StateSlot> slots;
    uint64_t positions;  // of all sequences
    DType key_type, value_type;
};

struct KvCache {
    std::vector<Address> keys, values;                       // by slot, null for other slots
    std::vector<uint64_t> key_page_bytes, value_page_bytes;  // by slot
    uint64_t bytes = 0;                                      // of all

    Result<void> copy_page(const PageCopy& copy, Device& device) const;

    uint64_t page_bytes() const;  // of all slots
    // The keys and the values of each slot on each of these pages.
    Result<void> for_each_piece(std::span<const uint32_t> pages,
                                const std::function<Result<void>(Address, uint64_t bytes)>& visit) const;
};

uint64_t kv_bytes(const KvShape& shape, const Backend& backend);
Result<KvCache> reserve_kv_cache(const KvShape& shape, Device& device);

}  // namespace riftjit::runtime
