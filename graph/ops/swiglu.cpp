// Gated activation.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::swiglu(std::string name, TensorId gate, TensorId up, Activation activation,
                               const Xielu& xielu) {
    if (up != kNoTensor) RIFTJIT_TRY_VOID(expect_width(*this, name, "up", up, tensor(gate).width));
    const TensorId out = add_activation(name, tensor(gate).width);
    nodes.push_back({std::move(name), SwigluOp{gate, up, out, activation, xielu}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const SwigluOp& op) {
    resize(op.out, token_count(op.gate));
    const std::vector<double>& gate = rows_[op.gate];
    for (size_t i = 0; i < gate.size(); ++i)
        rows_[op.out][i] =
            reference::activate(op.activation, gate[i], op.up == kNoTensor ? 1 : rows_[op.up][i], op.xielu);
    return {};
}

template <>
Result<void> Lowering::lower(const SwigluOp& op) {
    const uint32_t width = graph_.tensor(op.gate).width;
    gathered_[op.out] = gathered_[op.gate];
    const bool has_up = op.up != kNoTensor;
    const Place gate = input(op.gate), up = has_up ? input(op.up) : Place{};
    const RowFormat format = output_format(op.out);
    emit(SwigluSpec{width, f32_stride(width), format, op.activation, has_up ? Presence::present : Presence::absent,
                    op.xielu},
         {gate, up, output(op.out, format)}, rows_of(op.gate));
    return {};
}

}  // namespace riftjit::graph
