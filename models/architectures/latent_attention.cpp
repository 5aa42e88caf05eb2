// Latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1): keys and values of all heads come from one latent row.
#include "models/architectures/decoder_parts.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

// What queries come from: the row itself, or a row of low rank, normed.
Result<TensorId> query_source(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const uint32_t rank = parts.hyper().latent.q_rank;
    if (rank == 0) return x;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    RIFTJIT_TRY(low, parts.project(name("attn_q_a"), x, rank));
    RIFTJIT_TRY(gain, parts.weights.vector(name("attn_q_a_norm.weight"), rank));
    return parts.graph.rms_norm(name("attn_q_a_norm"), low, gain, parts.hyper().norm_epsilon);
}

struct LatentRow {
    TensorId latent, rotated;  // normed; not yet rotated
};

Result<LatentRow> latent_row(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const LatentHyperparameters& latent = parts.hyper().latent;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const std::string kv_a = name("attn_kv_a_mqa");
    const uint32_t rows = latent.kv_rank + latent.rotated_dims, width = parts.hyper().width;
    RIFTJIT_TRY(low_rows, parts.weights.matrix_rows(kv_a + ".weight", rows, width, 0, latent.kv_rank, "latent"));
    RIFTJIT_TRY(pe_rows, parts.weights.matrix_rows(kv_a + ".weight", rows, width, latent.kv_rank, latent.rotated_dims,
                                                   "rotated"));
    RIFTJIT_TRY(low, parts.graph.matmul(kv_a, x, low_rows));
    RIFTJIT_TRY(gain, parts.weights.vector(name("attn_kv_a_norm.weight"), latent.kv_rank));
    RIFTJIT_TRY(normed, parts.graph.rms_norm(name("attn_kv_a_norm"), low, gain, parts.hyper().norm_epsilon));
    RIFTJIT_TRY(pe, parts.graph.matmul(name("attn_k_pe"), x, pe_rows));
    return LatentRow{normed, pe};
}

// A head's query meets the latent row itself: its part that is not rotated goes through the transposed matrix of the
// head's keys (k_b), which are therefore never made; and what values add up to is a latent row, which v_b takes to the
// head's value. So there is one head of keys, and values are the same rows: [rotated | latent].
Result<TensorId> attend_to_latent_rows(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const Hyperparameters& hyper = parts.hyper();
    const LatentHyperparameters& latent = hyper.latent;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const uint32_t plain = latent.key_dim - latent.rotated_dims, heads = hyper.heads;
    RIFTJIT_TRY(q_in, query_source(parts, layer, x));
    RIFTJIT_TRY(q, parts.project(name(latent.q_rank != 0 ? "attn_q_b" : "attn_q"), q_in, heads * latent.key_dim));
    RIFTJIT_TRY(k_b, parts.weights.stack(name("attn_k_b.weight"), heads, latent.kv_rank, plain));
    RIFTJIT_TRY(query, parts.graph.head_product(name("attn_k_b"), q, k_b, 0, plain, latent.rotated_dims));
    RIFTJIT_TRY(rotated_query, position_heads(parts, layer, "q", query));
    RIFTJIT_TRY(row, latent_row(parts, layer, x));
    RIFTJIT_TRY(key, parts.graph.concat(name("attn_k"), row.rotated, row.latent));
    RIFTJIT_TRY(rotated_key, position_heads(parts, layer, "k", key));

    const graph::SlotId slot = parts.graph.add_slot({name("kv"), graph::KvSlot{1, hyper.head_dim}});
    RIFTJIT_TRY(attended, parts.graph.attention(name("attn"), rotated_query, rotated_key, rotated_key, slot, heads,
                                                hyper.attention_scale));
    RIFTJIT_TRY(v_b, parts.weights.stack(name("attn_v_b.weight"), heads, latent.value_dim, latent.kv_rank));
    RIFTJIT_TRY(values, parts.graph.head_product(name("attn_v_b"), attended, v_b, latent.rotated_dims));
    return parts.project(name("attn_output"), values, hyper.width);
}

// Files without the two matrices apart have each head's keys and values in one table (kv_b): [plain key | value] of
// head after head. Then keys and values of all heads are made and kept. A head is [rotated | plain]; values are
// filled up to its size.
Result<TensorId> attend_to_heads(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const Hyperparameters& hyper = parts.hyper();
    const LatentHyperparameters& latent = hyper.latent;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const uint32_t rotated = latent.rotated_dims, plain = latent.key_dim - rotated, values = latent.value_dim;
    const uint32_t heads = hyper.heads;
    const auto project_parts = [&](const std::string& table, TensorId from, std::string_view part, uint32_t first,
                                   uint32_t taken, uint32_t period) -> Result<TensorId> {
        RIFTJIT_TRY(weight,
                    parts.weights.matrix_row_groups(table + ".weight", heads * period, parts.graph.tensor(from).width,
                                                    first, taken, period, part));
        return parts.project(fmt::format("{}[{}]", table, part), from, weight, kNoTensor);
    };
    const std::string q_name = name(latent.q_rank != 0 ? "attn_q_b" : "attn_q"), kv_name = name("attn_kv_b");
    RIFTJIT_TRY(q_in, query_source(parts, layer, x));
    RIFTJIT_TRY(q_plain, project_parts(q_name, q_in, "plain", 0, plain, latent.key_dim));
    RIFTJIT_TRY(q_pe, project_parts(q_name, q_in, "rotated", plain, rotated, latent.key_dim));
    RIFTJIT_TRY(query, parts.graph.join_heads(name("attn_q_heads"), heads, {q_pe, 0, rotated, rotated},
                                              {q_plain, 0, plain, plain}));
    RIFTJIT_TRY(rotated_query, position_heads(parts, layer, "q", query));
    RIFTJIT_TRY(row, latent_row(parts, layer, x));
    RIFTJIT_TRY(k_plain, project_parts(kv_name, row.latent, "k", 0, plain, plain + values));
    RIFTJIT_TRY(v, project_parts(kv_name, row.latent, "v", plain, values, plain + values));
    RIFTJIT_TRY(
        key, parts.graph.join_heads(name("attn_k"), heads, {row.rotated, 0, rotated, 0}, {k_plain, 0, plain, plain}));
    RIFTJIT_TRY(rotated_key, position_heads(parts, layer, "k", key));
    RIFTJIT_TRY(filled, parts.graph.join_heads(name("attn_v"), heads, {v, 0, values, values},
                                               {kNoTensor, 0, latent.key_dim - values, 0}));

    const graph::SlotId slot = parts.graph.add_slot({name("kv"), graph::KvSlot{heads, latent.key_dim}});
    RIFTJIT_TRY(attended, parts.graph.attention(name("attn"), rotated_query, rotated_key, filled, slot, heads,
                                                hyper.attention_scale));
    RIFTJIT_TRY(taken, parts.graph.join_heads(name("attn_taken"), heads, {attended, 0, values, latent.key_dim}, {}));
    return parts.project(name("attn_output"), taken, hyper.width);
}

}  // namespace

Result<TensorId> add_latent_attention(DecoderParts& parts, uint32_t layer, TensorId x) {
    return parts.hyper().latent.is_expanded ? attend_to_heads(parts, layer, x) : attend_to_latent_rows(parts, layer, x);
}

}  // namespace riftjit::models
