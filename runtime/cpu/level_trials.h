// How long a plan's steps take at one level and at another, tried with made-up rows and weights: what to go by where
// several levels give the same bits, and which is faster is the machine's business.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/plan.h"
#include "host/thread_pool.h"
#include "jit/x86/host_kernels.h"

namespace riftjit::runtime {

struct StepTrial {
    std::string kernel;
    uint32_t launches;  // of the plan
    double ms;          // of one launch, by all threads
};

struct LevelTrial {
    Isa level;
    double ms;  // of all launches
    std::vector<StepTrial> steps;
};

// The plans are of one graph, each at its target. Steps that need a cache, states or a router are left out: they are
// the same code at levels that differ in how they multiply. Of a large matrix some rows are tried, and the time is that
// of all. The same work in the same order each time, the levels taking turns; the shortest of kTrialRounds counts. A
// step takes a few milliseconds.
inline constexpr int kTrialRounds = 5;
Result<std::vector<LevelTrial>> try_levels(std::span<const graph::Plan* const> plans, uint32_t rows, ThreadPool& pool,
                                           x86::HostKernels& kernels);

}  // namespace riftjit::runtime
