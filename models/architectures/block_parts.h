// What the builders of blocks share: where they build, names, and products with what belongs to a name.
#pragma once

#include "models/architectures/weights.h"
#include "models/model.h"

namespace riftjit::models {

struct BlockParts {
    const Model& model;
    graph::Graph& graph;
    Weights& weights;

    const Hyperparameters& hyper() const { return model.hyperparameters; }
    static std::string block(uint32_t layer, std::string_view what) { return fmt::format("blk.{}.{}", layer, what); }

    // x W^T [* scale] [+ bias], with the tensors that belong to `name`.
    Result<graph::TensorId> project(const std::string& name, graph::TensorId x, graph::TensorId weight,
                                    graph::TensorId bias) const;
    Result<graph::TensorId> project(const std::string& name, graph::TensorId x, uint32_t rows) const;
    // By rows [first, first + count) of a table of `rows`, under the name "NAME[part]".
    Result<graph::TensorId> project_part(const std::string& name, graph::TensorId x, uint32_t rows, uint32_t first,
                                         uint32_t count, std::string_view part) const;
};

// Takes the place of attention: of rows that are normed already, by the layer's mixer.
Result<graph::TensorId> add_mixer(const BlockParts& parts, uint32_t layer, graph::TensorId x);

// In its own file: the mixer of qwen3next and its successors.
Result<graph::TensorId> add_delta_net(const BlockParts& parts, uint32_t layer, graph::TensorId x);
Result<graph::TensorId> add_plamo2_mixer(const BlockParts& parts, uint32_t layer, graph::TensorId x);
// silu(convolution(x)) by channels [first, first + width of x) of ssm_conv1d, which has so many.
Result<graph::TensorId> add_convolution(const BlockParts& parts, uint32_t layer, graph::TensorId x, uint32_t channels,
                                        uint32_t first, std::string_view part);

}  // namespace riftjit::models
