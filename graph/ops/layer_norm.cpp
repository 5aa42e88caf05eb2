// Layer norm of rows.
#include <cmath>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::layer_norm(std::string name, TensorId x, TensorId gain, TensorId bias, float epsilon) {
    const uint32_t width = tensor(x).width;
    if (gain == kNoTensor) return fail(ErrorKind::Unsupported, "{}: a layer norm without a gain has no kernel", name);
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "gain", gain, width));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "bias", bias, width));
    const TensorId out = add_activation(name, width);
    nodes.push_back({std::move(name), LayerNormOp{x, gain, bias, out, epsilon}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const LayerNormOp& op) {
    const uint32_t elements = width(op.x);
    const std::vector<double> gain = weight_vector(op.gain), bias = weight_vector(op.bias);
    resize(op.out, token_count(op.x));
    for (uint32_t token = 0; token < token_count(op.x); ++token) {
        const double* x = row(op.x, token);
        const auto sum = [&](auto&& term) {
            return sum_in_order<double>(KOrder::lanes64, elements, [&](double s, uint32_t i) { return s + term(i); });
        };
        const double mean = sum([&](uint32_t i) { return x[i]; }) / elements;
        const double variance = sum([&](uint32_t i) { return (x[i] - mean) * (x[i] - mean); }) / elements;
        const double scale = 1 / std::sqrt(variance + op.epsilon);
        for (uint32_t i = 0; i < elements; ++i)
            row(op.out, token)[i] = (x[i] - mean) * scale * gain[i] + (bias.empty() ? 0.0 : bias[i]);
    }
    return {};
}

template <>
Result<void> Lowering::lower(const LayerNormOp& op) {
    gathered_[op.out] = gathered_[op.x];
    const LayerNormSpec spec{graph_.tensor(op.x).width, op.epsilon,
                             op.bias == kNoTensor ? Presence::absent : Presence::present, output_format(op.out)};
    const Place x = input(op.x), out = output(op.out, spec.output);
    emit(spec, {x, weight_place(op.gain), weight_place(op.bias), out}, rows_of(op.x));
    return {};
}

}  // namespace riftjit::graph
