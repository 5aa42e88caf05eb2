// Which lanes are on at each line, as far as the code shows: what a vector instruction writes, and for whom.
//
// A set of lanes is made where exec is narrowed (s_and_saveexec, v_cmpx ...: a part of what was on), where it is
// written in another way (any lanes), and where paths with different lanes meet (a part of what all of them lie in).
// Restoring a saved mask makes none: what was on before is on again. A set stands for the lanes of the last time it was
// made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"

namespace riftjit::rdna {

using LaneSet = uint32_t;
inline constexpr LaneSet kAllLanes = 0;  // what is on at the start; every other set counts as within it

class ExecRegions {
public:
    // Before allocation. `blocks` are the program's and must outlive the regions.
    ExecRegions(const Program& program, const std::vector<VirtualRegister>& registers,
                const std::vector<Block>& blocks);

    LaneSet on_at(size_t line) const { return on_[line]; }
    bool is_within(LaneSet set, LaneSet other) const;
    LaneSet smallest_around(LaneSet a, LaneSet b) const;

    // The lines of a block that make a set, in order.
    const std::vector<uint32_t>& makers(size_t block) const { return makers_[block]; }
    // Backwards over a maker: where `set` must be looked for before it.
    LaneSet before_maker(size_t line, LaneSet set) const;
    // Backwards over the edge between two blocks.
    LaneSet at_end_of(size_t predecessor, size_t block, LaneSet set) const;

    // Blocks, lines and sets looked at so far.
    uint64_t visits() const { return visits_; }

private:
    static constexpr LaneSet kUnknown = UINT32_MAX;  // of a register that may hold any mask
    struct State {
        LaneSet on;
        std::vector<LaneSet> held;  // by holder
    };
    enum class ExecWrite : uint8_t { none, narrows, restores, other };

    std::optional<size_t> holder_of(const RegisterPart& part) const;
    bool is_mask_move(const Instruction& instruction) const;
    ExecWrite exec_write(const Line& line) const;
    void find_holders(const std::vector<VirtualRegister>& registers);
    void find_events();
    void solve();
    void apply_block(size_t block, State& state);
    void apply(size_t line, State& state);
    void make(LaneSet set, LaneSet parent, State& state);
    bool join(size_t block, const State& state);
    void set_parent(LaneSet set, LaneSet parent);
    LaneSet new_set(LaneSet parent);

    const Program& program_;
    const std::vector<Block>& blocks_;
    std::vector<std::optional<size_t>> holder_of_register_;  // registers that exec is restored from
    size_t holders_ = 0;
    std::vector<std::vector<uint32_t>> events_,
        makers_;                   // by block: lines that concern exec or a holder; that make sets
    std::vector<LaneSet> parent_;  // by set
    std::vector<LaneSet> made_by_line_, made_by_block_;  // kUnknown: none
    std::vector<std::optional<State>> at_entry_;
    std::vector<LaneSet> on_, on_at_end_;
    bool tree_changed_ = false;
    mutable uint64_t visits_ = 0;
};

}  // namespace riftjit::rdna
