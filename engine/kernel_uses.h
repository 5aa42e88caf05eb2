// Every kernel that a model runs, and how often: what `warm` compiles and --dump-isa lists.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan_set.h"
#include "runtime/sampling/sampler.h"

namespace riftjit::engine {

struct KernelUse {
    KernelSpec spec;
    Target target;  // the plan's, or for the sampler, which reads logits here, the processor's
    uint32_t launches_one_row = 0, launches_many_rows = 0;  // in the decode plan, in the prompt plan
};

// Each kernel once: those of the plans in order, then those that the sampler runs over logits, at this level.
std::vector<KernelUse> kernel_uses(const runtime::PlanSet& plans, Isa sampler);

}  // namespace riftjit::engine
