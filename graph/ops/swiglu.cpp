// Gated activation.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::swiglu(std::string name, TensorId gate, TensorId up) {
    RIFTJIT_TRY_VOID(expect_width(*this, name, "up", up, tensor(gate).width));
    const TensorId out = add_activation(name, tensor(gate).width);
    nodes.push_back({std::move(name), SwigluOp{gate, up, out}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const SwigluOp& op) {
    resize(op.out, token_count(op.gate));
    std::transform(rows_[op.gate].begin(), rows_[op.gate].end(), rows_[op.up].begin(), rows_[op.out].begin(),
                   [](double gate, double up) { return reference::silu(gate) * up; });
    return {};
}

template <>
Result<void> Lowering::lower(const SwigluOp& op) {
    const uint32_t width = graph_.tensor(op.gate).width;
    gathered_[op.out] = gathered_[op.gate];
    const Place gate = input(op.gate), up = input(op.up);
    const RowFormat format = output_format(op.out);
    emit(SwigluSpec{width, f32_stride(width), format}, {gate, up, output(op.out, format)}, rows_of(op.gate));
    return {};
}

}  // namespace riftjit::graph
