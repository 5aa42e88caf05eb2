// What is wrong with the weights and delays of a projection, for whoever knows the place in the file.
#pragma once

#include <string>
#include <string_view>

#include "sim/network/description.h"

namespace riftjit::sim {

// Random delays, redrawn until they round to a step that a synapse can have.
Distribution delay_within_steps(const Network& network, const Distribution& delay);

// Empty where all is well. `what`: "weight".
std::string value_fault(const ConnectionRule& rule, std::string_view what, const Distribution& distribution);
std::string delay_fault(const Network& network, const Projection& projection);
std::string delay_value_fault(const Network& network, double delay_ms);

}  // namespace riftjit::sim
