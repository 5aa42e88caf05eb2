// What is wrong with the weights and delays of a projection, for whoever knows the place in the file.
#pragma once

#include <string>
#include <string_view>

#include "sim/network/description.h"

namespace riftjit::sim {

// Random delays, redrawn until they round to a step that a synapse can have.
Distribution delay_within_steps(const Network& network, const Distribution& delay);

// Which weights a projection may have, and why no others: "conductances are not negative".
struct WeightRange {
    double least = -kUnlimited, most = kUnlimited;
    std::string why_least, why_most;
};
WeightRange weight_range(const NeuronPopulation& neurons, std::string_view receptor);
WeightRange weight_range(const Network& network, const Projection& projection);  // of its receptor and its synapses
bool is_within(const WeightRange& range, double weight, Precision precision);
// Of one weight, empty where it is within: "-50 nS: conductances are not negative"; what is no number, or beyond
// `precision`, is wrong as well.
std::string weight_fault(const WeightRange& range, double weight, std::string_view unit, Precision precision);

// Empty where all is well. `what`: "weight".
std::string value_fault(const ConnectionRule& rule, std::string_view what, std::string_view unit,
                        const Distribution& distribution);
// Of the weights that the description holds; those that are drawn show once they are.
std::string weight_fault(const Network& network, const Projection& projection, Precision precision = Precision::f64);
std::string weight_unit(const Network& network, const Projection& projection);  // of the receptor; "1": none
std::string delay_fault(const Network& network, const Projection& projection);
std::string delay_value_fault(const Network& network, double delay_ms);

}  // namespace riftjit::sim
