#include "jit/columns/philox.h"

#include <gtest/gtest.h>

namespace riftjit {
namespace philox_test {

// kat_vectors of Random123 1.14, "philox4x32 10": zeros, ones, and the digits of pi.
TEST(Philox, GivesTheKnownAnswersOfRandom123) {
    constexpr uint32_t ones = 0xffffffff;
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
              (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
    static_assert(philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
}

TEST(Philox, JoinsWordsAndFieldsLowFirst) {
    constexpr PhiloxWords words = {1, 2, 3, 4};
    EXPECT_EQ(philox_first(words), 0x2'0000'0001u);
    EXPECT_EQ(philox_second(words), 0x4'0000'0003u);
    EXPECT_EQ(philox_draw(0x299f31d0'a4093822, 0x243f6a88, 0x85a308d3, 0x03707344'13198a2e),
              (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformNumbersReachZeroAndStayBelowOne) {
    EXPECT_EQ(uniform_f64(0x7ff), 0.0);
    EXPECT_EQ(uniform_f64(0x800), 0x1p-53);
    EXPECT_EQ(uniform_f64(~0ull), 1 - 0x1p-53);
    EXPECT_EQ(uniform_f32(0xff'ffff'ffff), 0.0f);
    EXPECT_EQ(uniform_f32(~0ull), 1 - 0x1p-24f);
}

}  // namespace philox_test
}  // namespace riftjit
