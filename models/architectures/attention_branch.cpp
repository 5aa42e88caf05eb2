// Attention with grouped queries, as most families have it.
#include "models/architectures/decoder_parts.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

using HeadNorms = DecoderTraits::HeadNorms;

struct Projected {
    TensorId q, k, v;  // k and v: kNoTensor where another layer's are read
};

// Of a table that has the rows of each head's query and then those of its gate.
Result<TensorId> project_query_half(const DecoderParts& parts, uint32_t layer, TensorId x, std::string_view part,
                                    uint32_t first) {
    const std::string name = parts.block(layer, "attn_q");
    const uint32_t dim = parts.traits(layer).head_dim, rows = 2 * parts.traits(layer).heads * dim;
    RIFTJIT_TRY(weight, parts.weights.matrix_row_groups(name + ".weight", rows, parts.hyper().width, first, dim,
                                                        2 * dim, part));
    return parts.project(name, x, weight, kNoTensor);
}

// One table holds the rows of Q, then K, then V; its biases may be fused or not.
Result<Projected> project_fused_qkv(const DecoderParts& parts, uint32_t layer, TensorId x, uint32_t q_rows,
                                    uint32_t kv_rows, bool has_own_keys) {
    const std::string fused = parts.block(layer, "attn_qkv");
    const uint32_t rows = q_rows + 2 * kv_rows;
    const auto project_part = [&](std::string_view part, uint32_t first, uint32_t count) -> Result<TensorId> {
        const std::string name = parts.block(layer, fmt::format("attn_{}", part));
        RIFTJIT_TRY(weight,
                    parts.weights.matrix_rows(fused + ".weight", rows, parts.hyper().width, first, count, part));
        RIFTJIT_TRY(bias, parts.weights.has(fused + ".bias")
                              ? parts.weights.vector_part(fused + ".bias", rows, first, count, part)
                              : parts.weights.optional_vector(name + ".bias", count));
        return parts.project(name, x, weight, bias);
    };
    RIFTJIT_TRY(q, project_part("q", 0, q_rows));
    if (!has_own_keys) return Projected{q, kNoTensor, kNoTensor};
    RIFTJIT_TRY(k, project_part("k", q_rows, kv_rows));
    RIFTJIT_TRY(v, project_part("v", q_rows + kv_rows, kv_rows));
    return Projected{q, k, v};
}

Result<Projected> project_whole_qkv(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const LayerTraits& traits = parts.traits(layer);
    const uint32_t q_rows = traits.heads * traits.head_dim, kv_rows = traits.kv_heads * traits.head_dim;
    const bool has_own_keys = !traits.kv_layer;
    if (parts.weights.has(parts.block(layer, "attn_qkv.weight")))
        return project_fused_qkv(parts, layer, x, q_rows, kv_rows, has_own_keys);
    RIFTJIT_TRY(q, parts.decoder.has_query_gates ? project_query_half(parts, layer, x, "q", 0)
                                                 : parts.project(parts.block(layer, "attn_q"), x, q_rows));
    if (!has_own_keys) return Projected{q, kNoTensor, kNoTensor};
    RIFTJIT_TRY(k, parts.project(parts.block(layer, "attn_k"), x, kv_rows));
    const std::string v_name = parts.block(layer, "attn_v");
    if (parts.decoder.keys_may_be_values && !parts.weights.has(v_name + ".weight")) return Projected{q, k, k};
    RIFTJIT_TRY(v, parts.project(v_name, x, kv_rows));
    return Projected{q, k, v};
}

Result<Projected> project_qkv(const DecoderParts& parts, uint32_t layer, TensorId x) {
    RIFTJIT_TRY(projected, project_whole_qkv(parts, layer, x));
    const float limit = parts.hyper().qkv_limit;
    if (limit == 0) return projected;
    Projected limited = projected;
    for (TensorId* rows : {&limited.q, &limited.k, &limited.v}) {
        if (*rows == kNoTensor) continue;
        RIFTJIT_TRY(within, parts.graph.elementwise(
                                parts.graph.tensor(*rows).name + ".limited", parts.graph.tensor(*rows).width, {{*rows}},
                                {{ElementwiseOp::at_least, 0, 0, -limit}, {ElementwiseOp::at_most, 1, 0, limit}}));
        *rows = within;
    }
    return limited;
}

Result<TensorId> norm_heads(const DecoderParts& parts, uint32_t layer, const std::string& name, TensorId x) {
    const HeadNorms norms = parts.decoder.head_norms;
    const bool is_whole = norms == HeadNorms::whole_row || norms == HeadNorms::whole_row_if_there;
    if (is_whole && parts.decoder.norm == DecoderTraits::Norm::layer) return parts.norm(name, x);
    const uint32_t width = parts.graph.tensor(x).width, dim = parts.traits(layer).head_dim;
    const float epsilon = parts.hyper().norm_epsilon;
    if (norms == HeadNorms::own_gains) {
        RIFTJIT_TRY(gain, parts.weights.rows_as_vector(name + ".weight", width / dim, dim));
        return parts.graph.rms_norm(name, x, gain, epsilon, dim);
    }
    RIFTJIT_TRY(gain, parts.weights.vector(name + ".weight", is_whole ? width : dim));
    return parts.graph.rms_norm(name, x, gain, epsilon, is_whole ? 0 : dim);
}

bool are_optional(HeadNorms norms) {
    return norms == HeadNorms::each_head_if_there || norms == HeadNorms::whole_row_if_there;
}

void temper(graph::RopeAngles& angles, const Hyperparameters& hyper) {
    angles.temperature = hyper.query_temperature.factor;
    angles.temperature_offset = hyper.query_temperature.offset;
    angles.original_context = hyper.query_temperature.length;
}

}  // namespace

Result<TensorId> position_heads(const DecoderParts& parts, uint32_t layer, std::string_view what, TensorId x) {
    const Hyperparameters& hyper = parts.hyper();
    const LayerTraits& traits = parts.traits(layer);
    const HeadNorms norms = parts.decoder.head_norms;
    const std::string norm_name = parts.block(layer, fmt::format("attn_{}_norm", what));
    TensorId heads = x;
    if (norms == HeadNorms::each_head || norms == HeadNorms::whole_row || norms == HeadNorms::own_gains ||
        (are_optional(norms) && parts.weights.has(norm_name + ".weight"))) {
        RIFTJIT_TRY(normed, norm_heads(parts, layer, norm_name, heads));
        heads = normed;
    }
    const bool is_tempered = what == "q" && traits.is_tempered && hyper.query_temperature.factor != 0;
    // One rotation may do both: of whole heads, where what angles and temperatures are counted from is the same.
    const bool rotates_whole = traits.rotates && hyper.rope.rotary_dims == traits.head_dim &&
                               hyper.query_temperature.length == hyper.rope.original_context;
    if (traits.rotates) {
        graph::RopeAngles angles = traits.is_local ? hyper.local_rope : hyper.rope;
        if (is_tempered && rotates_whole) temper(angles, hyper);
        const bool has_factors = !traits.is_local || hyper.local_rope == hyper.rope;
        RIFTJIT_TRY(rotated,
                    parts.graph.rope(parts.block(layer, fmt::format("rope_{}", what)), heads, traits.head_dim,
                                     hyper.pairing, angles, has_factors ? parts.rope_factors : graph::RopeFactors{}));
        heads = rotated;
    }
    if (is_tempered && !rotates_whole) {  // by angles of 0
        graph::RopeAngles angles{.rotary_dims = traits.head_dim, .base = hyper.rope.base, .scale = 0};
        temper(angles, hyper);
        RIFTJIT_TRY(tempered,
                    parts.graph.rope(parts.block(layer, "temper_q"), heads, traits.head_dim, hyper.pairing, angles));
        heads = tempered;
    }
    if (norms == HeadNorms::late_without_gain && traits.rotates)
        return parts.graph.rms_norm(norm_name, heads, parts.weights.ones(traits.head_dim), hyper.norm_epsilon,
                                    traits.head_dim);
    return norms == HeadNorms::each_head_late ? norm_heads(parts, layer, norm_name, heads) : Result<TensorId>(heads);
}

Result<TensorId> add_attention(DecoderParts& parts, uint32_t layer, TensorId x) {
    const Hyperparameters& hyper = parts.hyper();
    if (hyper.latent.kv_rank != 0) return add_latent_attention(parts, layer, x);
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const LayerTraits& layer_traits = parts.traits(layer);
    RIFTJIT_TRY(projected, project_qkv(parts, layer, x));
    RIFTJIT_TRY(q, position_heads(parts, layer, "q", projected.q));
    TensorId k = kNoTensor, v = projected.v;
    if (layer_traits.kv_layer) {
        parts.kv_slots[layer] = parts.kv_slots[*layer_traits.kv_layer];
        for (const char* own : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"})  // which some files keep
            parts.weights.pass_over(name(own));
    } else {
        RIFTJIT_TRY(positioned, position_heads(parts, layer, "k", projected.k));
        k = positioned;
        if (parts.decoder.has_value_norms) {
            RIFTJIT_TRY(normed, parts.graph.rms_norm(name("attn_v_norm"), v, parts.weights.ones(layer_traits.head_dim),
                                                     hyper.norm_epsilon, layer_traits.head_dim));
            v = normed;
        }
        parts.kv_slots[layer] =
            parts.graph.add_slot({name("kv"), graph::KvSlot{layer_traits.kv_heads, layer_traits.head_dim}});
    }
    graph::AttentionTraits traits{hyper.attention_softcap, layer_traits.window};
    traits.alibi = hyper.max_alibi_bias;
    traits.chunk = layer_traits.chunk;
    traits.sight = hyper.is_encoder ? Sight::whole : Sight::causal;
    if (parts.decoder.has_sinks) {
        RIFTJIT_TRY(sinks, parts.weights.vector(name("attn_sinks.weight"), layer_traits.heads));
        traits.sinks = sinks;
    }
    RIFTJIT_TRY(attended, parts.graph.attention(name("attn"), q, k, v, parts.kv_slots[layer], layer_traits.heads,
                                                hyper.attention_scale, traits));
    TensorId out = attended;
    if (parts.decoder.has_query_gates || parts.decoder.has_attention_gates) {
        const uint32_t rows = layer_traits.heads * layer_traits.head_dim;
        RIFTJIT_TRY(gate, parts.decoder.has_query_gates
                              ? project_query_half(parts, layer, x, "gate", layer_traits.head_dim)
                              : parts.project(name("attn_gate"), x, rows));
        RIFTJIT_TRY(gated, parts.graph.swiglu(name("attn_gated"), gate, out, Activation::sigmoid));
        out = gated;
    }
    if (parts.decoder.has_sub_norms) {
        RIFTJIT_TRY(gain, parts.weights.vector(name("attn_sub_norm.weight"), parts.graph.tensor(out).width));
        RIFTJIT_TRY(normed, parts.graph.rms_norm(name("attn_sub_norm"), out, gain, hyper.norm_epsilon));
        out = normed;
    }
    return parts.project(name("attn_output"), out, hyper.width);
}

}  // namespace riftjit::models
