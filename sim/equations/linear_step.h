// Exact steps of linear systems with constant coefficients.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "sim/equations/integration.h"

namespace riftjit::sim {

// The states at the end of the step, or why the system has no exact step: "dV/dt is not linear".
std::expected<std::vector<Value>, std::string> linear_step(ValueGraph& graph, const OdeSystem& system);

}  // namespace riftjit::sim
