#include "models/architectures/layer_inputs.h"

#include <cmath>
#include <numbers>

#include "models/architectures/hyperparameters.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::TensorId;

Result<TensorId> add_layer_inputs(const DecoderParts& parts, TensorId embedded) {
    const Hyperparameters& hyper = parts.hyper();
    const uint32_t each = hyper.layer_input_width, all = each * hyper.layers;
    graph::Graph& graph = parts.graph;
    RIFTJIT_TRY(table, parts.weights.matrix("per_layer_token_embd.weight", hyper.vocabulary, all));
    RIFTJIT_TRY(own, graph.embed("per_layer_token_embd", parts.token_ids, table));
    RIFTJIT_TRY(own_scaled, graph.scale("per_layer_token_embd.scale", own, std::sqrt(static_cast<float>(each))));
    RIFTJIT_TRY(projected, parts.project("per_layer_model_proj", embedded, all));
    RIFTJIT_TRY(scaled,
                graph.scale("per_layer_model_proj.scaled", projected, 1 / std::sqrt(static_cast<float>(hyper.width))));
    RIFTJIT_TRY(gain, parts.weights.vector("per_layer_proj_norm.weight", each));
    RIFTJIT_TRY(normed, graph.rms_norm("per_layer_proj_norm", scaled, gain, hyper.norm_epsilon, each));
    RIFTJIT_TRY(sum, graph.add("per_layer_inputs.sum", normed, own_scaled));
    return graph.scale("per_layer_inputs", sum, static_cast<float>(1 / std::numbers::sqrt2));
}

Result<TensorId> add_layer_input(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const uint32_t each = parts.hyper().layer_input_width;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    RIFTJIT_TRY(gate, parts.project(name("inp_gate"), x, each));
    RIFTJIT_TRY(input, parts.graph.join_heads(name("layer_input"), 1, {parts.layer_inputs, layer * each, each, 0}, {}));
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("inp_gated"), gate, input, Activation::gelu_tanh));
    RIFTJIT_TRY(projected, parts.project(name("proj"), gated, parts.hyper().width));
    return parts.norm(name("post_norm"), projected);
}

Result<void> read_layer_sharing(const Gguf& file, Hyperparameters& result) {
    const auto key = [&](std::string_view suffix) { return fmt::format("{}.{}", result.architecture, suffix); };
    RIFTJIT_TRY(shared, file.integer(key("attention.shared_kv_layers"), 0, result.layers - 1));
    const uint32_t own = result.layers - static_cast<uint32_t>(shared.value_or(0));
    for (uint32_t i = own; i < result.layers; ++i) {
        for (uint32_t before = 0; before < own; ++before)
            if (result.layer[before].is_local == result.layer[i].is_local) result.layer[i].kv_layer = before;
        if (!result.layer[i].kv_layer)
            return fail(ErrorKind::Format, "{} is {}: none of the {} layers before sees as much as layer {}",
                        file.place_of(*file.find(key("attention.shared_kv_layers"))), *shared, own, i);
    }
    RIFTJIT_TRY(width, file.integer(key("embedding_length_per_layer_input"), 0, kMaxWidth / result.layers));
    result.layer_input_width = static_cast<uint32_t>(width.value_or(0));
    return {};
}

}  // namespace riftjit::models
