#include "jit/x86/columns/column_plan.h"

#include <numeric>
#include <optional>

namespace riftjit::x86 {

namespace {

// Calls visit(operand) for the operands in use; it may change them.
template <class Step, class Visit>
void for_each_operand(Step& step, const Visit& visit) {
    const auto& kinds = traits(step.op).operands;
    if (kinds[0] != ColumnKind::none) visit(step.a);
    if (kinds[1] != ColumnKind::none) visit(step.b);
    if (kinds[2] != ColumnKind::none) visit(step.c);
}

// A number of this precision comes back from a column of this type as it was stored.
bool keeps_numbers(ColumnType type, Precision precision) {
    return type == ColumnType::f64 || (type == ColumnType::f32 && precision == Precision::f32);
}

void replace_known_loads(const ColumnProgramSpec& spec, ColumnPlan& plan) {
    std::vector<std::optional<uint16_t>> held(spec.columns.size());  // the value that a column is known to hold
    std::vector<uint16_t> stands_for(plan.steps.size());
    std::iota(stands_for.begin(), stands_for.end(), uint16_t(0));
    for (size_t index = 0; index < plan.steps.size(); ++index) {
        ColumnStep& step = plan.steps[index];
        for_each_operand(step, [&](uint16_t& operand) { operand = stands_for[operand]; });
        if (step.op == ColumnOp::load) {
            if (!held[step.index]) held[step.index] = uint16_t(index);
            stands_for[index] = *held[step.index];
        }
        if (step.op == ColumnOp::store) {
            held[step.index].reset();
            if (keeps_numbers(spec.columns[step.index], spec.precision)) held[step.index] = step.a;
        }
    }
}

void find_uses(ColumnPlan& plan) {
    for (size_t index = plan.steps.size(); index-- > 0;) {
        const ColumnStep& step = plan.steps[index];
        if (traits(step.op).result == ColumnKind::none) plan.is_live[index] = true;
        if (!plan.is_live[index]) continue;
        for_each_operand(step, [&](const uint16_t& operand) {
            plan.is_live[operand] = true;
            ++plan.uses[operand];
            plan.last_use[operand] = std::max(plan.last_use[operand], index);
        });
    }
}

}  // namespace

bool ColumnPlan::has(ColumnOp op) const {
    for (size_t index = 0; index < steps.size(); ++index)
        if (is_live[index] && steps[index].op == op) return true;
    return false;
}

ColumnPlan plan_columns(const ColumnProgramSpec& spec) {
    const size_t count = spec.steps.size();
    ColumnPlan plan{spec.steps, std::vector<bool>(count), std::vector<uint32_t>(count), std::vector<size_t>(count)};
    replace_known_loads(spec, plan);
    find_uses(plan);
    return plan;
}

}  // namespace riftjit::x86
