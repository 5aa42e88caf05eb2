// The sampler's random numbers. Of a seed they are those of llama.cpp, which has them from the standard library,
// libstdc++ and libc++ alike: so a seed gives the tokens that it gives there, wherever logits and settings are alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace riftjit::runtime {

class Random {
public:
    explicit Random(uint32_t seed) : engine_(seed) {}

    // Both in [0, 1). The standard's engine is specified to the bit, its distributions are not: these are what
    // std::uniform_real_distribution of double and of float makes of it in those libraries.
    double uniform() {
        const double low = engine_(), high = engine_();
        return std::min((low + high * 0x1p32) * 0x1p-64, 0x1.fffffffffffffp-1);
    }
    float uniform_float() { return std::min(float(engine_()) * 0x1p-32f, 0x1.fffffep-1f); }

private:
    std::mt19937 engine_;
};

}  // namespace riftjit::runtime
