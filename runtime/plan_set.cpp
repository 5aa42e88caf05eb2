#include "runtime/plan_set.h"

namespace riftjit::runtime {

Result<PlanSet> make_plans(const graph::Graph& graph, const PlanSetOptions& options) {
    RIFTJIT_TRY(passes, graph::parse_passes(options.passes));
    PlanSet plans{graph::apply_passes(graph, passes), {}, {}};
    graph::PlanOptions plan_options{options.backend,    1, 1, options.key_type, options.value_type, passes,
                                    options.activations};
    RIFTJIT_TRY(decode, graph::make_plan(plans.graph, plan_options));
    plans.decode = std::move(decode);
    if (options.prompt_backend != nullptr) plan_options.backend = options.prompt_backend;
    plan_options.max_tokens = options.batch;
    plan_options.max_outputs = options.outputs;
    RIFTJIT_TRY(prompt, graph::make_plan(plans.graph, plan_options));
    plans.prompt = std::move(prompt);
    return plans;
}

}  // namespace riftjit::runtime
