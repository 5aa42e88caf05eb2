// Device memory as allocations with bounds, and the undefined bit of each byte. An address is a number of the model,
// not a host pointer, so runs repeat exactly.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "host/result.h"
#include "jit/rdna/emulator/checks/races.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/memory/touched_lines.h"

namespace riftjit::rdna::emulator::memory {

// Most accesses move a dword, for which this is one move instead of a call.
inline void copy_bytes(std::byte* to, const std::byte* from, size_t count) {
    if (count == 4)
        std::memcpy(to, from, 4);
    else
        std::memcpy(to, from, count);
}

// Bit i: whether byte i of the `count` (at most 32) has an undefined bit.
inline uint32_t undefined_bytes_of(const std::byte* undefined, unsigned count) {
    uint32_t bytes = 0;
    for (unsigned i = 0; i < count; ++i)
        if (undefined[i] != std::byte{0}) bytes |= 1u << i;
    return bytes;
}
// Of a set of bits, one bit per byte, clears the `count` from `first` on.
template <class Word>
void clear_bits(Word* words, uint64_t first, uint64_t count) {
    constexpr unsigned kBits = 8 * sizeof(Word);
    for (const uint64_t end = first + count; first < end;) {
        const uint64_t shift = first % kBits, here = std::min<uint64_t>(end - first, kBits - shift);
        const Word ones = here == kBits ? ~Word{0} : static_cast<Word>((Word{1} << here) - 1);
        words[first / kBits] &= ~(ones << shift);
        first += here;
    }
}

// Undefined bits of a word: one bit per byte to one bit per bit, and back.
constexpr uint32_t bits_of_bytes(uint32_t bytes) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < 4; ++i)
        if (bytes >> i & 1) bits |= 0xFFu << 8 * i;
    return bits;
}
constexpr uint32_t bytes_of_bits(uint32_t bits) {
    uint32_t bytes = 0;
    for (unsigned i = 0; i < 4; ++i)
        if (bits >> 8 * i & 0xFF) bytes |= 1u << i;
    return bytes;
}

// Bytes that are addressed from `base`: an allocation, a workgroup's LDS, a wave's scratch.
struct Region {
    uint64_t base = 0, size = 0;
    std::byte* bytes = nullptr;
    std::unique_ptr<uint64_t[]> undefined;  // one bit per byte; null: all defined
    Shadow shadow;                          // who accessed what, for races

    // Written so that no end address can wrap.
    bool contains(uint64_t address, uint64_t count) const {
        return address >= base && count <= size && address - base <= size - count;
    }
    // Bit i: byte i of the `count` (at most 32) from `offset` is undefined.
    uint32_t undefined_bytes(uint64_t offset, unsigned count) const {
        if (undefined == nullptr) return 0;
        const uint64_t word = offset / 64, shift = offset % 64;
        uint64_t bits = undefined[word] >> shift;
        if (shift + count > 64) bits |= undefined[word + 1] << (64 - shift);
        return static_cast<uint32_t>(bits & ((uint64_t{1} << count) - 1));
    }
    void set_undefined_bytes(uint64_t offset, unsigned count, uint32_t bits);
    // The same for any number of bytes; `undefined` has a bit per bit, null: all are defined.
    void set_undefined(uint64_t offset, uint64_t count, const std::byte* undefined);
    void make_undefined();  // every byte
};

struct Allocation : Region {
    std::string name;
    MemoryAccess access = MemoryAccess::read_write;
    std::unique_ptr<std::byte[], void (*)(void*)> storage{nullptr, std::free};
    Allocation* next = nullptr;             // in the same slot
    std::unique_ptr<TouchedLines> touched;  // by the launch that runs; null where nobody counts
};

void fill_with_garbage(std::span<std::byte> bytes, uint64_t seed);

// Addresses fall into slots of 4 GiB, so finding an allocation is an index and, but for the segments of a code object,
// no search. Allocating while waves run (scratch) is safe: a slot is published when its allocation is complete.
class MemoryMap {
public:
    explicit MemoryMap(uint64_t seed) : seed_(seed), slots_(std::make_unique<std::atomic<Allocation*>[]>(kSlots)) {}

    // In a slot of its own. across_slots: the 4 GiB boundary lies in its middle, so that a kernel which drops the carry
    // of an address addition goes astray.
    enum class Placement : uint8_t { slot_start, across_slots };
    Allocation& allocate(std::string name, uint64_t size, MemoryAccess access, InitialBytes initial,
                         Placement placement);
    Result<uint64_t> allocate_at(uint64_t address, std::string name, uint64_t size, MemoryAccess access);
    void release(uint64_t address);

    Allocation* find(uint64_t address, uint64_t size) const {
        const uint64_t slot = address >> kSlotBits;
        if (slot >= kSlots) return nullptr;
        for (Allocation* at = slots_[slot].load(std::memory_order_acquire); at != nullptr; at = at->next)
            if (at->contains(address, size)) return at;
        return nullptr;
    }
    // The allocation that ends closest below or begins closest above, for messages; null if there is none near.
    const Allocation* nearest(uint64_t address) const;
    std::span<const std::unique_ptr<Allocation>> allocations() const { return allocations_; }

private:
    static constexpr unsigned kSlotBits = 32;
    static constexpr size_t kSlots = size_t{1} << 15;  // 47-bit addresses
    static constexpr size_t kFirstSlot = 0x40;         // below: null pointers, and room for allocate_at

    size_t free_slots(size_t count);
    void publish(Allocation& allocation);

    uint64_t seed_;
    std::unique_ptr<std::atomic<Allocation*>[]> slots_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Allocation>> allocations_;
    size_t next_slot_ = kFirstSlot;
    uint64_t garbage_ = 0;  // allocations filled so far
};

}  // namespace riftjit::rdna::emulator::memory
