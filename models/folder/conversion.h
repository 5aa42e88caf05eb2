// A folder's model as one GGUF file.
#pragma once

#include <optional>
#include <vector>

#include "models/gguf/gguf_writer.h"

namespace riftjit::models {

struct Conversion {
    DType matrix_type;         // of all but gains, biases and the like, which are f32
    std::vector<DType> types;  // of each tensor
    GgufIndex index;
    uint64_t narrowed = 0;  // matrices that lose digits: of f32 to f16 or bf16, of one of these to the other
};

// Without a type that of the first matrix of 16 bits, as llama.cpp's converter has it; f16, if there is none.
Conversion plan_conversion(const Gguf& file, std::optional<DType> matrix_type);

// All bytes of the file, in order. Fails on a value that becomes infinite.
Result<void> write_converted(const Gguf& file, const Conversion& conversion, const Append& append);

}  // namespace riftjit::models
