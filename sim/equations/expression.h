// Expressions, statements and equations as parsed, before names are resolved.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/equations/units.h"

namespace riftjit::sim {

enum class Operation : uint8_t {
    number,  // `value` of `unit`
    name,    // `name`
    negate,
    add,
    subtract,
    multiply,
    divide,
    power,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    both,
    either,
    negation,
    select,  // operands: condition, value where it holds, value elsewhere
    call,    // function `name`
};

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;
struct Expression {
    Operation operation;
    size_t offset;  // of its operator or first character in the source
    double value = 0;
    Unit unit = {};
    std::string name = {};
    uint32_t draw = 0;  // of rand(), randn() and poisson(): which call of the source it is
    std::vector<ExpressionPtr> operands = {};
};

enum class Assignment : uint8_t { set, add, subtract, multiply, divide };
struct Statement {
    std::string target;  // empty: a call alone, as "deliver(w)"
    Assignment assignment = Assignment::set;
    size_t offset;  // of the target
    ExpressionPtr value;
};

enum class EquationKind : uint8_t { differential, subexpression, variable };
struct Equation {
    EquationKind kind;
    std::string name;
    size_t offset;
    ExpressionPtr value;  // null for a variable without an equation
    Unit unit;
    bool stops_while_refractory = false;
};

}  // namespace riftjit::sim
