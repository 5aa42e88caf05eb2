// A folder's tensors under GGUF's names. What stands in the files as GGUF has it stays in the mapping; the rest is
// rewritten into memory of its own.
#pragma once

#include "models/folder/families.h"
#include "models/folder/safetensors.h"

namespace riftjit::models::folder {

// Adds every tensor to the index and to the presentation. Returns the rows of the table of embeddings.
Result<uint64_t> tell_tensors(const Family& family, const Keys& keys, const Weights& weights, GgufWriter& writer,
                              GgufPresentation& presentation);

// Whether GGUF files keep a tensor as f32 whatever its matrices are: gains, biases, routers, convolutions, tables of
// positions.
bool is_kept_as_f32(std::string_view name, size_t dimensions);

}  // namespace riftjit::models::folder
