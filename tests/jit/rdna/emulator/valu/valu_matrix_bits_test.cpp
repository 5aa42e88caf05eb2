// Matrix sums bit for bit: those of emitted fused multiply-adds against the same sums in integer arithmetic.
#include <random>

#include "jit/rdna/emulator/valu/valu_float.h"
#include "jit/rdna/emulator/valu/wmma.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace valu_matrix_bits_test {

constexpr unsigned kA = 32, kB = 64, kC = 96, kD = 128, kTile = 16;

struct Case {
    Opcode opcode;
    FloatFormat factors, result;
};
const Case kCases[] = {{Opcode::v_wmma_f32_16x16x16_f16_gfx11, kF16, kF32},
                       {Opcode::v_wmma_f32_16x16x16_bf16_gfx11, kBf16, kF32},
                       {Opcode::v_wmma_f16_16x16x16_f16_gfx11, kF16, kF16},
                       {Opcode::v_wmma_bf16_16x16x16_bf16_gfx11, kBf16, kBf16}};

// `specials` in 64 values are zeros, denormals, the largest numbers, infinities or NaNs of both signs and kinds.
uint32_t random_bits(const FloatFormat& format, std::mt19937& random, unsigned specials) {
    const auto bits = static_cast<uint32_t>(random() & (format.magnitude_mask() | format.sign()));
    const auto sign = static_cast<uint32_t>(bits & format.sign());
    if (random() % 64 >= specials) return bits % 8 == 0 ? bits : sign | static_cast<uint32_t>(format.one()) | bits % 64;
    const uint64_t kinds[] = {0,
                              1,
                              format.min_normal() - 1,
                              format.min_normal(),
                              format.largest(),
                              format.infinity(),
                              format.infinity() | 1,
                              format.infinity() | format.quiet_bit() | 5};
    return sign | static_cast<uint32_t>(kinds[random() % std::size(kinds)]);
}

void fill_operands(TestWave& wave, const Case& that, std::mt19937& random, unsigned specials) {
    for (const unsigned first : {kA, kB})
        for (unsigned reg = 0; reg < 8; ++reg)
            for (unsigned lane = 0; lane < kTile; ++lane) {
                const uint32_t low = random_bits(that.factors, random, specials);
                const uint32_t word = low | random_bits(that.factors, random, specials) << 16;
                wave.at(first + reg, lane) = wave.at(first + reg, lane + kTile) = word;
            }
    for (unsigned reg = 0; reg < 8; ++reg)
        for (unsigned lane = 0; lane < 32; ++lane) wave.at(kC + reg, lane) = random_bits(that.result, random, specials);
}

uint64_t factor(const TestWave& wave, const Case& that, unsigned first, unsigned line, unsigned k) {
    const uint32_t word = wave.state.vgpr(first + k / 2)[line];
    return float_convert(that.factors, kF32, word >> 16 * (k % 2) & 0xFFFF, {});
}

uint64_t expected(const TestWave& wave, const Case& that, unsigned row, unsigned column, uint64_t c) {
    uint64_t sum = float_convert(that.result, kF32, c, {});
    for (unsigned k = 0; k < kTile; ++k)
        sum = float_fma(kF32, factor(wave, that, kA, row, k), factor(wave, that, kB, column, k), sum, {});
    return float_convert(kF32, that.result, sum, {});
}

void expect_the_bits_of_integer_arithmetic(const Case& that, std::mt19937& random, unsigned specials) {
    TestWave wave;
    fill_operands(wave, that, random, specials);
    Instruction made;
    made.opcode = that.opcode;
    made.operands = {vgpr(kD), vgpr(kA), vgpr(kB), vgpr(kC)};
    made.op_sel_hi = 7;
    wave.run(made);
    const uint64_t mask = that.result.magnitude_mask() | that.result.sign();
    for (unsigned row = 0; row < kTile; ++row)
        for (unsigned column = 0; column < kTile; ++column) {
            const unsigned lane = column + kTile * (row % 2);
            const uint64_t c = wave.at(kC + row / 2, lane) & mask;
            ASSERT_EQ(wave.at(kD + row / 2, lane) & mask, expected(wave, that, row, column, c))
                << info(that.opcode).name << " " << row << "," << column;
        }
}

TEST(MatrixBits, EqualIntegerArithmeticOverNumbersDenormalsInfinitiesAndNans) {
    std::mt19937 random(91);
    for (const Case& that : kCases)
        for (const unsigned specials : {0u, 1u, 8u, 64u})
            for (int repeat = 0; repeat < 25; ++repeat) {
                expect_the_bits_of_integer_arithmetic(that, random, specials);
                if (HasFatalFailure()) return;
            }
}

// Every f16 bit pattern: numbers that a wider format holds take a way of their own.
TEST(MatrixBits, WideningAgreesWithTheValueForEveryHalf) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        if (kF16.is_nan(bits)) continue;
        const auto wide = static_cast<uint32_t>(float_convert(kF16, kF32, bits, {}));
        ASSERT_EQ(static_cast<double>(std::bit_cast<float>(wide)), to_double(kF16, bits)) << bits;
        ASSERT_EQ(wide >> 31, bits >> 15) << bits;
    }
}

}  // namespace valu_matrix_bits_test
}  // namespace riftjit::rdna::emulator
