// One lane's access to memory, with all that is checked about it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator::memory {
namespace {

bool will_write(const MemoryOp& op) {
    return op.shape.action != MemoryAction::load && op.shape.action != MemoryAction::scalar_load &&
           op.shape.action != MemoryAction::scalar_buffer_load;
}

// Scratch is interleaved: the dwords of all lanes at one offset lie side by side.
uint64_t scratch_offset(const WaveState& wave, int lane, uint64_t offset) {
    return offset / 4 * 4 * wave.lanes + static_cast<uint64_t>(lane) * 4 + offset % 4;
}

std::string_view verb(const Issue& issue) { return will_write(issue.op) ? "written" : "read"; }

// Two words at most are atomic by themselves, if aligned.
template <class Word>
Word exchange_atomically(std::byte* bytes, const auto& new_value) {
    std::atomic_ref<Word> memory(*reinterpret_cast<Word*>(bytes));
    Word old = memory.load(std::memory_order_relaxed);
    while (!memory.compare_exchange_weak(old, static_cast<Word>(new_value(old)), std::memory_order_acq_rel)) {
    }
    return old;
}

}  // namespace

Place MemoryModel::locate(Issue& issue, int lane, Space space, uint64_t address, unsigned bytes) {
    switch (space) {
        case Space::lds: {
            Region& lds = issue.memory.group->lds;
            if (lds.contains(address, bytes)) return {&lds, address, space, nullptr};
            findings.report(
                FindingKind::lds_out_of_bounds, issue.wave, lane,
                fmt::format("{} bytes {} at {:#x} of {} bytes of LDS", bytes, verb(issue), address, lds.size));
            return {};
        }
        case Space::scratch:
            if (address <= shape.scratch_bytes && bytes <= shape.scratch_bytes - address)
                return {issue.memory.scratch, address, space, nullptr};
            findings.report(FindingKind::scratch_out_of_bounds, issue.wave, lane,
                            fmt::format("{} bytes {} at {:#x} of {} bytes of scratch", bytes, verb(issue), address,
                                        shape.scratch_bytes));
            return {};
        case Space::global:
            break;
    }
    // Neighbouring lanes mostly go to the same allocation.
    Allocation* allocation =
        issue.recent != nullptr && issue.recent->contains(address, bytes) ? issue.recent : map.find(address, bytes);
    if (allocation == nullptr) {
        findings.report(FindingKind::out_of_bounds, issue.wave, lane,
                        fmt::format("{} bytes {} at {}", bytes, verb(issue), describe_address(*this, address)));
        return {};
    }
    if (allocation->access == MemoryAccess::read_only && will_write(issue.op)) {
        findings.report(FindingKind::read_only, issue.wave, lane,
                        fmt::format("{} bytes at {}", bytes, describe_address(*this, address)));
        return {};
    }
    issue.recent = allocation;
    return {allocation, address - allocation->base, space, allocation};
}

bool MemoryModel::aligned(Issue& issue, int lane, uint64_t address, unsigned alignment) {
    if ((address & (alignment - 1)) == 0) return true;
    findings.report(FindingKind::misaligned, issue.wave, lane,
                    fmt::format("address {:#x} is no multiple of {}", address, alignment));
    return false;
}

void MemoryModel::read(Issue& issue, int lane, const Place& place, unsigned count, std::byte* bytes,
                       std::byte* undefined) {
    if (place.region == nullptr) {
        std::memset(bytes, 0, count);
        if (undefined != nullptr) std::memset(undefined, 0xFF, count);
        return;
    }
    if (place.space == Space::scratch) return read_scratch(issue, lane, place, count, bytes, undefined);
    const uint32_t undefined_bytes = read_shared(issue, lane, place, count, bytes);
    if (undefined == nullptr || undefined_bytes == 0) return;
    for (unsigned i = 0; i < count; ++i)
        if (undefined_bytes >> i & 1) undefined[i] = std::byte{0xFF};
}

void MemoryModel::read_scratch(Issue& issue, int lane, const Place& place, unsigned count, std::byte* bytes,
                               std::byte* undefined) {
    const std::byte* unknown = issue.memory.scratch_undefined.get();
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t at = scratch_offset(issue.wave, lane, place.offset + i);
        bytes[i] = place.region->bytes[at];
        if (undefined != nullptr && unknown != nullptr) undefined[i] = unknown[at];
    }
}

void MemoryModel::write_scratch(Issue& issue, int lane, const Place& place, unsigned count, const std::byte* bytes,
                                const std::byte* undefined) {
    std::byte* unknown = issue.memory.scratch_undefined.get();
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t at = scratch_offset(issue.wave, lane, place.offset + i);
        place.region->bytes[at] = bytes[i];
        if (unknown != nullptr) unknown[at] = undefined == nullptr ? std::byte{0} : undefined[i];
    }
}

// Global memory and LDS. Returns which bytes are undefined.
uint32_t MemoryModel::read_shared(Issue& issue, int lane, const Place& place, unsigned count, std::byte* bytes) {
    const bool atomic = issue.op.path.atomic && count <= 8 && place.space == Space::global;
    const AccessKind kind = issue.op.counter == Counter::scalar ? AccessKind::scalar_read
                            : atomic                            ? AccessKind::atomic_read
                                                                : AccessKind::read;
    if (configuration.checks.races) note(issue, lane, place, count, kind);
    uint32_t undefined = 0;
    if (place.space == Space::global && configuration.checks.visibility) {
        read_global(issue, place, count, bytes, undefined);
        return undefined;
    }
    copy_bytes(bytes, place.region->bytes + place.offset, count);
    if (!configuration.checks.undefined) return 0;
    undefined = place.region->undefined_bytes(place.offset, count);
    if (undefined != 0 && place.space == Space::lds) {
        const uint64_t first = place.offset + static_cast<unsigned>(std::countr_zero(undefined));
        findings.report(FindingKind::undefined_lds, issue.wave, lane,
                        fmt::format("the word at {:#x} of LDS was not written", first / 4 * 4));
    }
    return undefined;
}

void MemoryModel::read_global(Issue& issue, const Place& place, unsigned count, std::byte* bytes, uint32_t& undefined) {
    const Allocation& allocation = *place.allocation;
    const uint64_t begin = allocation.base + place.offset;
    deliver_to(issue, begin, begin + count);
    const bool cached = configuration.caches != CacheModel::coherent && allocation.access == MemoryAccess::read_write;
    for (unsigned done = 0; done < count;) {
        const uint64_t address = begin + done, in_line = address % kCacheLineBytes;
        const auto part = static_cast<unsigned>(std::min<uint64_t>(count - done, kCacheLineBytes - in_line));
        CacheLine* line = cached ? cached_line(issue, allocation, address) : nullptr;
        if (line == nullptr) {
            copy_bytes(bytes + done, allocation.bytes + place.offset + done, part);
            if (configuration.checks.undefined)
                undefined |= allocation.undefined_bytes(place.offset + done, part) << done;
        } else {
            copy_bytes(bytes + done, line->bytes.data() + in_line, part);
            undefined |= line->undefined_bytes(in_line, part) << done;
        }
        done += part;
    }
    // A value that is not the newest was published by someone else than the newest.
    if (issue.op.path.atomic && configuration.checks.races &&
        std::memcmp(bytes, allocation.bytes + place.offset, count) == 0)
        acquire(issue, place, count);
}

// Null: the load passes by every cache.
CacheLine* MemoryModel::cached_line(Issue& issue, const Allocation& allocation, uint64_t address) {
    GroupMemory& group = *issue.memory.group;
    const auto lookup = [&](LineCache& cache) {
        constexpr uint32_t kEvictedOneIn = 8;
        if (configuration.caches == CacheModel::random && random(kEvictedOneIn) == 0) cache.drop(address);
        return cache.find(address);
    };
    if (issue.op.counter == Counter::scalar) {
        if (CacheLine* line = lookup(group.scalar)) return line;
        return &group.scalar.fill(address, allocation);
    }
    LineCache& l0 = group.l0[issue.memory.l0];
    if (!issue.op.path.l0) l0.drop(address);
    if (!issue.op.path.l1) group.l1.drop(address);
    if (issue.op.path.l0)
        if (CacheLine* line = lookup(l0)) return line;
    if (!issue.op.path.l1) return issue.op.path.l0 ? &l0.fill(address, allocation) : nullptr;
    CacheLine* line = lookup(group.l1);
    if (line == nullptr) line = &group.l1.fill(address, allocation);
    return issue.op.path.l0 ? &l0.fill(*line) : line;
}

void MemoryModel::write(Issue& issue, int lane, const Place& place, unsigned count, const std::byte* bytes,
                        const std::byte* undefined) {
    if (place.region == nullptr) return;
    if (place.space == Space::scratch) return write_scratch(issue, lane, place, count, bytes, undefined);
    Region& region = *place.region;
    if (!checked) return copy_bytes(region.bytes + place.offset, bytes, count);
    if (configuration.checks.races)
        note(issue, lane, place, count, issue.op.path.atomic ? AccessKind::atomic_write : AccessKind::write);
    if (place.space == Space::lds) {
        copy_bytes(region.bytes + place.offset, bytes, count);
        if (configuration.checks.undefined) region.set_undefined(place.offset, count, undefined);
        return;
    }
    issue.store->add(*place.allocation, place.offset, {bytes, count}, undefined);
}

AtomicDenormals MemoryModel::denormals(const Issue& issue, Space space) const {
    const uint32_t mode = issue.wave.mode;
    const bool f32 = (mode >> kModeF32DenormalsShift & 3) == 0, f16_f64 = (mode >> kModeF16F64DenormalsShift & 3) == 0;
    if (space == Space::lds) return {f32, f16_f64, f16_f64};
    // The L2 knows no mode. LLVM's subtarget feature "memory-atomic-fadd-f32-denormal-support" begins with gfx12.
    return {issue.op.generation != Generation::gfx12, false, false};
}

uint64_t MemoryModel::modify(Issue& issue, int lane, const Place& place, AtomicWidth width, uint64_t first,
                             uint64_t second, uint32_t& undefined) {
    const auto count = static_cast<unsigned>(width);
    const uint32_t operand_undefined = undefined;
    undefined = 0;
    if (place.region == nullptr) return 0;
    Region& region = *place.region;
    uint64_t offset = place.offset;
    if (place.space == Space::scratch) offset = scratch_offset(issue.wave, lane, offset);
    check(place.space != Space::scratch || width == AtomicWidth::b32, "64-bit atomics on scratch are refused before");
    const AtomicDenormals rules = denormals(issue, place.space);
    const auto updated = [&](uint64_t old) { return apply(issue.op.shape.atomic, width, old, first, second, rules); };
    if (!checked) {
        if (width == AtomicWidth::b64) return exchange_atomically<uint64_t>(region.bytes + offset, updated);
        return exchange_atomically<uint32_t>(region.bytes + offset, updated);
    }
    if (configuration.checks.races && place.space != Space::scratch)
        note(issue, lane, place, count, AccessKind::read_modify_write);
    const uint64_t address = region.base + offset;
    if (place.space == Space::global) deliver_to(issue, address, address + count);
    uint64_t old = 0;
    std::memcpy(&old, region.bytes + offset, count);
    const uint64_t replaced = updated(old);
    std::memcpy(region.bytes + offset, &replaced, count);
    if (configuration.checks.undefined) {
        undefined = region.undefined_bytes(offset, count);
        region.set_undefined_bytes(offset, count, undefined | operand_undefined);
    }
    if (configuration.checks.races) release_and_acquire(issue, place, count);
    if (place.space != Space::global) return old;
    issue.memory.group->l0[issue.memory.l0].drop(address);  // atomics are done in the L2
    issue.memory.group->l1.drop(address);
    return old;
}

}  // namespace riftjit::rdna::emulator::memory
