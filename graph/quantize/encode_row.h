// Rows of f32 as blocks of a weight type, as they lie in GGUF files: the inverse of graph/dequantize.h. (What a KV
// cache does to its rows is graph/quantize_row.h: no search, and its kernels' bits.)
#pragma once

#include <cstddef>
#include <span>

#include "jit/formats/dtype.h"

namespace riftjit::graph {

// `type` holds weights (DTypeTraits::is_weight); `row` has whole blocks and finite values. `importance` has a factor
// for the error of each column, or is empty; plain types, Q8_0, FP4 and those of less than three bits without a search
// do not look at it.
void encode_row(DType type, std::span<const float> row, std::span<const float> importance, std::byte* out);

}  // namespace riftjit::graph
