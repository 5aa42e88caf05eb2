#include "graph/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "tests/graph/dequantize_goldens.h"

namespace riftjit::graph {
namespace dequantize_test {

TEST(Dequantize, GivesTheBitsOfTheReferenceDecoderForEveryWeightType) {
    std::set<DType> seen;
    for (const DequantizeGolden& golden : read_dequantize_goldens()) {
        seen.insert(golden.type);
        std::vector<float> out(golden.values.size(), -1.0f);
        dequantize_row(golden.type, golden.blocks.data(), static_cast<uint32_t>(out.size()), out.data());
        for (size_t e = 0; e < out.size(); ++e) {
            ASSERT_EQ(std::bit_cast<uint32_t>(out[e]), std::bit_cast<uint32_t>(golden.values[e]))
                << name(golden.type) << " element " << e << ": " << out[e] << " is not " << golden.values[e];
        }
    }
    for (const DTypeTraits& type : all_dtypes()) EXPECT_EQ(seen.contains(type.type), type.is_weight) << type.name;
}

TEST(DequantizeDeathTest, RefusesAPartialBlock) {
    const std::vector<std::byte> row(18);
    std::vector<float> out(32);
    EXPECT_DEATH(dequantize_row(DType::Q4_0, row.data(), 31, out.data()), "whole blocks");
}

}  // namespace dequantize_test
}  // namespace riftjit::graph
