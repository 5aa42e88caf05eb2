#include "jit/rdna/emulator/memory/memory_map.h"

#include <algorithm>
#include <new>

#include "host/round_up.h"

namespace riftjit::rdna::emulator::memory {
namespace {

uint64_t mix(uint64_t value) {  // SplitMix64's finaliser
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

// Large ones are pages that nobody touched: to be zeros costs nothing.
std::byte* allocate_zeros(uint64_t bytes) {
    void* const zeros = std::calloc(bytes, 1);
    if (zeros == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(zeros);
}

}  // namespace

void Region::set_undefined_bytes(uint64_t offset, unsigned count, uint32_t bits) {
    if (undefined == nullptr) {
        if (bits == 0) return;
        undefined = std::make_unique<uint64_t[]>(size / 64 + 2);
    }
    const uint64_t word = offset / 64, shift = offset % 64;
    const uint64_t mask = (uint64_t{1} << count) - 1;
    undefined[word] = (undefined[word] & ~(mask << shift)) | (uint64_t{bits} & mask) << shift;
    if (shift + count > 64) {
        const uint64_t high = 64 - shift;
        undefined[word + 1] = (undefined[word + 1] & ~(mask >> high)) | (uint64_t{bits} & mask) >> high;
    }
}

void Region::set_undefined(uint64_t offset, uint64_t count, const std::byte* bits) {
    if (bits == nullptr) {
        if (undefined != nullptr) clear_bits(undefined.get(), offset, count);
        return;
    }
    for (uint64_t at = 0; at < count; at += 32) {
        const auto part = static_cast<unsigned>(std::min<uint64_t>(32, count - at));
        set_undefined_bytes(offset + at, part, undefined_bytes_of(bits + at, part));
    }
}

void Region::make_undefined() {
    if (undefined == nullptr) undefined = std::make_unique<uint64_t[]>(size / 64 + 2);
    std::fill_n(undefined.get(), size / 64 + 2, ~uint64_t{0});
}

void fill_with_garbage(std::span<std::byte> bytes, uint64_t seed) {
    uint64_t state = mix(seed + 0x9E3779B97F4A7C15u);
    for (size_t at = 0; at < bytes.size(); at += sizeof state) {
        state = state * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
        const uint64_t garbage = state ^ state >> 29;
        std::memcpy(bytes.data() + at, &garbage, std::min(sizeof garbage, bytes.size() - at));
    }
}

size_t MemoryMap::free_slots(size_t count) {
    for (int round = 0; round < 2; ++round) {
        while (next_slot_ + count <= kSlots) {
            size_t run = 0;
            while (run < count && slots_[next_slot_ + run].load(std::memory_order_relaxed) == nullptr) ++run;
            if (run == count) {
                const size_t first = next_slot_;
                next_slot_ += count;
                return first;
            }
            next_slot_ += run + 1;
        }
        next_slot_ = kFirstSlot;  // once more, through what was released
    }
    check(false, "the software machine's 128 TiB of addresses are used up");
    return 0;
}

void MemoryMap::publish(Allocation& allocation) {
    const uint64_t last = allocation.base + std::max<uint64_t>(allocation.size, 1) - 1;
    for (uint64_t slot = allocation.base >> kSlotBits; slot <= last >> kSlotBits; ++slot) {
        allocation.next = slots_[slot].load(std::memory_order_relaxed);
        slots_[slot].store(&allocation, std::memory_order_release);
    }
}

Allocation& MemoryMap::allocate(std::string name, uint64_t size, MemoryAccess access, InitialBytes initial,
                                Placement placement) {
    constexpr uint64_t kSlotBytes = uint64_t{1} << kSlotBits;
    auto allocation = std::make_unique<Allocation>();
    allocation->name = std::move(name);
    allocation->size = size;
    allocation->access = access;
    const uint64_t stored = round_up(std::max<uint64_t>(size, 1), kCacheLineBytes);
    allocation->storage.reset(allocate_zeros(stored));
    allocation->bytes = allocation->storage.get();
    const uint64_t before = placement == Placement::across_slots ? round_up(size / 2, 256) % kSlotBytes : 0;

    const std::lock_guard lock(mutex_);
    if (initial != InitialBytes::zeros) fill_with_garbage({allocation->bytes, stored}, seed_ * 0x10001 + ++garbage_);
    if (initial == InitialBytes::undefined) allocation->make_undefined();
    const size_t slots = static_cast<size_t>((size + kSlotBytes - 1) / kSlotBytes) + (before != 0 ? 1 : 0);
    const uint64_t first = free_slots(std::max<size_t>(slots, 1));
    allocation->base = (first << kSlotBits) + (before != 0 ? kSlotBytes - before : 0);
    publish(*allocation);
    allocations_.push_back(std::move(allocation));
    return *allocations_.back();
}

Result<uint64_t> MemoryMap::allocate_at(uint64_t address, std::string name, uint64_t size, MemoryAccess access) {
    if (address >> kSlotBits >= kSlots || size > (uint64_t{1} << kSlotBits))
        return fail(ErrorKind::Usage, "{}: {} bytes at {:#x} lie outside the device's addresses", name, size, address);
    const std::lock_guard lock(mutex_);
    for (const auto& other : allocations_)
        if (address < other->base + other->size && other->base < address + size)
            return fail(ErrorKind::Usage, "{}: {} bytes at {:#x} overlap {}", name, size, address, other->name);
    auto allocation = std::make_unique<Allocation>();
    const uint64_t lead = address % kCacheLineBytes;  // lines are aligned by address, and copied whole
    const uint64_t stored = round_up(lead + std::max<uint64_t>(size, 1), kCacheLineBytes);
    allocation->storage.reset(allocate_zeros(stored));
    allocation->bytes = allocation->storage.get() + lead;
    allocation->name = std::move(name);
    allocation->base = address;
    allocation->size = size;
    allocation->access = access;
    for (uint64_t slot = address >> kSlotBits; slot <= (address + size) >> kSlotBits; ++slot)
        check(slots_[slot].load(std::memory_order_relaxed) == nullptr || (address + size) >> kSlotBits == slot,
              "allocate_at: a range over two slots meets another allocation");
    publish(*allocation);
    allocations_.push_back(std::move(allocation));
    return address;
}

void MemoryMap::release(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(allocations_.begin(), allocations_.end(),
                                    [&](const auto& allocation) { return allocation->base == address; });
    check(found != allocations_.end(), "release of an address that no allocation has");
    const Allocation& gone = **found;
    const uint64_t last = gone.base + std::max<uint64_t>(gone.size, 1) - 1;
    for (uint64_t slot = gone.base >> kSlotBits; slot <= last >> kSlotBits; ++slot) {
        if (slots_[slot].load(std::memory_order_relaxed) == &gone) {
            slots_[slot].store(gone.next, std::memory_order_release);
            continue;
        }
        for (Allocation* at = slots_[slot].load(std::memory_order_relaxed); at != nullptr; at = at->next)
            if (at->next == &gone) at->next = gone.next;
    }
    allocations_.erase(found);
}

const Allocation* MemoryMap::nearest(uint64_t address) const {
    constexpr uint64_t kNear = uint64_t{1} << 30;
    const Allocation* best = nullptr;
    uint64_t best_distance = kNear;
    for (const auto& allocation : allocations_) {
        const uint64_t end = allocation->base + allocation->size;
        const uint64_t distance = address >= end               ? address - end
                                  : address < allocation->base ? allocation->base - address
                                                               : 0;
        if (distance < best_distance) best = allocation.get(), best_distance = distance;
    }
    return best;
}

}  // namespace riftjit::rdna::emulator::memory
