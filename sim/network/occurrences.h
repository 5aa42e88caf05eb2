// Which of several synapses of one pair of neurons a synapse is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/synapse_table.h"

namespace riftjit::sim {

// Numbers the synapses of one source that end at the same target from 0, in their order.
class OccurrenceCounter {
public:
    void number(std::span<Synapse> row);

private:
    struct Entry {
        uint32_t target, count;  // count 0: free
    };
    void number_unsorted(std::span<Synapse> row);

    std::vector<Entry> table_;  // open addressing, at most half full
};

}  // namespace riftjit::sim
