// Which thread owns which neurons: a contiguous slice of each population, in whole cache lines of state.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/slice.h"

namespace riftjit::sim {

class Slices {
public:
    Slices(const std::vector<uint32_t>& population_sizes, uint32_t threads);

    uint32_t threads() const { return threads_; }
    Slice of(uint32_t population, uint32_t thread) const { return slices_[population * threads_ + thread]; }
    uint32_t owner(uint32_t population, uint32_t element) const {
        const Units& units = units_[population];
        return units.owners[element >> units.log2_size];
    }

private:
    struct Units {  // what is never split
        uint32_t log2_size;
        std::vector<uint16_t> owners;
    };
    uint32_t threads_;
    std::vector<Slice> slices_;
    std::vector<Units> units_;
};

}  // namespace riftjit::sim
