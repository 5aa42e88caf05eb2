#include "sim/equations/program_layout.h"

#include <algorithm>

namespace riftjit::sim {

namespace {

// Where each of `used` goes when the others are left out.
std::vector<uint32_t> compacted(const std::vector<bool>& used) {
    std::vector<uint32_t> place(used.size());
    uint32_t next = 0;
    for (size_t i = 0; i < used.size(); ++i) place[i] = used[i] ? next++ : 0;
    return place;
}
template <class Item>
std::vector<Item> kept_of(const std::vector<Item>& items, const std::vector<bool>& used) {
    std::vector<Item> result;
    for (size_t i = 0; i < items.size(); ++i)
        if (used[i]) result.push_back(items[i]);
    return result;
}

}  // namespace

ColumnType ProgramLayout::type(ColumnRole role) const {
    if (role == ColumnRole::refractory) return ColumnType::u16;
    const bool is_held = role == ColumnRole::state || role == ColumnRole::parameter;
    return is_held && precision_ == Precision::f32 ? ColumnType::f32 : ColumnType::f64;
}

uint32_t ProgramLayout::column(ColumnRole role, const std::string& name) {
    const ColumnBinding binding{role, name};
    const auto found = std::ranges::find(columns_, binding);
    const auto index = static_cast<uint32_t>(found - columns_.begin());
    if (found == columns_.end()) columns_.push_back(binding);
    return index;
}

Value ProgramLayout::scalar(const std::string& name) {
    const auto found = std::ranges::find(scalars_, name);
    const auto index = static_cast<uint32_t>(found - scalars_.begin());
    if (found == scalars_.end()) scalars_.push_back(name);
    return graph_.scalar(index);
}

void ProgramLayout::store(ColumnRole role, const std::string& name, Value value) {
    stores_.push_back({column(role, name), value});
}

Result<LoweredProgram> ProgramLayout::finish(Value fires) const {
    std::vector<ColumnType> types;
    for (const ColumnBinding& column : columns_) types.push_back(type(column.role));
    RIFTJIT_TRY(spec, graph_.program(precision_, types, static_cast<uint32_t>(scalars_.size()), stores_, fires));
    std::vector<bool> has_column(columns_.size()), has_scalar(scalars_.size());
    const auto is_column = [](ColumnOp op) { return op == ColumnOp::load || op == ColumnOp::store; };
    for (const ColumnStep& step : spec.steps) {
        if (is_column(step.op)) has_column[step.index] = true;
        if (step.op == ColumnOp::scalar) has_scalar[step.index] = true;
    }
    const std::vector<uint32_t> column_place = compacted(has_column), scalar_place = compacted(has_scalar);
    for (ColumnStep& step : spec.steps) {
        if (is_column(step.op)) step.index = column_place[step.index];
        if (step.op == ColumnOp::scalar) step.index = scalar_place[step.index];
    }
    LoweredProgram program{.columns = kept_of(columns_, has_column), .scalars = kept_of(scalars_, has_scalar)};
    spec.columns = kept_of(types, has_column);
    spec.scalars = static_cast<uint32_t>(program.scalars.size());
    program.spec = std::move(spec);
    return program;
}

}  // namespace riftjit::sim
