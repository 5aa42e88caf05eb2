#include "sim/engine/spike_history.h"

#include <algorithm>

namespace riftjit::sim {

void SpikeHistory::prune(uint32_t step) {
    for (uint32_t neuron = 0; neuron < counts_.size(); ++neuron) {
        const auto first = steps_.begin() + static_cast<int64_t>(uint64_t(neuron) * capacity_);
        const auto end = first + counts_[neuron];
        const auto kept = std::lower_bound(first, end, step);
        std::copy(kept, end, first);
        counts_[neuron] = static_cast<uint32_t>(end - kept);
    }
}

void SpikeHistory::grow(uint32_t capacity) {
    std::vector<uint32_t> steps(uint64_t(capacity) * counts_.size());
    for (uint32_t neuron = 0; neuron < counts_.size(); ++neuron) {
        const auto first = steps_.begin() + static_cast<int64_t>(uint64_t(neuron) * capacity_);
        std::copy(first, first + counts_[neuron], steps.begin() + static_cast<int64_t>(uint64_t(neuron) * capacity));
    }
    steps_ = std::move(steps);
    capacity_ = capacity;
}

}  // namespace riftjit::sim
