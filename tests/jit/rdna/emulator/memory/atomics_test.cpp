// Atomic arithmetic against values worked out by hand from the ISA guides' wording.
#include "jit/rdna/emulator/memory/atomics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace riftjit::rdna::emulator::memory {
namespace atomics_test {

uint64_t word(AtomicOp op, uint64_t memory, uint64_t first, uint64_t second = 0) {
    return apply(op, AtomicWidth::b32, memory, first, second, {});
}
uint64_t pair(AtomicOp op, uint64_t memory, uint64_t first, uint64_t second = 0) {
    return apply(op, AtomicWidth::b64, memory, first, second, {});
}
float real(AtomicOp op, float memory, float first, float second = 0, AtomicDenormals rules = {}) {
    return std::bit_cast<float>(
        static_cast<uint32_t>(apply(op, AtomicWidth::b32, std::bit_cast<uint32_t>(memory),
                                    std::bit_cast<uint32_t>(first), std::bit_cast<uint32_t>(second), rules)));
}

TEST(Atomics, WrapAtTheirWidth) {
    EXPECT_EQ(word(AtomicOp::add, 0xFFFFFFFF, 2), 1u);
    EXPECT_EQ(pair(AtomicOp::add, 0xFFFFFFFF, 2), 0x100000001u);
    EXPECT_EQ(pair(AtomicOp::add, ~uint64_t{0}, 2), 1u);
    EXPECT_EQ(word(AtomicOp::sub, 1, 2), 0xFFFFFFFFu);
    EXPECT_EQ(word(AtomicOp::rsub, 5, 2), 0xFFFFFFFDu);
}

TEST(Atomics, IncrementAndDecrementBetweenZeroAndTheLimit) {
    EXPECT_EQ(word(AtomicOp::inc, 4, 5), 5u);
    EXPECT_EQ(word(AtomicOp::inc, 5, 5), 0u);
    EXPECT_EQ(word(AtomicOp::inc, 9, 5), 0u);
    EXPECT_EQ(word(AtomicOp::dec, 5, 5), 4u);
    EXPECT_EQ(word(AtomicOp::dec, 0, 5), 5u);
    EXPECT_EQ(word(AtomicOp::dec, 9, 5), 5u);
    EXPECT_EQ(pair(AtomicOp::dec, 0, uint64_t{1} << 40), uint64_t{1} << 40);
}

TEST(Atomics, SubtractAsFarAsThereIs) {
    EXPECT_EQ(word(AtomicOp::sub_clamp, 7, 5), 2u);
    EXPECT_EQ(word(AtomicOp::sub_clamp, 5, 7), 0u);
    EXPECT_EQ(word(AtomicOp::cond_sub, 7, 5), 2u);
    EXPECT_EQ(word(AtomicOp::cond_sub, 5, 7), 5u);
    EXPECT_EQ(word(AtomicOp::wrap, 7, 5, 100), 2u);
    EXPECT_EQ(word(AtomicOp::wrap, 4, 5, 100), 104u);
}

TEST(Atomics, CompareSignedAndUnsigned) {
    EXPECT_EQ(word(AtomicOp::min_signed, 1, 0xFFFFFFFF), 0xFFFFFFFFu);
    EXPECT_EQ(word(AtomicOp::min_unsigned, 1, 0xFFFFFFFF), 1u);
    EXPECT_EQ(word(AtomicOp::max_signed, 1, 0xFFFFFFFF), 1u);
    EXPECT_EQ(word(AtomicOp::max_unsigned, 1, 0xFFFFFFFF), 0xFFFFFFFFu);
    EXPECT_EQ(pair(AtomicOp::min_signed, 1, 0xFFFFFFFF), 1u);  // positive in 64 bits
}

TEST(Atomics, CombineBits) {
    EXPECT_EQ(word(AtomicOp::bit_and, 0xFF00FF00, 0x0FF00FF0), 0x0F000F00u);
    EXPECT_EQ(word(AtomicOp::bit_or, 0xF0, 0x0F), 0xFFu);
    EXPECT_EQ(word(AtomicOp::bit_xor, 0xFF, 0x0F), 0xF0u);
    EXPECT_EQ(word(AtomicOp::mask_or, 0xABCD, 0x00FF, 0x0012), 0xAB12u);
    EXPECT_EQ(pair(AtomicOp::conditional_swap_halves, 0x1111111122222222, 0x8000000300000004), 0x0000000322222222u);
}

TEST(Atomics, SwapOnlyWhatCompares) {
    EXPECT_EQ(word(AtomicOp::compare_swap, 3, 9, 3), 9u);
    EXPECT_EQ(word(AtomicOp::compare_swap, 4, 9, 3), 4u);
    EXPECT_EQ(real(AtomicOp::compare_swap_float, -0.0f, 9, 0.0f), 9.0f);  // zeros are equal
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(real(AtomicOp::compare_swap_float, nan, 9, nan)));  // NaN equals nothing
}

TEST(Atomics, PreferNumbersToNans) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(real(AtomicOp::min_float, nan, 2), 2.0f);
    EXPECT_EQ(real(AtomicOp::max_float, 2, nan), 2.0f);
    EXPECT_TRUE(std::signbit(real(AtomicOp::min_float, 0.0f, -0.0f)));
    EXPECT_FALSE(std::signbit(real(AtomicOp::max_float, -0.0f, 0.0f)));
    EXPECT_EQ(
        std::bit_cast<double>(pair(AtomicOp::max_float, std::bit_cast<uint64_t>(1.5), std::bit_cast<uint64_t>(-2.0))),
        1.5);
}

TEST(Atomics, FlushDenormalsWhereTheyMust) {
    const float denormal = 0x1p-140f;
    EXPECT_EQ(real(AtomicOp::add_float, denormal, denormal), 0x1p-139f);
    EXPECT_EQ(real(AtomicOp::add_float, denormal, denormal, 0, {.flush_f32 = true}), 0.0f);
    EXPECT_EQ(real(AtomicOp::add_float, 0x1.8p-126f, -0x1p-126f, 0, {.flush_f32 = true}), 0.0f);  // the result is one
    EXPECT_EQ(real(AtomicOp::add_float, 0x1.8p-126f, -0x1p-126f), 0x1p-127f);
}

TEST(Atomics, AddPackedHalvesEachByItself) {
    // f16: 1 + 1 = 2 (0x4000), 65504 + 32 rounds to 65536 = infinity (ties to even at 65520 are beyond)
    EXPECT_EQ(word(AtomicOp::add_f16x2, 0x7BFF3C00, 0x50003C00), 0x7C004000u);
    // f16 subnormals: 2^-24 + 2^-24 = 2^-23
    EXPECT_EQ(word(AtomicOp::add_f16x2, 0x00000001, 0x00000001), 0x00000002u);
    EXPECT_EQ(apply(AtomicOp::add_f16x2, AtomicWidth::b32, 0x00000001, 0x00000001, 0, {.flush_f16 = true}), 0u);
    // bf16: 1 + 2^-8 is a tie, and stays 1 (even); 1 + 2^-8 + something is above it: 0x3F80 + 0x3B81 -> 0x3F81
    EXPECT_EQ(word(AtomicOp::add_bf16x2, 0x3F803F80, 0x3B813B80), 0x3F813F80u);
}

TEST(Atomics, RoundBfloatSumsToEven) {
    const auto bfloat = [](float value) { return std::bit_cast<uint32_t>(value) >> 16; };
    EXPECT_EQ(word(AtomicOp::add_bf16x2, bfloat(0x1.02p0f), bfloat(0x1p-8f)), bfloat(0x1.04p0f));  // tie, from odd
    EXPECT_EQ(word(AtomicOp::add_bf16x2, bfloat(1.0f), bfloat(0x1p-8f)), bfloat(1.0f));            // tie, from even
    EXPECT_EQ(word(AtomicOp::add_bf16x2, bfloat(256.0f), bfloat(-0x1p-30f)), bfloat(256.0f));
    EXPECT_EQ(word(AtomicOp::add_bf16x2, bfloat(-0x1.02p0f), bfloat(-0x1p-8f)), bfloat(-0x1.04p0f));
}

}  // namespace atomics_test
}  // namespace riftjit::rdna::emulator::memory
