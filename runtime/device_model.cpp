#include "runtime/device_model.h"

#include <algorithm>
#include <array>

#include "runtime/plan_set.h"

namespace riftjit::runtime {
namespace {

// Token ids index rows of this table.
uint32_t embedding_rows(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes)
        if (const auto* embed = std::get_if<graph::EmbedOp>(&node.op)) return graph.tensor(embed->table).rows;
    return 0;
}

bool sees_whole_texts(const graph::Graph& graph) {
    return std::ranges::any_of(graph.nodes, [](const graph::Node& node) {
        const auto* attention = std::get_if<graph::AttentionOp>(&node.op);
        return attention != nullptr && attention->traits.sight == Sight::whole;
    });
}

Result<void> check_options(const graph::Graph& graph, const ModelOptions& options) {
    if (options.batch == 0) return fail(ErrorKind::Usage, "batch 0: expected 1 row or more");
    if (options.outputs == 0) return fail(ErrorKind::Usage, "outputs 0: expected 1 row or more");
    if (graph.logits == graph::kNoTensor || embedding_rows(graph) == 0)
        return fail(ErrorKind::Unsupported, "a session needs a graph that embeds tokens and computes logits");
    return {};
}

}  // namespace

PlanSetOptions plan_set_options(const ModelOptions& options, const Backend& backend) {
    return {.backend = &backend,
            .prompt_backend = options.prompt_backend,
            .batch = options.batch,
            .outputs = options.outputs,
            .key_type = options.key_type,
            .value_type = options.value_type,
            .passes = options.passes,
            .activations = options.activations};
}

Result<std::shared_ptr<const DeviceModel>> DeviceModel::create(const graph::Graph& graph, const ModelOptions& options,
                                                               std::unique_ptr<Device> device,
                                                               const Device::Release& release) {
    RIFTJIT_TRY_VOID(check_options(graph, options));
    RIFTJIT_TRY(plans, make_plans(graph, plan_set_options(options, device->backend())));
    auto model = std::make_shared<DeviceModel>();
    model->options = options;
    model->device = std::move(device);
    model->vocabulary = graph.tensor(graph.logits).width;
    model->token_limit = embedding_rows(graph);
    model->reads_whole_texts = sees_whole_texts(graph);
    model->slots = graph.slots;
    model->decode_plan = std::move(plans.decode);
    model->prompt_plan = std::move(plans.prompt);
    check(model->decode_plan.rope_tables.size() == model->prompt_plan.rope_tables.size(), "plans of one graph");
    for (const graph::RopeTable& table : model->prompt_plan.rope_tables) {
        const auto factors_of = [&](graph::TensorId id) {
            return id == graph::kNoTensor ? std::vector<float>() : vector_weight(plans.graph.tensor(id));
        };
        model->rope_tables.emplace_back(table.angles, factors_of(table.factors.usual), factors_of(table.factors.far));
    }
    const std::array<const graph::Plan*, 2> both = {&model->decode_plan, &model->prompt_plan};
    RIFTJIT_TRY(weights, load_weights(plans.graph, both, *model->device, release));
    model->weights = std::move(weights);
    return std::shared_ptr<const DeviceModel>(std::move(model));
}

}  // namespace riftjit::runtime
