// Rows of f32 as blocks of the types that a KV cache may have: the definition that kernels are tested against, after
// llama.cpp's quantize_row_*_ref (ggml-quants.c), with the products of code and scale fused where compilers may.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "jit/formats/cache_format.h"

namespace riftjit::graph {

// As many whole blocks as x has, in the order of a GGUF file.
std::vector<std::byte> quantize_row(DType type, std::span<const float> x);

}  // namespace riftjit::graph
