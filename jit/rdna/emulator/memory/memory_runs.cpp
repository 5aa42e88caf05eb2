// Accesses of many lanes at once: neighbouring lanes mostly go to neighbouring bytes, so that address, race check and
// cache line need to be looked up but once for all of them. Everything comes out as if each lane came by itself.
#include <algorithm>
#include <cstring>

#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator::memory {
namespace {

bool any_undefined(const Region& region, uint64_t offset, uint64_t count) {
    for (uint64_t at = 0; region.undefined != nullptr && at < count; at += 32)
        if (region.undefined_bytes(offset + at, static_cast<unsigned>(std::min<uint64_t>(32, count - at))) != 0)
            return true;
    return false;
}

}  // namespace

// None where a lane alone is to say what is wrong.
std::optional<Place> MemoryModel::locate_range(Issue& issue, Space space, uint64_t address, uint64_t bytes) {
    if (space == Space::scratch) return std::nullopt;
    if (space == Space::lds) {
        Region& lds = issue.memory.group->lds;
        if (!lds.contains(address, bytes)) return std::nullopt;
        return Place{&lds, address, space, nullptr};
    }
    Allocation* allocation =
        issue.recent != nullptr && issue.recent->contains(address, bytes) ? issue.recent : map.find(address, bytes);
    if (allocation == nullptr) return std::nullopt;
    if (issue.op.shape.action == MemoryAction::store && allocation->access == MemoryAccess::read_only)
        return std::nullopt;
    issue.recent = allocation;
    return Place{allocation, address - allocation->base, space, allocation};
}

bool MemoryModel::read_run(Issue& issue, int first_lane, const Run& run, std::byte* bytes, uint32_t* undefined) {
    if (run.address % 4 != 0) return false;
    const std::optional<Place> place = locate_range(issue, run.space, run.address, run.bytes());
    if (!place) return false;
    const Region& region = *place->region;
    const uint64_t count = run.bytes();
    const bool global = run.space == Space::global;
    if (!global && configuration.checks.undefined && any_undefined(region, place->offset, count)) return false;
    if (configuration.checks.races) note_run(issue, first_lane, *place, run.lanes, run.count, AccessKind::read);
    if (undefined != nullptr) std::fill_n(undefined, count / 4, 0u);
    if (global && configuration.checks.visibility) {
        read_global_run(issue, *place, count, bytes, undefined);
        return true;
    }
    std::memcpy(bytes, region.bytes + place->offset, count);
    if (undefined == nullptr || !global || region.undefined == nullptr) return true;
    for (uint64_t at = 0; at < count; at += 4)
        undefined[at / 4] = bits_of_bytes(region.undefined_bytes(place->offset + at, 4));
    return true;
}

void MemoryModel::read_global_run(Issue& issue, const Place& place, uint64_t count, std::byte* bytes,
                                  uint32_t* undefined) {
    const Allocation& allocation = *place.allocation;
    const uint64_t begin = allocation.base + place.offset;
    deliver_to(issue, begin, begin + count);
    const bool cached = configuration.caches != CacheModel::coherent && allocation.access == MemoryAccess::read_write;
    for (uint64_t done = 0; done < count;) {
        const uint64_t in_line = (begin + done) % kCacheLineBytes;
        const uint64_t part = std::min(count - done, kCacheLineBytes - in_line);
        const CacheLine* line = cached ? cached_line(issue, allocation, begin + done) : nullptr;
        const std::byte* from = line == nullptr ? allocation.bytes + place.offset + done : line->bytes.data() + in_line;
        std::memcpy(bytes + done, from, part);
        const bool any_unknown = line == nullptr ? allocation.undefined != nullptr : line->has_undefined();
        for (uint64_t at = 0; undefined != nullptr && any_unknown && at < part; at += 4) {
            const uint32_t unknown = line == nullptr ? allocation.undefined_bytes(place.offset + done + at, 4)
                                                     : line->undefined_bytes(in_line + at, 4);
            if (unknown != 0) undefined[(done + at) / 4] = bits_of_bytes(unknown);
        }
        done += part;
    }
}

bool MemoryModel::write_run(Issue& issue, int first_lane, const Run& run, const std::byte* bytes,
                            const uint32_t* undefined) {
    if (run.address % 4 != 0) return false;
    const std::optional<Place> place = locate_range(issue, run.space, run.address, run.bytes());
    if (!place) return false;
    Region& region = *place->region;
    const uint64_t count = run.bytes();
    if (configuration.checks.races) note_run(issue, first_lane, *place, run.lanes, run.count, AccessKind::write);
    const std::byte* const unknown =
        undefined == nullptr ? nullptr : std::as_bytes(std::span(undefined, count / 4)).data();
    if (checked && run.space == Space::global) {
        issue.store->add(*place->allocation, place->offset, {bytes, count}, unknown);
        return true;
    }
    std::memcpy(region.bytes + place->offset, bytes, count);
    if (configuration.checks.undefined) region.set_undefined(place->offset, count, unknown);
    return true;
}

}  // namespace riftjit::rdna::emulator::memory
