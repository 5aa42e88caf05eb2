// The caches that may answer a load with an old value: a copy of each line as it was when the cache took it. Stores go
// through to memory, so a cache never holds what memory lacks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/rdna/emulator/memory_map.h"

namespace riftjit::rdna::emulator::memory {

struct CacheLine {
    uint64_t address = kNoLine;
    std::array<std::byte, kCacheLineBytes> bytes;
    std::array<uint32_t, kCacheLineBytes / 32> undefined;  // one bit per byte

    static constexpr uint64_t kNoLine = ~uint64_t{0};
};

// Direct-mapped. Its size bounds the model's cost; real caches of these sizes have more ways.
class LineCache {
public:
    explicit LineCache(size_t lines) : line_count_(lines) {}

    CacheLine* find(uint64_t address) {
        if (lines_.empty()) return nullptr;
        CacheLine& line = slot(address);
        return line.address == address / kCacheLineBytes * kCacheLineBytes ? &line : nullptr;
    }
    // The line of `address`, overwritten with what memory holds; the part outside the allocation is left alone.
    CacheLine& fill(uint64_t address, const Allocation& allocation);
    CacheLine& fill(const CacheLine& from);
    void invalidate();
    void drop(uint64_t address) {
        if (CacheLine* line = find(address)) line->address = CacheLine::kNoLine;
    }
    // Writes `count` bytes that lie in one line, if the line is here.
    void update(uint64_t address, const std::byte* bytes, unsigned count, uint32_t undefined);

private:
    CacheLine& slot(uint64_t address) {
        const uint64_t line = address / kCacheLineBytes;
        return lines_[(line ^ line >> 11) % line_count_];
    }
    size_t line_count_;
    std::vector<CacheLine> lines_;  // empty until first filled
};

}  // namespace riftjit::rdna::emulator::memory
