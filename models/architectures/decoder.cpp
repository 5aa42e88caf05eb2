#include "models/architectures/decoder.h"

#include <cmath>

#include "models/architectures/weights.h"

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
        TensorId x = embedded;
        for (uint32_t layer = 0; layer < hyper_.layers; ++layer) {
            RIFTJIT_TRY(attended, add_attention(layer, x));
            RIFTJIT_TRY(out, add_feed_forward(layer, attended));
            x = out;
        }
        RIFTJIT_TRY_VOID(add_output(x, table));
        return BuiltGraph{std::move(graph_), weights_.used()};
    }

private:
    static std::string block(uint32_t layer, std::string_view what) { return fmt::format("blk.{}.{}", layer, what); }

    Result<void> read_rope_factors() {
        if (decoder_.rope_factors == Presence::absent) return {};
        RIFTJIT_TRY(factors, weights_.optional_vector("rope_freqs.weight", hyper_.rotary_dims / 2));
        rope_factors_ = factors;
        if (factors == kNoTensor) return {};
        const auto* values = reinterpret_cast<const float*>(graph_.tensor(factors).data);
        for (uint32_t i = 0; i < hyper_.rotary_dims / 2; ++i)
            if (!(values[i] > 0) || !std::isfinite(values[i]))
                return fail(ErrorKind::Format, "{}: element {} is {}; it divides a frequency and must be above 0",
                            model_.file.place_of(*model_.file.find_tensor("rope_freqs.weight")), i, values[i]);
        return {};
    }

    Result<TensorId> norm(const std::string& name, TensorId x, uint32_t head_dim = 0) {
        RIFTJIT_TRY(gain, weights_.vector(name + ".weight", head_dim == 0 ? hyper_.width : head_dim));
        return graph_.rms_norm(name, x, gain, hyper_.norm_epsilon, head_dim);
    }

    // x W^T [* scale] [+ bias], with the tensors that belong to `name`.
    Result<TensorId> project(const std::string& name, TensorId x, TensorId weight, TensorId bias) {
        RIFTJIT_TRY(scale, weights_.optional_scalar(name + ".scale"));
        if (!scale) return graph_.matmul(name, x, weight, bias);
        if (bias != kNoTensor)
            return fail(ErrorKind::Unsupported, "{}: a scale together with a bias is unsupported",
                        model_.file.place_of(*model_.file.find_tensor(name + ".scale")));
        RIFTJIT_TRY(product, graph_.matmul(name, x, weight));
        return graph_.scale(name + ".scale", product, *scale);
    }

    Result<TensorId> project(const std::string& name, TensorId x, uint32_t rows) {
        RIFTJIT_TRY(weight, weights_.matrix(name + ".weight", rows, graph_.tensor(x).width));
        RIFTJIT_TRY(bias, weights_.optional_vector(name + ".bias", rows));
        return project(name, x, weight, bias);
    }

    // ---- attention ----

    struct Projected {
        TensorId q, k, v;
    };

    Result<Projected> project_qkv(uint32_t layer, TensorId x) {
        const uint32_t q_rows = hyper_.heads * hyper_.head_dim, kv_rows = hyper_.kv_heads * hyper_.head_dim;
        if (weights_.has(block(layer, "attn_qkv.weight"))) return project_fused_qkv(layer, x, q_rows, kv_rows);
        RIFTJIT_TRY(q, project(block(layer, "attn_q"), x, q_rows));
        RIFTJIT_TRY(k, project(block(layer, "attn_k"), x, kv_rows));
        RIFTJIT_TRY(v, project(block(layer, "attn_v"), x, kv_rows));
        return Projected{q, k, v};
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

    // Head norm where the architecture has it, then the rotation.
    Result<TensorId> position_heads(uint32_t layer, std::string_view what, TensorId x) {
        TensorId heads = x;
        if (decoder_.head_norms == Presence::present) {
            RIFTJIT_TRY(normed, norm(block(layer, fmt::format("attn_{}_norm", what)), x, hyper_.head_dim));
            heads = normed;
        }
        return graph_.rope(block(layer, fmt::format("rope_{}", what)), heads, rope_factors_, hyper_.head_dim,
                           hyper_.rotary_dims, hyper_.pairing, hyper_.rope_base, hyper_.rope_scale);
    }

    Result<TensorId> add_attention(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(normed, norm(block(layer, "attn_norm"), x));
        RIFTJIT_TRY(projected, project_qkv(layer, normed));
        RIFTJIT_TRY(q, position_heads(layer, "q", projected.q));
        RIFTJIT_TRY(k, position_heads(layer, "k", projected.k));
        const float scale = 1.0f / std::sqrt(static_cast<float>(hyper_.head_dim));
        const graph::SlotId slot =
            graph_.add_slot({block(layer, "kv"), graph::KvSlot{hyper_.kv_heads, hyper_.head_dim}});
        RIFTJIT_TRY(attended, graph_.attention(block(layer, "attn"), q, k, projected.v, slot, hyper_.heads, scale));
        RIFTJIT_TRY(out, project(block(layer, "attn_output"), attended, hyper_.width));
        return graph_.add(block(layer, "attn_residual"), x, out);
    }

    // ---- the rest ----

    Result<TensorId> add_feed_forward(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(normed, norm(block(layer, "ffn_norm"), x));
        RIFTJIT_TRY(gate, project(block(layer, "ffn_gate"), normed, hyper_.ffn_width));
        RIFTJIT_TRY(up, project(block(layer, "ffn_up"), normed, hyper_.ffn_width));
        RIFTJIT_TRY(gated, graph_.swiglu(block(layer, "ffn_swiglu"), gate, up));
        RIFTJIT_TRY(out, project(block(layer, "ffn_down"), gated, hyper_.width));
        return graph_.add(block(layer, "ffn_residual"), x, out);
    }

    Result<void> add_output(TensorId x, TensorId table) {
        // Before the norm: only rows whose logits are wanted are normed and projected.
        RIFTJIT_TRY(rows, graph_.gather_rows("output_rows", x));
        RIFTJIT_TRY(normed, norm("output_norm", rows));
        TensorId weight = table;
        if (!hyper_.tied_output) {
            RIFTJIT_TRY(untied, weights_.matrix("output.weight", hyper_.vocabulary, hyper_.width));
            weight = untied;
        }
        RIFTJIT_TRY(bias, weights_.optional_vector("output.bias", hyper_.vocabulary));
        RIFTJIT_TRY(projected, project("output", normed, weight, bias));
        graph_.logits = projected;
        return {};
    }

    const Model& model_;
    const DecoderTraits& decoder_;
    const Hyperparameters& hyper_;
    graph::Graph graph_;
    Weights weights_;
    TensorId rope_factors_ = kNoTensor;
};

}  // namespace

Result<BuiltGraph> build_decoder(const Model& model, const DecoderTraits& decoder) {
    return DecoderBuilder(model, decoder).run();
}

}  // namespace riftjit::models
