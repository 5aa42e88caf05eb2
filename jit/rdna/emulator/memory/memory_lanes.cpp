// Accesses of many lanes that go anywhere in one allocation or in LDS: bounds are checked for all of them at once, and
// a cache line or a word's past that several lanes meet is looked up but once. Everything comes out as if each lane
// came by itself.
#include <algorithm>
#include <cstring>

#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator::memory {
namespace {

// Without a call for what most instructions move.
inline void copy_words(void* to, const std::byte* from, unsigned bytes) {
    if (bytes == 4)
        std::memcpy(to, from, 4);
    else if (bytes == 16)
        std::memcpy(to, from, 16);
    else if (bytes == 8)
        std::memcpy(to, from, 8);
    else
        std::memcpy(to, from, bytes);
}

}  // namespace

// Where the lowest of the lanes goes, if all are aligned and inside.
std::optional<Place> MemoryModel::locate_lanes(Issue& issue, const Lanes& lanes) {
    uint64_t lowest = ~uint64_t{0}, highest = 0, low_bits = 0;
    for_each_lane(lanes.active, [&](int lane) {
        const uint64_t address = lanes.address[lane] + lanes.offset;
        lowest = std::min(lowest, address);
        highest = std::max(highest, address);
        low_bits |= address;
    });
    if ((low_bits & (std::min(lanes.bytes, 4u) - 1)) != 0 || highest + lanes.bytes < highest) return std::nullopt;
    return locate_range(issue, lanes.space, lowest, highest - lowest + lanes.bytes);
}

MemoryModel::LanesRead MemoryModel::read_lanes(Issue& issue, const Lanes& lanes, uint32_t* to, uint32_t* undefined) {
    const std::optional<Place> place = locate_lanes(issue, lanes);
    if (!place) return LanesRead::no;
    const Region& region = *place->region;
    const unsigned dwords = lanes.dwords();
    const bool global = lanes.space == Space::global;
    const auto offset_of = [&](int lane) { return lanes.address[lane] + lanes.offset - region.base; };
    if (!global && configuration.checks.undefined && region.undefined != nullptr) {
        bool all_defined = true;
        for_each_lane(lanes.active,
                      [&](int lane) { all_defined &= region.undefined_bytes(offset_of(lane), lanes.bytes) == 0; });
        if (!all_defined) return LanesRead::no;  // each lane is reported for itself
    }
    if (configuration.checks.races) note_lanes(issue, *place, lanes, AccessKind::read);
    if (lanes.bytes < 4) for_each_lane(lanes.active, [&](int lane) { to[lane] = 0; });
    if (global && configuration.checks.visibility)
        return read_global_lanes(issue, *place, lanes, to, undefined) ? LanesRead::all_defined
                                                                      : LanesRead::some_undefined;
    for_each_lane(lanes.active, [&](int lane) {
        copy_words(to + static_cast<unsigned>(lane) * dwords, region.bytes + offset_of(lane), lanes.bytes);
    });
    if (undefined == nullptr || !global || region.undefined == nullptr) return LanesRead::all_defined;
    uint32_t any = 0;
    for_each_lane(lanes.active, [&](int lane) {
        uint32_t bytes = region.undefined_bytes(offset_of(lane), lanes.bytes);
        any |= bytes;
        for (unsigned d = 0; d < dwords; ++d, bytes >>= 4)
            undefined[static_cast<unsigned>(lane) * dwords + d] = bits_of_bytes(bytes & 15);
    });
    return any == 0 ? LanesRead::all_defined : LanesRead::some_undefined;
}

namespace {

// Where loads of one allocation find their bytes: in a line of a cache, or in memory itself.
struct Source {
    const Allocation& allocation;
    const CacheLine* line = nullptr;  // null: memory
    uint64_t line_address = ~uint64_t{0};
    bool any_undefined = false;

    void copy(void* to, uint64_t address, unsigned bytes) const {
        copy_words(to,
                   line == nullptr ? allocation.bytes + (address - allocation.base)
                                   : line->bytes.data() + address % kCacheLineBytes,
                   bytes);
    }
    uint32_t undefined_bytes(uint64_t address, unsigned bytes) const {
        if (!any_undefined) return 0;
        return line == nullptr ? allocation.undefined_bytes(address - allocation.base, bytes)
                               : line->undefined_bytes(address % kCacheLineBytes, bytes);
    }
};

}  // namespace

// Returns whether all is defined.
bool MemoryModel::read_global_lanes(Issue& issue, const Place& place, const Lanes& lanes, uint32_t* to,
                                    uint32_t* undefined) {
    const Allocation& allocation = *place.allocation;
    const unsigned dwords = lanes.dwords();
    const bool cached = configuration.caches != CacheModel::coherent && allocation.access == MemoryAccess::read_write;
    Source source{allocation};
    source.any_undefined = allocation.undefined != nullptr;
    bool all_defined = true;
    for_each_lane(lanes.active, [&](int lane) {
        const uint64_t begin = lanes.address[lane] + lanes.offset;
        if (!withholding_.empty()) deliver_to(issue, begin, begin + lanes.bytes);
        uint32_t* const words = to + static_cast<unsigned>(lane) * dwords;
        uint32_t unknown = 0;
        for (unsigned done = 0; done < lanes.bytes;) {
            const uint64_t address = begin + done, in_line = address % kCacheLineBytes;
            const auto part = static_cast<unsigned>(std::min<uint64_t>(lanes.bytes - done, kCacheLineBytes - in_line));
            if (cached && source.line_address != address - in_line) {
                source.line = cached_line(issue, allocation, address);
                source.line_address = address - in_line;
                if (source.line != nullptr) source.any_undefined = source.line->has_undefined();
            }
            source.copy(reinterpret_cast<std::byte*>(words) + done, address, part);
            unknown |= source.undefined_bytes(address, part) << done;
            done += part;
        }
        if (unknown == 0 || undefined == nullptr) return;
        if (all_defined) std::fill_n(undefined, size_t{kMaxLanes} * dwords, 0u);
        all_defined = false;
        for (unsigned d = 0; d < dwords; ++d, unknown >>= 4)
            undefined[static_cast<unsigned>(lane) * dwords + d] = bits_of_bytes(unknown & 15);
    });
    return all_defined;
}

bool MemoryModel::write_lanes(Issue& issue, const Lanes& lanes, const uint32_t* from, const uint32_t* undefined) {
    const std::optional<Place> place = locate_lanes(issue, lanes);
    if (!place) return false;
    Region& region = *place->region;
    if (configuration.checks.races) note_lanes(issue, *place, lanes, AccessKind::write);
    for_each_lane(lanes.active, [&](int lane) {
        const uint64_t offset = lanes.address[lane] + lanes.offset - region.base;
        const unsigned first = static_cast<unsigned>(lane) * lanes.dwords();
        const auto* bytes = reinterpret_cast<const std::byte*>(from + first);
        const auto* unknown = undefined == nullptr ? nullptr : reinterpret_cast<const std::byte*>(undefined + first);
        if (checked && lanes.space == Space::global)
            return issue.store->add(*place->allocation, offset, {bytes, lanes.bytes}, unknown);
        copy_words(region.bytes + offset, bytes, lanes.bytes);
        if (configuration.checks.undefined) region.set_undefined(offset, lanes.bytes, unknown);
    });
    return true;
}

}  // namespace riftjit::rdna::emulator::memory
