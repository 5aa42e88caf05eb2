#include "models/architectures/decoder.h"

#include <cmath>

#include "models/architectures/block_parts.h"
#include "models/architectures/output_head.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

class DecoderBuilder {
public:
    DecoderBuilder(const Model& model, const DecoderTraits& decoder)
        : model_(model), decoder_(decoder), hyper_(model.hyperparameters), weights_(model, graph_) {}

    Result<BuiltGraph> run() {
        RIFTJIT_TRY(table, weights_.matrix("token_embd.weight", hyper_.vocabulary, hyper_.width));
        RIFTJIT_TRY_VOID(read_rope_factors());
        RIFTJIT_TRY(embedded, graph_.embed("token_embd", graph_.add_input("token_ids"), table));
        RIFTJIT_TRY(scaled, scale_by("token_embd.scale", embedded, hyper_.embedding_scale));
        RIFTJIT_TRY(typed, decoder_.has_token_types ? add_first_type(scaled) : Result<TensorId>(scaled));
        RIFTJIT_TRY(placed, decoder_.has_position_table ? add_positions(typed) : Result<TensorId>(typed));
        RIFTJIT_TRY(first, decoder_.has_embedding_norm ? norm("token_embd_norm", placed) : Result<TensorId>(placed));
        TensorId x = first;
        for (uint32_t layer = 0; layer < hyper_.layers; ++layer) {
            RIFTJIT_TRY(out, add_layer(layer, x));
            x = out;
        }
        // Before the norm: only rows that are wanted are normed and projected.
        RIFTJIT_TRY(rows, graph_.gather_rows("output_rows", x));
        RIFTJIT_TRY(normed, decoder_.output_norm.empty() ? Result<TensorId>(rows)
                                                         : norm(std::string(decoder_.output_norm), rows));
        RIFTJIT_TRY(output, add_output(parts_, normed, table));
        graph_.logits = output;
        if (hyper_.experts.count != 0 && !has_router_)  // names the tensor that is missing
            RIFTJIT_TRY_VOID(weights_.matrix("blk.0.ffn_gate_inp.weight", hyper_.experts.count, hyper_.width));
        return BuiltGraph{std::move(graph_), weights_.used()};
    }

private:
    using Branches = DecoderTraits::Branches;
    using HeadNorms = DecoderTraits::HeadNorms;

    static std::string block(uint32_t layer, std::string_view what) { return BlockParts::block(layer, what); }

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

    // ---- rope ----

    // One of llama 3's frequencies, or two of longrope's: for short contexts and for long ones.
    Result<void> read_rope_factors() {
        const bool has_two = weights_.has("rope_factors_short.weight") && weights_.has("rope_factors_long.weight");
        if (hyper_.needs_rope_factors && !has_two)
            return fail(ErrorKind::Format,
                        "{}: {}.rope.scaling.type is 'longrope', but tensors 'rope_factors_short.weight' and "
                        "'rope_factors_long.weight' are not both there",
                        printable_path(model_.file.path()), hyper_.architecture);
        if (has_two && !weights_.has("rope_freqs.weight")) {
            RIFTJIT_TRY(usual, read_rope_factors("rope_factors_short.weight"));
            RIFTJIT_TRY(far, read_rope_factors("rope_factors_long.weight"));
            rope_factors_ = {usual, far};
        } else {
            RIFTJIT_TRY(usual, read_rope_factors("rope_freqs.weight"));
            rope_factors_ = {usual, kNoTensor};
        }
        return {};
    }

    Result<TensorId> read_rope_factors(std::string_view name) {
        const uint32_t pairs = hyper_.rope.rotary_dims / 2;
        RIFTJIT_TRY(factors, weights_.optional_vector(name, pairs));
        if (factors == kNoTensor) return factors;
        const auto* values = reinterpret_cast<const float*>(graph_.tensor(factors).data);
        for (uint32_t i = 0; i < pairs; ++i)
            if (!(values[i] > 0) || !std::isfinite(values[i]))
                return fail(ErrorKind::Format, "{}: element {} is {}; it divides a frequency and must be above 0",
                            model_.file.place_of(*model_.file.find_tensor(name)), i, values[i]);
        return factors;
    }

    // ---- norms and products ----

    Result<TensorId> scale_by(const std::string& name, TensorId x, float factor) {
        return factor == 1.0f ? Result<TensorId>(x) : graph_.scale(name, x, factor);
    }

    Result<TensorId> norm(const std::string& name, TensorId x) {
        if (decoder_.norm == DecoderTraits::Norm::layer_without_gain)
            return graph_.layer_norm(name, x, weights_.ones(hyper_.width), kNoTensor, hyper_.norm_epsilon);
        // Some files leave out the end of a norm's name.
        const bool is_bare = !weights_.has(name + ".weight") && weights_.has(name);
        RIFTJIT_TRY(gain, weights_.vector(is_bare ? name : name + ".weight", hyper_.width));
        if (decoder_.norm == DecoderTraits::Norm::rms) return graph_.rms_norm(name, x, gain, hyper_.norm_epsilon);
        RIFTJIT_TRY(bias, weights_.optional_vector(name + ".bias", hyper_.width));
        return graph_.layer_norm(name, x, gain, bias, hyper_.norm_epsilon);
    }

    Result<TensorId> norm_before(const std::string& name, TensorId x) {
        if (!decoder_.has_every_norm && !weights_.has(name + ".weight")) return x;
        return decoder_.branches == Branches::normed_after ? Result<TensorId>(x) : norm(name, x);
    }

    // x + branch, which is normed and scaled first where the family does so.
    Result<TensorId> join(uint32_t layer, std::string_view post_norm, std::string_view name, TensorId x,
                          TensorId branch) {
        TensorId out = branch;
        if (decoder_.branches == Branches::normed_after || decoder_.branches == Branches::normed_both) {
            RIFTJIT_TRY(normed, norm(block(layer, post_norm), out));
            out = normed;
        }
        RIFTJIT_TRY(scaled, scale_by(block(layer, fmt::format("{}.scale", name)), out, hyper_.residual_scale));
        return graph_.add(block(layer, name), x, scaled);
    }

    // x W^T [* scale] [+ bias], with the tensors that belong to `name`.
    Result<TensorId> project(const std::string& name, TensorId x, TensorId weight, TensorId bias) {
        return parts_.project(name, x, weight, bias);
    }

    Result<TensorId> project(const std::string& name, TensorId x, uint32_t rows) {
        return parts_.project(name, x, rows);
    }

    // ---- attention ----

    struct Projected {
        TensorId q, k, v;
    };

    Result<Projected> project_qkv(uint32_t layer, TensorId x) {
        const uint32_t q_rows = hyper_.heads * hyper_.head_dim, kv_rows = hyper_.kv_heads * hyper_.head_dim;
        if (weights_.has(block(layer, "attn_qkv.weight"))) return project_fused_qkv(layer, x, q_rows, kv_rows);
        RIFTJIT_TRY(q, decoder_.has_query_gates ? project_query_half(layer, x, "q", 0)
                                                : project(block(layer, "attn_q"), x, q_rows));
        RIFTJIT_TRY(k, project(block(layer, "attn_k"), x, kv_rows));
        RIFTJIT_TRY(v, project(block(layer, "attn_v"), x, kv_rows));
        return Projected{q, k, v};
    }

    // Of a table that has the rows of each head's query and then those of its gate.
    Result<TensorId> project_query_half(uint32_t layer, TensorId x, std::string_view part, uint32_t first) {
        const std::string name = block(layer, "attn_q");
        const uint32_t dim = hyper_.head_dim;
        RIFTJIT_TRY(weight, weights_.matrix_row_groups(name + ".weight", 2 * hyper_.heads * dim, hyper_.width, first,
                                                       dim, 2 * dim, part));
        return project(name, x, weight, kNoTensor);
    }

    // One table holds the rows of Q, then K, then V; its biases may be fused or not.
    Result<Projected> project_fused_qkv(uint32_t layer, TensorId x, uint32_t q_rows, uint32_t kv_rows) {
        const std::string fused = block(layer, "attn_qkv");
        const uint32_t rows = q_rows + 2 * kv_rows;
        const auto project_part = [&](std::string_view part, uint32_t first, uint32_t count) -> Result<TensorId> {
            const std::string name = block(layer, fmt::format("attn_{}", part));
            RIFTJIT_TRY(weight, weights_.matrix_rows(fused + ".weight", rows, hyper_.width, first, count, part));
            RIFTJIT_TRY(bias, weights_.has(fused + ".bias")
                                  ? weights_.vector_part(fused + ".bias", rows, first, count, part)
                                  : weights_.optional_vector(name + ".bias", count));
            return project(name, x, weight, bias);
        };
        RIFTJIT_TRY(q, project_part("q", 0, q_rows));
        RIFTJIT_TRY(k, project_part("k", q_rows, kv_rows));
        RIFTJIT_TRY(v, project_part("v", q_rows + kv_rows, kv_rows));
        return Projected{q, k, v};
    }

    // Head norm where the architecture has it, and the rotation.
    Result<TensorId> position_heads(uint32_t layer, std::string_view what, TensorId x) {
        const std::string norm_name = block(layer, fmt::format("attn_{}_norm", what));
        TensorId heads = x;
        if (decoder_.head_norms == HeadNorms::each_head || decoder_.head_norms == HeadNorms::whole_row ||
            (are_optional(decoder_.head_norms) && weights_.has(norm_name + ".weight"))) {
            RIFTJIT_TRY(normed, norm_heads(norm_name, heads));
            heads = normed;
        }
        if (const LayerTraits& traits = hyper_.layer[layer]; traits.rotates) {
            graph::RopeAngles angles = traits.is_local ? hyper_.local_rope : hyper_.rope;
            if (what == "q") angles.temperature = hyper_.query_temperature;
            RIFTJIT_TRY(
                rotated,
                graph_.rope(
                    block(layer, fmt::format("rope_{}", what)), heads, hyper_.head_dim, hyper_.pairing, angles,
                    traits.is_local && !(hyper_.local_rope == hyper_.rope) ? graph::RopeFactors{} : rope_factors_));
            heads = rotated;
        }
        return decoder_.head_norms == HeadNorms::each_head_late ? norm_heads(norm_name, heads) : heads;
    }

    static bool are_optional(HeadNorms norms) {
        return norms == HeadNorms::each_head_if_there || norms == HeadNorms::whole_row_if_there;
    }

    Result<TensorId> norm_heads(const std::string& name, TensorId x) {
        const bool is_whole =
            decoder_.head_norms == HeadNorms::whole_row || decoder_.head_norms == HeadNorms::whole_row_if_there;
        if (is_whole && decoder_.norm == DecoderTraits::Norm::layer) return norm(name, x);
        RIFTJIT_TRY(gain, weights_.vector(name + ".weight", is_whole ? graph_.tensor(x).width : hyper_.head_dim));
        return graph_.rms_norm(name, x, gain, hyper_.norm_epsilon, is_whole ? 0 : hyper_.head_dim);
    }

    // A head's query meets the latent row itself: its part that is not rotated goes through the transposed matrix of
    // the head's keys (k_b), which are therefore never made; and what values add up to is a latent row, which v_b takes
    // to the head's value. So there is one head of keys, and values are the same rows: [rotated | latent].
    Result<TensorId> attend_latent(uint32_t layer, TensorId x) {
        const LatentHyperparameters& latent = hyper_.latent;
        const auto name = [&](std::string_view what) { return block(layer, what); };
        const uint32_t plain = latent.key_dim - latent.rotated_dims, heads = hyper_.heads;
        TensorId q_in = x;
        if (latent.q_rank != 0) {
            RIFTJIT_TRY(low, project(name("attn_q_a"), x, latent.q_rank));
            RIFTJIT_TRY(gain, weights_.vector(name("attn_q_a_norm.weight"), latent.q_rank));
            RIFTJIT_TRY(normed, graph_.rms_norm(name("attn_q_a_norm"), low, gain, hyper_.norm_epsilon));
            q_in = normed;
        }
        RIFTJIT_TRY(q, project(name(latent.q_rank != 0 ? "attn_q_b" : "attn_q"), q_in, heads * latent.key_dim));
        RIFTJIT_TRY(k_b, weights_.stack(name("attn_k_b.weight"), heads, latent.kv_rank, plain));
        RIFTJIT_TRY(query, graph_.head_product(name("attn_k_b"), q, k_b, 0, plain, latent.rotated_dims));
        RIFTJIT_TRY(rotated_query, position_heads(layer, "q", query));

        const std::string kv_a = name("attn_kv_a_mqa");
        const uint32_t kv_rows = latent.kv_rank + latent.rotated_dims;
        RIFTJIT_TRY(low_rows,
                    weights_.matrix_rows(kv_a + ".weight", kv_rows, hyper_.width, 0, latent.kv_rank, "latent"));
        RIFTJIT_TRY(pe_rows, weights_.matrix_rows(kv_a + ".weight", kv_rows, hyper_.width, latent.kv_rank,
                                                  latent.rotated_dims, "rotated"));
        RIFTJIT_TRY(low, graph_.matmul(kv_a, x, low_rows));
        RIFTJIT_TRY(gain, weights_.vector(name("attn_kv_a_norm.weight"), latent.kv_rank));
        RIFTJIT_TRY(normed, graph_.rms_norm(name("attn_kv_a_norm"), low, gain, hyper_.norm_epsilon));
        RIFTJIT_TRY(pe, graph_.matmul(name("attn_k_pe"), x, pe_rows));
        RIFTJIT_TRY(key, graph_.concat(name("attn_k"), pe, normed));
        RIFTJIT_TRY(rotated_key, position_heads(layer, "k", key));

        const graph::SlotId slot = graph_.add_slot({name("kv"), graph::KvSlot{1, hyper_.head_dim}});
        RIFTJIT_TRY(attended, graph_.attention(name("attn"), rotated_query, rotated_key, rotated_key, slot, heads,
                                               hyper_.attention_scale));
        RIFTJIT_TRY(v_b, weights_.stack(name("attn_v_b.weight"), heads, latent.value_dim, latent.kv_rank));
        RIFTJIT_TRY(values, graph_.head_product(name("attn_v_b"), attended, v_b, latent.rotated_dims));
        return project(name("attn_output"), values, hyper_.width);
    }

    // Of rows that are normed already.
    Result<TensorId> attend(uint32_t layer, TensorId x) {
        if (hyper_.latent.kv_rank != 0) return attend_latent(layer, x);
        RIFTJIT_TRY(projected, project_qkv(layer, x));
        RIFTJIT_TRY(q, position_heads(layer, "q", projected.q));
        RIFTJIT_TRY(k, position_heads(layer, "k", projected.k));
        const graph::SlotId slot =
            graph_.add_slot({block(layer, "kv"), graph::KvSlot{hyper_.kv_heads, hyper_.head_dim}});
        graph::AttentionTraits traits{hyper_.attention_softcap, hyper_.layer[layer].window};
        traits.alibi = hyper_.max_alibi_bias;
        traits.sight = hyper_.is_encoder ? Sight::whole : Sight::causal;
        if (decoder_.has_sinks) {
            RIFTJIT_TRY(sinks, weights_.vector(block(layer, "attn_sinks.weight"), hyper_.heads));
            traits.sinks = sinks;
        }
        RIFTJIT_TRY(attended, graph_.attention(block(layer, "attn"), q, k, projected.v, slot, hyper_.heads,
                                               hyper_.attention_scale, traits));
        if (!decoder_.has_query_gates) return project(block(layer, "attn_output"), attended, hyper_.width);
        RIFTJIT_TRY(gate, project_query_half(layer, x, "gate", hyper_.head_dim));
        RIFTJIT_TRY(gated, graph_.swiglu(block(layer, "attn_gate"), gate, attended, Activation::sigmoid));
        return project(block(layer, "attn_output"), gated, hyper_.width);
    }

    Result<TensorId> mix(uint32_t layer, TensorId x) {
        using Mixer = LayerTraits::Mixer;
        const Mixer mixer = hyper_.layer[layer].mixer;
        if (mixer == Mixer::attention) return attend(layer, x);
        if (mixer != Mixer::attention_and_mamba2) return add_mixer(parts_, layer, x);
        RIFTJIT_TRY(attended, attend(layer, x));
        RIFTJIT_TRY(mixed, add_mixer(parts_, layer, x));
        return graph_.add(block(layer, "mixed"), attended, mixed);
    }

    // ---- the rest ----

    Result<TensorId> feed_forward(uint32_t layer, TensorId x) {
        if (hyper_.experts.count != 0 && weights_.has(block(layer, "ffn_gate_inp.weight"))) return experts(layer, x);
        return dense_feed_forward(layer, x);
    }

    Result<TensorId> dense_feed_forward(uint32_t layer, TensorId x) {
        const auto name = [&](std::string_view what) { return block(layer, what); };
        TensorId gate = kNoTensor, up = kNoTensor;
        if (decoder_.gates_in_up) {
            RIFTJIT_TRY(gate_rows, project_half(layer, x, "gate", 0));
            RIFTJIT_TRY(up_rows, project_half(layer, x, "up", hyper_.ffn_width));
            gate = gate_rows, up = up_rows;
        } else {
            if (decoder_.is_gated) {
                RIFTJIT_TRY(gate_rows, project(name("ffn_gate"), x, hyper_.ffn_width));
                gate = gate_rows;
            }
            RIFTJIT_TRY(up_rows, project(name("ffn_up"), x, hyper_.ffn_width));
            (decoder_.is_gated ? up : gate) = up_rows;
        }
        RIFTJIT_TRY(gated, graph_.swiglu(name("ffn_swiglu"), gate, up, decoder_.activation, hyper_.layer[layer].xielu));
        return project(name("ffn_down"), gated, hyper_.width);
    }

    // ---- mixtures of experts ----

    Result<TensorId> experts(uint32_t layer, TensorId x) {
        const ExpertHyperparameters& hyper = hyper_.experts;
        has_router_ = true;
        const auto name = [&](std::string_view what) { return block(layer, what); };
        RIFTJIT_TRY(logits, project(name("ffn_gate_inp"), x, hyper.count));
        RIFTJIT_TRY(tensors, expert_tensors(layer, x));
        const graph::ExpertTraits traits{hyper.used,   hyper.scoring,     hyper.is_normed,    hyper.scale,
                                         hyper.groups, hyper.groups_used, decoder_.activation};
        return graph_.experts(name("ffn_experts"), x, logits, tensors, traits);
    }

    Result<graph::ExpertTensors> expert_tensors(uint32_t layer, TensorId x) {
        const uint32_t count = hyper_.experts.count, width = hyper_.width;
        const auto name = [&](std::string_view what) { return block(layer, what); };
        graph::ExpertTensors tensors;
        const auto set = [](TensorId& to, const Result<TensorId>& found) -> Result<void> {
            if (!found) return std::unexpected(found.error());
            to = *found;
            return {};
        };
        // One stack may hold each expert's gate and behind it its up.
        const std::string both = name("ffn_gate_up_exps");
        const bool is_joined = weights_.has(both + ".weight");
        const uint32_t inner =
            is_joined ? weights_.rows_of(both + ".weight") / 2 : weights_.rows_of(name("ffn_up_exps.weight"));
        if (is_joined) {
            RIFTJIT_TRY_VOID(
                set(tensors.gate, weights_.stack_rows(both + ".weight", count, 2 * inner, width, 0, inner, "gate")));
            RIFTJIT_TRY_VOID(
                set(tensors.up, weights_.stack_rows(both + ".weight", count, 2 * inner, width, inner, inner, "up")));
        } else {
            if (decoder_.is_gated)
                RIFTJIT_TRY_VOID(set(tensors.gate, weights_.stack(name("ffn_gate_exps.weight"), count, inner, width)));
            RIFTJIT_TRY_VOID(set(tensors.up, weights_.stack(name("ffn_up_exps.weight"), count, inner, width)));
            RIFTJIT_TRY_VOID(
                set(tensors.gate_bias, weights_.optional_stack_vector(name("ffn_gate_exps.bias"), count, inner)));
            RIFTJIT_TRY_VOID(
                set(tensors.up_bias, weights_.optional_stack_vector(name("ffn_up_exps.bias"), count, inner)));
        }
        RIFTJIT_TRY_VOID(set(tensors.down, weights_.stack(name("ffn_down_exps.weight"), count, width, inner)));
        RIFTJIT_TRY_VOID(
            set(tensors.down_bias, weights_.optional_stack_vector(name("ffn_down_exps.bias"), count, width)));
        RIFTJIT_TRY_VOID(set(tensors.choice_bias, weights_.optional_vector(name("exp_probs_b.bias"), count)));
        if (!weights_.has(name("ffn_up_shexp.weight"))) return tensors;
        RIFTJIT_TRY_VOID(set(tensors.shared, shared_expert(layer, x)));
        if (weights_.has(name("ffn_gate_inp_shexp.weight"))) {
            RIFTJIT_TRY(gate, weights_.matrix(name("ffn_gate_inp_shexp.weight"), 1, width));
            RIFTJIT_TRY_VOID(set(tensors.shared_gate, graph_.matmul(name("ffn_gate_inp_shexp"), x, gate)));
        }
        return tensors;
    }

    Result<TensorId> shared_expert(uint32_t layer, TensorId x) {
        const auto name = [&](std::string_view what) { return block(layer, what); };
        const uint32_t inner = weights_.rows_of(name("ffn_up_shexp.weight"));
        TensorId gate = kNoTensor;
        if (decoder_.is_gated) {
            RIFTJIT_TRY(gate_rows, project(name("ffn_gate_shexp"), x, inner));
            gate = gate_rows;
        }
        RIFTJIT_TRY(up, project(name("ffn_up_shexp"), x, inner));
        RIFTJIT_TRY(gated, graph_.swiglu(name("ffn_shexp_swiglu"), decoder_.is_gated ? gate : up,
                                         decoder_.is_gated ? up : kNoTensor, decoder_.activation));
        return project(name("ffn_down_shexp"), gated, hyper_.width);
    }

    Result<TensorId> project_half(uint32_t layer, TensorId x, std::string_view part, uint32_t first) {
        const std::string fused = block(layer, "ffn_up");
        const uint32_t rows = 2 * hyper_.ffn_width;
        RIFTJIT_TRY(weight, weights_.matrix_rows(fused + ".weight", rows, hyper_.width, first, hyper_.ffn_width, part));
        TensorId bias = kNoTensor;
        if (weights_.has(fused + ".bias")) {
            RIFTJIT_TRY(half, weights_.vector_part(fused + ".bias", rows, first, hyper_.ffn_width, part));
            bias = half;
        }
        return project(block(layer, fmt::format("ffn_{}", part)), x, weight, bias);
    }

    Result<TensorId> add_layer(uint32_t layer, TensorId x) {
        if (decoder_.branches == Branches::parallel) return add_parallel(layer, x);
        return decoder_.branches == Branches::normed_sums ? add_normed_sums(layer, x) : add_branches(layer, x);
    }

    Result<TensorId> add_normed_sums(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(attended, attend(layer, x));
        RIFTJIT_TRY(sum, graph_.add(block(layer, "attn_residual"), x, attended));
        RIFTJIT_TRY(normed, norm(block(layer, "attn_output_norm"), sum));
        TensorId middle = normed;
        if (const std::string second = block(layer, "attn_norm_2"); weights_.has(second + ".weight")) {
            RIFTJIT_TRY(more, graph_.add(block(layer, "attn_residual_2"), x, normed));
            RIFTJIT_TRY(normed_again, norm(second, more));
            middle = normed_again;
        }
        RIFTJIT_TRY(fed, feed_forward(layer, middle));
        RIFTJIT_TRY(out, graph_.add(block(layer, "ffn_residual"), middle, fed));
        return norm(block(layer, "layer_output_norm"), out);
    }

    Result<TensorId> add_branches(uint32_t layer, TensorId x) {
        const LayerTraits& traits = hyper_.layer[layer];
        // The only branch has the first norm.
        if (traits.mixer == LayerTraits::Mixer::none) return add_feed_forward(layer, x, "attn_norm");
        RIFTJIT_TRY(attention_input, norm_before(block(layer, "attn_norm"), x));
        RIFTJIT_TRY(attended, mix(layer, attention_input));
        RIFTJIT_TRY(middle, join(layer, "post_attention_norm", "attn_residual", x, attended));
        if (!traits.has_feed_forward) return middle;
        return add_feed_forward(layer, middle, decoder_.ffn_norm);
    }

    Result<TensorId> add_feed_forward(uint32_t layer, TensorId x, std::string_view norm_name) {
        RIFTJIT_TRY(ffn_input, norm_before(block(layer, norm_name), x));
        RIFTJIT_TRY(fed, feed_forward(layer, ffn_input));
        return join(layer, "post_ffw_norm", "ffn_residual", x, fed);
    }

    Result<TensorId> add_parallel(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(normed, norm(block(layer, "attn_norm"), x));
        TensorId attention_input = normed, ffn_input = normed;
        if (const std::string name = block(layer, decoder_.ffn_norm); weights_.has(name + ".weight")) {
            RIFTJIT_TRY(second, norm(name, x));
            ffn_input = second;
        } else if (const std::string other = block(layer, "attn_norm_2"); weights_.has(other + ".weight")) {
            RIFTJIT_TRY(second, norm(other, x));
            attention_input = second;
        }
        RIFTJIT_TRY(attended, attend(layer, attention_input));
        RIFTJIT_TRY(middle, join(layer, "", "attn_residual", x, attended));
        RIFTJIT_TRY(fed, feed_forward(layer, ffn_input));
        return join(layer, "", "ffn_residual", middle, fed);
    }

    const Model& model_;
    const DecoderTraits& decoder_;
    const Hyperparameters& hyper_;
    graph::Graph graph_;
    Weights weights_;
    const BlockParts parts_{model_, graph_, weights_};
    graph::RopeFactors rope_factors_;
    bool has_router_ = false;  // some layer
};

}  // namespace

Result<BuiltGraph> build_decoder(const Model& model, const DecoderTraits& decoder) {
    return DecoderBuilder(model, decoder).run();
}

}  // namespace riftjit::models
