#include "runtime/running_states.h"

#include <algorithm>
#include <array>

#include "host/round_up.h"

namespace riftjit::runtime {
namespace {

constexpr std::array<std::byte, 64 * 1024> kZeros{};

Result<void> write_zeros(Address to, uint64_t bytes, Device& device) {
    for (uint64_t done = 0; done < bytes; done += kZeros.size())
        RIFTJIT_TRY_VOID(
            device.write(to + done, std::span(kZeros).first(std::min<uint64_t>(bytes - done, kZeros.size()))));
    return {};
}

}  // namespace

uint64_t RunningStates::bytes_of(std::span<const graph::StateSlot> slots, uint32_t sequences) {
    uint64_t bytes = 0;
    for (const graph::StateSlot& slot : slots) bytes += graph::running_bytes(slot);
    return bytes * sequences * (1 + kCopies);
}

Result<RunningStates> RunningStates::reserve(std::span<const graph::StateSlot> slots, uint32_t sequences,
                                             Device& device) {
    RunningStates made;
    made.addresses_.resize(slots.size(), nullptr);
    const uint64_t all = bytes_of(slots, sequences);
    if (all == 0) return made;
    RIFTJIT_TRY(memory,
                device.allocate(all, MemoryUse::sparse, fmt::format("the running states of {} sequences", sequences)));
    Address next = memory;
    for (size_t i = 0; i < slots.size(); ++i) {
        const uint64_t bytes = graph::running_bytes(slots[i]);
        if (bytes == 0) continue;
        made.slots_.push_back({next, next + bytes * sequences, bytes});
        made.addresses_[i] = next;
        made.bytes_ += bytes;
        next += bytes * sequences * (1 + kCopies);
    }
    made.positions_.resize(size_t(sequences) * kCopies);
    return made;
}

Result<void> RunningStates::clear(SequenceId id, Device& device) {
    if (!any()) return {};
    std::fill_n(positions(id), kCopies, 0);
    for (const Slot& slot : slots_) RIFTJIT_TRY_VOID(write_zeros(slot.states + id * slot.bytes, slot.bytes, device));
    return {};
}

// Where the origin may go back to, the other may not: it begins anew.
Result<void> RunningStates::fork(SequenceId origin, SequenceId id, Device& device) {
    if (!any()) return {};
    std::fill_n(positions(id), kCopies, 0);
    for (const Slot& slot : slots_)
        RIFTJIT_TRY_VOID(device.copy(slot.states + id * slot.bytes, slot.states + origin * slot.bytes, slot.bytes));
    return {};
}

Result<void> RunningStates::keep(SequenceId id, uint32_t position, Device& device) {
    if (!any()) return {};
    uint32_t* const kept = positions(id);
    const auto copy = uint32_t(std::min_element(kept, kept + kCopies) - kept);  // the oldest, or one of none
    for (const Slot& slot : slots_)
        RIFTJIT_TRY_VOID(
            device.copy(slot.copies + copy_offset(slot, id, copy), slot.states + id * slot.bytes, slot.bytes));
    kept[copy] = position;
    return {};
}

uint32_t RunningStates::kept_before(SequenceId id, uint32_t position) const {
    uint32_t latest = 0;
    for (uint32_t copy = 0; copy < kCopies; ++copy)
        if (const uint32_t kept = positions(id)[copy]; kept <= position) latest = std::max(latest, kept);
    return latest;
}

Result<void> RunningStates::for_each_piece(SequenceId id,
                                           const std::function<Result<void>(Address, uint64_t bytes)>& visit) const {
    for (const Slot& slot : slots_) RIFTJIT_TRY_VOID(visit(slot.states + id * slot.bytes, slot.bytes));
    return {};
}

Result<void> RunningStates::go_back(SequenceId id, uint32_t position, Device& device) {
    uint32_t* const kept = positions(id);
    std::replace_if(kept, kept + kCopies, [&](uint32_t behind) { return behind > position; }, 0u);
    if (position == 0) return clear(id, device);
    const auto copy = uint32_t(std::find(kept, kept + kCopies, position) - kept);
    check(copy < kCopies, "a state is gone back to that was kept");
    for (const Slot& slot : slots_)
        RIFTJIT_TRY_VOID(
            device.copy(slot.states + id * slot.bytes, slot.copies + copy_offset(slot, id, copy), slot.bytes));
    return {};
}

}  // namespace riftjit::runtime
