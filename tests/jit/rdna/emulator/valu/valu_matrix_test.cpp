// Dot products and matrix multiplication: small integers, whose sums are exact in every format and order, against plain
// loops over matrices; layouts written out from the tables of AMD's documents.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "host/half.h"
#include "jit/rdna/emulator/valu/wmma.h"
#include "tests/jit/rdna/emulator/valu/valu_expectations.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace valu_matrix_test {

uint32_t f32(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }
// Small integers in the 8-bit formats: s.eeee.mmm with bias 7, s.eeeee.mm with bias 15.
uint32_t fp8(int x) {
    if (x == 0) return 0;
    const int exponent = std::bit_width(static_cast<unsigned>(std::abs(x))) - 1;
    const int mantissa = (std::abs(x) << 3 >> exponent) & 7;
    return static_cast<uint32_t>((x < 0 ? 128 : 0) | (exponent + 7) << 3 | mantissa);
}
uint32_t bf8(int x) {
    if (x == 0) return 0;
    const int exponent = std::bit_width(static_cast<unsigned>(std::abs(x))) - 1;
    const int mantissa = (std::abs(x) << 2 >> exponent) & 3;
    return static_cast<uint32_t>((x < 0 ? 128 : 0) | (exponent + 15) << 2 | mantissa);
}
uint32_t encode(MatrixElement element, int x) {
    switch (element) {
        case MatrixElement::f16:
            return float_to_half(static_cast<float>(x));
        case MatrixElement::bf16:
            return float_to_bfloat(static_cast<float>(x));
        case MatrixElement::fp8:
            return fp8(x);
        case MatrixElement::bf8:
            return bf8(x);
        case MatrixElement::i8:
            return static_cast<uint32_t>(x) & 0xFF;
        case MatrixElement::i4:
            return static_cast<uint32_t>(x) & 0xF;
    }
    return 0;
}
unsigned width(MatrixElement element) {
    if (element == MatrixElement::f16 || element == MatrixElement::bf16) return 16;
    return element == MatrixElement::i4 ? 4 : 8;
}

// ---- Dot products ----

struct IntegerDot {
    Opcode opcode;
    unsigned bits;
    bool mixed, is_signed, accumulates_destination;
};
constexpr IntegerDot kIntegerDots[] = {
    {Opcode::v_dot2_i32_i16, 16, false, true, false}, {Opcode::v_dot2_u32_u16, 16, false, false, false},
    {Opcode::v_dot4_i32_i8, 8, false, true, false},   {Opcode::v_dot4c_i32_i8, 8, false, true, true},
    {Opcode::v_dot4_i32_iu8, 8, true, true, false},   {Opcode::v_dot4_u32_u8, 8, false, false, false},
    {Opcode::v_dot8_i32_i4, 4, false, true, false},   {Opcode::v_dot8_i32_iu4, 4, true, true, false},
    {Opcode::v_dot8_u32_u4, 4, false, false, false}};

TEST(Dot, SumsProductsOfIntegersAndSaturatesTheTotal) {
    std::mt19937 random(41);
    TestWave wave;
    for (const IntegerDot& dot : kIntegerDots)
        for (int round = 0; round < 2000; ++round) {
            Instruction made = instruction(dot.opcode);
            const bool clamp = round % 2 == 1 && !dot.accumulates_destination;
            made.clamp = clamp;
            made.neg = dot.mixed ? static_cast<uint8_t>(random() % 4) : 0;
            const uint32_t a = random(), b = random();
            const uint32_t c = round % 4 < 2       ? random()
                               : random() % 2 == 0 ? 0x7FFFFF00u + random() % 256
                                                   : 0x80000000u + random() % 256;
            wave.fill(4, a);
            wave.fill(8, b);
            wave.fill(dot.accumulates_destination ? 0 : 12, c);
            wave.run(made);
            const auto part = [&](uint32_t word, unsigned i, bool negative) {
                const int64_t modulus = int64_t{1} << dot.bits,
                              value = word / (uint64_t{1} << i * dot.bits) % static_cast<uint64_t>(modulus);
                return negative && value >= modulus / 2 ? value - modulus : value;
            };
            const bool a_signed = dot.mixed ? made.neg % 2 == 1 : dot.is_signed,
                       b_signed = dot.mixed ? made.neg / 2 == 1 : dot.is_signed;
            int64_t sum = dot.is_signed ? int64_t{static_cast<int32_t>(c)} : int64_t{c};
            for (unsigned i = 0; i < 32 / dot.bits; ++i) sum += part(a, i, a_signed) * part(b, i, b_signed);
            if (clamp)
                sum = dot.is_signed ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)
                                    : std::clamp<int64_t>(sum, 0, UINT32_MAX);
            ASSERT_EQ(wave.at(0, 5), static_cast<uint32_t>(sum)) << info(dot.opcode).name << (clamp ? " clamp" : "");
        }
}

struct FloatDot {
    Opcode opcode;
    MatrixElement a, b;
    unsigned result_bits;
    bool accumulates_destination;
};
constexpr FloatDot kFloatDots[] = {{Opcode::v_dot2_f32_f16, MatrixElement::f16, MatrixElement::f16, 32, false},
                                   {Opcode::v_dot2acc_f32_f16, MatrixElement::f16, MatrixElement::f16, 32, true},
                                   {Opcode::v_dot2_f32_bf16, MatrixElement::bf16, MatrixElement::bf16, 32, false},
                                   {Opcode::v_dot2_f16_f16, MatrixElement::f16, MatrixElement::f16, 16, false},
                                   {Opcode::v_dot2_bf16_bf16, MatrixElement::bf16, MatrixElement::bf16, 16, false},
                                   {Opcode::v_dot4_f32_fp8_bf8, MatrixElement::fp8, MatrixElement::bf8, 32, false},
                                   {Opcode::v_dot4_f32_bf8_fp8, MatrixElement::bf8, MatrixElement::fp8, 32, false},
                                   {Opcode::v_dot4_f32_fp8_fp8, MatrixElement::fp8, MatrixElement::fp8, 32, false},
                                   {Opcode::v_dot4_f32_bf8_bf8, MatrixElement::bf8, MatrixElement::bf8, 32, false}};

TEST(Dot, SumsProductsOfFloats) {
    std::mt19937 random(42);
    TestWave wave(Target::gfx1201);
    for (const FloatDot& dot : kFloatDots)
        for (int round = 0; round < 500; ++round) {
            const unsigned count = 32 / width(dot.a);
            int sum = static_cast<int>(random() % 21) - 10;
            const auto accumulator = [&](int x) { return dot.result_bits == 32 ? f32(x) : encode(dot.a, x); };
            wave.fill(dot.accumulates_destination ? 0 : 12, accumulator(sum));
            if (!dot.accumulates_destination) wave.fill(0, 0xABCD0000);
            uint32_t a = 0, b = 0;
            for (unsigned i = 0; i < count; ++i) {
                const int x = static_cast<int>(random() % 9) - 4,
                          y = static_cast<int>(random() % 9) - 4;  // three significant bits
                a |= encode(dot.a, x) << i * width(dot.a);
                b |= encode(dot.b, y) << i * width(dot.b);
                sum += x * y;
            }
            wave.fill(4, a);
            wave.fill(8, b);
            wave.run(instruction(dot.opcode));
            ASSERT_EQ(wave.at(0), dot.result_bits == 32 ? f32(sum) : 0xABCD0000 | encode(dot.a, sum))
                << info(dot.opcode).name;
        }
}

TEST(Dot, NegatesHalvesAndTheAccumulator) {
    TestWave wave;
    wave.fill(4, encode(MatrixElement::f16, 2) | encode(MatrixElement::f16, 3) << 16);
    wave.fill(8, encode(MatrixElement::f16, 10) | encode(MatrixElement::f16, 100) << 16);
    wave.fill(12, f32(1000));
    Instruction dot = instruction(Opcode::v_dot2_f32_f16);
    dot.neg = 1 | 4;
    wave.run(dot);
    EXPECT_EQ(wave.at(0), f32(-20 + 300 - 1000));
    dot.neg = 0;
    dot.abs = 2;
    wave.run(dot);
    EXPECT_EQ(wave.at(0), f32(20 - 300 + 1000));
}

// ---- Matrices ----

using Matrix = std::vector<std::vector<int>>;
Matrix random_matrix(unsigned rows, unsigned columns, int low, int high, std::mt19937& random) {
    Matrix matrix(rows, std::vector<int>(columns));
    for (auto& row : matrix)
        for (int& x : row) x = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    return matrix;
}

constexpr unsigned kA = 32, kB = 64, kC = 96, kD = 128, kIndex = 160;

void put(TestWave& wave, unsigned first, unsigned lane, unsigned position, unsigned bits, uint32_t value) {
    const unsigned at = position * bits;
    uint32_t& word = wave.at(first + at / 32, lane);
    const uint32_t mask = (bits == 32 ? ~0u : (1u << bits) - 1) << at % 32;
    word = (word & ~mask) | value << at % 32;
}

// Where K lies: lane group and position. gfx11: all K in each lane. gfx12, facts of the layout table: wave32 halves of
// K, wave64 K = 16 in quarters (iu4 in its two lower groups), K = 32 of nibbles in eights by groups 0, 2, 1, 3.
struct Spot {
    unsigned group, position;
};
Spot spot_of(const MatrixOperation& operation, Generation generation, WaveSize size, unsigned k) {
    if (generation == Generation::gfx11) return {0, k};
    if (size == WaveSize::wave32) return {k / (operation.depth / 2), k % (operation.depth / 2)};
    if (operation.a == MatrixElement::i4)
        return operation.depth == 16 ? Spot{k / 8, k % 8} : Spot{(k / 8 % 2) * 2 + k / 16, k % 8};
    return {(k / 4 % 2) + 2 * (k / 8), k % 4};
}

// Row and column of D in a lane's register.
struct Place {
    unsigned reg, lane, shift;
};
Place place_of(const MatrixOperation& operation, Generation generation, WaveSize size, unsigned row, unsigned column) {
    const bool narrow = operation.result == MatrixResult::f16 || operation.result == MatrixResult::bf16;
    if (generation == Generation::gfx11)
        return size == WaveSize::wave32 ? Place{row / 2, column + 16 * (row % 2), 0}
                                        : Place{row / 4, column + 16 * (row % 4), 0};
    const unsigned lane =
        size == WaveSize::wave32 ? column + 16 * (row / 8) : column + 16 * (row / 8) + 32 * (row / 4 % 2);
    const unsigned within = size == WaveSize::wave32 ? row % 8 : row % 4;
    return narrow ? Place{within / 2, lane, 16 * (within % 2)} : Place{within, lane, 0};
}

uint32_t result_bits(const MatrixOperation& operation, int x) {
    switch (operation.result) {
        case MatrixResult::i32:
            return static_cast<uint32_t>(x);
        case MatrixResult::f32:
            return f32(x);
        case MatrixResult::f16:
            return encode(MatrixElement::f16, x);
        case MatrixResult::bf16:
            return encode(MatrixElement::bf16, x);
    }
    return 0;
}

Instruction matrix_instruction(Opcode opcode, const MatrixOperation& operation) {
    Instruction made;
    made.opcode = opcode;
    made.operands = {vgpr(kD), vgpr(kA), vgpr(kB), vgpr(kC)};
    if (operation.sparsity == Sparsity::sparse) {
        made.operands[3] = vgpr(kD);
        made.operands[4] = vgpr(kIndex);
    }
    made.op_sel_hi = 7;
    return made;
}

struct Problem {
    Matrix a, b, c;
};
Problem problem(const MatrixOperation& operation, std::mt19937& random) {
    const bool integers = operation.result == MatrixResult::i32;
    const int low = operation.a == MatrixElement::i4 ? -8
                    : integers                       ? -128
                                                     : -2,
              high = operation.a == MatrixElement::i4 ? 7
                     : integers                       ? 127
                                                      : 2;
    return {random_matrix(16, operation.depth, low, high, random),
            random_matrix(operation.depth, 16, low, high, random), random_matrix(16, 16, -20, 20, random)};
}
int entry(const Problem& p, unsigned row, unsigned column) {
    int sum = p.c[row][column];
    for (size_t k = 0; k < p.b.size(); ++k) sum += p.a[row][k] * p.b[k][column];
    return sum;
}

void load_dense(TestWave& wave, const MatrixOperation& operation, Generation generation, WaveSize size,
                const Problem& p) {
    const unsigned copies = generation == Generation::gfx11 ? lanes(size) / 16 : 1;
    for (unsigned line = 0; line < 16; ++line)
        for (unsigned k = 0; k < operation.depth; ++k)
            for (unsigned copy = 0; copy < copies; ++copy) {
                const Spot spot = spot_of(operation, generation, size, k);
                put(wave, kA, line + 16 * (spot.group + copy), spot.position, width(operation.a),
                    encode(operation.a, p.a[line][k]));
                put(wave, kB, line + 16 * (spot.group + copy), spot.position, width(operation.b),
                    encode(operation.b, p.b[k][line]));
            }
}
void load_accumulator(TestWave& wave, unsigned first, const MatrixOperation& operation, Generation generation,
                      WaveSize size, const Problem& p) {
    const bool narrow = operation.result == MatrixResult::f16 || operation.result == MatrixResult::bf16;
    for (unsigned row = 0; row < 16; ++row)
        for (unsigned column = 0; column < 16; ++column) {
            const Place place = place_of(operation, generation, size, row, column);
            put(wave, first + place.reg, place.lane, place.shift / 16, narrow ? 16 : 32,
                result_bits(operation, p.c[row][column]));
        }
}
void expect_product(TestWave& wave, Opcode opcode, const MatrixOperation& operation, Generation generation,
                    WaveSize size, const Problem& p) {
    const bool narrow = operation.result == MatrixResult::f16 || operation.result == MatrixResult::bf16;
    for (unsigned row = 0; row < 16; ++row)
        for (unsigned column = 0; column < 16; ++column) {
            const Place place = place_of(operation, generation, size, row, column);
            const uint32_t got = wave.at(kD + place.reg, place.lane) >> place.shift;
            ASSERT_EQ(narrow ? got & 0xFFFF : got, result_bits(operation, entry(p, row, column)))
                << info(opcode).name << " " << row << "," << column;
        }
}

std::vector<Opcode> matrix_rows(Sparsity sparsity) {
    std::vector<Opcode> rows;
    for (const InstructionInfo& row : all_instructions())
        if (const auto operation = matrix_operation(row.opcode); operation && operation->sparsity == sparsity)
            rows.push_back(row.opcode);
    return rows;
}
Target target_of(Opcode opcode) { return info(opcode).name.ends_with("_gfx11") ? Target::gfx1100 : Target::gfx1201; }

TEST(Matrix, MultipliesTilesInEveryFormatAndWaveSize) {
    std::mt19937 random(43);
    const std::vector<Opcode> rows = matrix_rows(Sparsity::dense);
    EXPECT_EQ(rows.size(), 17u);
    for (const Opcode opcode : rows)
        for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64}) {
            const MatrixOperation operation = *matrix_operation(opcode);
            const Generation chip = generation(target_of(opcode));
            TestWave wave(target_of(opcode), size);
            const Problem p = problem(operation, random);
            load_dense(wave, operation, chip, size, p);
            load_accumulator(wave, kC, operation, chip, size, p);
            Instruction made = matrix_instruction(opcode, operation);
            if (operation.result == MatrixResult::i32) made.neg = 3;
            wave.run(made);
            expect_product(wave, opcode, operation, chip, size, p);
        }
}

// The compressed rows of A hold two of every four columns; two bits each say which.
TEST(Matrix, MultipliesSparseRows) {
    std::mt19937 random(44);
    const std::vector<Opcode> rows = matrix_rows(Sparsity::sparse);
    EXPECT_EQ(rows.size(), 11u);
    for (const Opcode opcode : rows) {
        const MatrixOperation operation = *matrix_operation(opcode);
        const bool narrow_index = operation.depth == 32;  // then one of two sets, by op_sel
        const unsigned set = narrow_index ? random() % 2 : 0;
        TestWave wave(Target::gfx1201);
        Problem p = problem(operation, random);
        load_accumulator(wave, kD, operation, Generation::gfx12, WaveSize::wave32, p);
        // B: 16 consecutive K in a lane of one half, the next 16 in the other; with K = 64 twice.
        for (unsigned k = 0; k < operation.depth; ++k)
            for (unsigned column = 0; column < 16; ++column)
                put(wave, kB, column + 16 * (k / 16 % 2), 16 * (k / 32) + k % 16, width(operation.b),
                    encode(operation.b, p.b[k][column]));
        for (unsigned row = 0; row < 16; ++row)
            for (unsigned quad = 0; quad < operation.depth / 4; ++quad) {
                const unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
                for (unsigned i = 0; i < 4; ++i)
                    if (i != first && i != second) p.a[row][4 * quad + i] = 0;
                for (unsigned i = 0; i < 2; ++i) {
                    const unsigned compressed = 2 * quad + i, lane = row + 16 * (compressed / 8 % 2),
                                   local = 8 * (compressed / 16) + compressed % 8, at = i == 0 ? first : second;
                    put(wave, kA, lane, local, width(operation.a), encode(operation.a, p.a[row][4 * quad + at]));
                    put(wave, kIndex, lane, local + 8 * set, 2, at);
                }
            }
        Instruction made = matrix_instruction(opcode, operation);
        made.op_sel = static_cast<uint8_t>(set);
        if (operation.result == MatrixResult::i32) made.neg = 3;
        wave.run(made);
        expect_product(wave, opcode, operation, Generation::gfx12, WaveSize::wave32, p);
    }
}

TEST(Matrix, TreatsIntegersAsUnsignedUnlessTold) {
    for (uint8_t signs = 0; signs < 4; ++signs) {
        TestWave wave(Target::gfx1201);
        for (unsigned reg = 0; reg < 2; ++reg) {
            wave.fill(kA + reg, 0xFFFFFFFF);
            wave.fill(kB + reg, 0xFEFEFEFE);
        }
        for (unsigned reg = 0; reg < 8; ++reg) wave.fill(kC + reg, 5);
        Instruction made =
            matrix_instruction(Opcode::v_wmma_i32_16x16x16_iu8, *matrix_operation(Opcode::v_wmma_i32_16x16x16_iu8));
        made.neg = signs;
        wave.run(made);
        const int a = signs % 2 == 1 ? -1 : 255, b = signs / 2 == 1 ? -2 : 254;
        EXPECT_EQ(static_cast<int32_t>(wave.at(kD)), 5 + 16 * a * b);
    }
}

// gfx12 saturates after each half of K: products of the first that overflow are lost though the second would cancel
// them.
TEST(Matrix, SaturatesInTheStagesOfItsGeneration) {
    for (const Target target : {Target::gfx1100, Target::gfx1201}) {
        TestWave wave(target);
        const bool gfx12 = target == Target::gfx1201;
        for (unsigned reg = 0; reg < 8; ++reg) wave.fill(kC + reg, 0x7FFFFFF0);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned k = 0; k < (gfx12 ? 8u : 16u); ++k) {
                const bool second_half = gfx12 ? lane >= 16 : k >= 8;
                put(wave, kA, lane, k, 8, 100);
                put(wave, kB, lane, k, 8, second_half ? 0x9C : 100);  // -100
            }
        const Opcode opcode = gfx12 ? Opcode::v_wmma_i32_16x16x16_iu8 : Opcode::v_wmma_i32_16x16x16_iu8_gfx11;
        Instruction made = matrix_instruction(opcode, *matrix_operation(opcode));
        made.neg = 3;
        made.clamp = true;
        wave.run(made);
        EXPECT_EQ(static_cast<int32_t>(wave.at(kD)), gfx12 ? 0x7FFFFFFF - 80'000 : 0x7FFFFFF0);
    }
}

TEST(Matrix, NegatesHalvesAndAccumulators) {
    TestWave wave(Target::gfx1201);
    for (unsigned reg = 0; reg < 4; ++reg) {
        wave.fill(kA + reg, 0x40003C00);  // 2.0 over 1.0
        wave.fill(kB + reg, 0x3C003C00);
    }
    for (unsigned reg = 0; reg < 8; ++reg) wave.fill(kC + reg, f32(-7));
    const Opcode opcode = Opcode::v_wmma_f32_16x16x16_f16;
    Instruction made = matrix_instruction(opcode, *matrix_operation(opcode));
    made.neg = 1;
    wave.run(made);
    EXPECT_EQ(wave.at(kD), f32(-7 + 8 * (2 - 1)));
    made.neg = 4;
    made.abs = 4 | 2;
    wave.run(made);
    EXPECT_EQ(wave.at(kD), f32(-7 + 8 * (1 - 2)));  // minus the absolute value
    made.neg = made.abs = 0;
    made.operands[3] = {128};
    wave.run(made);
    EXPECT_EQ(wave.at(kD + 7, 31), f32(24));
    made.operands[3] = {242};
    wave.run(made);
    EXPECT_EQ(wave.at(kD + 7, 31), f32(25));
}

TEST(Matrix, WritesTheHalfThatOpSelNamesOnGfx11) {
    TestWave wave(Target::gfx1100);
    for (unsigned reg = 0; reg < 8; ++reg) {
        wave.fill(kA + reg, 0x3C003C00);
        wave.fill(kB + reg, 0x3C003C00);
        wave.fill(kC + reg, 0x40004200);  // 2.0 over 3.0
        wave.fill(kD + reg, 0xAAAABBBB);
    }
    const Opcode opcode = Opcode::v_wmma_f16_16x16x16_f16_gfx11;
    Instruction made = matrix_instruction(opcode, *matrix_operation(opcode));
    wave.run(made);
    EXPECT_EQ(wave.at(kD + 3, 20), 0xAAAA0000u | encode(MatrixElement::f16, 19));
    made.op_sel = 4;
    wave.run(made);
    EXPECT_EQ(wave.at(kD + 3, 20), encode(MatrixElement::f16, 18) << 16 | encode(MatrixElement::f16, 19));
}

TEST(Matrix, ReportsOperandsThatGfx11WantsRepeated) {
    TestWave wave(Target::gfx1100);
    wave.state.tracking = reinterpret_cast<WaveTracking*>(&wave);  // checks on; not looked into
    for (unsigned reg = 0; reg < 64; ++reg) wave.fill(kA + reg, 0);
    const Opcode opcode = Opcode::v_wmma_f32_16x16x16_f16_gfx11;
    const Instruction made = matrix_instruction(opcode, *matrix_operation(opcode));
    wave.run(made);
    EXPECT_TRUE(wave.findings.empty());
    wave.at(kB + 5, 17) = 1;
    wave.run(made);
    EXPECT_FALSE(wave.findings.empty());
}

TEST(Matrix, RefusesLayoutsThatNothingPublicGives) {
    TestWave wide(Target::gfx1201, WaveSize::wave64), wave(Target::gfx1201);
    const Opcode nibbles = Opcode::v_swmmac_i32_16x16x32_iu4, narrow = Opcode::v_wmma_f16_16x16x16_f16;
    EXPECT_EQ(wide.refusal(matrix_instruction(nibbles, *matrix_operation(nibbles))),
              "v_swmmac_i32_16x16x32_iu4: its layout in wave64 is not implemented");
    Instruction constant = matrix_instruction(narrow, *matrix_operation(narrow));
    constant.operands[3] = {242};
    EXPECT_EQ(wave.refusal(constant),
              "v_wmma_f16_16x16x16_f16: no document says how the constant 0x3f800000 spreads over 16-bit results");
}

}  // namespace valu_matrix_test

std::vector<Opcode> expected_dot_opcodes() {
    using namespace valu_matrix_test;
    std::vector<Opcode> opcodes;
    for (const IntegerDot& dot : kIntegerDots) opcodes.push_back(dot.opcode);
    for (const FloatDot& dot : kFloatDots) opcodes.push_back(dot.opcode);
    for (const Sparsity sparsity : {Sparsity::dense, Sparsity::sparse})
        for (const Opcode opcode : matrix_rows(sparsity)) opcodes.push_back(opcode);
    return opcodes;
}

}  // namespace riftjit::rdna::emulator
