// What every engine's runs are held to without running them again, and the hash that they are compared by.
#pragma once

#include <cstdint>

#include "host/result.h"

namespace riftjit::sim {

// One whole value per round; FNV-like, with the start value of the ramp network's publication.
class SequenceHash {
public:
    void add(uint64_t value) { hash_ = (hash_ ^ value) * 1099511628211u; }
    uint64_t value() const { return hash_; }

private:
    uint64_t hash_ = 1469598103934665603u;
};

// What arrived, and is on its way, is the sum of the fan-outs of the neurons that fired.
Result<void> check_arrivals(uint64_t arrivals, uint64_t fan_outs);
// The spike counts of the neurons add up to all spikes.
Result<void> check_counts(uint64_t counted, uint64_t spikes);

}  // namespace riftjit::sim
