// Checked expressions and statements to values of a graph.
#pragma once

#include <map>
#include <string>

#include "sim/equations/expression.h"
#include "sim/equations/value_graph.h"

namespace riftjit::sim {

struct Environment {
    ValueGraph& graph;
    double step_ms;
    std::map<std::string, Value> values;                                   // of variables, as they stand
    const std::map<std::string, ExpressionPtr>* subexpressions = nullptr;  // evaluated where they are used
    const std::map<std::string, Value>* previous = nullptr;
};

Value evaluate(const Expression& expression, const Environment& environment);
// Assigns to a variable of the environment.
void execute(const Statement& statement, Environment& environment);

}  // namespace riftjit::sim
