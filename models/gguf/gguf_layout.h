// Where the tensors of a GGUF file lie: alignment, bounds and overlaps.
#pragma once

#include <string_view>

#include "models/gguf/gguf_parser.h"

namespace riftjit::models {

inline constexpr uint64_t kMinAlignment = 8;  // the specification's: a multiple of 8

// Fills in the place of the data section and checks every tensor's range against it and against the others'.
Result<void> place_tensors(GgufPart& part, uint64_t alignment, std::string_view file, uint64_t file_bytes);

// "model.gguf: tensor 'blk.0.attn_q.weight' (info at byte 81234)"
std::string tensor_text(std::string_view file, const GgufTensor& tensor);

}  // namespace riftjit::models
