// Products of each head with a matrix of its own, and rows put together.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::head_product(std::string name, TensorId x, TensorId weight, uint32_t offset,
                                     uint32_t first_offset, uint32_t first_width) {
    const uint32_t heads = tensor(weight).matrices, width = tensor(x).width;
    const uint32_t stride = width / heads;
    if (width % heads != 0 || uint64_t(offset) + tensor(weight).width > stride ||
        uint64_t(first_offset) + first_width > stride)
        return fail(ErrorKind::Format, "{}: {} heads of {} elements, of which {} from {} on and {} from {} on are read",
                    name, heads, stride, tensor(weight).width, offset, first_width, first_offset);
    const TensorId out = add_activation(name, heads * (first_width + tensor(weight).rows));
    nodes.push_back({std::move(name), HeadProductOp{x, weight, out, offset, first_offset, first_width}});
    return out;
}

Result<TensorId> Graph::concat(std::string name, TensorId left, TensorId right) {
    const TensorId out = add_activation(name, tensor(left).width + tensor(right).width);
    nodes.push_back({std::move(name), ConcatOp{left, right, out}});
    return out;
}

Result<TensorId> Graph::join_heads(std::string name, uint32_t heads, const HeadPart& left, const HeadPart& right) {
    for (const HeadPart& part : {left, right})
        if (part.of != kNoTensor &&
            uint64_t(part.offset) + uint64_t(part.stride) * (heads - 1) + part.width > tensor(part.of).width)
            return fail(ErrorKind::Format, "{}: {} heads of {} elements, {} apart from {} on, are read of {}", name,
                        heads, part.width, part.stride, part.offset, tensor(part.of).width);
    if (right.of != kNoTensor && (right.offset != 0 || right.stride != right.width))
        return fail(ErrorKind::Unsupported, "{}: parts that come second must lie side by side", name);
    const TensorId out = add_activation(name, heads * (left.width + right.width));
    nodes.push_back({std::move(name), JoinHeadsOp{left, right, out, heads}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const JoinHeadsOp& op) {
    const uint32_t tokens = token_count(op.left.of);
    resize(op.out, tokens);
    for (uint32_t token = 0; token < tokens; ++token) {
        double* out = row(op.out, token);
        for (uint32_t head = 0; head < op.heads; ++head)
            for (const HeadPart& part : {op.left, op.right})
                out = part.of == kNoTensor
                          ? std::fill_n(out, part.width, 0.0)
                          : std::copy_n(row(part.of, token) + part.offset + head * part.stride, part.width, out);
    }
    return {};
}

template <>
Result<void> Lowering::lower(const JoinHeadsOp& op) {
    const auto& [left, right, out, heads] = op;
    gathered_[out] = gathered_[left.of];
    if (right.of != kNoTensor && gathered_[left.of] != gathered_[right.of])
        return fail(ErrorKind::Format, "{}: inputs have different row counts", node_name());
    const HeadRows rows = right.of == kNoTensor ? HeadRows::zeros : HeadRows::by_token;
    emit(JoinHeadsSpec{heads, left.stride, left.offset, left.width, f32_stride(graph_.tensor(left.of).width),
                       right.width, rows},
         {input(left.of), right.of == kNoTensor ? Place{} : input(right.of), output(out)}, rows_of(left.of));
    return {};
}

template <>
Result<void> ReferenceRun::apply(const HeadProductOp& op) {
    const Tensor& weight = graph_.tensor(op.weight);
    const uint32_t stride = width(op.x) / weight.matrices;
    resize(op.out, token_count(op.x));
    for (uint32_t token = 0; token < token_count(op.x); ++token) {
        double* out = row(op.out, token);
        for (uint32_t head = 0; head < weight.matrices; ++head) {
            const double* const x = row(op.x, token) + head * stride;
            out = std::copy_n(x + op.first_offset, op.first_width, out);
            const std::vector<double> factors_of_head = factors(op.weight, x + op.offset);
            for (uint32_t r = 0; r < weight.rows; ++r)
                *out++ = reference::dot(owner_.weight_row(op.weight, head * weight.rows + r).data(),
                                        factors_of_head.data(), weight.width);
        }
    }
    return {};
}

template <>
Result<void> ReferenceRun::apply(const ConcatOp& op) {
    resize(op.out, token_count(op.left));
    for (uint32_t token = 0; token < token_count(op.left); ++token) {
        double* const out = std::copy_n(row(op.left, token), width(op.left), row(op.out, token));
        std::copy_n(row(op.right, token), width(op.right), out);
    }
    return {};
}

template <>
Result<void> Lowering::lower(const HeadProductOp& op) {
    if (gathered_[op.x])
        return fail(ErrorKind::Format, "{}: products of heads of gathered rows are unsupported", node_name());
    const Tensor& weight = graph_.tensor(op.weight);
    const uint32_t heads = weight.matrices, in_width = graph_.tensor(op.x).width, stride = in_width / heads;
    const RowFormat format = product_format(op.weight);
    const uint64_t rows = uint64_t(plan_.max_tokens) * heads;
    const Place x = input(op.x);
    const Place split = scratch(rows * options_.backend->row_bytes(format, weight.width));
    emit(SplitHeadsSpec{heads, stride, op.offset, weight.width, f32_stride(in_width), format}, {x, split},
         StepRows::batch);
    const Place products = scratch(rows * options_.backend->row_bytes(RowFormat::f32, weight.rows));
    emit(ExpertMatmulSpec{product_spec(op.weight, kNoTensor, plan_.form), heads, heads, Presence::absent},
         {weight_place(op.weight), Place{}, split, Place{}, products}, StepRows::batch);
    emit(JoinHeadsSpec{heads, stride, op.first_offset, op.first_width, f32_stride(in_width), weight.rows},
         {op.first_width == 0 ? Place{} : x, products, output(op.out)}, StepRows::batch);
    return {};
}

template <>
Result<void> Lowering::lower(const ConcatOp& op) {
    gathered_[op.out] = gathered_[op.left];
    if (gathered_[op.left] != gathered_[op.right])
        return fail(ErrorKind::Format, "{}: inputs have different row counts", node_name());
    const uint32_t left = graph_.tensor(op.left).width, right = graph_.tensor(op.right).width;
    emit(JoinHeadsSpec{1, left, 0, left, f32_stride(left), right}, {input(op.left), input(op.right), output(op.out)},
         rows_of(op.left));
    return {};
}

}  // namespace riftjit::graph
