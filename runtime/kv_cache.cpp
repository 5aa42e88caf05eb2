#include "runtime/kv_cache.h"

#include "jit/backend.h"

namespace riftjit::runtime {
namespace {

constexpr uint64_t kPageAlignment = 64;

struct SlotPages {
    uint64_t key_bytes = 0, value_bytes = 0;  // of a page
};

SlotPages pages_of(const graph::StateSlot& slot, const KvShape& shape, const Backend& backend) {
    const auto* kv = std::get_if<graph::KvSlot>(&slot.shape);
    if (kv == nullptr) return {};
    return {backend.key_page_bytes(shape.key_type, kv->heads, kv->head_dim),
            backend.value_page_bytes(shape.value_type, kv->heads, kv->head_dim)};
}

}  // namespace

uint64_t kv_bytes(const KvShape& shape, const Backend& backend) {
    const uint64_t pages = page_count(shape.positions);
    uint64_t bytes = 0;
    for (const graph::StateSlot& slot : shape.slots) {
        const SlotPages page = pages_of(slot, shape, backend);
        bytes += round_up(pages * page.key_bytes, kPageAlignment) + round_up(pages * page.value_bytes, kPageAlignment);
    }
    return bytes;
}

Result<KvCache> reserve_kv_cache(const KvShape& shape, Device& device) {
    KvCache cache;
    cache.bytes = kv_bytes(shape, device.backend());
    RIFTJIT_TRY(memory, device.allocate(cache.bytes, MemoryUse::sparse,
                                        fmt::format("the KV cache of {} positions (-c)", shape.positions)));
    const uint64_t pages = page_count(shape.positions);
    Address next = memory;
    const auto take = [&](uint64_t page_bytes) {
        const Address taken = page_bytes == 0 ? nullptr : next;
        next += round_up(pages * page_bytes, kPageAlignment);
        return taken;
    };
    for (const graph::StateSlot& slot : shape.slots) {
        const SlotPages page = pages_of(slot, shape, device.backend());
        cache.keys.push_back(take(page.key_bytes));
        cache.values.push_back(take(page.value_bytes));
        cache.key_page_bytes.push_back(page.key_bytes);
        cache.value_page_bytes.push_back(page.value_bytes);
    }
    return cache;
}

Result<void> KvCache::copy_page(const PageCopy& copy, Device& device) const {
    const auto copy_in = [&](Address pages, uint64_t page_bytes) -> Result<void> {
        if (page_bytes == 0) return {};
        return device.copy(pages + copy.to * page_bytes, pages + copy.from * page_bytes, page_bytes);
    };
    for (size_t slot = 0; slot < keys.size(); ++slot) {
        RIFTJIT_TRY_VOID(copy_in(keys[slot], key_page_bytes[slot]));
        RIFTJIT_TRY_VOID(copy_in(values[slot], value_page_bytes[slot]));
    }
    return {};
}

uint64_t KvCache::page_bytes() const {
    uint64_t sum = 0;
    for (size_t slot = 0; slot < keys.size(); ++slot) sum += key_page_bytes[slot] + value_page_bytes[slot];
    return sum;
}

Result<void> KvCache::for_each_piece(std::span<const uint32_t> pages,
                                     const std::function<Result<void>(Address, uint64_t bytes)>& visit) const {
    for (size_t slot = 0; slot < keys.size(); ++slot) {
        for (const uint32_t page : pages) {
            if (key_page_bytes[slot] != 0)
                RIFTJIT_TRY_VOID(visit(keys[slot] + page * key_page_bytes[slot], key_page_bytes[slot]));
            if (value_page_bytes[slot] != 0)
                RIFTJIT_TRY_VOID(visit(values[slot] + page * value_page_bytes[slot], value_page_bytes[slot]));
        }
    }
    return {};
}

}  // namespace riftjit::runtime
