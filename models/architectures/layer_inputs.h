// What a token brings to each layer beside its embedding: of gemma 3n and gemma 4.
#pragma once

#include "models/architectures/decoder_parts.h"

namespace riftjit::models {

// A row of layer_input_width elements for each layer, one behind the other: (norm(embedded P) + E[token]) / sqrt(2),
// each scaled to the size that it has in training. `embedded` rows are scaled already.
Result<graph::TensorId> add_layer_inputs(const DecoderParts& parts, graph::TensorId embedded);

// norm(gelu(x G) * the layer's input P), without the residual.
Result<graph::TensorId> add_layer_input(const DecoderParts& parts, uint32_t layer, graph::TensorId x);

// attention.shared_kv_layers: so many layers at the end read keys and values of the last one before them that sees as
// much as they do. embedding_length_per_layer_input.
Result<void> read_layer_sharing(const Gguf& file, Hyperparameters& result);

}  // namespace riftjit::models
