// What layers keep of each sequence in place of its positions (graph/state_slot.h), and copies of it from behind
// earlier positions, for texts that go back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/state_slot.h"
#include "runtime/device.h"
#include "runtime/page_tables.h"

namespace riftjit::runtime {

// Nothing of it allocates but reserve(). Ids are those of sequences that are open, positions those that a text may
// have.
class RunningStates {
public:
    // A text that goes on by so many positions in a step is kept as it then is: a prompt's end is where most go back
    // to.
    static constexpr uint32_t kLongStep = 32;
    static constexpr uint32_t kCopies = 4;  // of each sequence, the last ones

    // Bytes of all sequences and copies, of which texts touch what they need.
    static uint64_t bytes_of(std::span<const graph::StateSlot> slots, uint32_t sequences);
    static Result<RunningStates> reserve(std::span<const graph::StateSlot> slots, uint32_t sequences, Device& device);

    bool any() const { return bytes_ != 0; }
    uint64_t bytes() const { return bytes_; }  // of one sequence, as it is now
    // By slot, null for those of another kind.
    const std::vector<Address>& addresses() const { return addresses_; }

    Result<void> clear(SequenceId id, Device& device);
    Result<void> fork(SequenceId origin, SequenceId id, Device& device);
    // Keeps what is there now as that behind `position`.
    Result<void> keep(SequenceId id, uint32_t position, Device& device);
    // The last position up to `position` behind which it is kept: 0, behind which it is zeros, at least.
    uint32_t kept_before(SequenceId id, uint32_t position) const;
    // What each slot holds of it now.
    Result<void> for_each_piece(SequenceId id, const std::function<Result<void>(Address, uint64_t bytes)>& visit) const;
    // Goes back there.
    Result<void> go_back(SequenceId id, uint32_t position, Device& device);

private:
    struct Slot {
        Address states = nullptr, copies = nullptr;  // [sequence][bytes], [sequence][kCopies][bytes]
        uint64_t bytes = 0;                          // of a sequence
    };

    static uint64_t copy_offset(const Slot& slot, SequenceId id, uint32_t copy) {
        return (uint64_t(id) * kCopies + copy) * slot.bytes;
    }
    uint32_t* positions(SequenceId id) { return &positions_[size_t(id) * kCopies]; }
    const uint32_t* positions(SequenceId id) const { return &positions_[size_t(id) * kCopies]; }

    std::vector<Slot> slots_;
    std::vector<Address> addresses_;
    std::vector<uint32_t> positions_;  // [sequence][kCopies], what each copy is behind; 0: nothing
    uint64_t bytes_ = 0;
};

}  // namespace riftjit::runtime
