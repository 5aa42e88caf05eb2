// Rows of a table of tokens or of positions.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::embed(std::string name, TensorId ids, TensorId table) {
    if (tensor(ids).kind != TensorKind::token_ids && tensor(ids).kind != TensorKind::positions)
        return fail(ErrorKind::Format, "{}: '{}' is neither the token input nor its positions", name, tensor(ids).name);
    const TensorId out = add_activation(name, tensor(table).width);
    nodes.push_back({std::move(name), EmbedOp{ids, table, out}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const EmbedOp& op) {
    resize(op.out, static_cast<uint32_t>(ids_.size()));
    const uint32_t vocabulary = graph_.tensor(op.table).rows;
    for (uint32_t token = 0; token < ids_.size(); ++token) {
        const bool is_token = graph_.tensor(op.ids).kind == TensorKind::token_ids;
        const int32_t id = is_token ? ids_[token] : static_cast<int32_t>(owner_.position_ + token);
        if (id < 0 || static_cast<uint32_t>(id) >= vocabulary)
            return fail(ErrorKind::Usage, "{}: {} {} is not in the {} of {}", node_->name,
                        is_token ? "token" : "position", id, is_token ? "vocabulary" : "table", vocabulary);
        const auto values = owner_.weight_row(op.table, static_cast<uint32_t>(id));
        std::ranges::copy(values, row(op.out, token));
    }
    return {};
}

template <>
Result<void> Lowering::lower(const EmbedOp& op) {
    const Tensor& table = graph_.tensor(op.table);
    const bool is_token = graph_.tensor(op.ids).kind == TensorKind::token_ids;
    if (!is_token) plan_.most_positions = std::min(plan_.most_positions, table.rows);
    emit(EmbedSpec{table.type, table.width},
         {weight_place(op.table), Place{is_token ? Place::Kind::token_ids : Place::Kind::positions, 0, 0},
          output(op.out)},
         StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
