// Feed-forward blocks, dense or as mixtures of experts.
#include "models/architectures/decoder_parts.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

Result<TensorId> project_half(const DecoderParts& parts, uint32_t layer, TensorId x, std::string_view part,
                              uint32_t first) {
    const std::string fused = parts.block(layer, "ffn_up");
    const uint32_t half = parts.traits(layer).ffn_width, rows = 2 * half;
    RIFTJIT_TRY(weight,
                parts.weights.matrix_rows(fused + ".weight", rows, parts.graph.tensor(x).width, first, half, part));
    TensorId bias = kNoTensor;
    if (parts.weights.has(fused + ".bias")) {
        RIFTJIT_TRY(found, parts.weights.vector_part(fused + ".bias", rows, first, half, part));
        bias = found;
    }
    return parts.project(parts.block(layer, fmt::format("ffn_{}", part)), x, weight, bias);
}

Result<TensorId> add_shared_expert(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const uint32_t inner = parts.weights.rows_of(name("ffn_up_shexp.weight"));
    const bool is_gated = parts.decoder.is_gated;
    TensorId gate = kNoTensor;
    if (is_gated) {
        RIFTJIT_TRY(gate_rows, parts.project(name("ffn_gate_shexp"), x, inner));
        gate = gate_rows;
    }
    RIFTJIT_TRY(up, parts.project(name("ffn_up_shexp"), x, inner));
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("ffn_shexp_swiglu"), is_gated ? gate : up, is_gated ? up : kNoTensor,
                                          parts.decoder.activation));
    return parts.project(name("ffn_down_shexp"), gated, parts.hyper().width);
}

// Of experts that see rows of `width`.
Result<graph::ExpertTensors> expert_tensors(const DecoderParts& parts, uint32_t layer, uint32_t width) {
    const uint32_t count = parts.hyper().experts.count;
    Weights& weights = parts.weights;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    graph::ExpertTensors tensors;
    const auto set = [](TensorId& to, const Result<TensorId>& found) -> Result<void> {
        if (!found) return std::unexpected(found.error());
        to = *found;
        return {};
    };
    // One stack may hold each expert's gate and behind it its up.
    const std::string both = name("ffn_gate_up_exps");
    const bool is_joined = weights.has(both + ".weight");
    const uint32_t inner =
        is_joined ? weights.rows_of(both + ".weight") / 2 : weights.rows_of(name("ffn_up_exps.weight"));
    if (is_joined) {
        RIFTJIT_TRY_VOID(
            set(tensors.gate, weights.stack_rows(both + ".weight", count, 2 * inner, width, 0, inner, "gate")));
        RIFTJIT_TRY_VOID(
            set(tensors.up, weights.stack_rows(both + ".weight", count, 2 * inner, width, inner, inner, "up")));
    } else {
        if (parts.decoder.is_gated)
            RIFTJIT_TRY_VOID(set(tensors.gate, weights.stack(name("ffn_gate_exps.weight"), count, inner, width)));
        RIFTJIT_TRY_VOID(set(tensors.up, weights.stack(name("ffn_up_exps.weight"), count, inner, width)));
        RIFTJIT_TRY_VOID(
            set(tensors.gate_bias, weights.optional_stack_vector(name("ffn_gate_exps.bias"), count, inner)));
        RIFTJIT_TRY_VOID(set(tensors.up_bias, weights.optional_stack_vector(name("ffn_up_exps.bias"), count, inner)));
    }
    RIFTJIT_TRY_VOID(set(tensors.down, weights.stack(name("ffn_down_exps.weight"), count, width, inner)));
    RIFTJIT_TRY_VOID(set(tensors.down_bias, weights.optional_stack_vector(name("ffn_down_exps.bias"), count, width)));
    RIFTJIT_TRY_VOID(set(tensors.weight_scale, weights.optional_vector(name("ffn_down_exps.scale"), count)));
    const std::string bias = name("exp_probs_b");  // some files leave out the end of its name
    RIFTJIT_TRY_VOID(
        set(tensors.choice_bias, weights.optional_vector(weights.has(bias) ? bias : bias + ".bias", count)));
    return tensors;
}

}  // namespace

bool has_router(const DecoderParts& parts, uint32_t layer) {
    return parts.hyper().experts.count != 0 && parts.weights.has(parts.block(layer, "ffn_gate_inp.weight"));
}

Result<TensorId> add_dense_feed_forward(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const DecoderTraits& decoder = parts.decoder;
    const uint32_t inner = parts.traits(layer).ffn_width;
    TensorId gate = kNoTensor, up = kNoTensor;
    if (decoder.gates_in_up) {
        RIFTJIT_TRY(gate_rows, project_half(parts, layer, x, "gate", 0));
        RIFTJIT_TRY(up_rows, project_half(parts, layer, x, "up", inner));
        gate = gate_rows, up = up_rows;
    } else {
        if (decoder.is_gated) {
            RIFTJIT_TRY(gate_rows, parts.project(name("ffn_gate"), x, inner));
            gate = gate_rows;
        }
        RIFTJIT_TRY(up_rows, parts.project(name("ffn_up"), x, inner));
        (decoder.is_gated ? up : gate) = up_rows;
    }
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("ffn_swiglu"), gate, up, decoder.activation, parts.traits(layer).xielu));
    TensorId middle = gated;
    if (decoder.has_sub_norms) {
        RIFTJIT_TRY(gain, parts.weights.vector(name("ffn_sub_norm.weight"), inner));
        RIFTJIT_TRY(normed, parts.graph.rms_norm(name("ffn_sub_norm"), middle, gain, parts.hyper().norm_epsilon));
        middle = normed;
    }
    return parts.project(name("ffn_down"), middle, parts.hyper().width);
}

Result<TensorId> add_experts(const DecoderParts& parts, uint32_t layer, TensorId x, TensorId router_input) {
    RIFTJIT_TRY(logits, parts.project(parts.block(layer, "ffn_gate_inp"), router_input, parts.hyper().experts.count));
    return add_chosen_experts(parts, layer, x, logits);
}

Result<TensorId> add_chosen_experts(const DecoderParts& parts, uint32_t layer, TensorId x, TensorId logits) {
    const ExpertHyperparameters& hyper = parts.hyper().experts;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    // Experts may work on rows of a width of their own (nemotron_h_moe).
    const uint32_t latent = parts.weights.rows_of(name("ffn_latent_down.weight"));
    TensorId rows = x;
    if (latent != 0) {
        RIFTJIT_TRY(down, parts.project(name("ffn_latent_down"), x, latent));
        rows = down;
    }
    RIFTJIT_TRY(tensors, expert_tensors(parts, layer, parts.graph.tensor(rows).width));
    TensorId shared = kNoTensor;
    if (parts.weights.has(name("ffn_up_shexp.weight"))) {
        RIFTJIT_TRY(added, add_shared_expert(parts, layer, x));
        shared = added;
        if (parts.weights.has(name("ffn_gate_inp_shexp.weight"))) {
            RIFTJIT_TRY(gate, parts.weights.matrix(name("ffn_gate_inp_shexp.weight"), 1, parts.hyper().width));
            RIFTJIT_TRY(gate_rows, parts.graph.matmul(name("ffn_gate_inp_shexp"), x, gate));
            tensors.shared_gate = gate_rows;
        }
    }
    if (latent == 0) tensors.shared = shared;
    const graph::ExpertTraits traits{hyper.used,   hyper.scoring,     hyper.is_normed,          hyper.scale,
                                     hyper.groups, hyper.groups_used, parts.decoder.activation, hyper.weighs_inputs};
    RIFTJIT_TRY(mixed, parts.graph.experts(name("ffn_experts"), rows, logits, tensors, traits));
    if (latent == 0)
        return hyper.averages_shared && shared != kNoTensor ? parts.graph.scale(name("ffn_mean"), mixed, 0.5f)
                                                            : Result<TensorId>(mixed);
    RIFTJIT_TRY(up, parts.project(name("ffn_latent_up"), mixed, parts.hyper().width));
    return shared == kNoTensor ? Result<TensorId>(up) : parts.graph.add(name("ffn_shared"), up, shared);
}

Result<TensorId> add_feed_forward(const DecoderParts& parts, uint32_t layer, TensorId x, TensorId router_input) {
    return has_router(parts, layer) ? add_experts(parts, layer, x, router_input)
                                    : add_dense_feed_forward(parts, layer, x);
}

}  // namespace riftjit::models
