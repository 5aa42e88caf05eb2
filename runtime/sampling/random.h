// The sampler's random numbers: the same seed gives the same numbers with any standard library.
#pragma once

#include <cstdint>
#include <random>

namespace riftjit::runtime {

class Random {
public:
    explicit Random(uint32_t seed) : engine_(seed) {}

    // In [0, 1), all 53 bits. The standard's engine is specified to the bit, its distributions are not.
    double uniform() {
        const uint64_t high = engine_(), low = engine_();
        return double((high << 32 | low) >> 11) * 0x1p-53;
    }

private:
    std::mt19937 engine_;
};

}  // namespace riftjit::runtime
