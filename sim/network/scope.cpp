#include "sim/network/scope.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/equations/parser.h"
#include "sim/network/random.h"
#include "sim/network/toml_reader.h"

namespace riftjit::sim {

namespace {

std::string described(Unit unit) { return unit == kNoUnit ? "no unit" : unit_text(unit); }

using Operands = std::vector<Quantity>;

// Whole exponents by multiplication, which is exact where it can be; others by functions that round alike everywhere.
double raised(double base, double exponent) {
    if (exponent == std::floor(exponent) && std::abs(exponent) <= 64) {
        double product = 1;
        for (int i = 0; i < static_cast<int>(std::abs(exponent)); ++i) product *= base;
        return exponent < 0 ? 1 / product : product;
    }
    if (exponent == 0.5) return std::sqrt(base);
    return base > 0 ? portable_exp(exponent * portable_log(base)) : std::nan("");
}

struct ScopeFunction {
    std::string_view name;
    size_t operands;
    enum class Units : uint8_t { none, kept, root } units;
    double (*value)(double, double);
};
using enum ScopeFunction::Units;
const std::array kScopeFunctions = {
    ScopeFunction{"sqrt", 1, root, [](double a, double) { return std::sqrt(a); }},
    ScopeFunction{"exp", 1, none, [](double a, double) { return std::abs(a) <= 700 ? portable_exp(a) : std::exp(a); }},
    ScopeFunction{"log", 1, none,
                  [](double a, double) { return a > 0 && a < INFINITY ? portable_log(a) : std::log(a); }},
    ScopeFunction{"log1p", 1, none, [](double a, double) { return a > -1 ? portable_log1p(a) : std::log1p(a); }},
    ScopeFunction{"floor", 1, none, [](double a, double) { return std::floor(a); }},
    ScopeFunction{"ceil", 1, none, [](double a, double) { return std::ceil(a); }},
    ScopeFunction{"round", 1, none, [](double a, double) { return std::round(a); }},
    ScopeFunction{"abs", 1, kept, [](double a, double) { return std::abs(a); }},
    ScopeFunction{"min", 2, kept, [](double a, double b) { return std::min(a, b); }},
    ScopeFunction{"max", 2, kept, [](double a, double b) { return std::max(a, b); }},
};

bool is_comparison(Operation operation) { return operation >= Operation::less && operation <= Operation::not_equal; }
bool compare(Operation operation, double a, double b) {
    switch (operation) {
        case Operation::less:
            return a < b;
        case Operation::less_equal:
            return a <= b;
        case Operation::greater:
            return a > b;
        case Operation::greater_equal:
            return a >= b;
        case Operation::equal:
            return a == b;
        default:
            return a != b;
    }
}

// A plain 0 takes the unit of what it is added to or compared with.
Result<void> match_units(Operands& operands, size_t first, const SourceText& source, size_t offset) {
    Quantity &a = operands[first], &b = operands[first + 1];
    if (a.unit == b.unit) return {};
    const auto is_zero = [](const Quantity& quantity) { return quantity.value == 0 && quantity.unit == kNoUnit; };
    if (is_zero(a)) {
        a.unit = b.unit;
    } else if (is_zero(b)) {
        b.unit = a.unit;
    } else {
        return fail_at(source, offset, "units differ: {} and {}", described(a.unit), described(b.unit));
    }
    return {};
}

}  // namespace

void Scope::set(const std::string& name, Quantity value) { names_[name] = {.value = value}; }

Result<void> Scope::define(const toml::table& constants) {
    for (const auto& [key, node] : constants) {
        const std::string name(key.str());
        const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
        if (name.empty() || !is_letter(name[0]) || !std::ranges::all_of(name, fits))
            return fail_at(source_of(key), 0, "a constant's name has letters, digits and '_' and begins with no digit");
        if (names_.contains(name)) return fail_at(source_of(key), 0, "the name '{}' is taken: it is built in", name);
        names_[name] = {.node = &node};
    }
    return {};
}

Result<void> Scope::evaluate_all() {
    for (auto& [name, entry] : names_) RIFTJIT_TRY_VOID(value_of(entry));
    return {};
}

Result<Quantity> Scope::value_of(Name& name) {
    if (name.value) return *name.value;
    if (name.is_evaluating) return fail_in(*name.node, "this value depends on itself");
    // Each level takes about 2 KB of stack, twice that under a sanitizer: 1 MB of the 8 that a thread usually has.
    constexpr uint32_t kMostNames = 500;
    if (names_depth_ >= kMostNames)
        return fail_in(*name.node, "values depend on each other more than {} names deep", kMostNames);
    name.is_evaluating = true;
    ++names_depth_;
    RIFTJIT_TRY(value, quantity(*name.node));
    --names_depth_;
    name.is_evaluating = false;
    name.value = value;
    return value;
}

Result<Quantity> Scope::quantity(const toml::node& node) {
    if (const auto number = node.value_exact<double>()) {
        if (!std::isfinite(*number)) return fail_in(node, "a value of {}", *number);
        return Quantity{*number, kNoUnit};
    }
    if (const auto* integer = node.as_integer()) return Quantity{static_cast<double>(integer->get()), kNoUnit};
    if (!node.is_string()) return fail_in(node, "expected a number or an expression, found {}", kind_text(node));
    const SourceText source = source_of(node);
    RIFTJIT_TRY(expression, parse_expression(source));
    RIFTJIT_TRY(value, evaluate(*expression, source));
    if (!std::isfinite(value.value)) return fail_at(source, 0, "'{}' is {}", source.text, value.value);
    return value;
}

Result<Quantity> Scope::lookup(const Expression& expression, const SourceText& source) {
    for (Scope* scope = this; scope != nullptr; scope = scope->outer_) {
        const auto found = scope->names_.find(expression.name);
        if (found == scope->names_.end()) continue;
        found->second.is_used = true;
        return scope->value_of(found->second);
    }
    if (const std::optional<ScaledUnit> unit = unit_symbol(expression.name))
        return Quantity{to_base(1, unit->decimal_exponent), unit->unit};
    return fail_at(source, expression.offset, "unknown name '{}'{}", expression.name,
                   suggestion(expression.name, names()));
}

Result<Quantity> Scope::call(const Expression& expression, const SourceText& source) {
    const auto function = std::ranges::find(kScopeFunctions, expression.name, &ScopeFunction::name);
    if (function == kScopeFunctions.end()) {
        std::vector<std::string> known;
        for (const ScopeFunction& one : kScopeFunctions) known.emplace_back(one.name);
        return fail_at(source, expression.offset, "unknown function '{}'{}", expression.name,
                       suggestion(expression.name, known));
    }
    if (expression.operands.size() != function->operands)
        return fail_at(source, expression.offset, "'{}' takes {} value{}, not {}", function->name, function->operands,
                       function->operands == 1 ? "" : "s", expression.operands.size());
    Operands operands;
    for (const ExpressionPtr& operand : expression.operands) {
        RIFTJIT_TRY(value, evaluate(*operand, source));
        operands.push_back(value);
    }
    if (operands.size() == 2) RIFTJIT_TRY_VOID(match_units(operands, 0, source, expression.offset));
    Unit unit = operands[0].unit;
    if (function->units == none && unit != kNoUnit)
        return fail_at(source, expression.offset, "'{}' takes a number without a unit, not one of {}", function->name,
                       unit_text(unit));
    if (function->units == root) {
        const std::optional<Unit> halved = power(unit, 0.5);
        if (!halved) return fail_at(source, expression.offset, "{} has no square root", unit_text(unit));
        unit = *halved;
    }
    return Quantity{function->value(operands[0].value, operands.back().value), unit};
}

// Names that stand for expressions of names may go as deep as the file is long.
Result<Quantity> Scope::evaluate(const Expression& expression, const SourceText& source) {
    constexpr uint32_t kMostDepth = 3000;  // a text alone reaches 2000
    if (depth_ >= kMostDepth)
        return fail_at(source, expression.offset, "values depend on each other more than {} levels deep", kMostDepth);
    ++depth_;
    Result<Quantity> value = value_of(expression, source);
    --depth_;
    return value;
}

Result<Quantity> Scope::value_of(const Expression& expression, const SourceText& source) {
    if (expression.operation == Operation::number) return Quantity{expression.value, expression.unit};
    if (expression.operation == Operation::name) return lookup(expression, source);
    if (expression.operation == Operation::call) return call(expression, source);
    Operands operands;
    for (const ExpressionPtr& operand : expression.operands) {
        RIFTJIT_TRY(value, evaluate(*operand, source));
        operands.push_back(value);
    }
    const auto match = [&](size_t first) { return match_units(operands, first, source, expression.offset); };
    const Quantity a = operands[0], b = operands.size() > 1 ? operands[1] : Quantity{0, kNoUnit};
    switch (expression.operation) {
        case Operation::negate:
            return Quantity{-a.value, a.unit};
        case Operation::negation:
            return Quantity{a.value == 0 ? 1.0 : 0.0, kNoUnit};
        case Operation::both:
            return Quantity{a.value != 0 && b.value != 0 ? 1.0 : 0.0, kNoUnit};
        case Operation::either:
            return Quantity{a.value != 0 || b.value != 0 ? 1.0 : 0.0, kNoUnit};
        case Operation::multiply:
            return Quantity{a.value * b.value, a.unit * b.unit};
        case Operation::divide:
            if (b.value == 0) return fail_at(source, expression.offset, "division by zero");
            return Quantity{a.value / b.value, a.unit / b.unit};
        case Operation::add:
        case Operation::subtract:
            RIFTJIT_TRY_VOID(match(0));
            return Quantity{expression.operation == Operation::add ? a.value + b.value : a.value - b.value,
                            operands[0].unit};
        case Operation::select:
            RIFTJIT_TRY_VOID(match(1));
            return Quantity{a.value != 0 ? operands[1].value : operands[2].value, operands[1].unit};
        case Operation::power: {
            const std::optional<Unit> unit = power(a.unit, b.value);
            if (b.unit != kNoUnit || !unit)
                return fail_at(source, expression.offset, "an exponent of {}{}", b.value,
                               b.unit == kNoUnit ? " for " + unit_text(a.unit) : " " + unit_text(b.unit));
            return Quantity{raised(a.value, b.value), *unit};
        }
        default:
            break;
    }
    check(is_comparison(expression.operation), "every operation is evaluated");
    RIFTJIT_TRY_VOID(match(0));
    return Quantity{compare(expression.operation, a.value, b.value) ? 1.0 : 0.0, kNoUnit};
}

std::vector<std::string> Scope::names() const {
    std::vector<std::string> all;
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer_)
        for (const auto& [name, entry] : scope->names_) all.push_back(name);
    return all;
}

std::vector<std::string> Scope::unused() const {
    std::vector<std::string> all;
    for (const auto& [name, entry] : names_)
        if (!entry.is_used) all.push_back(name);
    return all;
}

bool Scope::is_used(std::string_view name) const {
    const auto found = names_.find(name);
    return found != names_.end() && found->second.is_used;
}

}  // namespace riftjit::sim
