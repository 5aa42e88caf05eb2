// Blocks of random bytes for every weight type.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "jit/formats/weight_format.h"

namespace riftjit {

inline std::vector<std::byte> random_block(DType type, std::mt19937& random) {
    std::vector<std::byte> block(traits(type).block_bytes);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random());
    return block;
}

// Types whose elements are integers times a scale.
inline std::vector<DType> quantised_types() {
    std::vector<DType> types;
    for (const WeightFormat& format : weight_formats())
        if (format.results.code != kNoStep) types.push_back(format.type);
    return types;
}

inline std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const WeightFormat& format : weight_formats()) types.push_back(format.type);
    return types;
}

// For INSTANTIATE_TEST_SUITE_P over types.
constexpr auto kTypeName = [](const auto& info) { return std::string(name(info.param)); };

}  // namespace riftjit
