#include "models/architectures/block_parts.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

// product + scale * (x A^T) B^T for each adapter that has factors for the table.
Result<TensorId> adapt(const BlockParts& parts, const std::string& name, TensorId x, TensorId weight,
                       TensorId product) {
    TensorId out = product;
    for (const Lora& adapter : parts.model.adapters) {
        RIFTJIT_TRY(factors, parts.weights.low_rank(adapter, weight));
        if (!factors) continue;
        RIFTJIT_TRY(low, parts.graph.matmul(name + ".lora_a", x, factors->a));
        RIFTJIT_TRY(scaled, parts.graph.scale(name + ".lora_scale", low, factors->scale));
        RIFTJIT_TRY(high, parts.graph.matmul(name + ".lora_b", scaled, factors->b));
        RIFTJIT_TRY(sum, parts.graph.add(name + ".lora", out, high));
        out = sum;
    }
    return out;
}

// x W^T [* scale] [+ bias], of a table or a part of it: the scale belongs to the whole.
Result<TensorId> multiply_plainly(const BlockParts& parts, const std::string& name, const std::string& scale_name,
                                  TensorId x, TensorId weight, TensorId bias) {
    RIFTJIT_TRY(scale, parts.weights.optional_scalar(scale_name));
    if (!scale) return parts.graph.matmul(name, x, weight, bias);
    if (bias != kNoTensor)
        return fail(ErrorKind::Unsupported, "{}: a scale together with a bias is unsupported",
                    parts.model.file.place_of(*parts.model.file.find_tensor(scale_name)));
    RIFTJIT_TRY(product, parts.graph.matmul(name, x, weight));
    return parts.graph.scale(name + ".scale", product, *scale);
}

Result<TensorId> multiply(const BlockParts& parts, const std::string& name, const std::string& scale_name, TensorId x,
                          TensorId weight, TensorId bias) {
    RIFTJIT_TRY(product, multiply_plainly(parts, name, scale_name, x, weight, bias));
    return adapt(parts, name, x, weight, product);
}

}  // namespace

Result<TensorId> BlockParts::project(const std::string& name, TensorId x, TensorId weight, TensorId bias) const {
    return multiply(*this, name, name + ".scale", x, weight, bias);
}

Result<TensorId> BlockParts::project(const std::string& name, TensorId x, uint32_t rows) const {
    RIFTJIT_TRY(weight, weights.matrix(name + ".weight", rows, graph.tensor(x).width));
    RIFTJIT_TRY(bias, weights.optional_vector(name + ".bias", rows));
    return project(name, x, weight, bias);
}

Result<TensorId> BlockParts::project_part(const std::string& name, TensorId x, uint32_t rows, uint32_t first,
                                          uint32_t count, std::string_view part) const {
    RIFTJIT_TRY(weight, weights.matrix_rows(name + ".weight", rows, graph.tensor(x).width, first, count, part));
    TensorId bias = kNoTensor;
    if (weights.has(name + ".bias")) {
        RIFTJIT_TRY(whole, weights.vector_part(name + ".bias", rows, first, count, part));
        bias = whole;
    }
    return multiply(*this, fmt::format("{}[{}]", name, part), name + ".scale", x, weight, bias);
}

}  // namespace riftjit::models
