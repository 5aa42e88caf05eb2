#include "jit/formats/weight_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "jit/formats/lane_reference.h"
#include "tests/jit/formats/random_blocks.h"

namespace riftjit {
namespace weight_bounds_test {

constexpr int32_t kMostActivation = 4095;  // kI16Max of jit/kernel_spec.h

// The largest |code * multiplier| and |minimum| by hand, from the specification's formulae, and how many products fit
// an int32 with 13-bit activations.
struct Asserted {
    int64_t product, minimum;
    uint32_t group, summable;
};

const std::map<DType, Asserted> kAsserted = {
    {DType::Q4_0, {8, 0, 32, 32}},           {DType::Q4_1, {15, 0, 32, 32}},
    {DType::Q5_0, {16, 0, 32, 32}},          {DType::Q5_1, {31, 0, 32, 32}},
    {DType::Q8_0, {128, 0, 32, 32}},         {DType::Q2_K, {15 * 3, 15, 16, 256}},
    {DType::Q3_K, {32 * 4, 0, 16, 256}},     {DType::Q4_K, {63 * 15, 63, 32, 256}},
    {DType::Q5_K, {63 * 31, 63, 32, 256}},   {DType::Q6_K, {128 * 32, 0, 16, 128}},  // 256 would be 4.29e9
    {DType::IQ1_S, {15 * 9, 0, 32, 256}},    {DType::IQ1_M, {15 * 9, 0, 16, 256}},
    {DType::IQ2_XXS, {31 * 43, 0, 32, 256}}, {DType::IQ2_XS, {31 * 43, 0, 16, 256}},
    {DType::IQ2_S, {31 * 43, 0, 16, 256}},   {DType::IQ3_XXS, {31 * 62, 0, 32, 256}},
    {DType::IQ3_S, {31 * 15, 0, 32, 256}},   {DType::IQ4_NL, {127, 0, 32, 32}},
    {DType::IQ4_XS, {32 * 127, 0, 32, 128}}, {DType::TQ1_0, {1, 0, 256, 256}},
    {DType::TQ2_0, {2, 0, 256, 256}},        {DType::MXFP4, {12, 0, 32, 32}},
    {DType::NVFP4, {12, 0, 16, 16}},         {DType::Q1_0, {1, 0, 128, 128}},
    {DType::Q2_0, {2, 0, 64, 64}},
};

class QuantisedBounds : public testing::TestWithParam<DType> {
protected:
    const WeightFormat& format = weight_format(GetParam());
    const WeightBounds limits = bounds(format);
};

TEST_P(QuantisedBounds, AreThoseAssertedByHand) {
    const Asserted& asserted = kAsserted.at(GetParam());
    EXPECT_EQ(limits.product.magnitude(), asserted.product);
    EXPECT_EQ(limits.minimum.magnitude(), asserted.minimum);
    EXPECT_EQ(limits.group, asserted.group);
    EXPECT_EQ(limits.summable(kMostActivation), asserted.summable);
}

TEST_P(QuantisedBounds, HoldForTheSumAndNotForTwiceTheElements) {
    const int64_t sum = limits.summable(kMostActivation) * limits.product.magnitude() * kMostActivation;
    EXPECT_LE(sum, INT32_MAX);
    EXPECT_TRUE(limits.summable(kMostActivation) == limits.scale_span || 2 * sum > INT32_MAX);
    EXPECT_GE(limits.summable(1), limits.summable(kMostActivation));
    EXPECT_LE(limits.product.magnitude(), INT16_MAX);
}

// Nothing lies outside, and the outermost values occur: a bound is neither wrong nor slack.
TEST_P(QuantisedBounds, AreReachedByRandomBlocksAndNeverPassed) {
    std::mt19937 random(17);
    IntegerRange code{INT64_MAX, INT64_MIN}, product = code, minimum = code;
    const auto widen = [](IntegerRange& range, int64_t value) {
        range = {std::min(range.least, value), std::max(range.most, value)};
    };
    const uint32_t elements = traits(format.type).block_elements;
    for (uint32_t done = 0; done < 1u << 19; done += elements) {
        const auto block = random_block(format.type, random);
        for (uint32_t first = 0; first < elements; first += kMostLanes) {
            const LaneGroup group = decode_group(format, block.data(), first, kMostLanes);
            for (uint32_t lane = 0; lane < kMostLanes; ++lane) {
                widen(code, group.code[lane]);
                widen(product, int64_t{group.code[lane]} * group.multiplier[lane]);
                widen(minimum, group.minimum[lane]);
            }
        }
    }
    EXPECT_EQ(code, limits.code);
    EXPECT_EQ(product, limits.product);
    EXPECT_EQ(minimum, limits.minimum);
}

// What the words "bit for bit" of the lane reference rest on: only the final sum rounds.
TEST_P(QuantisedBounds, LeaveProductsExactInFloats) { EXPECT_TRUE(limits.is_exact); }

INSTANTIATE_TEST_SUITE_P(All, QuantisedBounds, testing::ValuesIn(quantised_types()), kTypeName);

// Steps in one block of 32 elements, of which the last is the code; one f32 scale.
WeightFormat format_of(std::initializer_list<LaneStep> steps) {
    WeightFormat format{.type = DType::Q4_0, .fields = {{.role = FieldRole::scale, .span = 32, .planes = {{0, 5}}}}};
    for (const LaneStep& step : steps) format.steps.push_back(step);
    return format;
}

TEST(Analysis, KnowsTheSpanOfWhatElementsShare) {
    const auto facts = analyse(format_of({{.op = LaneOp::field},
                                          {.op = LaneOp::position, .index = 8, .constant = 3},
                                          {.op = LaneOp::add, .a = 0, .b = 1},
                                          {.op = LaneOp::constant, .constant = -7},
                                          {.op = LaneOp::subtract, .a = 3, .b = 2}}));
    EXPECT_EQ(facts[0].span, 32u);
    EXPECT_EQ(facts[2].span, 8u);
    EXPECT_EQ(facts[3].span, 32u);
    EXPECT_EQ(facts[2].range, (IntegerRange{0, 33}));
    EXPECT_EQ(facts[4].range, (IntegerRange{-40, -7}));
}

TEST(AnalysisDeathTest, RefusesProgramsThatLeaveTheirTypes) {
    const auto lookup = format_of({{.op = LaneOp::field}, {.op = LaneOp::lookup, .index = uint16_t(LaneTable::fp4)}});
    EXPECT_DEATH(analyse(lookup), "look-up stays in its table");
    const auto square = format_of({{.op = LaneOp::constant, .constant = 50000}, {.op = LaneOp::multiply}});
    EXPECT_DEATH(analyse(square), "fits i32");
    const auto shift = format_of({{.op = LaneOp::constant, .constant = -1}, {.op = LaneOp::shift_right}});
    EXPECT_DEATH(analyse(shift), "no negative number");
}

}  // namespace weight_bounds_test
}  // namespace riftjit
