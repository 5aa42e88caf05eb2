// grok: norms on both sides of each branch, capped scores, a mixture of experts with GELU, in grok 2 beside a dense
// block.
#include <cmath>
#include <numbers>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder_parts.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

// The fallbacks are grok 1's, whose files have no keys for them.
Result<Hyperparameters> read_grok(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "grok",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "embedding_scale logit_scale attention.output_scale "
                                                                   "attn_logit_softcapping final_logit_softcapping "
                                                                   "router_logit_softcapping",
                                                    .has_experts = true}));
    const auto read = [&](std::string_view suffix, float fallback) {
        return read_factor(file, "grok", suffix, fallback);
    };
    RIFTJIT_TRY(embedding, read("embedding_scale", 78.38367176906169f));
    RIFTJIT_TRY(logit, read("logit_scale", 0.5773502691896257f));
    RIFTJIT_TRY(attention, read("attention.output_scale", 0.08838834764831845f));
    RIFTJIT_TRY(attention_softcap, read("attn_logit_softcapping", 30));
    RIFTJIT_TRY(logit_softcap, read("final_logit_softcapping", 0));
    result.embedding_scale = embedding;
    result.logit_scale = logit;
    result.attention_scale = attention;
    result.attention_softcap = attention_softcap;
    result.logit_softcap = logit_softcap;
    RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

// (dense + experts) / sqrt(2) where there is a dense block.
Result<graph::TensorId> grok_feed_forward(const DecoderParts& parts, uint32_t layer, graph::TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    RIFTJIT_TRY(normed, parts.norm(name("ffn_norm"), x));
    RIFTJIT_TRY(mixed, add_experts(parts, layer, normed, normed));
    if (!parts.weights.has(name("ffn_up.weight"))) return mixed;
    RIFTJIT_TRY(dense, add_dense_feed_forward(parts, layer, normed));
    RIFTJIT_TRY(sum, parts.graph.add(name("ffn_sum"), dense, mixed));
    return parts.graph.scale(name("ffn_mean"), sum, static_cast<float>(1 / std::numbers::sqrt2));
}

Result<BuiltGraph> build_grok(const Model& model) {
    const bool has_old_name = model.file.find_tensor("blk.0.layer_output_norm.weight") != nullptr;
    return build_decoder(model, {.branches = DecoderTraits::Branches::normed_both,
                                 .activation = Activation::gelu_tanh,
                                 .post_attention_norm = "attn_output_norm",
                                 .post_ffw_norm = has_old_name ? "layer_output_norm" : "post_ffw_norm",
                                 .feed_forward = grok_feed_forward});
}

}  // namespace

const Architecture kGrok = {"grok", read_grok, build_grok};

}  // namespace riftjit::models
