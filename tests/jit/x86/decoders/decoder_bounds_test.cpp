// What decoders assume of their types, against the range analysis of the types' formats.
#include <gtest/gtest.h>

#include <map>

#include "jit/formats/weight_bounds.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {
namespace decoder_bounds_test {

// The largest |m * (q - zero_point)| that each decoder's author wrote down, and what they chose for it: elements summed
// as integers, elements with one multiplier.
struct Asserted {
    int64_t product;
    uint16_t segment, group;
};

const std::map<DType, Asserted> kAsserted = {
    {DType::Q4_0, {8, 32, 32}},           {DType::Q4_1, {15, 32, 32}},         {DType::Q5_0, {16, 32, 32}},
    {DType::Q5_1, {31, 32, 32}},          {DType::Q8_0, {128, 32, 32}},        {DType::Q2_K, {15 * 3, 256, 16}},
    {DType::Q3_K, {32 * 4, 256, 16}},     {DType::Q4_K, {63 * 15, 256, 32}},   {DType::Q5_K, {63 * 31, 256, 32}},
    {DType::Q6_K, {128 * 32, 128, 16}},   {DType::IQ1_S, {15 * 9, 256, 32}},   {DType::IQ1_M, {15 * 9, 256, 16}},
    {DType::IQ2_XXS, {31 * 43, 256, 32}}, {DType::IQ2_XS, {31 * 43, 256, 16}}, {DType::IQ2_S, {31 * 43, 256, 16}},
    {DType::IQ3_XXS, {31 * 62, 256, 32}}, {DType::IQ3_S, {31 * 15, 256, 32}},  {DType::IQ4_NL, {127, 32, 32}},
    {DType::IQ4_XS, {32 * 127, 128, 32}}, {DType::TQ1_0, {1, 256, 32}},        {DType::TQ2_0, {2, 256, 32}},
    {DType::MXFP4, {12, 32, 32}},         {DType::NVFP4, {12, 16, 16}},        {DType::Q1_0, {1, 128, 32}},
    {DType::Q2_0, {2, 64, 32}},
};

TEST(DecoderBounds, AreThoseOfTheRangeAnalysis) {
    for (const auto& [type, asserted] : kAsserted) {
        const Decoder* decoder = find_decoder(type);
        ASSERT_NE(decoder, nullptr) << name(type);
        const DecoderTraits& traits = decoder->traits();
        const WeightBounds limits = bounds(weight_format(type));
        EXPECT_EQ(limits.product.magnitude(), asserted.product) << name(type);
        EXPECT_EQ(traits.segment, asserted.segment) << name(type);
        EXPECT_EQ(traits.group, asserted.group) << name(type);
        EXPECT_LE(asserted.product * asserted.segment * kI16Max, INT32_MAX) << name(type);
        EXPECT_TRUE(traits.zero_point == 0 || traits.zero_point == -limits.code.least) << name(type);
    }
}

// A step of one segment of 32 loses nothing when its sum becomes a float.
TEST(DecoderBounds, KeepSumsOfBlocksOf32ExactInFloats) {
    for (const DType type : {DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0})
        EXPECT_LT(bounds(weight_format(type)).product.magnitude() * 32 * kI16Max, 1 << 24) << name(type);
}

TEST(DecoderBounds, CoverEveryTypeWithADecoder) {
    for (const WeightFormat& format : weight_formats())
        EXPECT_EQ(find_decoder(format.type) != nullptr, kAsserted.contains(format.type)) << name(format.type);
}

}  // namespace decoder_bounds_test
}  // namespace riftjit::x86
