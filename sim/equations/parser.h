// The equation language's grammar: what follows Brian2's, which users know.
//
//   equation    dV/dt = expression : unit [(unless refractory)] | x = expression : unit | x : unit
//   statement   x = expression | x += expression (and -=, *=, /=) | function(expression)
//   expression  a if c else b; or, and, not; < <= > >= == !=; + -; * /; unary -; **; functions; 10 mV, 10*mV, names
//
// One equation or statement a line (or between semicolons).
#pragma once

#include <string>
#include <vector>

#include "sim/equations/expression.h"

namespace riftjit::sim {

// Of rand(), randn() and poisson().
bool draws_random_number(std::string_view function);

// Calls of those are numbered from first_draw on.
Result<ExpressionPtr> parse_expression(const SourceText& source, uint32_t first_draw = 0);
Result<std::vector<Statement>> parse_statements(const SourceText& source, uint32_t first_draw = 0);
Result<std::vector<Equation>> parse_equations(const SourceText& source, uint32_t first_draw = 0);

}  // namespace riftjit::sim
