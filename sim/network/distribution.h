// Numbers drawn from the distributions of a network's description.
#pragma once

#include <optional>
#include <string>

#include "sim/network/description.h"
#include "sim/network/random.h"

namespace riftjit::sim {

// Which number of the words is used: two values of one object share a Philox block (weights and delays).
enum class Half : uint8_t { first, second };

// The value of object (id, index): redrawn until it lies in [least, most]. `index` counts the values of Values.
double draw(const Distribution& distribution, uint64_t key, uint32_t id, uint64_t index, Half half = Half::first);
// The same where the words of attempt 0 are known.
double draw(const Distribution& distribution, const PhiloxWords& words, uint64_t key, uint32_t id, uint64_t index,
            Half half);

// The key of a parameter or variable of a population: the value of neuron i is draw(distribution, key, i, i).
uint64_t neuron_value_key(uint64_t seed, uint32_t population, std::string_view name);

std::optional<double> constant_of(const Distribution& distribution);
// "normal (mean 1.5, deviation 0.75), at least 0.05"
std::string distribution_text(const Distribution& distribution);

// What is wrong with it ("a deviation of -1"), or empty. A distribution that would be redrawn more than a thousand
// times in the mean is wrong, and so is a number that is not finite.
std::string distribution_fault(const Distribution& distribution);

}  // namespace riftjit::sim
