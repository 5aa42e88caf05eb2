// Orders the instructions of each block anew, before registers are allocated: loads early, as far as a budget of
// registers allows, results used late, and operations that can be issued together next to each other.
//
// Within a block nothing crosses a fence: a branch, a barrier, a wait, a write of exec, of the mode or of a cache, a
// line that drains counters. Between fences stay in order: what depends on each other through a register, scc, vcc or
// m0, and loads and stores of one memory (LDS; all the rest) except loads among themselves. Atomics, and loads that see
// other workgroups' stores, keep their place among all accesses of their memory.
#pragma once

#include <vector>

#include "jit/rdna/passes/program.h"
#include "jit/rdna/passes/registers.h"
#include "jit/rdna/passes/work.h"

namespace riftjit::rdna {

// VGPRs that cost no occupancy: with as many as this, as many waves fit on a SIMD as with those needed anyway.
unsigned vgpr_budget(const Program& program, unsigned needed);

struct Scheduled {
    Program program;       // in the new order, before allocation as well
    unsigned vgpr_budget;  // of the old order
};
// A run of lines whose new order would need more registers than the budget, which is what the old order needs at least,
// stays as it is. Throws AssemblyError as live_ranges() does.
Scheduled scheduled(const Program& program, const std::vector<VirtualRegister>& registers, Work& work);

}  // namespace riftjit::rdna
