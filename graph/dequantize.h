// Exact decoding of GGUF blocks to f32: the definition every kernel is tested against (gguf specification,
// ggml-quants).
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/formats/dtype.h"

namespace riftjit::graph {

// Decodes `width` elements (a multiple of the block) of one row. Products are evaluated in f32, left to right, without
// fusing, which gives the bits of the reference decoder.
void dequantize_row(DType type, const std::byte* row, uint32_t width, float* out);

}  // namespace riftjit::graph
