#include "sim/equations/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace riftjit::sim {

namespace {

constexpr std::array kFunctions = {
    Function{"abs", 1, FunctionKind::keeps_unit},      Function{"ceil", 1, FunctionKind::plain},
    Function{"clip", 3, FunctionKind::keeps_unit},     Function{"cos", 1, FunctionKind::plain},
    Function{"exp", 1, FunctionKind::plain},           Function{"expm1", 1, FunctionKind::plain},
    Function{"exprel", 1, FunctionKind::plain},        Function{"floor", 1, FunctionKind::plain},
    Function{"int", 1, FunctionKind::truth_to_number}, Function{"log", 1, FunctionKind::plain},
    Function{"max", 2, FunctionKind::keeps_unit},      Function{"min", 2, FunctionKind::keeps_unit},
    Function{"poisson", 1, FunctionKind::plain},       Function{"pow", 2, FunctionKind::power},
    Function{"previous", 1, FunctionKind::previous},   Function{"rand", 0, FunctionKind::random},
    Function{"randn", 0, FunctionKind::random},        Function{"sign", 1, FunctionKind::sign},
    Function{"sin", 1, FunctionKind::plain},           Function{"sqrt", 1, FunctionKind::root},
    Function{"tanh", 1, FunctionKind::plain},          Function{"where", 3, FunctionKind::choice},
};

std::string type_text(const ValueType& type) {
    if (type.is_truth) return "a truth";
    return type.unit == kNoUnit ? "a number without a unit" : unit_text(type.unit);
}

std::string_view symbol(Operation operation) {
    switch (operation) {
        case Operation::add:
            return "+";
        case Operation::subtract:
            return "-";
        case Operation::less:
            return "<";
        case Operation::less_equal:
            return "<=";
        case Operation::greater:
            return ">";
        case Operation::greater_equal:
            return ">=";
        case Operation::equal:
            return "==";
        default:
            return "!=";
    }
}

class Checker {
public:
    Checker(const SourceText& source, const NamedUnits& scope) : source_(source), scope_(scope) {}

    Result<ValueType> check(const Expression& expression) {
        switch (expression.operation) {
            case Operation::number:
                return ValueType{.is_zero = expression.value == 0 && expression.unit == kNoUnit,
                                 .unit = expression.unit};
            case Operation::name:
                return name(expression);
            case Operation::negate:
                return number(*expression.operands[0]);
            case Operation::add:
            case Operation::subtract:
                return common(expression, *expression.operands[0], *expression.operands[1],
                              symbol(expression.operation));
            case Operation::multiply:
            case Operation::divide:
                return product(expression);
            case Operation::power:
                return raised(expression);
            case Operation::both:
            case Operation::either:
            case Operation::negation:
                for (const ExpressionPtr& operand : expression.operands) RIFTJIT_TRY_VOID(truth(*operand));
                return ValueType{.is_truth = true};
            case Operation::select:
                return choice(expression);
            case Operation::call:
                return call(expression);
            default:  // the comparisons
                RIFTJIT_TRY_VOID(
                    common(expression, *expression.operands[0], *expression.operands[1], symbol(expression.operation)));
                return ValueType{.is_truth = true};
        }
    }

private:
    Result<ValueType> name(const Expression& expression) {
        const auto found = scope_.names.find(expression.name);
        if (found != scope_.names.end()) return ValueType{.unit = found->second};
        if (const auto constant = named_constant(expression.name)) return ValueType{.unit = constant->unit};
        if (expression.name == "dt") return ValueType{.unit = kMillisecond};
        return unknown_name(source_, expression.offset, expression.name, scope_);
    }
    Result<ValueType> number(const Expression& expression) {
        RIFTJIT_TRY(type, check(expression));
        if (type.is_truth) return fail_at(source_, expression.offset, "expected a number, found a truth");
        return type;
    }
    Result<void> truth(const Expression& expression) {
        RIFTJIT_TRY(type, check(expression));
        if (type.is_truth) return {};
        return fail_at(source_, expression.offset, "expected a truth such as 'a < b', found {}", type_text(type));
    }
    // Both of one unit, which is the result's.
    Result<ValueType> common(const Expression& whole, const Expression& a, const Expression& b, std::string_view sign) {
        RIFTJIT_TRY(left, number(a));
        RIFTJIT_TRY(right, number(b));
        if (left.is_zero) return right;
        if (right.is_zero || left.unit == right.unit) return left;
        return fail_at(source_, whole.offset, "unit mismatch: {} {} {}", unit_text(left.unit), sign,
                       unit_text(right.unit));
    }
    Result<ValueType> product(const Expression& expression) {
        RIFTJIT_TRY(left, number(*expression.operands[0]));
        RIFTJIT_TRY(right, number(*expression.operands[1]));
        const bool is_product = expression.operation == Operation::multiply;
        return ValueType{.unit = is_product ? left.unit * right.unit : left.unit / right.unit};
    }
    Result<ValueType> raised(const Expression& expression) {
        RIFTJIT_TRY(base, number(*expression.operands[0]));
        RIFTJIT_TRY_VOID(plain(*expression.operands[1], "an exponent"));
        if (base.unit == kNoUnit) return ValueType{};
        const std::optional<double> exponent = written_number(*expression.operands[1]);
        const std::optional<Unit> unit = exponent ? power(base.unit, *exponent) : std::nullopt;
        if (unit) return ValueType{.unit = *unit};
        return fail_at(source_, expression.offset, "a power of {} needs an exponent written as a whole or half number",
                       unit_text(base.unit));
    }
    static std::optional<double> written_number(const Expression& expression) {
        if (expression.operation == Operation::number) return expression.value;
        if (expression.operation != Operation::negate) return std::nullopt;
        const std::optional<double> value = written_number(*expression.operands[0]);
        return value ? std::optional(-*value) : std::nullopt;
    }
    Result<ValueType> choice(const Expression& expression) {
        RIFTJIT_TRY_VOID(truth(*expression.operands[0]));
        return common(expression, *expression.operands[1], *expression.operands[2], "else");
    }
    Result<void> plain(const Expression& expression, std::string_view what) {
        RIFTJIT_TRY(type, number(expression));
        if (type.unit == kNoUnit) return {};
        return fail_at(source_, expression.offset, "{} must be a number without a unit, not {}", what,
                       unit_text(type.unit));
    }

    Result<ValueType> call(const Expression& expression) {
        const Function* function = find_function(expression.name);
        if (function == nullptr) {
            std::vector<std::string> known;
            for (const Function& one : kFunctions) known.emplace_back(one.name);
            return fail_at(source_, expression.offset, "unknown function '{}'{}", expression.name,
                           suggestion(expression.name, known));
        }
        if (expression.operands.size() != function->operands)
            return fail_at(source_, expression.offset, "{}() takes {} operand{}, found {}", function->name,
                           function->operands, function->operands == 1 ? "" : "s", expression.operands.size());
        return apply(*function, expression);
    }
    Result<ValueType> apply(const Function& function, const Expression& call) {
        switch (function.kind) {
            case FunctionKind::plain:
                RIFTJIT_TRY_VOID(plain(*call.operands[0], fmt::format("the operand of {}()", function.name)));
                return ValueType{};
            case FunctionKind::keeps_unit:
                return keeps_unit(call);
            case FunctionKind::root: {
                RIFTJIT_TRY(type, number(*call.operands[0]));
                const std::optional<Unit> unit = power(type.unit, 0.5);
                if (unit) return ValueType{.unit = *unit};
                return fail_at(source_, call.offset, "{} has no square root", unit_text(type.unit));
            }
            case FunctionKind::choice:
                return choice(call);
            case FunctionKind::random:
                return ValueType{};
            case FunctionKind::truth_to_number:
                RIFTJIT_TRY_VOID(truth(*call.operands[0]));
                return ValueType{};
            case FunctionKind::sign:
                RIFTJIT_TRY_VOID(number(*call.operands[0]));
                return ValueType{};
            case FunctionKind::power:
                return raised(call);
            case FunctionKind::previous:
                return previous(call);
        }
        return ValueType{};
    }
    Result<ValueType> keeps_unit(const Expression& call) {
        RIFTJIT_TRY(type, number(*call.operands[0]));
        for (size_t i = 1; i < call.operands.size(); ++i) {
            RIFTJIT_TRY(other, common(call, *call.operands[0], *call.operands[i], "and"));
            if (type.is_zero) type = other;
        }
        type.is_zero = false;
        return type;
    }
    Result<ValueType> previous(const Expression& call) {
        if (scope_.previous == PreviousValues::unknown)
            return fail_at(source_, call.offset, "previous() is for the threshold and the reset");
        if (call.operands[0]->operation != Operation::name)
            return fail_at(source_, call.operands[0]->offset, "previous() takes the name of a variable");
        return number(*call.operands[0]);
    }

    const SourceText& source_;
    const NamedUnits& scope_;
};

}  // namespace

std::optional<NamedConstant> named_constant(const std::string& name) {
    if (name == "pi") return NamedConstant{std::numbers::pi, kNoUnit};
    // Bare one-letter units are left out: a mistyped V must not become a volt.
    if (name.size() < 2) return std::nullopt;
    const std::optional<ScaledUnit> unit = unit_symbol(name);
    if (!unit) return std::nullopt;
    return NamedConstant{to_base(1, unit->decimal_exponent), unit->unit};
}

const Function* find_function(std::string_view name) {
    const auto* found = std::ranges::find(kFunctions, name, &Function::name);
    return found == kFunctions.end() ? nullptr : found;
}

Result<ValueType> check_expression(const SourceText& source, const Expression& expression, const NamedUnits& scope) {
    return Checker(source, scope).check(expression);
}

Result<void> check_value(const SourceText& source, const Expression& expression, const NamedUnits& scope, Unit unit,
                         std::string_view what) {
    RIFTJIT_TRY(type, check_expression(source, expression, scope));
    if (type.is_truth) return fail_at(source, expression.offset, "{} must be a number, not a truth", what);
    if (type.is_zero || type.unit == unit) return {};
    return fail_at(source, expression.offset, "unit mismatch: {} is {}, its value {}", what, unit_text(unit),
                   unit_text(type.unit));
}

Result<void> check_truth(const SourceText& source, const Expression& expression, const NamedUnits& scope,
                         std::string_view what) {
    RIFTJIT_TRY(type, check_expression(source, expression, scope));
    if (type.is_truth) return {};
    return fail_at(source, expression.offset, "{} must be a truth such as 'V >= V_th', not {}", what, type_text(type));
}

std::unexpected<Error> unknown_name(const SourceText& source, size_t offset, const std::string& name,
                                    const NamedUnits& scope) {
    std::vector<std::string> known;
    for (const auto& [one, unit] : scope.names) known.push_back(one);
    return fail_at(source, offset, "unknown name '{}'{}", name, suggestion(name, known));
}

}  // namespace riftjit::sim
