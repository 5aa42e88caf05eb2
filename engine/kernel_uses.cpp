#include "engine/kernel_uses.h"

#include <map>

namespace riftjit::engine {

std::vector<KernelUse> kernel_uses(const runtime::PlanSet& plans, Isa sampler) {
    std::vector<KernelUse> uses;
    std::map<std::pair<std::string, Target>, size_t> index_of_name;
    const auto use_of = [&](const KernelSpec& spec, Target on) -> KernelUse& {
        const auto [found, is_new] = index_of_name.try_emplace({kernel_name(spec), on}, uses.size());
        if (is_new) uses.push_back({spec, on});
        return uses[found->second];
    };
    for (const graph::Step& step : plans.decode.steps)
        ++use_of(step.spec, plans.decode.target.value()).launches_one_row;
    for (const graph::Step& step : plans.prompt.steps)
        ++use_of(step.spec, plans.prompt.target.value()).launches_many_rows;
    for (const ReduceSpec& spec : runtime::logit_kernel_specs(plans.graph.tensor(plans.graph.logits).width))
        use_of(spec, sampler);
    return uses;
}

}  // namespace riftjit::engine
