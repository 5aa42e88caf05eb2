// The caches that may answer a load with an old value: a copy of each line as it was when the cache took it. Stores go
// through to memory, so a cache never holds what memory lacks.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/rdna/emulator/memory/memory_map.h"

namespace riftjit::rdna::emulator::memory {

struct CacheLine {
    uint64_t address = kNoLine;
    std::array<std::byte, kCacheLineBytes> bytes;
    std::array<uint32_t, 4> undefined;  // one bit per byte
    static_assert(kCacheLineBytes == 4 * 32);

    static constexpr uint64_t kNoLine = ~uint64_t{0};

    bool has_undefined() const { return (undefined[0] | undefined[1] | undefined[2] | undefined[3]) != 0; }
    // Bit i: byte i of the `count` (at most 16) from `offset`.
    uint32_t undefined_bytes(uint64_t offset, unsigned count) const {
        uint64_t bits = undefined[offset / 32];
        if (offset % 32 + count > 32) bits |= uint64_t{undefined[offset / 32 + 1]} << 32;
        return static_cast<uint32_t>(bits >> offset % 32) & ((1u << count) - 1);
    }
};

// Direct-mapped. Its size bounds the model's cost; real caches of these sizes have more ways.
class LineCache {
public:
    explicit LineCache(size_t lines) : line_count_(lines) {
        check(std::has_single_bit(lines), "a line cache holds a power of two of lines");
    }

    CacheLine* find(uint64_t address) {
        if (lines_.empty()) return nullptr;
        const size_t at = slot(address);
        return tags_[at].line == address / kCacheLineBytes && tags_[at].epoch == epoch_ ? &lines_[at] : nullptr;
    }
    // The line of `address`, overwritten with what memory holds; the part outside the allocation is left alone.
    CacheLine& fill(uint64_t address, const Allocation& allocation);
    CacheLine& fill(const CacheLine& from);
    void invalidate() { ++epoch_; }
    void drop(uint64_t address) {
        if (find(address) != nullptr) tags_[slot(address)] = {};
    }
    // Writes `count` bytes that lie in one line, if the line is here. `undefined` has a bit per bit; null: none is.
    void update(uint64_t address, const std::byte* bytes, uint64_t count, const std::byte* undefined);

private:
    // Apart from the lines, since most lines that are asked for are not here.
    struct Tag {
        uint64_t line = CacheLine::kNoLine;
        uint64_t epoch = 0;  // of the cache, when it took the line
    };
    size_t slot(uint64_t address) const {
        const uint64_t line = address / kCacheLineBytes;
        return (line ^ line >> 11) & (line_count_ - 1);
    }
    CacheLine& take(uint64_t address);  // the slot, with its tag set

    size_t line_count_;
    uint64_t epoch_ = 1;  // the lines of earlier ones are invalid
    std::vector<Tag> tags_;
    std::vector<CacheLine> lines_;  // both empty until first filled
};

}  // namespace riftjit::rdna::emulator::memory
