// `riftjit sim --neurons N`: the ramp network, published with 60 million neurons.
#pragma once

#include "tools/cli/options.h"
#include "tools/cli/reporter.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

inline constexpr uint32_t kMostRampSteps = 1'300'000;  // a neuron fires at most every 21 steps, and counts in 16 bits

struct RampOptions {
    uint64_t neurons = 0;
    int64_t steps = 2000, threads = 0;  // 0: physical cores
    std::string targets = "computed";   // or "stored"
    MachineChoice machine;
    SimPrints prints = SimPrints::table;
    bool check = false, print_plan = false, dump_isa = false;
};
Result<int> run_ramp(const RampOptions& options, Reporter& reporter);

}  // namespace riftjit::tools
