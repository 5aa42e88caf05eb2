// One step of a system of differential equations, as values of a graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/equations/model.h"
#include "sim/equations/value_graph.h"

namespace riftjit::sim {

struct OdeState {
    std::string name;
    Value start;                  // at the start of the step
    bool stops_while_refractory;  // its derivative is 0 while `is_refractory`
};
struct OdeSystem {
    std::vector<OdeState> states;
    // Derivatives at given values of the states.
    std::function<std::vector<Value>(const std::vector<Value>&)> derivatives;
    Value is_refractory;  // a truth
    double step_ms;
};
struct OdeStep {
    std::vector<Value> states;  // at the end
    Method method;              // in force
    std::string note;
};

// Method::automatic: exact where all equations are linear with constant coefficients; else exponential Euler (order h)
// where each is linear in its own variable; else the classical Runge-Kutta scheme (order h^4).
Result<OdeStep> integrate(ValueGraph& graph, const OdeSystem& system, Method method);

}  // namespace riftjit::sim
