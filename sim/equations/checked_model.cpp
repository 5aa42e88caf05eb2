#include "sim/equations/checked_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "sim/equations/evaluate.h"
#include "sim/equations/parser.h"

namespace riftjit::sim {

namespace {

bool is_identifier(const std::string& name) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
           std::ranges::all_of(name, is_word);
}

// "10 ms (positive)": the quantity alone, and its domain.
struct MarkedQuantity {
    SourceText quantity;
    Domain domain = Domain::any;
    bool has_sign_of_weight = false, is_event_rate = false;
};
enum class Weights : uint8_t { none, known };  // whether the model is one of synapses
Result<MarkedQuantity> split_domain(const SourceText& source, Weights weights) {
    MarkedQuantity marked{source};
    const size_t open = source.text.find('(');
    if (open == std::string::npos) return marked;
    const std::string_view mark = std::string_view(source.text).substr(open);
    marked.quantity.text.resize(open);
    // Marks of any model, then those that only one kind knows.
    struct Mark {
        std::string_view text;
        Domain domain;
        bool has_sign_of_weight, is_event_rate;
    };
    static constexpr Mark kPositive{"(positive)", Domain::positive},
        kNotNegative{"(not negative)", Domain::not_negative};
    static constexpr Mark kNeuronMarks[] = {
        kPositive, kNotNegative, {"(not negative, at most one a step)", Domain::not_negative, false, true}};
    static constexpr Mark kSynapseMarks[] = {kPositive,
                                             kNotNegative,
                                             {"(sign of w)", Domain::any, true, false},
                                             {"(positive, sign of w)", Domain::positive, true, false}};
    const std::span<const Mark> marks = weights == Weights::known ? std::span<const Mark>(kSynapseMarks) : kNeuronMarks;
    const auto found = std::ranges::find(marks, mark, &Mark::text);
    if (found == marks.end()) return fail_at(source, open, "expected (positive) or (not negative), found '{}'", mark);
    marked.domain = found->domain;
    marked.has_sign_of_weight = found->has_sign_of_weight;
    marked.is_event_rate = found->is_event_rate;
    return marked;
}

class VariableChecker {
public:
    VariableChecker(const VariableTexts& texts, const std::vector<std::string>& reserved)
        : texts_(texts), reserved_(reserved) {
        checked_.name = texts.name;
        checked_.description = texts.description;
    }

    Result<CheckedVariables> run() {
        RIFTJIT_TRY_VOID(parameters());
        RIFTJIT_TRY(equations, parse_equations(texts_.equations, static_cast<uint32_t>(DrawBlock::equations)));
        for (const Equation& equation : equations) RIFTJIT_TRY_VOID(declare(equation));
        for (const Equation& equation : equations) RIFTJIT_TRY_VOID(check_equation(equation));
        for (const Equation& equation : equations) RIFTJIT_TRY_VOID(check_order(equation));
        RIFTJIT_TRY_VOID(set_initial(checked_, texts_.initial));
        return std::move(checked_);
    }

private:
    Result<void> new_name(const SourceText& source, size_t offset, const std::string& name, Unit unit) {
        if (!is_identifier(name)) return fail_at(source, offset, "'{}' cannot be a variable's name", name);
        if (name == "dt" || std::ranges::find(reserved_, name) != reserved_.end())
            return fail_at(source, offset, "'{}' has a meaning of its own and cannot be a variable's name", name);
        if (checked_.scope.names.try_emplace(name, unit).second) return {};
        return fail_at(source, offset, "'{}' is defined twice", name);
    }
    Result<void> parameters() {
        for (const NamedText& parameter : texts_.parameters) {
            const bool has_weights = std::ranges::find(reserved_, "w") != reserved_.end();
            RIFTJIT_TRY(marked, split_domain(parameter.text, has_weights ? Weights::known : Weights::none));
            RIFTJIT_TRY(quantity, parse_quantity(marked.quantity));
            RIFTJIT_TRY_VOID(new_name(parameter.text, 0, parameter.name, quantity.unit));
            const Variable variable{
                parameter.name,      quantity.unit, quantity.value, marked.domain, marked.has_sign_of_weight,
                marked.is_event_rate};
            if (const std::string fault = value_fault(variable, variable.value); !fault.empty())
                return fail_at(parameter.text, 0, "the default of '{}' is {}", parameter.name, fault);
            checked_.parameters.push_back(variable);
        }
        return {};
    }
    Result<void> declare(const Equation& equation) {
        RIFTJIT_TRY_VOID(new_name(texts_.equations, equation.offset, equation.name, equation.unit));
        if (equation.kind == EquationKind::subexpression) {
            if (equation.stops_while_refractory)
                return fail_at(texts_.equations, equation.offset,
                               "'(unless refractory)' is for states, which '{}' is not", equation.name);
            checked_.subexpressions[equation.name] = equation.value;
            checked_.derived.push_back({equation.name, equation.unit, 0});
            return {};
        }
        checked_.states.push_back(
            {equation.name, equation.unit, equation.value, nullptr, equation.stops_while_refractory});
        return {};
    }
    Result<void> check_equation(const Equation& equation) {
        const SourceText& source = texts_.equations;
        if (equation.kind == EquationKind::differential)
            return check_value(source, *equation.value, checked_.scope, equation.unit / kMillisecond,
                               fmt::format("d{}/dt", equation.name));
        if (equation.kind == EquationKind::subexpression)
            return check_value(source, *equation.value, checked_.scope, equation.unit, equation.name);
        return {};
    }
    // Subexpressions must not go round in circles.
    Result<void> check_order(const Equation& equation) {
        if (equation.kind != EquationKind::subexpression) return {};
        std::set<std::string> reached, open = {equation.name};
        while (!open.empty()) {
            const std::string name = *open.begin();
            open.erase(open.begin());
            const auto found = checked_.subexpressions.find(name);
            if (found == checked_.subexpressions.end() || !reached.insert(name).second) continue;
            std::set<std::string> used;
            collect_names(*found->second, used);
            if (used.contains(equation.name))
                return fail_at(texts_.equations, equation.offset, "'{}' is defined by itself", equation.name);
            open.merge(used);
        }
        return {};
    }
    const VariableTexts& texts_;
    const std::vector<std::string>& reserved_;
    CheckedVariables checked_;
};

// Where the weight is 1; nullopt where a state or a function takes part.
std::optional<double> value_of(const Expression& expression, const CheckedVariables& variables,
                               const std::map<std::string, double>& constants) {
    if (expression.operation == Operation::number) return expression.value;
    if (expression.operation == Operation::name) {
        if (const auto constant = constants.find(expression.name); constant != constants.end()) return constant->second;
        const auto parameter = std::ranges::find(variables.parameters, expression.name, &Variable::name);
        if (parameter != variables.parameters.end()) return parameter->value;
        const auto defined = variables.subexpressions.find(expression.name);
        if (defined != variables.subexpressions.end()) return value_of(*defined->second, variables, constants);
        return expression.name == "w" ? std::optional(1.0) : std::nullopt;
    }
    if (expression.operands.empty() || expression.operands.size() > 2) return std::nullopt;
    const auto left = value_of(*expression.operands.front(), variables, constants);
    const auto right = value_of(*expression.operands.back(), variables, constants);
    if (!left || !right) return std::nullopt;
    switch (expression.operation) {
        case Operation::negate:
            return -*left;
        case Operation::add:
            return *left + *right;
        case Operation::subtract:
            return *left - *right;
        case Operation::multiply:
            return *left * *right;
        case Operation::divide:
            return *left / *right;
        default:
            return std::nullopt;
    }
}

}  // namespace

// That of the value where it is known; else states and what has no sign known count as above 0.
int sign_of(const Expression& expression, const CheckedVariables& variables,
            const std::map<std::string, double>& constants) {
    const auto sign = [&](size_t operand) { return sign_of(*expression.operands[operand], variables, constants); };
    const auto of_number = [](double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; };
    const auto common = [](int a, int b) { return a == b || b == 0 ? a : a == 0 ? b : 1; };
    if (const auto value = value_of(expression, variables, constants)) return of_number(*value);
    switch (expression.operation) {
        case Operation::number:
            return of_number(expression.value);
        case Operation::name: {
            if (const auto constant = constants.find(expression.name); constant != constants.end())
                return of_number(constant->second);
            const auto parameter = std::ranges::find(variables.parameters, expression.name, &Variable::name);
            if (parameter != variables.parameters.end()) return of_number(parameter->value);
            const auto defined = variables.subexpressions.find(expression.name);
            return defined == variables.subexpressions.end() ? 1 : sign_of(*defined->second, variables, constants);
        }
        case Operation::negate:
            return -sign(0);
        case Operation::add:
            return common(sign(0), sign(1));
        case Operation::subtract:
            return common(sign(0), -sign(1));
        case Operation::multiply:
        case Operation::divide:
            return sign(0) * sign(1);
        case Operation::select:
            return common(sign(1), sign(2));
        default:
            return 1;
    }
}

void collect_names(const Expression& expression, std::set<std::string>& names) {
    if (expression.operation == Operation::name) names.insert(expression.name);
    for (const ExpressionPtr& operand : expression.operands) collect_names(*operand, names);
}

Result<void> set_initial(CheckedVariables& variables, const std::vector<NamedText>& texts) {
    NamedUnits scope;
    for (const Variable& parameter : variables.parameters) scope.names[parameter.name] = parameter.unit;
    for (const NamedText& text : texts) {
        const auto state = std::ranges::find(variables.states, text.name, &CheckedState::name);
        if (state == variables.states.end()) {
            std::vector<std::string> known;
            for (const CheckedState& one : variables.states) known.push_back(one.name);
            return fail_at(text.text, 0, "initial value of '{}', which is not a state{}", text.name,
                           suggestion(text.name, known));
        }
        const auto number = static_cast<uint32_t>(state - variables.states.begin());
        RIFTJIT_TRY(value,
                    parse_expression(text.text, static_cast<uint32_t>(DrawBlock::initial) + number * kDrawsPerInitial));
        RIFTJIT_TRY_VOID(check_value(text.text, *value, scope, state->unit, text.name));
        state->initial = value;
    }
    ValueGraph graph;
    Environment environment{.graph = graph, .step_ms = 0};
    for (const Variable& one : variables.parameters) environment.values[one.name] = graph.constant(one.value);
    variables.state_variables.clear();
    for (const CheckedState& state : variables.states) {
        const auto value = state.initial ? graph.number(evaluate(*state.initial, environment)) : 0.0L;
        variables.state_variables.push_back({state.name, state.unit, static_cast<double>(value.value_or(0))});
    }
    return {};
}

std::string value_fault(const Variable& parameter, double value) {
    const bool is_right = parameter.domain == Domain::positive       ? value > 0
                          : parameter.domain == Domain::not_negative ? value >= 0
                          : parameter.has_sign_of_weight             ? value != 0
                                                                     : true;
    if (is_right && std::isfinite(value)) return "";
    const std::string shown = with_unit(value, parameter.unit);
    if (!std::isfinite(value)) return shown + ": it must be finite";
    if (parameter.domain == Domain::any) return shown + ": it must not be 0";
    return shown + (parameter.domain == Domain::positive ? ": it must be above 0" : ": it must not be below 0");
}

Result<void> check_constants(const CheckedVariables& variables, const std::map<std::string, double>& constants) {
    std::vector<std::string> known;
    for (const Variable& parameter : variables.parameters) known.push_back(parameter.name);
    for (const auto& [name, value] : constants) {
        const auto parameter = std::ranges::find(variables.parameters, name, &Variable::name);
        if (parameter == variables.parameters.end())
            return fail(ErrorKind::Usage, "model '{}' has no parameter '{}'{}", variables.name, name,
                        suggestion(name, known));
        if (const std::string fault = value_fault(*parameter, value); !fault.empty())
            return fail(ErrorKind::Usage, "model '{}': '{}' is {}", variables.name, name, fault);
    }
    return {};
}

Error with_culprit(Error error, const CheckedVariables& variables, const std::map<std::string, double>& constants,
                   const Lowers& succeeds) {
    const std::string_view reason =
        error.message.ends_with(kConstantNotFinite) ? kConstantNotFinite : kConstantBeyondSingle;
    if (!error.message.ends_with(reason)) return error;
    for (const auto& [name, value] : constants) {
        std::map<std::string, double> others = constants;
        others.erase(name);
        if (!succeeds(others)) continue;
        const auto parameter = std::ranges::find(variables.parameters, name, &Variable::name);
        error.message = fmt::format("model '{}': with '{}' of {} {}", variables.name, name,
                                    with_unit(value, parameter->unit), reason);
        break;
    }
    return error;
}

Result<CheckedVariables> check_variables(const VariableTexts& texts, const std::vector<std::string>& reserved) {
    return VariableChecker(texts, reserved).run();
}

Result<void> check_statements(const SourceText& source, const std::vector<Statement>& statements,
                              const CheckedVariables& variables, NamedUnits scope) {
    std::set<std::string> read;
    for (const Statement& statement : statements) {
        collect_names(*statement.value, read);
        if (statement.assignment != Assignment::set) read.insert(statement.target);
    }
    std::vector<std::string> states;
    for (const CheckedState& state : variables.states) states.push_back(state.name);
    for (const Statement& statement : statements) {
        const std::string& target = statement.target;
        if (target.empty()) continue;
        const auto known = scope.names.find(target);
        const bool is_fixed =
            variables.subexpressions.contains(target) ||
            std::ranges::find(variables.parameters, target, &Variable::name) != variables.parameters.end();
        if (is_fixed)
            return fail_at(source, statement.offset, "'{}' is a {}, which statements cannot change", target,
                           variables.subexpressions.contains(target) ? "subexpression" : "parameter");
        if (known == scope.names.end()) {  // a local variable
            if (statement.assignment != Assignment::set || !read.contains(target))
                return fail_at(source, statement.offset, "'{}' is not a state{}", target, suggestion(target, states));
            RIFTJIT_TRY(type, check_expression(source, *statement.value, scope));
            if (type.is_truth) return fail_at(source, statement.offset, "{} must be a number, not a truth", target);
            scope.names[target] = type.unit;
            continue;
        }
        const bool keeps_unit =
            statement.assignment != Assignment::multiply && statement.assignment != Assignment::divide;
        RIFTJIT_TRY_VOID(check_value(source, *statement.value, scope, keeps_unit ? known->second : kNoUnit,
                                     keeps_unit ? target : "the factor of " + target));
    }
    return {};
}

}  // namespace riftjit::sim
