#include "jit/rdna/emulator/caches.h"

#include <algorithm>
#include <cstring>

namespace riftjit::rdna::emulator::memory {

CacheLine& LineCache::fill(uint64_t address, const Allocation& allocation) {
    if (lines_.empty()) lines_.resize(line_count_);
    CacheLine& line = slot(address);
    line.epoch = epoch_;
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

CacheLine& LineCache::fill(const CacheLine& from) {
    if (lines_.empty()) lines_.resize(line_count_);
    CacheLine& line = slot(from.address);
    line = from;
    line.epoch = epoch_;
    return line;
}

void LineCache::invalidate() {
    if (++epoch_ != 0) return;
    for (CacheLine& line : lines_) line.address = CacheLine::kNoLine;
}

void LineCache::update(uint64_t address, const std::byte* bytes, unsigned count, uint32_t undefined) {
    CacheLine* line = find(address);
    if (line == nullptr) return;
    const uint64_t offset = address - line->address;
    std::memcpy(line->bytes.data() + offset, bytes, count);
    for (unsigned i = 0; i < count; ++i) {
        uint32_t& word = line->undefined[(offset + i) / 32];
        const uint32_t bit = 1u << (offset + i) % 32;
        word = undefined >> i & 1 ? word | bit : word & ~bit;
    }
}

}  // namespace riftjit::rdna::emulator::memory
