#include <algorithm>
#include <set>

#include "sim/equations/checked_model.h"
#include "sim/equations/evaluate.h"
#include "sim/equations/parser.h"

namespace riftjit::sim {

namespace {

class NeuronChecker {
public:
    explicit NeuronChecker(const NeuronModelSource& source) : source_(source) {}

    Result<NeuronModel::Checked> run() {
        RIFTJIT_TRY(variables, check_variables({source_.name, source_.description, source_.equations,
                                                source_.parameters, source_.initial},
                                               {}));
        static_cast<CheckedVariables&>(checked_) = std::move(variables);
        checked_.method = source_.method;
        RIFTJIT_TRY_VOID(threshold_and_reset());
        RIFTJIT_TRY_VOID(refractory());
        RIFTJIT_TRY_VOID(update());
        for (const NamedText& receptor : source_.receptors) RIFTJIT_TRY_VOID(check_receptor(receptor));
        return std::move(checked_);
    }

private:
    Result<void> threshold_and_reset() {
        NamedUnits scope = checked_.scope;
        scope.previous = PreviousValues::known;
        if (!source_.threshold.empty()) {
            RIFTJIT_TRY(threshold, parse_expression(source_.threshold, static_cast<uint32_t>(DrawBlock::threshold)));
            RIFTJIT_TRY_VOID(check_truth(source_.threshold, *threshold, scope, "the threshold"));
            checked_.threshold = threshold;
        }
        if (source_.reset.empty()) return {};
        if (!checked_.threshold) return fail_at(source_.reset, 0, "a reset without a threshold");
        RIFTJIT_TRY(reset, parse_statements(source_.reset, static_cast<uint32_t>(DrawBlock::reset)));
        RIFTJIT_TRY_VOID(check_without_calls(source_.reset, reset, "a reset", scope));
        checked_.reset = std::move(reset);
        return {};
    }
    Result<void> refractory() {
        if (source_.refractory.empty()) return {};
        RIFTJIT_TRY(refractory, parse_expression(source_.refractory));
        RIFTJIT_TRY_VOID(
            check_value(source_.refractory, *refractory, checked_.scope, kMillisecond, "the refractory time"));
        checked_.refractory = refractory;
        return {};
    }
    Result<void> update() {
        if (source_.update.empty()) return {};
        for (const CheckedState& state : checked_.states)
            if (state.derivative)
                return fail_at(source_.update, 0, "'update' replaces d{}/dt: declare '{} : {}' without an equation",
                               state.name, state.name, unit_text(state.unit));
        RIFTJIT_TRY(update, parse_statements(source_.update, static_cast<uint32_t>(DrawBlock::update)));
        RIFTJIT_TRY_VOID(check_without_calls(source_.update, update, "an update", checked_.scope));
        checked_.update = std::move(update);
        return {};
    }
    Result<void> check_without_calls(const SourceText& source, const std::vector<Statement>& statements,
                                     std::string_view where, const NamedUnits& scope) {
        for (const Statement& statement : statements)
            if (statement.target.empty())
                return fail_at(source, statement.offset, "'{}()' has no place in {}", statement.value->name, where);
        return check_statements(source, statements, checked_, scope);
    }

    // "I_ex += w": adds a multiple of w, whose unit follows.
    Result<void> check_receptor(const NamedText& receptor) {
        RIFTJIT_TRY(statements, parse_statements(receptor.text));
        std::optional<Unit> unit;
        for (const Statement& statement : statements) {
            RIFTJIT_TRY(wanted, weight_unit(receptor.text, statement));
            if (unit && *unit != wanted)
                return fail_at(receptor.text, statement.offset, "unit mismatch: w is {} here, {} before",
                               unit_text(wanted), unit_text(*unit));
            unit = wanted;
        }
        if (!unit) return fail_at(receptor.text, 0, "receptor '{}' does nothing", receptor.name);
        checked_.receptor_variables.push_back({receptor.name, *unit, 0});
        checked_.receptors.push_back({receptor.name, std::move(statements)});
        return {};
    }
    Result<Unit> weight_unit(const SourceText& source, const Statement& statement) {
        const auto state = std::ranges::find(checked_.states, statement.target, &CheckedState::name);
        if (state == checked_.states.end())
            return fail_at(source, statement.offset, "a receptor adds to a state, which '{}' is not", statement.target);
        if (statement.target == "w") return fail_at(source, statement.offset, "in a receptor 'w' is the weight");
        if (statement.assignment != Assignment::add && statement.assignment != Assignment::subtract)
            return fail_at(source, statement.offset, "a receptor adds: expected '{} += ...'", statement.target);
        NamedUnits scope = checked_.scope;
        scope.names["w"] = kNoUnit;
        RIFTJIT_TRY(type, check_expression(source, *statement.value, scope));
        if (type.is_truth || !is_multiple_of_weight(*statement.value))
            return fail_at(source, statement.value->offset, "expected a multiple of the weight w");
        return state->unit / type.unit;
    }
    bool is_multiple_of_weight(const Expression& value) const {
        ValueGraph graph;
        Environment environment{.graph = graph, .step_ms = 1, .subexpressions = &checked_.subexpressions};
        uint32_t column = 0;
        for (const auto& [name, unit] : checked_.scope.names)
            if (!checked_.subexpressions.contains(name)) environment.values[name] = graph.load(column++);
        const Value weight = environment.values["w"] = graph.symbol(0);
        const auto parts = graph.linear_in(evaluate(value, environment), weight);
        return parts && graph.number(parts->second) == 0.0L;
    }

    const NeuronModelSource& source_;
    NeuronModel::Checked checked_;
};

}  // namespace

Result<NeuronModel> NeuronModel::parse(const NeuronModelSource& source) {
    RIFTJIT_TRY(checked, NeuronChecker(source).run());
    NeuronModel model;
    model.checked_ = std::make_shared<const Checked>(std::move(checked));
    return model;
}

Result<NeuronModel> NeuronModel::with_initial(const std::vector<NamedText>& initial) const {
    Checked checked = *checked_;
    RIFTJIT_TRY_VOID(set_initial(checked, initial));
    NeuronModel model;
    model.checked_ = std::make_shared<const Checked>(std::move(checked));
    return model;
}

int conductance_sign(const NeuronModel& model, std::string_view receptor,
                     const std::map<std::string, double>& constants) {
    const auto variable = std::ranges::find(model.receptors(), receptor, &Variable::name);
    if (variable == model.receptors().end() || variable->unit != kNanosiemens) return 0;
    std::set<int> signs;
    const auto& receptors = model.checked().receptors;
    for (const Statement& statement : std::ranges::find(receptors, receptor, &CheckedReceptor::name)->statements)
        signs.insert(sign_of(*statement.value, model.checked(), constants) *
                     (statement.assignment == Assignment::subtract ? -1 : 1));
    return signs.size() == 1 ? *signs.begin() : 0;
}

const std::string& NeuronModel::name() const { return checked_->name; }
const std::string& NeuronModel::description() const { return checked_->description; }
const std::vector<Variable>& NeuronModel::parameters() const { return checked_->parameters; }
const std::vector<Variable>& NeuronModel::states() const { return checked_->state_variables; }
const std::vector<Variable>& NeuronModel::receptors() const { return checked_->receptor_variables; }
const std::vector<Variable>& NeuronModel::derived() const { return checked_->derived; }
const NeuronModel::Checked& NeuronModel::checked() const { return *checked_; }

}  // namespace riftjit::sim
