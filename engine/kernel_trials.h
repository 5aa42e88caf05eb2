// Every kind of kernel with inputs of its own, and what must come out, in double: what `riftjit selftest` goes over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/kernel_error.h"
#include "runtime/trial/step_trial.h"

namespace riftjit::engine::trials {

struct KernelTrial {
    KernelSpec spec;
    // On the device, and in steps that the processor has, which need not be the same.
    runtime::trial::Case on_device, on_processor;
    // Of all values that the steps left behind, in order, where they had this in the cache.
    using Expected = std::vector<graph::Bounded>;
    std::function<Expected(const std::vector<runtime::trial::Found>&)> expected;
};

struct KernelTrials {
    std::vector<KernelTrial> trials;
    std::vector<std::string> lacking;  // ops that this back end has no kernel for, and whose plans do without
};
KernelTrials kernel_trials(const Backend& device, const Backend& processor);

}  // namespace riftjit::engine::trials
