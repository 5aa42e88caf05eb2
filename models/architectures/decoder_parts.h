// What the branches of a decoder's blocks are built with, and the branches: attention and feed-forward blocks as the
// family's traits say.
#pragma once

#include <vector>

#include "models/architectures/block_parts.h"
#include "models/architectures/decoder.h"

namespace riftjit::models {

struct DecoderParts : BlockParts {
    const DecoderTraits& decoder;
    graph::TensorId token_ids = graph::kNoTensor;
    graph::RopeFactors rope_factors = {};
    // A row of a part for each layer, where the family has one (DecoderTraits::layer_inputs).
    graph::TensorId layer_inputs = graph::kNoTensor;
    std::vector<graph::SlotId> kv_slots = {};  // of each layer so far
    // Of the first layer that has some, which later ones mix theirs with (rwkv7).
    graph::TensorId first_values = graph::kNoTensor;

    const LayerTraits& traits(uint32_t layer) const { return hyper().layer[layer]; }
    // The family's norm, with the tensors that belong to `name`.
    Result<graph::TensorId> norm(const std::string& name, graph::TensorId x) const;
    Result<graph::TensorId> scale_by(const std::string& name, graph::TensorId x, float factor) const;
};

// One of llama 3's frequencies, or two of longrope's: for short contexts and for long ones.
Result<graph::RopeFactors> read_rope_factors(const BlockParts& parts);

// Of rows that are normed already. What keys and values have of a slot is noted in kv_slots.
Result<graph::TensorId> add_attention(DecoderParts& parts, uint32_t layer, graph::TensorId x);
// In its own file: of DeepSeek-V2 (LatentHyperparameters).
Result<graph::TensorId> add_latent_attention(DecoderParts& parts, uint32_t layer, graph::TensorId x);
// In its own file: of RWKV, in attention's place.
Result<graph::TensorId> add_time_mixing(DecoderParts& parts, uint32_t layer, graph::TensorId x);
// The norm over each head or all of them, where the family has one, and the rotation: of queries ("q") or keys ("k").
Result<graph::TensorId> position_heads(const DecoderParts& parts, uint32_t layer, std::string_view what,
                                       graph::TensorId x);

bool has_router(const DecoderParts& parts, uint32_t layer);
// A mixture of experts where the layer has a router, which sees router_input, else a dense block.
Result<graph::TensorId> add_feed_forward(const DecoderParts& parts, uint32_t layer, graph::TensorId x,
                                         graph::TensorId router_input);
Result<graph::TensorId> add_dense_feed_forward(const DecoderParts& parts, uint32_t layer, graph::TensorId x);
Result<graph::TensorId> add_experts(const DecoderParts& parts, uint32_t layer, graph::TensorId x,
                                    graph::TensorId router_input);
// The same behind the router's product.
Result<graph::TensorId> add_chosen_experts(const DecoderParts& parts, uint32_t layer, graph::TensorId x,
                                           graph::TensorId logits);

// The last norm, and logits by output.weight or the table of tokens.
Result<void> add_output(const DecoderParts& parts, graph::TensorId x, graph::TensorId table);

}  // namespace riftjit::models
