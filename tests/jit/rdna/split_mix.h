// Random bits for tests that draw millions: std::mt19937 is half of their time as tests are compiled.
#pragma once

#include <cstdint>

namespace riftjit::rdna::test {

// SplitMix64.
class SplitMix {
public:
    explicit SplitMix(uint64_t seed) : state_(seed) {}
    uint64_t operator()() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }

private:
    uint64_t state_;
};

}  // namespace riftjit::rdna::test
