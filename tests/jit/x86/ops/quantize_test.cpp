#include <gtest/gtest.h>

#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/row_reference.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace quantize_test {

constexpr uint32_t kTokens = 3;

GuardedBuffer<float> random_rows(uint32_t width, Random& random, float largest_exponent) {
    const uint32_t stride = static_cast<uint32_t>(round_up(width, 16));
    GuardedBuffer<float> rows(kTokens * stride);  // padding stays NaN
    for (uint32_t token = 0; token < kTokens; ++token)
        for (uint32_t i = 0; i < width; ++i)
            rows[token * stride + i] = random.normal() * std::exp2(float(random.uniform()) * largest_exponent);
    return rows;
}

GuardedBuffer<std::byte> quantize(const QuantizeSpec& spec, Isa isa, const GuardedBuffer<float>& x) {
    const RunnableKernel kernel(spec, isa);
    GuardedBuffer<std::byte> out(kTokens * activation_row_bytes(spec.output, spec.width));
    std::fill_n(out.data(), out.size(), std::byte{0});  // as the reference's padding
    const QuantizeArgs args{x.data(), out.data(), nullptr};
    kernel(&args, 2, 3);  // any split of the units
    kernel(&args, 0, 2);
    kernel(&args, 1, 1);
    return out;
}

constexpr RowFormat kRowsOfDigits[] = {RowFormat::i16_bf16, RowFormat::i16_bytes};

void expect_reference_bytes(const QuantizeSpec& spec, const GuardedBuffer<float>& x) {
    const uint32_t stride = static_cast<uint32_t>(round_up(spec.width, 16));
    if (spec.output == RowFormat::i16)
        for (const RowFormat format : kRowsOfDigits) expect_reference_bytes({spec.width, format}, x);
    for (Isa isa : machine_isas()) {
        if (std::ranges::count(kRowsOfDigits, spec.output) > 0 && isa < Isa::amx_int8) continue;
        const auto out = quantize(spec, isa, x);
        for (uint32_t token = 0; token < kTokens; ++token) {
            const auto expected = reference_row(spec.output, {x.data() + token * stride, spec.width});
            const std::byte* row = out.data() + token * activation_row_bytes(spec.output, spec.width);
            EXPECT_EQ(std::memcmp(row, expected.data(), expected.size()), 0)
                << name(isa) << " " << kernel_name(spec) << " token " << token;
        }
    }
}

TEST(QuantizeX86, WritesTheDefinedBytesAtEveryWidthAndLevel) {
    Random random(1);
    for (const QuantizeSpec& spec : kernel_cases::quantize())
        expect_reference_bytes(spec, random_rows(spec.width, random, 8));
}

TEST(QuantizeX86, KeepsTheWholeRangeOfFloats) {
    Random random(2);
    const uint32_t width = 512;
    auto x = random_rows(width, random, 1);
    // Block by block: huge, tiny, below kI16Smallest, subnormal, zero, negative zero.
    const float scales[6] = {3e37f, 1e-30f, 1e-35f, 1e-40f, 0.0f, -0.0f};
    for (uint32_t i = 0; i < kTokens * width; ++i) x[i] *= scales[i / 256 % 6];
    for (RowFormat output : {RowFormat::i16, RowFormat::bf16, RowFormat::i8})
        expect_reference_bytes({width, output}, x);
}

TEST(QuantizeX86, RoundsTiesToEven) {
    const uint32_t width = 256;
    GuardedBuffer<float> x(kTokens * width);
    for (uint32_t i = 0; i < kTokens * width; ++i)  // scale 1: codes are the values, every second one a tie
        x[i] = i % width == 0 ? float(kI16Max) : 0.5f * float(int(i) - 400);
    expect_reference_bytes({width, RowFormat::i16}, x);
    for (uint32_t i = 0; i < kTokens * width; ++i)  // the lower half of the word is half a unit
        x[i] = std::bit_cast<float>(0x3f80'8000u + (i << 16));
    expect_reference_bytes({width, RowFormat::bf16}, x);
}

TEST(QuantizeX86, InfinityAndNanReachTheScale) {
    const uint32_t width = 300;
    for (float poison : {INFINITY, -INFINITY, std::nanf("1")}) {
        GuardedBuffer<float> x(kTokens * 304);
        for (uint32_t i = 0; i < kTokens * 304; ++i) x[i] = 1.0f;
        x[304 + 299] = poison;  // row 1, block 1
        for (Isa isa : machine_isas()) {
            const auto out = quantize({width, RowFormat::i16}, isa, x);
            const I16Row row{width};
            const auto scale = [&](uint32_t token, uint32_t block) {
                float value;
                std::memcpy(&value, out.data() + token * row.bytes() + row.scales_offset_bytes() + 4 * block, 4);
                return value;
            };
            EXPECT_EQ(scale(1, 0), 1.0f / kI16Max);
            EXPECT_FALSE(std::isfinite(scale(1, 1))) << poison;
            EXPECT_EQ(scale(2, 1), 1.0f / kI16Max);
        }
    }
}

TEST(QuantizeX86, Bf16KeepsInfinityAndQuietsNan) {
    const uint32_t width = 17;
    GuardedBuffer<float> x(kTokens * 32);
    const uint32_t patterns[] = {0x7f80'0000, 0xff80'0000, 0x7f80'0001, 0xffc1'2345,
                                 0x7fff'ffff, 0x7f7f'ffff, 0x8000'0000};
    for (uint32_t i = 0; i < kTokens * 32; ++i) x[i] = std::bit_cast<float>(patterns[i % std::size(patterns)]);
    expect_reference_bytes({width, RowFormat::bf16}, x);
}

}  // namespace quantize_test
}  // namespace riftjit::x86
