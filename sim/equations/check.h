// Names and units of parsed expressions.
#pragma once

#include <map>
#include <string>

#include "sim/equations/expression.h"

namespace riftjit::sim {

// What an expression is: a truth, or a number of `unit`. A plain 0 is of any unit.
struct ValueType {
    bool is_truth = false;
    bool is_zero = false;
    Unit unit = {};
};

enum class PreviousValues : uint8_t { unknown, known };  // whether previous(x) means something

// Names that expressions may use. Names of units, "dt" and "pi" need not be in it.
struct NamedUnits {
    std::map<std::string, Unit> names;
    PreviousValues previous = PreviousValues::unknown;
};

// What a name means where the model does not define it.
struct NamedConstant {
    double value;
    Unit unit;
};
std::optional<NamedConstant> named_constant(const std::string& name);

enum class FunctionKind : uint8_t { plain, keeps_unit, root, choice, random, truth_to_number, sign, power, previous };
struct Function {
    std::string_view name;
    size_t operands;
    FunctionKind kind;
};
const Function* find_function(std::string_view name);

Result<ValueType> check_expression(const SourceText& source, const Expression& expression, const NamedUnits& scope);
// The same, and of `unit`: "unit mismatch: `what` is mV, its value pA".
Result<void> check_value(const SourceText& source, const Expression& expression, const NamedUnits& scope, Unit unit,
                         std::string_view what);
Result<void> check_truth(const SourceText& source, const Expression& expression, const NamedUnits& scope,
                         std::string_view what);
std::unexpected<Error> unknown_name(const SourceText& source, size_t offset, const std::string& name,
                                    const NamedUnits& scope);

}  // namespace riftjit::sim
