// Rows that are asked for.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::gather_rows(std::string name, TensorId x) {
    const TensorId out = add_activation(name, tensor(x).width);
    nodes.push_back({std::move(name), GatherRowsOp{x, out}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const GatherRowsOp& op) {
    resize(op.out, static_cast<uint32_t>(output_rows_.size()));
    for (uint32_t output = 0; output < output_rows_.size(); ++output)
        std::copy_n(row(op.x, output_rows_[output]), width(op.x), row(op.out, output));
    return {};
}

// A batch of one row is what is gathered of it.
template <>
Result<void> Lowering::lower(const GatherRowsOp& op) {
    gathered_[op.out] = true;
    const Place x = input(op.x);
    if (plan_.max_tokens == 1 && dies_here(op.x)) {
        storage_[op.out][0] = x.index;
        return {};
    }
    emit(GatherRowsSpec{graph_.tensor(op.x).width}, {x, output(op.out)}, StepRows::outputs);
    return {};
}

}  // namespace riftjit::graph
