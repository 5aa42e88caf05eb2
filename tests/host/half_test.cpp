#include "host/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace riftjit {
namespace half_test {

// By the definition of the format: (-1)^sign * (implicit.mantissa) * 2^(exponent - 15).
float half_by_definition(uint32_t half) {
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const float magnitude =
        exponent == 0 ? std::ldexp(float(mantissa), -24) : std::ldexp(float(1024 + mantissa), exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

bool is_finite(uint32_t half) { return (half >> 10 & 31) != 31; }

TEST(Half, EveryFiniteValueConvertsByDefinitionAndBack) {
    for (uint32_t half = 0; half < 0x10000; ++half) {
        if (!is_finite(half)) continue;
        const float value = half_to_float(static_cast<uint16_t>(half));
        ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(half_by_definition(half))) << half;
        ASSERT_EQ(float_to_half(value), half);
    }
}

TEST(Half, InfinityAndNanStayWhatTheyAre) {
    EXPECT_EQ(half_to_float(0x7c00), std::numeric_limits<float>::infinity());
    EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(half_to_float(0x7c01)));
    EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
    EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
    EXPECT_EQ(float_to_half(std::numeric_limits<float>::quiet_NaN()), 0x7e00);
    EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7f800001)), 0x7e00) << "a signalling NaN becomes a quiet one";
}

// Between two neighbours h and h + 1: their midpoint goes to the even one, its f32 neighbours to the nearer.
TEST(Half, RoundsToNearestWithTiesToEven) {
    for (uint32_t half = 0; half < 0x7bff; ++half) {
        const float midpoint = (half_by_definition(half) + half_by_definition(half + 1)) / 2;
        const uint32_t even = half % 2 == 0 ? half : half + 1;
        ASSERT_EQ(float_to_half(midpoint), even) << half;
        ASSERT_EQ(float_to_half(std::nextafter(midpoint, 0.0f)), half) << half;
        ASSERT_EQ(float_to_half(std::nextafter(midpoint, 1e30f)), half + 1) << half;
        ASSERT_EQ(float_to_half(-midpoint), even | 0x8000) << half;
    }
}

TEST(Half, OverflowsToInfinityFromHalfAStepAboveTheLargest) {
    EXPECT_EQ(float_to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
    EXPECT_EQ(float_to_half(3e38f), 0x7c00);
}

TEST(Bfloat, RoundsToNearestWithTiesToEven) {
    EXPECT_EQ(float_to_bfloat(1.0f), 0x3f80);
    EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f808000)), 0x3f80) << "tie, even below";
    EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f818000)), 0x3f82) << "tie, even above";
    EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f808001)), 0x3f81);
    EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x7f7fffff)), 0x7f80) << "overflow to infinity";
    EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x7f800001)), 0x7fc0) << "NaN stays NaN";
    EXPECT_EQ(bfloat_to_float(0xbfc0), -1.5f);
}

}  // namespace half_test
}  // namespace riftjit
