// The graph of a transformer of one stack, a decoder or an encoder: grouped-query attention and a feed-forward block
// per layer.
#pragma once

#include "jit/kernel_spec.h"
#include "models/model.h"

namespace riftjit::models {

struct DecoderParts;

// How the families differ beside their hyperparameters. What is not named here is that of llama: RMS norms before each
// branch, SwiGLU. Biases are used where the file has them.
struct DecoderTraits {
    enum class Norm : uint8_t {
        rms,
        layer,
        layer_without_gain,
    } norm = Norm::rms;
    enum class Branches : uint8_t {
        normed_before,  // x + f(norm(x))
        normed_after,   // x + norm(f(x)): post_attention_norm, post_ffw_norm
        normed_both,    // x + norm(f(norm(x)))
        normed_sums,    // norm(x + f(x)): attn_output_norm, layer_output_norm; the former's result once more plus x and
                        // normed by attn_norm_2, if that is there
        parallel,       // x + attention(norm(x)) + feed_forward(norm'(x)): attn_norm and, if it is there, ffn_norm;
                        // or attn_norm_2, if it is there, and attn_norm
    } branches = Branches::normed_before;
    enum class HeadNorms : uint8_t {
        none,
        each_head,           // attn_q_norm and attn_k_norm, over each head before the rotation
        each_head_if_there,  // the same, in files that have them
        each_head_late,      // over each head, after it
        whole_row,           // over all heads together, before it
        whole_row_if_there,  // the same, in files that have them
        own_gains,           // over each head before it, with gains of the head's own
        late_without_gain,   // over each head after it, in layers that rotate
    } head_norms = HeadNorms::none;
    Activation activation = Activation::silu;
    bool is_gated = true;
    bool has_sinks = false;                  // attn_sinks, a score per head
    bool has_query_gates = false;            // attn_q has each head's query, then its gate: attention * sigmoid(gate)
    bool has_attention_gates = false;        // the same from a table of its own, attn_gate
    bool has_value_norms = false;            // over each head of V, without a gain
    bool keys_may_be_values = false;         // where there is no attn_v: keys before norm and rotation
    bool has_sub_norms = false;              // attn_sub_norm, ffn_sub_norm: before the last product of each branch
    bool gates_in_up = false;                // ffn_up has the rows of the gate, then those of up
    bool has_embedding_norm = false;         // token_embd_norm, behind the lookup
    bool has_token_types = false;            // the first of token_types is added to the embeddings
    bool has_position_table = false;         // position_embd, added to the embeddings; no rotation
    bool has_every_norm = true;              // else norms before branches are left out where the file has none
    bool routes_block_input = false;         // routers see the block's input, before any norm
    bool has_parallel_experts = false;       // x + attention, then + ffn(norm) + experts(ffn_norm_exps of x)
    std::string_view ffn_norm = "ffn_norm";  // names of tensors
    std::string_view post_attention_norm = "post_attention_norm";
    std::string_view post_ffw_norm = "post_ffw_norm";
    std::string_view output_norm = "output_norm";  // empty: none

    // What a family does in a way of its own, in its own file.
    // Of embedded rows: a row for all layers (DecoderParts::layer_inputs).
    Result<graph::TensorId> (*layer_inputs)(const DecoderParts& parts, graph::TensorId embedded) = nullptr;
    // In the feed-forward block's place, with its norms: of the rows behind attention, without the residual.
    Result<graph::TensorId> (*feed_forward)(const DecoderParts& parts, uint32_t layer, graph::TensorId x) = nullptr;
    // Of the rows that a block ends with.
    Result<graph::TensorId> (*end_of_block)(const DecoderParts& parts, uint32_t layer, graph::TensorId x) = nullptr;
};

Result<BuiltGraph> build_decoder(const Model& model, const DecoderTraits& decoder);

}  // namespace riftjit::models
