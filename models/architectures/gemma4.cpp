// gemma4: gemma's blocks with norms over each head of Q, K and V. Most layers see a window, and have heads of their own
// size and a base of their own; some at the end may read the keys and values of others. A token may bring a row to each
// layer (layer_inputs.h), and there may be a mixture of experts beside the dense block.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/hyperparameters.h"
#include "models/architectures/layer_inputs.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

Result<void> read_local_heads(const Gguf& file, Hyperparameters& result) {
    constexpr uint32_t kHeadDimMultiple = 8;
    RIFTJIT_TRY(size, file.integer("gemma4.attention.key_length_swa", 1, result.head_dim));
    const auto head_dim = static_cast<uint32_t>(size.value_or(result.head_dim));
    RIFTJIT_TRY(rotated, file.integer("gemma4.rope.dimension_count_swa", 0, head_dim));
    const auto rotary_dims = static_cast<uint32_t>(rotated.value_or(head_dim));
    if (head_dim % kHeadDimMultiple != 0 || rotary_dims % 2 != 0)
        return fail(ErrorKind::Unsupported,
                    "{}: heads of {} elements, {} of them rotated (gemma4.attention.key_length_swa, "
                    "rope.dimension_count_swa), are unsupported: multiples of {} and 2 are",
                    printable_path(file.path()), head_dim, rotary_dims, kHeadDimMultiple);
    result.local_rope.rotary_dims = rotary_dims;
    for (LayerTraits& layer : result.layer)
        if (layer.is_local) layer.head_dim = head_dim;
    return {};
}

Result<Hyperparameters> read_gemma4(const Gguf& file) {
    RIFTJIT_TRY(experts, file.integer("gemma4.expert_count", 0, kMaxExperts));
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "gemma4",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window final_logit_softcapping "
                                                                   "attention.shared_kv_layers "
                                                                   "embedding_length_per_layer_input",
                                                    .is_partly_rotated = true,
                                                    .has_experts = true,
                                                    .layers_differ = true}));
    result.embedding_scale = std::sqrt(static_cast<float>(result.width));
    result.attention_scale = 1;
    RIFTJIT_TRY_VOID(read_windows(file, {0, 6, 10000}, result));
    RIFTJIT_TRY_VOID(read_local_heads(file, result));
    RIFTJIT_TRY_VOID(read_layer_sharing(file, result));
    RIFTJIT_TRY(logit_softcap, read_factor(file, "gemma4", "final_logit_softcapping", 0));
    result.logit_softcap = logit_softcap;
    if (experts.value_or(0) != 0) RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

// The router sees norm(x) / sqrt(width), whose gain is ffn_gate_inp.scale.
Result<TensorId> route(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const Hyperparameters& hyper = parts.hyper();
    RIFTJIT_TRY(gain, parts.weights.vector(name("ffn_gate_inp.scale"), hyper.width));
    RIFTJIT_TRY(normed, parts.graph.rms_norm(name("router_norm"), x, gain, hyper.norm_epsilon));
    RIFTJIT_TRY(scaled,
                parts.graph.scale(name("router_input"), normed, 1 / std::sqrt(static_cast<float>(hyper.width))));
    RIFTJIT_TRY(weight, parts.weights.matrix(name("ffn_gate_inp.weight"), hyper.experts.count, hyper.width));
    return parts.graph.matmul(name("ffn_gate_inp"), scaled, weight);
}

Result<TensorId> feed_forward(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    RIFTJIT_TRY(normed, parts.norm(name("ffn_norm"), x));
    RIFTJIT_TRY(dense, add_dense_feed_forward(parts, layer, normed));
    if (!has_router(parts, layer)) return dense;
    RIFTJIT_TRY(dense_normed, parts.norm(name("post_ffw_norm_1"), dense));
    RIFTJIT_TRY(logits, route(parts, layer, x));
    RIFTJIT_TRY(experts_input, parts.norm(name("pre_ffw_norm_2"), x));
    RIFTJIT_TRY(mixed, add_chosen_experts(parts, layer, experts_input, logits));
    RIFTJIT_TRY(mixed_normed, parts.norm(name("post_ffw_norm_2"), mixed));
    return parts.graph.add(name("ffn_sum"), dense_normed, mixed_normed);
}

Result<TensorId> end_of_block(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    TensorId out = x;
    if (parts.layer_inputs != kNoTensor) {
        RIFTJIT_TRY(branch, add_layer_input(parts, layer, x));
        RIFTJIT_TRY(sum, parts.graph.add(name("layer_input_residual"), x, branch));
        out = sum;
    }
    RIFTJIT_TRY(scale, parts.weights.optional_scalar(name("layer_output_scale.weight")));
    return scale ? parts.graph.scale(name("layer_output_scale"), out, *scale) : Result<TensorId>(out);
}

Result<BuiltGraph> build_gemma4(const Model& model) {
    return build_decoder(model,
                         {.branches = DecoderTraits::Branches::normed_both,
                          .head_norms = DecoderTraits::HeadNorms::each_head,
                          .activation = Activation::gelu_tanh,
                          .has_value_norms = true,
                          .keys_may_be_values = true,
                          .layer_inputs = model.hyperparameters.layer_input_width != 0 ? add_layer_inputs : nullptr,
                          .feed_forward = feed_forward,
                          .end_of_block = end_of_block});
}

}  // namespace

const Architecture kGemma4 = {"gemma4", read_gemma4, build_gemma4};

}  // namespace riftjit::models
