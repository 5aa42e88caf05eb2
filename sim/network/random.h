// Random numbers keyed by what they are for: each is a function of (seed, purpose, objects, index) alone, never of a
// thread or of the order of calls. Philox 4x32-10 underneath (jit/columns/philox.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "jit/columns/philox.h"

namespace riftjit::sim {

// Part of every key, and so of every result: numbers are never changed or used again.
enum class Purpose : uint32_t {
    connection = 1,    // object: projection
    connection_total,  // projection: synapses per source of a fixed total
    synapse_value,     // projection: weights (first number) and delays (second), by synapse_index()
    neuron_value,      // population; part: name_part of the parameter or variable
    position,          // population
    neuron_program,    // population: the random ops of its column program
};
uint64_t random_key(uint64_t seed, Purpose purpose, uint32_t object = 0, uint32_t part = 0);
uint32_t name_part(std::string_view name);

// Words of (id, index); `attempt` counts the draws that were thrown away before.
constexpr PhiloxWords random_words(uint64_t key, uint32_t id, uint64_t index, uint32_t attempt = 0) {
    return philox_draw(key, id, attempt, index);
}

// The index of the words of one synapse, whose id is its source: who draws which others, and when, changes nothing.
constexpr uint64_t synapse_index(uint32_t target, uint32_t occurrence) { return target | uint64_t(occurrence) << 32; }

// A bijection in which every bit of the result depends on all of the argument: the output function of splitmix64.
constexpr uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// Unbiased integers below `bound`, one after the other: number i of (key, id) is word i mod 4 of index i / 4. Lemire,
// "Fast random integer generation in an interval", 2019; a rejected word is replaced by the first of its next attempts.
class BoundedNumbers {
public:
    // bound: at least 1.
    BoundedNumbers(uint64_t key, uint32_t id, uint32_t bound)
        : key_(key), id_(id), bound_(bound), least_((0u - bound) % bound) {}

    uint32_t next() {
        const uint32_t word = static_cast<uint32_t>(count_ % 4);
        if (word == 0) words_ = random_words(key_, id_, count_ / 4);
        uint64_t product = uint64_t(words_[word]) * bound_;
        if (uint32_t(product) < least_) [[unlikely]]
            product = redraw(word);
        ++count_;
        return static_cast<uint32_t>(product >> 32);
    }

private:
    uint64_t redraw(uint32_t word) const;

    uint64_t key_;
    uint32_t id_, bound_, least_;
    uint64_t count_ = 0;
    PhiloxWords words_{};
};

// Logarithm and exponential with the same bits on every machine, which those of the C library, chosen by the chip at
// start-up, do not promise. Within 2 units in the last place for normal results.
double portable_log(double x);    // x > 0, finite
double portable_log1p(double x);  // log(1 + x), x > -1
double portable_exp(double x);    // |x| <= 700

// The standard normal number below which a uniform one falls with probability u, 0 < u < 1. Wichura, "Algorithm AS 241:
// the percentage points of the normal distribution", 1988 (PPND16, relative error about 1e-16).
double normal_quantile(double u);
// Uniform in (0, 1), of 52 bits: never an end of the interval, and 1 - u occurs as often as u.
constexpr double open_uniform(uint64_t number) { return (static_cast<double>(number >> 12) + 0.5) * 0x1p-52; }

}  // namespace riftjit::sim
