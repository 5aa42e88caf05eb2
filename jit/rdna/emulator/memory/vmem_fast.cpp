// Loads and stores of whole dwords when nothing is checked: addresses once, bounds of all lanes, then the bytes. What
// is not plain (a lane out of bounds, several allocations) goes the long way.
#include <algorithm>
#include <cstring>
#include <optional>

#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

bool is_plain(const MemoryModel& model) {
    return !model.checked && model.configuration.alignment == AlignmentMode::any;
}

enum class Direction : uint8_t { load, store };

template <Direction direction, unsigned dwords>
void move(const WaveState& wave, const MemoryOp& op, const MemoryEffect& effect, int lane, std::byte* memory) {
    for (unsigned d = 0; d < dwords; ++d) {
        if constexpr (direction == Direction::load)
            std::memcpy(effect.values + d * wave.lanes + lane, memory + 4 * d, 4);
        else
            std::memcpy(memory + 4 * d, wave.vgprs + (op.data[0] + d) * wave.lanes + lane, 4);
    }
}

// Offsets of the active lanes from a base; the largest must leave room for the access.
struct Offsets {
    std::array<uint64_t, kMaxLanes> of;
    uint64_t largest = 0;
};

// What is added to every lane's low register.
uint64_t common_address(const WaveState& wave, const MemoryOp& op) {
    const bool based = op.saddr.kind == MemoryScalar::Kind::registers;
    return static_cast<uint64_t>(op.offset) + (based ? op.saddr.read_pair(wave) : 0);
}

uint64_t lane_address(const WaveState& wave, const MemoryOp& op, unsigned lane) {
    uint64_t address = common_address(wave, op) + wave.vgpr(op.vaddr)[lane];
    if (op.saddr.kind != MemoryScalar::Kind::registers)
        address += static_cast<uint64_t>(wave.vgpr(op.vaddr + 1u)[lane]) << 32;
    return address;
}

// Every lane active, and each one's bytes behind those of the lane before.
template <unsigned bytes>
bool is_consecutive(const uint32_t* low, const uint32_t* high, unsigned lanes) {
    uint32_t different = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) different |= low[lane] ^ (low[0] + lane * bytes);
    if (high != nullptr)
        for (unsigned lane = 0; lane < lanes; ++lane) different |= high[lane] ^ high[0];
    return different == 0 && low[0] <= low[0] + (lanes - 1) * bytes;
}

void fill_offsets(const WaveState& wave, const MemoryOp& op, uint64_t active, uint64_t base, Offsets& offsets) {
    for_each_lane(active, [&](int lane) {
        offsets.of[lane] = lane_address(wave, op, static_cast<unsigned>(lane)) - base;
        offsets.largest = std::max(offsets.largest, offsets.of[lane]);
    });
}

uint64_t count_lines(const Offsets& offsets, uint64_t active, uint64_t base, unsigned bytes) {
    uint64_t lines = 0, previous = ~uint64_t{0};
    bool ascending = true;
    for_each_lane(active, [&](int lane) {
        const uint64_t first = (base + offsets.of[lane]) / kCacheLineBytes;
        const uint64_t last = (base + offsets.of[lane] + bytes - 1) / kCacheLineBytes;
        ascending &= previous == ~uint64_t{0} || first >= previous;
        lines += last - first + (first == previous ? 0 : 1);
        previous = last;
    });
    if (ascending) return lines;
    std::array<uint64_t, 2 * kMaxLanes> seen;
    size_t count = 0;
    for_each_lane(active, [&](int lane) {
        for (const uint64_t at : {base + offsets.of[lane], base + offsets.of[lane] + bytes - 1})
            seen[count++] = at / kCacheLineBytes;
    });
    std::sort(seen.begin(), seen.begin() + count);
    return static_cast<uint64_t>(std::unique(seen.begin(), seen.begin() + count) - seen.begin());
}

// Lane after lane in memory: one bound, one range of lines, and single dwords are one copy.
template <Direction direction, unsigned dwords>
void move_consecutive(const WaveState& wave, const MemoryOp& op, const MemoryEffect& effect, std::byte* memory) {
    if constexpr (dwords == 1) {
        if constexpr (direction == Direction::load)
            std::memcpy(effect.values, memory, 4u * wave.lanes);
        else
            std::memcpy(memory, wave.vgprs + op.data[0] * wave.lanes, 4u * wave.lanes);
        return;
    }
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
        move<direction, dwords>(wave, op, effect, static_cast<int>(lane), memory + uint64_t{lane} * dwords * 4);
}

// Every lane active, at offsets of 32 bits from one base.
struct BasedLanes {
    std::array<uint32_t, kMaxLanes> of;
    uint32_t lowest, highest;
};

void find_based_lanes(const uint32_t* low, unsigned lanes, BasedLanes& based) {
    based.lowest = based.highest = low[0];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        based.of[lane] = low[lane];
        based.lowest = std::min(based.lowest, low[lane]);
        based.highest = std::max(based.highest, low[lane]);
    }
}

// Of lanes whose first and last bytes ascend; others, and such as reach beyond 31 bits: none.
std::optional<uint64_t> count_ascending_lines(const BasedLanes& based, uint64_t base, unsigned bytes, unsigned lanes) {
    constexpr uint32_t kMostOffset = 1u << 30;
    if (based.highest > kMostOffset) return std::nullopt;
    const auto in_line = static_cast<uint32_t>(base % kCacheLineBytes);
    constexpr auto kLine = static_cast<uint32_t>(kCacheLineBytes);
    uint32_t lines = 1, previous = (in_line + based.of[0]) / kLine;
    bool descends = false;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const uint32_t begin = in_line + based.of[lane], last = (begin + bytes - 1) / kLine;
        descends |= begin / kLine < previous;
        lines += last - previous;
        if (begin / kLine > previous) lines -= begin / kLine - previous - 1;
        previous = last;
    }
    return descends ? std::nullopt : std::optional<uint64_t>(lines);
}

constexpr Touch touch_of(Direction direction) { return direction == Direction::load ? Touch::load : Touch::store; }

template <Direction direction>
void count_bytes(Counts& counts, uint64_t bytes, uint64_t lines) {
    (direction == Direction::load ? counts.global_bytes_loaded : counts.global_bytes_stored) += bytes;
    counts.cache_lines += lines;
}

// False, with nothing done, where something is not as simple as that.
template <Direction direction, unsigned dwords>
bool move_based(const WaveState& wave, const MemoryOp& op, const MemoryEffect& effect, const Allocation& allocation) {
    constexpr unsigned kBytes = 4 * dwords;
    const uint64_t base = common_address(wave, op);
    BasedLanes based;
    find_based_lanes(wave.vgpr(op.vaddr), wave.lanes, based);
    if (!allocation.contains(base + based.lowest, uint64_t{based.highest} - based.lowest + kBytes)) return false;
    const auto lines = count_ascending_lines(based, base, kBytes, wave.lanes);
    if (!lines) return false;
    count_bytes<direction>(wave.memory->counts, uint64_t{kBytes} * wave.lanes, *lines);
    for (unsigned lane = 0; allocation.touched && lane < wave.lanes; ++lane)
        allocation.touched->touch(touch_of(direction), base + based.of[lane], kBytes, wave.memory->counts);
    std::byte* const memory = allocation.bytes + (base + based.lowest - allocation.base);
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
        move<direction, dwords>(wave, op, effect, static_cast<int>(lane), memory + (based.of[lane] - based.lowest));
    return true;
}

template <Direction direction, unsigned dwords>
void run_fast_global(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    constexpr unsigned kBytes = 4 * dwords;
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    if (!is_plain(model)) return run_global(system, wave, data, effect);
    const uint64_t active = wave.exec() & wave.all_lanes();
    if (active == 0) return;
    const uint64_t first = lane_address(wave, op, static_cast<unsigned>(std::countr_zero(active)));
    const Allocation* allocation = model.map.find(first, kBytes);
    if (allocation == nullptr || (direction == Direction::store && allocation->access == MemoryAccess::read_only))
        return run_global(system, wave, data, effect);
    Counts& counts = wave.memory->counts;
    effect.lanes = active;
    const bool based = op.saddr.kind == MemoryScalar::Kind::registers;
    if (active == wave.all_lanes() && allocation->contains(first, uint64_t{kBytes} * wave.lanes) &&
        is_consecutive<kBytes>(wave.vgpr(op.vaddr), based ? nullptr : wave.vgpr(op.vaddr + 1u), wave.lanes)) {
        const uint64_t bytes = uint64_t{kBytes} * wave.lanes;
        count_bytes<direction>(counts, bytes, (first + bytes - 1) / kCacheLineBytes - first / kCacheLineBytes + 1);
        if (allocation->touched) allocation->touched->touch(touch_of(direction), first, bytes, counts);
        return move_consecutive<direction, dwords>(wave, op, effect, allocation->bytes + (first - allocation->base));
    }
    if (based && active == wave.all_lanes() && move_based<direction, dwords>(wave, op, effect, *allocation)) return;
    Offsets offsets;
    fill_offsets(wave, op, active, allocation->base, offsets);
    if (offsets.largest > allocation->size - kBytes) return run_global(system, wave, data, effect);
    count_bytes<direction>(counts, uint64_t{kBytes} * static_cast<unsigned>(std::popcount(active)),
                           count_lines(offsets, active, allocation->base, kBytes));
    for_each_lane(active, [&](int lane) {
        if (allocation->touched)
            allocation->touched->touch(touch_of(direction), allocation->base + offsets.of[lane], kBytes, counts);
        move<direction, dwords>(wave, op, effect, lane, allocation->bytes + offsets.of[lane]);
    });
}

// Lanes that go anywhere in LDS.
template <Direction direction, unsigned dwords>
void run_fast_lds_lanes(MemorySystem& system, WaveState& wave, const MemoryOp& op, MemoryEffect& effect) {
    constexpr unsigned kBytes = 4 * dwords;
    const Region& lds = wave.memory->group->lds;
    LdsLanes lanes{wave.exec() & wave.all_lanes(), kBytes, {}};
    const uint32_t* const address = wave.vgpr(op.vaddr);
    const auto offset = static_cast<uint32_t>(op.offset);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) lanes.address[lane] = address[lane] + offset;
    uint32_t largest = 0;
    for_each_lane(lanes.active, [&](int lane) { largest = std::max(largest, lanes.address[lane]); });
    if (lanes.active == 0 || !lds.contains(largest, kBytes)) return run_lds(system, wave, &op, effect);
    Counts& counts = wave.memory->counts;
    (direction == Direction::load ? counts.lds_bytes_loaded : counts.lds_bytes_stored) +=
        uint64_t{kBytes} * static_cast<unsigned>(std::popcount(lanes.active));
    counts.lds_bank_conflicts += bank_conflicts(lanes, wave.lanes);
    effect.lanes = lanes.active;
    for_each_lane(lanes.active,
                  [&](int lane) { move<direction, dwords>(wave, op, effect, lane, lds.bytes + lanes.address[lane]); });
}

template <Direction direction, unsigned dwords>
void run_fast_lds(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    constexpr unsigned kBytes = 4 * dwords;
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    if (!is_plain(MemoryAccessor::model(system))) return run_lds(system, wave, data, effect);
    const uint64_t active = wave.exec() & wave.all_lanes();
    const Region& lds = wave.memory->group->lds;
    const uint32_t* address = wave.vgpr(op.vaddr);
    const uint64_t begin = uint64_t{address[0]} + static_cast<uint64_t>(op.offset),
                   bytes = uint64_t{kBytes} * wave.lanes;
    // Without conflicts if the lanes' dwords are consecutive.
    if (active != wave.all_lanes() || begin % 4 != 0 || !lds.contains(begin, bytes) ||
        !is_consecutive<kBytes>(address, nullptr, wave.lanes))
        return run_fast_lds_lanes<direction, dwords>(system, wave, op, effect);
    Counts& counts = wave.memory->counts;
    (direction == Direction::load ? counts.lds_bytes_loaded : counts.lds_bytes_stored) += bytes;
    effect.lanes = active;
    move_consecutive<direction, dwords>(wave, op, effect, lds.bytes + begin);
}

template <template <Direction, unsigned> class Run>
MemoryFunction by_size(const MemoryOp& op) {
    const auto of = [&]<Direction direction>() -> MemoryFunction {
        switch (op.shape.bytes) {
            case 4:
                return Run<direction, 1>::run;
            case 8:
                return Run<direction, 2>::run;
            case 12:
                return Run<direction, 3>::run;
            case 16:
                return Run<direction, 4>::run;
            default:
                return nullptr;
        }
    };
    if (op.shape.thread_address || op.shape.elements != 1) return nullptr;
    if (op.shape.action == MemoryAction::load) return of.template operator()<Direction::load>();
    if (op.shape.action == MemoryAction::store) return of.template operator()<Direction::store>();
    return nullptr;
}

template <Direction direction, unsigned dwords>
struct Global {
    static constexpr MemoryFunction run = run_fast_global<direction, dwords>;
};
template <Direction direction, unsigned dwords>
struct Lds {
    static constexpr MemoryFunction run = run_fast_lds<direction, dwords>;
};

}  // namespace

MemoryFunction fast_global(const MemoryOp& op) { return by_size<Global>(op); }
MemoryFunction fast_lds(const MemoryOp& op) { return by_size<Lds>(op); }

}  // namespace riftjit::rdna::emulator::memory
