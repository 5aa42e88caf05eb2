// A model's file with other types of weights, as llama-quantize makes it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/thread_pool.h"
#include "models/gguf/gguf_writer.h"
#include "models/quantize/file_type.h"
#include "models/quantize/importance.h"

namespace riftjit::models {

struct QuantizeOptions {
    TypeOptions types;
    bool allows_requantizing = false;  // of what is quantised already, and so has lost digits
    bool keeps_split = false;          // as many files as the model has
    const ImportanceMatrix* importance = nullptr;
    std::string importance_file;  // its name, for the metadata
};

struct QuantizedTensor {
    const GgufTensor* tensor;
    DType type;
    uint64_t size_bytes;
    std::vector<float> importance = {};  // [ne2][width], or empty
};

struct QuantizedPart {
    std::vector<QuantizedTensor> tensors;
    GgufIndex index;
};

struct Quantization {
    std::vector<QuantizedPart> parts;
    std::vector<std::string> warnings;
    std::optional<std::string> lacks_importance;  // the first tensor that should not be made without

    uint64_t bytes() const;  // of all tensors
    uint64_t bytes_before() const;
    uint64_t elements() const;
};

// Fails on what options forbid.
Result<Quantization> plan_quantization(const Gguf& file, const QuantizeOptions& options);

// What became of a tensor that changed.
struct TensorError {
    double root_mean_square = 0;  // of the difference to what it was
};

using TensorDone = std::function<void(const QuantizedTensor& tensor, std::optional<TensorError> error)>;
// All bytes of a part's file, in order; a few rows of one tensor are in memory at a time. Fails on values that are no
// numbers or too large.
Result<void> write_quantized(const Gguf& file, const QuantizedPart& part, ThreadPool& pool, const Append& append,
                             const TensorDone& done);

}  // namespace riftjit::models
