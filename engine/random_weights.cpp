#include "engine/random_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/dequantize.h"
#include "host/half.h"

namespace riftjit::engine {

RandomWeights::RandomWeights(DType type) : type_(type), random_(uint32_t(type) + 1) { fill_pool(); }

std::vector<std::byte> RandomWeights::matrix(uint32_t rows, uint32_t width) {
    std::vector<std::byte> bytes;
    for (uint64_t block = 0; block < uint64_t(rows) * width / traits(type_).block_elements; ++block) {
        const std::vector<std::byte>& one = pool_[random_() % pool_.size()];
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes;
}

std::vector<float> RandomWeights::vector(uint32_t width, float about) {
    std::vector<float> values(width);
    for (float& value : values) value = about + 0.2f * normal_(random_);
    return values;
}

// Random bytes are blocks of every quantised type; those are kept whose elements are of the size of weights.
void RandomWeights::fill_pool() {
    const DTypeTraits& type = traits(type_);
    std::vector<float> values(type.block_elements);
    while (pool_.size() < 256) {
        std::vector<std::byte> block(type.block_bytes);
        for (std::byte& byte : block) byte = std::byte(random_());
        const float element = 0.02f * normal_(random_);
        const uint16_t half = type_ == DType::F16 ? float_to_half(element) : float_to_bfloat(element);
        if (type_ == DType::F32) std::memcpy(block.data(), &element, sizeof element);
        if (type_ == DType::F16 || type_ == DType::BF16) std::memcpy(block.data(), &half, sizeof half);
        if (type_ == DType::NVFP4)  // its four scales hardly ever are small together by chance
            for (int i = 0; i < 4; ++i) block[i] = std::byte(1 + random_() % 5);
        graph::dequantize_row(type_, block.data(), type.block_elements, values.data());
        float most = 0;
        bool is_finite = true;
        for (const float value : values) {
            is_finite = is_finite && std::isfinite(value);
            most = std::max(most, std::fabs(value));
        }
        if (is_finite && (type.block_elements == 1 || (most > 0.01f && most < 0.06f))) pool_.push_back(block);
    }
}

}  // namespace riftjit::engine
