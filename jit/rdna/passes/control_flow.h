// Basic blocks of a program, and what is true where they begin.
#pragma once

#include <vector>

#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

struct Block {
    size_t begin, end;  // lines
    std::vector<size_t> successors, predecessors;
};
// In the order of the lines; block 0 is the entry. Every label must be bound.
std::vector<Block> control_flow(const Program& program);

// The state at the start of each block, forwards to a fixed point: `transfer(b, state)` takes it through block b,
// `State::merge(other)` joins two paths and says whether that changed it. `entry` holds at the start of block 0; blocks
// that no path reaches have State{}.
template <class AnyBlock, class State, class Transfer>
std::vector<State> states_at_entry(const std::vector<AnyBlock>& blocks, State entry, const Transfer& transfer) {
    std::vector<State> states(blocks.size());
    std::vector<bool> reached(blocks.size(), false), pending(blocks.size(), false);
    states[0] = std::move(entry);
    reached[0] = pending[0] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < blocks.size(); ++b) {
            if (!pending[b]) continue;
            pending[b] = false;
            State state = states[b];
            transfer(b, state);
            for (const size_t next : blocks[b].successors) {
                if (reached[next] && !states[next].merge(state)) continue;
                if (!reached[next]) states[next] = state;
                reached[next] = pending[next] = changed = true;
            }
        }
    }
    return states;
}

}  // namespace riftjit::rdna
