// Sums and scalings, alone or in chains.
#include <algorithm>
#include <cmath>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

namespace {

double apply_step(const ElementwiseStep& step, double left, double right) {
    switch (step.op) {
        case ElementwiseOp::add:
            return left + right;
        case ElementwiseOp::scale:
            return left * step.constant;
        case ElementwiseOp::softcap:
            return step.constant * std::tanh(left / step.constant);
        case ElementwiseOp::multiply:
            return left * right;
        case ElementwiseOp::divide:
            return left / right;
        case ElementwiseOp::at_least:
            return std::max(left, double(step.constant));
        case ElementwiseOp::at_most:
            return std::min(left, double(step.constant));
        case ElementwiseOp::square_root:
            return std::sqrt(std::max(left, 0.0));
    }
    check_failed("unknown elementwise step", std::source_location::current());
}

std::vector<double> apply_step(const ElementwiseStep& step, const std::vector<std::vector<double>>& registers) {
    const auto &left = registers[step.left], &right = registers[step.right];
    std::vector<double> out(left.size());
    std::transform(left.begin(), left.end(), right.begin(), out.begin(),
                   [&](double a, double b) { return apply_step(step, a, b); });
    return out;
}

}  // namespace

Result<TensorId> Graph::add(std::string name, TensorId left, TensorId right) {
    RIFTJIT_TRY_VOID(expect_width(*this, name, "right side", right, tensor(left).width));
    const TensorId out = add_activation(name, tensor(left).width);
    nodes.push_back({std::move(name), AddOp{left, right, out}});
    return out;
}

Result<TensorId> Graph::scale(std::string name, TensorId x, float factor) {
    const TensorId out = add_activation(name, tensor(x).width);
    nodes.push_back({std::move(name), ScaleOp{x, out, factor}});
    return out;
}

Result<TensorId> Graph::softcap(std::string name, TensorId x, float cap) {
    const TensorId out = add_activation(name, tensor(x).width);
    nodes.push_back({std::move(name), SoftcapOp{x, out, cap}});
    return out;
}

Result<TensorId> Graph::elementwise(std::string name, uint32_t width, std::vector<ElementwiseOperand> inputs,
                                    std::vector<ElementwiseStep> steps) {
    ElementwiseChainOp op;
    for (const auto& [of, column] : inputs) {
        if (column == kWholeRow) RIFTJIT_TRY_VOID(expect_width(*this, name, "input", of, width));
        op.inputs.push_back(of);
        op.columns.push_back(column);
    }
    op.steps = std::move(steps);
    const TensorId out = op.out = add_activation(name, width);
    nodes.push_back({std::move(name), std::move(op)});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const ElementwiseChainOp& op) {
    const auto shaped =
        std::ranges::find_if(op.inputs, [&](TensorId id) { return graph_.tensor(id).kind == TensorKind::activation; });
    check(shaped != op.inputs.end(), "a chain has an activation among its inputs");
    const uint32_t tokens = token_count(*shaped);
    resize(op.out, tokens);
    for (uint32_t token = 0; token < tokens; ++token) {
        std::vector<std::vector<double>> registers;
        for (size_t i = 0; i < op.inputs.size(); ++i) {
            registers.push_back(operand(op.inputs[i], token));
            if (const uint32_t column = op.column(i); column != kWholeRow)
                registers.back().assign(width(op.out), double(registers.back()[column]));
        }
        for (const ElementwiseStep& step : op.steps) registers.push_back(apply_step(step, registers));
        std::ranges::copy(registers.back(), row(op.out, token));
    }
    return {};
}

template <>
Result<void> ReferenceRun::apply(const AddOp& op) {
    const TensorId shaped = graph_.tensor(op.left).kind == TensorKind::weight ? op.right : op.left;
    const uint32_t tokens = token_count(shaped);
    resize(op.out, tokens);
    for (uint32_t token = 0; token < tokens; ++token) {
        const auto left = operand(op.left, token), right = operand(op.right, token);
        std::transform(left.begin(), left.end(), right.begin(), row(op.out, token), std::plus{});
    }
    return {};
}

template <>
Result<void> ReferenceRun::apply(const ScaleOp& op) {
    resize(op.out, token_count(op.x));
    std::ranges::transform(rows_[op.x], rows_[op.out].begin(), [&](double x) { return x * op.factor; });
    return {};
}

template <>
Result<void> ReferenceRun::apply(const SoftcapOp& op) {
    resize(op.out, token_count(op.x));
    std::ranges::transform(rows_[op.x], rows_[op.out].begin(),
                           [&](double x) { return op.cap * std::tanh(x / op.cap); });
    return {};
}

template <>
Result<void> Lowering::lower(const ElementwiseChainOp& op) {
    ElementwiseSpec spec{graph_.tensor(op.out).width, f32_stride(graph_.tensor(op.out).width), {}, op.steps};
    std::vector<Place> places;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
        const TensorId id = op.inputs[i];
        const Tensor& tensor = graph_.tensor(id);
        const bool is_weight = tensor.kind == TensorKind::weight;
        spec.inputs.push_back({is_weight ? 0 : f32_stride(tensor.width), op.column(i)});
        places.push_back(is_weight ? weight_place(id) : input(id));
        if (!is_weight) gathered_[op.out] = gathered_[id];
    }
    places.push_back(output(op.out));
    emit(std::move(spec), std::move(places), rows_of(op.out));
    return {};
}

template <>
Result<void> Lowering::lower(const AddOp& op) {
    return lower(ElementwiseChainOp{{op.left, op.right}, {{ElementwiseOp::add, 0, 1, 0.0f}}, op.out});
}

template <>
Result<void> Lowering::lower(const ScaleOp& op) {
    return lower(ElementwiseChainOp{{op.x}, {{ElementwiseOp::scale, 0, 0, op.factor}}, op.out});
}

template <>
Result<void> Lowering::lower(const SoftcapOp& op) {
    return lower(ElementwiseChainOp{{op.x}, {{ElementwiseOp::softcap, 0, 0, op.cap}}, op.out});
}

}  // namespace riftjit::graph
