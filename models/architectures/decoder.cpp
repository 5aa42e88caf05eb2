#include "models/architectures/decoder.h"

#include <cmath>

#include "models/architectures/decoder_parts.h"
#include "models/architectures/output_head.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

Result<TensorId> read_factors(const BlockParts& parts, std::string_view name) {
    const uint32_t pairs = parts.hyper().rope.rotary_dims / 2;
    RIFTJIT_TRY(factors, parts.weights.optional_vector(name, pairs));
    if (factors == kNoTensor) return factors;
    const auto* values = reinterpret_cast<const float*>(parts.graph.tensor(factors).data);
    for (uint32_t i = 0; i < pairs; ++i)
        if (!(values[i] > 0) || !std::isfinite(values[i]))
            return fail(ErrorKind::Format, "{}: element {} is {}; it divides a frequency and must be above 0",
                        parts.model.file.place_of(*parts.model.file.find_tensor(name)), i, values[i]);
    return factors;
}

}  // namespace

Result<graph::RopeFactors> read_rope_factors(const BlockParts& parts) {
    const Weights& weights = parts.weights;
    const bool has_two = weights.has("rope_factors_short.weight") && weights.has("rope_factors_long.weight");
    if (parts.hyper().needs_rope_factors && !has_two)
        return fail(ErrorKind::Format,
                    "{}: {}.rope.scaling.type is 'longrope', but tensors 'rope_factors_short.weight' and "
                    "'rope_factors_long.weight' are not both there",
                    printable_path(parts.model.file.path()), parts.hyper().architecture);
    if (has_two && !weights.has("rope_freqs.weight")) {
        RIFTJIT_TRY(usual, read_factors(parts, "rope_factors_short.weight"));
        RIFTJIT_TRY(far, read_factors(parts, "rope_factors_long.weight"));
        return graph::RopeFactors{usual, far};
    }
    RIFTJIT_TRY(usual, read_factors(parts, "rope_freqs.weight"));
    return graph::RopeFactors{usual, kNoTensor};
}

Result<TensorId> DecoderParts::scale_by(const std::string& name, TensorId x, float factor) const {
    return factor == 1.0f ? Result<TensorId>(x) : graph.scale(name, x, factor);
}

Result<TensorId> DecoderParts::norm(const std::string& name, TensorId x) const {
    const uint32_t width = hyper().width;
    const float epsilon = hyper().norm_epsilon;
    if (decoder.norm == DecoderTraits::Norm::layer_without_gain)
        return graph.layer_norm(name, x, weights.ones(width), kNoTensor, epsilon);
    // Some files leave out the end of a norm's name.
    const bool is_bare = !weights.has(name + ".weight") && weights.has(name);
    RIFTJIT_TRY(gain, weights.vector(is_bare ? name : name + ".weight", width));
    if (decoder.norm == DecoderTraits::Norm::rms) return graph.rms_norm(name, x, gain, epsilon);
    RIFTJIT_TRY(bias, weights.optional_vector(name + ".bias", width));
    return graph.layer_norm(name, x, gain, bias, epsilon);
}

Result<void> add_output(const DecoderParts& parts, TensorId x, TensorId table) {
    // Before the norm: only rows that are wanted are normed and projected.
    RIFTJIT_TRY(rows, parts.graph.gather_rows("output_rows", x));
    const std::string_view name = parts.decoder.output_norm;
    RIFTJIT_TRY(normed, name.empty() ? Result<TensorId>(rows) : parts.norm(std::string(name), rows));
    RIFTJIT_TRY(output, add_output_head(parts, normed, table));
    parts.graph.logits = output;
    return {};
}

namespace {

class DecoderBuilder {
public:
    DecoderBuilder(const Model& model, const DecoderTraits& decoder)
        : hyper_(model.hyperparameters), weights_(model, graph_), parts_{{model, graph_, weights_}, decoder} {
        parts_.kv_slots.resize(hyper_.layers);
    }

    Result<BuiltGraph> run() {
        RIFTJIT_TRY(table, weights_.matrix("token_embd.weight", hyper_.vocabulary, hyper_.width));
        RIFTJIT_TRY(factors, read_rope_factors(parts_));
        parts_.rope_factors = factors;
        parts_.token_ids = graph_.add_input("token_ids");
        RIFTJIT_TRY(embedded, graph_.embed("token_embd", parts_.token_ids, table));
        RIFTJIT_TRY(scaled, parts_.scale_by("token_embd.scale", embedded, hyper_.embedding_scale));
        RIFTJIT_TRY(typed, decoder().has_token_types ? add_first_type(scaled) : Result<TensorId>(scaled));
        RIFTJIT_TRY(placed, decoder().has_position_table ? add_positions(typed) : Result<TensorId>(typed));
        RIFTJIT_TRY(first, decoder().has_embedding_norm ? norm("token_embd_norm", placed) : Result<TensorId>(placed));
        if (decoder().layer_inputs != nullptr) {
            RIFTJIT_TRY(inputs, decoder().layer_inputs(parts_, first));
            parts_.layer_inputs = inputs;
        }
        TensorId x = first;
        for (uint32_t layer = 0; layer < hyper_.layers; ++layer) {
            RIFTJIT_TRY(out, add_block(layer, x));
            x = out;
        }
        RIFTJIT_TRY_VOID(add_output(parts_, x, table));
        if (hyper_.experts.count != 0 && !has_router_)  // names the tensor that is missing
            RIFTJIT_TRY_VOID(weights_.matrix("blk.0.ffn_gate_inp.weight", hyper_.experts.count, hyper_.width));
        return BuiltGraph{std::move(graph_), weights_.used()};
    }

private:
    using Branches = DecoderTraits::Branches;

    static std::string block(uint32_t layer, std::string_view what) { return BlockParts::block(layer, what); }
    const DecoderTraits& decoder() const { return parts_.decoder; }
    Result<TensorId> norm(const std::string& name, TensorId x) const { return parts_.norm(name, x); }

    // Texts of one part have but this type.
    Result<TensorId> add_first_type(TensorId x) {
        if (!weights_.has("token_types.weight")) return x;
        RIFTJIT_TRY(type, weights_.first_row("token_types.weight", hyper_.width));
        return graph_.add("token_type", x, type);
    }

    Result<TensorId> add_positions(TensorId x) {
        RIFTJIT_TRY(table, weights_.matrix("position_embd.weight", hyper_.context_length, hyper_.width));
        RIFTJIT_TRY(rows,
                    graph_.embed("position_embd", graph_.add_input("positions", graph::TensorKind::positions), table));
        return graph_.add("embedded", x, rows);
    }

    Result<TensorId> norm_before(const std::string& name, TensorId x) {
        if (!decoder().has_every_norm && !weights_.has(name + ".weight")) return x;
        return decoder().branches == Branches::normed_after ? Result<TensorId>(x) : norm(name, x);
    }

    // x + branch, which is normed and scaled first where the family does so.
    Result<TensorId> join(uint32_t layer, std::string_view post_norm, std::string_view name, TensorId x,
                          TensorId branch) {
        TensorId out = branch;
        if (decoder().branches == Branches::normed_after || decoder().branches == Branches::normed_both) {
            RIFTJIT_TRY(normed, norm(block(layer, post_norm), out));
            out = normed;
        }
        RIFTJIT_TRY(scaled, parts_.scale_by(block(layer, fmt::format("{}.scale", name)), out, hyper_.residual_scale));
        return graph_.add(block(layer, name), x, scaled);
    }

    Result<TensorId> mix(uint32_t layer, TensorId x) {
        using Mixer = LayerTraits::Mixer;
        const Mixer mixer = hyper_.layer[layer].mixer;
        if (mixer == Mixer::attention) return add_attention(parts_, layer, x);
        if (mixer == Mixer::rwkv6 || mixer == Mixer::rwkv7) return add_time_mixing(parts_, layer, x);
        if (mixer != Mixer::attention_and_mamba2) return add_mixer(parts_, layer, x);
        RIFTJIT_TRY(attended, add_attention(parts_, layer, x));
        RIFTJIT_TRY(mixed, add_mixer(parts_, layer, x));
        return graph_.add(block(layer, "mixed"), attended, mixed);
    }

    Result<TensorId> feed_forward(uint32_t layer, TensorId x, TensorId router_input) {
        has_router_ = has_router_ || has_router(parts_, layer);
        return riftjit::models::add_feed_forward(parts_, layer, x, router_input);
    }

    // ---- blocks ----

    Result<TensorId> add_block(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(out, add_block_of_kind(layer, x));
        return decoder().end_of_block == nullptr ? Result<TensorId>(out) : decoder().end_of_block(parts_, layer, out);
    }

    Result<TensorId> add_block_of_kind(uint32_t layer, TensorId x) {
        if (decoder().branches == Branches::parallel) return add_parallel(layer, x);
        return decoder().branches == Branches::normed_sums ? add_normed_sums(layer, x) : add_branches(layer, x);
    }

    Result<TensorId> add_normed_sums(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(attended, add_attention(parts_, layer, x));
        RIFTJIT_TRY(sum, graph_.add(block(layer, "attn_residual"), x, attended));
        RIFTJIT_TRY(normed, norm(block(layer, "attn_output_norm"), sum));
        TensorId middle = normed;
        if (const std::string second = block(layer, "attn_norm_2"); weights_.has(second + ".weight")) {
            RIFTJIT_TRY(more, graph_.add(block(layer, "attn_residual_2"), x, normed));
            RIFTJIT_TRY(normed_again, norm(second, more));
            middle = normed_again;
        }
        RIFTJIT_TRY(fed, feed_forward(layer, middle, middle));
        RIFTJIT_TRY(out, graph_.add(block(layer, "ffn_residual"), middle, fed));
        return norm(block(layer, "layer_output_norm"), out);
    }

    Result<TensorId> add_branches(uint32_t layer, TensorId x) {
        const LayerTraits& traits = hyper_.layer[layer];
        if (traits.mixer == LayerTraits::Mixer::none) {
            if (!traits.has_feed_forward) return x;
            // The only branch has the first norm, where there is one.
            const bool has_first = weights_.has(block(layer, "attn_norm.weight"));
            return add_feed_forward(layer, x, x, has_first ? "attn_norm" : decoder().ffn_norm);
        }
        RIFTJIT_TRY(attention_input, norm_before(block(layer, "attn_norm"), x));
        RIFTJIT_TRY(attended, mix(layer, attention_input));
        RIFTJIT_TRY(middle, join(layer, decoder().post_attention_norm, "attn_residual", x, attended));
        if (!traits.has_feed_forward) return middle;
        if (decoder().has_parallel_experts) return add_dense_and_experts(layer, x, middle);
        return add_feed_forward(layer, x, middle, decoder().ffn_norm);
    }

    Result<TensorId> add_feed_forward(uint32_t layer, TensorId block_input, TensorId x, std::string_view norm_name) {
        if (decoder().feed_forward != nullptr) {
            has_router_ = has_router_ || has_router(parts_, layer);
            RIFTJIT_TRY(fed, decoder().feed_forward(parts_, layer, x));
            return join(layer, decoder().post_ffw_norm, "ffn_residual", x, fed);
        }
        RIFTJIT_TRY(ffn_input, norm_before(block(layer, norm_name), x));
        RIFTJIT_TRY(fed, feed_forward(layer, ffn_input, decoder().routes_block_input ? block_input : ffn_input));
        return join(layer, decoder().post_ffw_norm, "ffn_residual", x, fed);
    }

    Result<TensorId> add_dense_and_experts(uint32_t layer, TensorId block_input, TensorId x) {
        RIFTJIT_TRY(ffn_input, norm(block(layer, decoder().ffn_norm), x));
        RIFTJIT_TRY(fed, add_dense_feed_forward(parts_, layer, ffn_input));
        RIFTJIT_TRY(dense, join(layer, "", "ffn_residual", x, fed));
        RIFTJIT_TRY(experts_input, norm(block(layer, "ffn_norm_exps"), block_input));
        has_router_ = true;
        RIFTJIT_TRY(mixed, add_experts(parts_, layer, experts_input, experts_input));
        return join(layer, "", "experts_residual", dense, mixed);
    }

    Result<TensorId> add_parallel(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(normed, norm(block(layer, "attn_norm"), x));
        TensorId attention_input = normed, ffn_input = normed;
        if (const std::string name = block(layer, decoder().ffn_norm); weights_.has(name + ".weight")) {
            RIFTJIT_TRY(second, norm(name, x));
            ffn_input = second;
        } else if (const std::string other = block(layer, "attn_norm_2"); weights_.has(other + ".weight")) {
            RIFTJIT_TRY(second, norm(other, x));
            attention_input = second;
        }
        RIFTJIT_TRY(attended, add_attention(parts_, layer, attention_input));
        RIFTJIT_TRY(middle, join(layer, "", "attn_residual", x, attended));
        RIFTJIT_TRY(fed, feed_forward(layer, ffn_input, ffn_input));
        return join(layer, "", "ffn_residual", middle, fed);
    }

    const Hyperparameters& hyper_;
    graph::Graph graph_;
    Weights weights_;
    DecoderParts parts_;
    bool has_router_ = false;  // some layer
};

}  // namespace

Result<BuiltGraph> build_decoder(const Model& model, const DecoderTraits& decoder) {
    return DecoderBuilder(model, decoder).run();
}

}  // namespace riftjit::models
