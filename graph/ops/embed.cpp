// Rows of a token table.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::embed(std::string name, TensorId ids, TensorId table) {
    if (tensor(ids).kind != TensorKind::token_ids)
        return fail(ErrorKind::Format, "{}: '{}' is not the token input", name, tensor(ids).name);
    const TensorId out = add_activation(name, tensor(table).width);
    nodes.push_back({std::move(name), EmbedOp{ids, table, out}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const EmbedOp& op) {
    resize(op.out, static_cast<uint32_t>(ids_.size()));
    const uint32_t vocabulary = graph_.tensor(op.table).rows;
    for (uint32_t token = 0; token < ids_.size(); ++token) {
        const int32_t id = ids_[token];
        if (id < 0 || static_cast<uint32_t>(id) >= vocabulary)
            return fail(ErrorKind::Usage, "{}: token {} is not in the vocabulary of {}", node_->name, id, vocabulary);
        const auto values = owner_.weight_row(op.table, static_cast<uint32_t>(id));
        std::ranges::copy(values, row(op.out, token));
    }
    return {};
}

template <>
Result<void> Lowering::lower(const EmbedOp& op) {
    const Tensor& table = graph_.tensor(op.table);
    emit(EmbedSpec{table.type, table.width},
         {weight_place(op.table), Place{Place::Kind::token_ids, 0, 0}, output(op.out)}, StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
