// Products with weights.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::matmul(std::string name, TensorId x, TensorId weight, TensorId bias) {
    const uint32_t rows = tensor(weight).rows;
    RIFTJIT_TRY_VOID(expect_width(*this, name, "input", x, tensor(weight).width));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "bias", bias, rows));
    const TensorId out = add_activation(name, rows);
    nodes.push_back({std::move(name), MatmulOp{x, weight, bias, kNoTensor, out}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const MatmulOp& op) {
    const uint32_t tokens = token_count(op.x);
    const std::vector<double> bias = weight_vector(op.bias);
    std::vector<double> out(size_t{tokens} * width(op.out));
    std::vector<std::vector<double>> x;
    for (uint32_t token = 0; token < tokens; ++token) x.push_back(factors(op.weight, row(op.x, token)));
    for (uint32_t r = 0; r < width(op.out); ++r) {
        const auto weights = owner_.weight_row(op.weight, r);
        for (uint32_t token = 0; token < tokens; ++token) {
            double& value = out[size_t{token} * width(op.out) + r];
            value = reference::dot(weights.data(), x[token].data(), width(op.x));
            if (!bias.empty()) value += bias[r];
            if (op.residual != kNoTensor) value += row(op.residual, token)[r];
        }
    }
    rows_[op.out] = std::move(out);
    return {};
}

template <>
Result<void> Lowering::lower(const MatmulOp& op) {
    const Place x = input(op.x, product_format(op.weight));
    gathered_[op.out] = gathered_[op.x];
    const bool accumulates = op.residual != kNoTensor;
    if (accumulates && gathered_[op.residual] != gathered_[op.x])
        return fail(ErrorKind::Format, "{}: input and residual have different row counts", node_name());
    const Place out = accumulates ? take_over(op.residual, op.out) : output(op.out);
    const auto emit_form = [&](MatmulForm form, StepRows rows) {
        MatmulSpec spec = product_spec(op.weight, op.bias, form);
        if (accumulates) spec.epilogue = Epilogue::accumulate;
        emit(spec, {weight_place(op.weight), weight_place(op.bias), x, out}, rows);
    };
    if (!gathered_[op.x]) {
        emit_form(plan_.form, StepRows::batch);
    } else {
        emit_form(MatmulForm::vector, StepRows::one_output);
        if (plan_.max_outputs > 1) emit_form(MatmulForm::tile, StepRows::many_outputs);
    }
    return {};
}

}  // namespace riftjit::graph
