// The steps in which the neurons of one slice fired, as far back as a plastic synapse may still ask.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/slices.h"

namespace riftjit::sim {

class SpikeHistory {
public:
    explicit SpikeHistory(Slice slice) : slice_(slice), counts_(slice.size()) { grow(kFirstCapacity); }

    bool is_full(uint32_t element) const { return counts_[element - slice_.begin] == capacity_; }
    void add(uint32_t element, uint32_t step) {
        const uint32_t neuron = element - slice_.begin;
        steps_[uint64_t(neuron) * capacity_ + counts_[neuron]++] = step;
    }
    // Ascending. Refers to the history until the next change.
    std::span<const uint32_t> of(uint32_t element) const {
        const uint32_t neuron = element - slice_.begin;
        return {&steps_[uint64_t(neuron) * capacity_], counts_[neuron]};
    }
    // Forgets what lies before `step`.
    void prune(uint32_t step);
    uint32_t capacity() const { return capacity_; }
    void clear() { std::fill(counts_.begin(), counts_.end(), 0); }
    void make_room() { grow(2 * capacity_); }
    uint64_t bytes() const { return steps_.size() * sizeof(uint32_t) + counts_.size() * sizeof(uint32_t); }

    static constexpr uint32_t kFirstCapacity = 16;
    static uint64_t first_bytes(uint32_t neurons) {
        return uint64_t(neurons) * (kFirstCapacity + 1) * sizeof(uint32_t);
    }

private:
    void grow(uint32_t capacity);

    Slice slice_;
    uint32_t capacity_ = 0;
    std::vector<uint32_t> counts_, steps_;  // steps: capacity_ per neuron
};

}  // namespace riftjit::sim
