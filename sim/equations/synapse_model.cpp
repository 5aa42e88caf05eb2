#include <algorithm>
#include <cmath>

#include "sim/equations/checked_model.h"
#include "sim/equations/evaluate.h"
#include "sim/equations/parser.h"
#include "sim/equations/program_layout.h"

namespace riftjit::sim {

namespace {

// What is delivered, as a variable that no text can name.
const std::string kDelivered = "deliver()";

bool draws_random_numbers(const Expression& expression) {
    if (expression.operation == Operation::call && draws_random_number(expression.name)) return true;
    return std::ranges::any_of(expression.operands,
                               [](const ExpressionPtr& one) { return draws_random_numbers(*one); });
}

enum class Event : uint8_t { pre, post };

class SynapseChecker {
public:
    explicit SynapseChecker(const SynapseModelSource& source) : source_(source) {}

    Result<SynapseModel::Checked> run() {
        RIFTJIT_TRY(variables, check_variables({source_.name, source_.description, source_.equations,
                                                source_.parameters, source_.initial},
                                               {"w", "elapsed", "coincident"}));
        static_cast<CheckedVariables&>(checked_) = std::move(variables);
        for (const CheckedState& state : checked_.states)
            if (state.stops_while_refractory)
                return fail_at(source_.equations, 0, "'{}': a synapse has no refractory time", state.name);
        RIFTJIT_TRY_VOID(statements(source_.on_pre, Event::pre, checked_.on_pre));
        RIFTJIT_TRY_VOID(statements(source_.on_post, Event::post, checked_.on_post));
        return std::move(checked_);
    }

private:
    Result<void> statements(const SourceText& source, Event event, std::vector<Statement>& checked) {
        RIFTJIT_TRY(parsed, parse_statements(source));
        size_t deliveries = 0;
        for (Statement& statement : parsed) {
            if (draws_random_numbers(*statement.value))
                return fail_at(source, statement.offset, "a synapse cannot draw random numbers");
            if (statement.target == "elapsed" || statement.target == "coincident")
                return fail_at(source, statement.offset, "'{}' cannot be changed", statement.target);
            if (!statement.target.empty()) continue;
            RIFTJIT_TRY_VOID(delivery(source, event, statement));
            ++deliveries;
        }
        if (event == Event::pre && deliveries != 1)
            return fail_at(source, 0, "on_pre must deliver once, as 'deliver(w)', found {} deliveries", deliveries);
        NamedUnits scope = checked_.scope;
        scope.names["w"] = kNoUnit;
        scope.names["elapsed"] = kMillisecond;
        if (event == Event::pre) scope.names["coincident"] = kNoUnit;
        scope.names[kDelivered] = kNoUnit;
        RIFTJIT_TRY_VOID(check_statements(source, parsed, checked_, scope));
        checked = std::move(parsed);
        return {};
    }
    // Makes "deliver(x)" an assignment.
    Result<void> delivery(const SourceText& source, Event event, Statement& statement) {
        const Expression& call = *statement.value;
        if (call.name != "deliver")
            return fail_at(source, statement.offset, "'{}()' is not a statement: expected 'deliver(...)'", call.name);
        if (event == Event::post) return fail_at(source, statement.offset, "only on_pre delivers");
        if (call.operands.size() != 1)
            return fail_at(source, statement.offset, "deliver() takes 1 operand, found {}", call.operands.size());
        statement.target = kDelivered;
        statement.value = ExpressionPtr(call.operands[0]);
        return {};
    }

    const SynapseModelSource& source_;
    SynapseModel::Checked checked_;
};

// One event: the states are brought to the present, then the statements run.
class EventLowering {
public:
    EventLowering(const SynapseModel::Checked& model, const std::map<std::string, double>& constants, double step_ms)
        : model_(model), layout_(graph_, Precision::f64) {
        environment_.step_ms = step_ms;
        for (const Variable& parameter : model.parameters) {
            const auto constant = constants.find(parameter.name);
            environment_.values[parameter.name] =
                graph_.constant(constant != constants.end() ? constant->second : parameter.value);
        }
    }

    Result<LoweredProgram> run(const std::vector<Statement>& statements) {
        std::map<std::string, Value>& values = environment_.values;
        for (const CheckedState& state : model_.states)
            values[state.name] = layout_.load(ColumnRole::state, state.name);
        values["w"] = layout_.load(ColumnRole::weight, "");
        values["elapsed"] = layout_.load(ColumnRole::event_time, "");
        values["coincident"] = layout_.load(ColumnRole::coincident, "");
        const std::map<std::string, Value> loaded = values;
        RIFTJIT_TRY_VOID(decay());
        for (const Statement& statement : statements) execute(statement, environment_);
        if (const auto delivered = values.find(kDelivered); delivered != values.end())
            layout_.store(ColumnRole::delivered, "", delivered->second);
        for (const CheckedState& state : model_.states)
            if (values[state.name] != loaded.at(state.name))
                layout_.store(ColumnRole::state, state.name, values[state.name]);
        if (values["w"] != loaded.at("w")) layout_.store(ColumnRole::weight, "", values["w"]);
        Result<LoweredProgram> program = layout_.finish(graph_.truth(false));
        if (!program) return fail(program.error().kind, "model '{}': {}", model_.name, program.error().message);
        program->note = "exact between events";
        return program;
    }

private:
    // x' = a x + b: x(t + elapsed) = rest + (x - rest) e^(a elapsed), rest = -b / a.
    Result<void> decay() {
        const Value elapsed = environment_.values["elapsed"];
        std::map<std::string, Value> end;
        for (size_t i = 0; i < model_.states.size(); ++i) {
            const CheckedState& state = model_.states[i];
            if (!state.derivative) continue;
            Environment there = environment_;
            for (size_t j = 0; j < model_.states.size(); ++j)
                there.values[model_.states[j].name] = graph_.symbol(static_cast<uint32_t>(j));
            there.values["w"] = graph_.symbol(63);  // stands still, but may not be part of a derivative
            const Value symbol = there.values[state.name];
            const auto linear = graph_.linear_in(evaluate(*state.derivative, there), symbol);
            if (!linear || graph_.symbols_in(linear->first) != 0 || graph_.symbols_in(linear->second) != 0)
                return fail(ErrorKind::Usage, "model '{}': d{}/dt must be linear in {} and free of other states",
                            model_.name, state.name, state.name);
            end[state.name] = decayed(environment_.values[state.name], linear->first, linear->second, elapsed);
        }
        for (const auto& [name, value] : end) environment_.values[name] = value;
        return {};
    }
    Value decayed(Value x, Value rate, Value input, Value elapsed) {
        const std::optional<long double> number = graph_.number(rate);
        if (number == 0.0L) return graph_.multiply_add(elapsed, input, x);
        // A time constant of zero: gone at once.
        if (number && std::isinf(*number) && *number < 0 && graph_.number(input) == 0.0L) return graph_.constant(0);
        const Value exponent = graph_.multiply(rate, elapsed);
        if (graph_.number(input) == 0.0L) return graph_.multiply(x, graph_.function(ColumnOp::exp, exponent));
        const Value rest = graph_.negate(graph_.divide(input, rate));
        return graph_.multiply_add(graph_.function(ColumnOp::expm1, exponent), graph_.subtract(x, rest), x);
    }

    const SynapseModel::Checked& model_;
    ValueGraph graph_;
    ProgramLayout layout_;
    Environment environment_{.graph = graph_, .step_ms = 0, .subexpressions = &model_.subexpressions};
};

Result<void> check_setup(const SynapseModel::Checked& model, const std::map<std::string, double>& constants) {
    RIFTJIT_TRY_VOID(check_constants(model, constants));
    if (model.states.size() > 63)
        return fail(ErrorKind::Unsupported, "model '{}': {} states, of at most 63", model.name, model.states.size());
    return {};
}

}  // namespace

Result<SynapseModel> SynapseModel::parse(const SynapseModelSource& source) {
    RIFTJIT_TRY(checked, SynapseChecker(source).run());
    SynapseModel model;
    model.checked_ = std::make_shared<const Checked>(std::move(checked));
    return model;
}

const std::string& SynapseModel::name() const { return checked_->name; }
const std::string& SynapseModel::description() const { return checked_->description; }
const std::vector<Variable>& SynapseModel::parameters() const { return checked_->parameters; }
const std::vector<Variable>& SynapseModel::states() const { return checked_->state_variables; }
bool SynapseModel::has_post_events() const { return !checked_->on_post.empty(); }
const SynapseModel::Checked& SynapseModel::checked() const { return *checked_; }

int delivered_sign(const SynapseModel& model, const std::map<std::string, double>& constants) {
    std::map<std::string, double> signs = constants;  // of variables that were set, too
    for (const Statement& statement : model.checked().on_pre) {
        const int sign = sign_of(*statement.value, model.checked(), signs);
        if (statement.target == kDelivered) return sign;
        if (statement.assignment == Assignment::set) signs[statement.target] = sign;
    }
    return 1;
}

namespace {

Result<SynapsePrograms> both_events(const SynapseModel::Checked& model, const std::map<std::string, double>& constants,
                                    double step_ms) {
    RIFTJIT_TRY(on_pre, EventLowering(model, constants, step_ms).run(model.on_pre));
    SynapsePrograms programs{.on_pre = std::move(on_pre)};
    if (model.on_post.empty()) return programs;
    RIFTJIT_TRY(on_post, EventLowering(model, constants, step_ms).run(model.on_post));
    programs.on_post = std::move(on_post);
    return programs;
}

}  // namespace

Result<SynapsePrograms> lower(const SynapseModel& model, const std::map<std::string, double>& constants,
                              double step_ms) {
    const SynapseModel::Checked& checked = model.checked();
    RIFTJIT_TRY_VOID(check_setup(checked, constants));
    Result<SynapsePrograms> programs = both_events(checked, constants, step_ms);
    if (programs) return programs;
    return std::unexpected(
        with_culprit(programs.error(), checked, constants, [&](const std::map<std::string, double>& others) {
            return both_events(checked, others, step_ms).has_value();
        }));
}

Result<std::map<std::string, double>> initial_values(const SynapseModel& model,
                                                     const std::map<std::string, double>& constants) {
    const SynapseModel::Checked& checked = model.checked();
    RIFTJIT_TRY_VOID(check_setup(checked, constants));
    ValueGraph graph;
    Environment environment{.graph = graph, .step_ms = 0};
    for (const Variable& parameter : checked.parameters) {
        const auto constant = constants.find(parameter.name);
        environment.values[parameter.name] =
            graph.constant(constant != constants.end() ? constant->second : parameter.value);
    }
    std::map<std::string, double> values;
    for (const CheckedState& state : checked.states) {
        const auto value = state.initial ? graph.number(evaluate(*state.initial, environment)) : 0.0L;
        if (!value || !std::isfinite(*value))
            return fail(ErrorKind::Usage, "model '{}': the initial value of '{}' is not a finite number", checked.name,
                        state.name);
        values[state.name] = static_cast<double>(*value);
    }
    return values;
}

}  // namespace riftjit::sim
