// The two tellings of each weight type, against each other: its lane program (jit/formats) and its formula in
// dequantize.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "graph/dequantize.h"
#include "jit/formats/lane_reference.h"
#include "tests/graph/dequantize_goldens.h"
#include "tests/jit/formats/random_blocks.h"

namespace riftjit::graph {
namespace lane_programs_test {

std::vector<float> run_program(DType type, const std::byte* blocks, size_t count) {
    const WeightFormat& format = weight_format(type);
    const DTypeTraits& shape = traits(type);
    const uint32_t at_once = std::min<uint32_t>(kMostLanes, shape.block_elements);
    std::vector<float> values(count);
    for (size_t e = 0; e < count; e += at_once) {
        const std::byte* block = blocks + e / shape.block_elements * shape.block_bytes;
        const LaneGroup group = decode_group(format, block, static_cast<uint32_t>(e % shape.block_elements), at_once);
        lane_values(format, group, at_once, &values[e]);
    }
    return values;
}

bool is_same(float left, float right) {
    return std::bit_cast<uint32_t>(left) == std::bit_cast<uint32_t>(right) || (std::isnan(left) && std::isnan(right));
}

class LanePrograms : public testing::TestWithParam<DType> {};

// All bytes are random, scales too: subnormal, huge and infinite ones occur, and NaN, of which only its being NaN is
// compared. dequantize.cpp rounds after each operation, left to right; a lane program multiplies a sub-scale as an
// integer, which is the same because products are exact (weight_bounds_test.cpp), and rounds a sum once, too.
TEST_P(LanePrograms, GiveTheBitsOfDequantize) {
    constexpr int kBlocks = 10000;
    const DType type = GetParam();
    const uint32_t elements = traits(type).block_elements;
    std::mt19937 random(41);
    std::vector<float> expected(elements);
    for (int run = 0; run < kBlocks; ++run) {
        const auto block = random_block(type, random);
        dequantize_row(type, block.data(), elements, expected.data());
        const std::vector<float> values = run_program(type, block.data(), elements);
        for (uint32_t e = 0; e < elements; ++e)
            ASSERT_TRUE(is_same(values[e], expected[e]))
                << "block " << run << " element " << e << ": " << values[e] << " is not " << expected[e];
    }
}

INSTANTIATE_TEST_SUITE_P(All, LanePrograms, testing::ValuesIn(weight_types()), kTypeName);

TEST(LaneProgramGoldens, AreTheIndependentDecodersBits) {
    std::set<DType> seen;
    for (const DequantizeGolden& golden : read_dequantize_goldens()) {
        seen.insert(golden.type);
        const std::vector<float> values = run_program(golden.type, golden.blocks.data(), golden.values.size());
        for (size_t e = 0; e < values.size(); ++e)
            ASSERT_EQ(std::bit_cast<uint32_t>(values[e]), std::bit_cast<uint32_t>(golden.values[e]))
                << name(golden.type) << " element " << e << ": " << values[e] << " is not " << golden.values[e];
    }
    EXPECT_EQ(seen.size(), weight_formats().size());
}

}  // namespace lane_programs_test
}  // namespace riftjit::graph
