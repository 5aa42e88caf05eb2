// Where each virtual register holds a value that is still needed.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"
#include "jit/rdna/passes/work.h"

namespace riftjit::rdna {

// Positions are twice the line's number, where it reads, and one more, where it writes. One range per register, without
// holes: loops are inside because a value needed in the next round is live all the way round.
struct LiveRange {
    uint32_t begin = UINT32_MAX, end = 0;  // both inclusive; begin > end: never used
    bool empty() const { return begin > end; }
    bool overlaps(const LiveRange& other) const { return begin <= other.end && other.begin <= end; }
    void include(uint32_t position) {
        begin = position < begin ? position : begin;
        end = position > end ? position : end;
    }
};

// A vector write ends the life of the old value if whoever reads the register afterwards does so for lanes that are on
// at the write (exec_regions.h). So a temporary of an if_lanes in a loop lives within its round, and one that is read
// for more lanes than were written lives on around the loop.
//
// Throws AssemblyError if a register may be read before anything has written it.
std::vector<LiveRange> live_ranges(const Program& program, const std::vector<VirtualRegister>& registers, Work& work);

}  // namespace riftjit::rdna
