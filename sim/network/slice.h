// A contiguous range of a population's neurons.
#pragma once

#include <cstdint>

namespace riftjit::sim {

struct Slice {
    uint32_t begin, end;
    uint32_t size() const { return end - begin; }
    bool contains(uint32_t element) const { return element - begin < end - begin; }
};

}  // namespace riftjit::sim
