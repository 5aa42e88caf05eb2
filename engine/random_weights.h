// Matrices of random blocks whose elements are of the size of weights, as files have them.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "jit/formats/dtype.h"

namespace riftjit::engine {

class RandomWeights {
public:
    explicit RandomWeights(DType type);

    DType type() const { return type_; }
    std::vector<std::byte> matrix(uint32_t rows, uint32_t width);
    std::vector<float> vector(uint32_t width, float about);  // f32, whatever the type

private:
    void fill_pool();

    DType type_;
    std::mt19937 random_;
    std::normal_distribution<float> normal_;
    std::vector<std::vector<std::byte>> pool_;
};

}  // namespace riftjit::engine
