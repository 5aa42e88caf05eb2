#include "jit/rdna/emulator/memory/caches.h"

#include <algorithm>
#include <cstring>

namespace riftjit::rdna::emulator::memory {

CacheLine& LineCache::fill(uint64_t address, const Allocation& allocation) {
    CacheLine& line = take(address);
    line.address = address / kCacheLineBytes * kCacheLineBytes;
    const uint64_t begin = std::max(line.address, allocation.base);
    const uint64_t end = std::min(line.address + kCacheLineBytes, allocation.base + allocation.size);
    std::memcpy(line.bytes.data() + (begin - line.address), allocation.bytes + (begin - allocation.base), end - begin);
    line.undefined.fill(0);
    if (allocation.undefined == nullptr) return line;
    for (uint64_t at = begin; at < end;) {
        const uint64_t in_line = at - line.address;
        const auto count = static_cast<unsigned>(std::min<uint64_t>(end - at, 32 - in_line % 32));
        line.undefined[in_line / 32] |= allocation.undefined_bytes(at - allocation.base, count) << in_line % 32;
        at += count;
    }
    return line;
}

CacheLine& LineCache::fill(const CacheLine& from) { return take(from.address) = from; }

CacheLine& LineCache::take(uint64_t address) {
    if (lines_.empty()) {
        tags_.resize(line_count_);
        lines_.resize(line_count_);
    }
    const size_t at = slot(address);
    tags_[at] = {address / kCacheLineBytes, epoch_};
    return lines_[at];
}

void LineCache::update(uint64_t address, const std::byte* bytes, uint64_t count, const std::byte* undefined) {
    CacheLine* line = find(address);
    if (line == nullptr) return;
    const uint64_t offset = address - line->address;
    std::memcpy(line->bytes.data() + offset, bytes, count);
    clear_bits(line->undefined.data(), offset, count);
    for (uint64_t i = 0; undefined != nullptr && i < count; ++i)
        if (undefined[i] != std::byte{0}) line->undefined[(offset + i) / 32] |= 1u << (offset + i) % 32;
}

}  // namespace riftjit::rdna::emulator::memory
