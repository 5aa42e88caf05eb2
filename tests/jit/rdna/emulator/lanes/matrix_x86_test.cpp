// Matrix instructions as emitted code against the same in C++, bit for bit: every instruction, wave size and level,
// with modifiers, over ordinary numbers and over zeros, denormals, the largest numbers, infinities and NaNs.
#include "jit/rdna/emulator/lanes/matrix_x86.h"

#include <gtest/gtest.h>

#include <random>

#include "jit/rdna/emulator/valu/valu_float.h"
#include "jit/rdna/emulator/valu/wmma_layout.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace matrix_x86_test {

constexpr unsigned kRegisters = 112, kD = 64, kA = 16, kB = 32, kC = 48, kIndex = 80;

struct Case {
    LaneIsa isa;
    Target target;
    WaveSize wave_size;
};

class MatrixCode : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        if (GetParam().isa > host_lane_isa()) GTEST_SKIP() << "this host lacks the instruction set";
    }

    // `specials` in 64 values are special; the others are about one, so that sums cancel and round.
    uint32_t number(const FloatFormat& format, unsigned specials) {
        const uint64_t sign = random_() % 2 == 0 ? format.sign() : 0;
        if (random_() % 64 >= specials)
            return static_cast<uint32_t>(sign | (format.one() - format.min_normal() * (random_() % 3)) |
                                         (random_() & format.mantissa_mask()));
        const uint64_t kinds[] = {0,
                                  1,
                                  format.min_normal() - 1,
                                  format.min_normal(),
                                  format.largest(),
                                  format.infinity(),
                                  format.infinity() | 1,
                                  random_() & format.magnitude_mask()};
        return static_cast<uint32_t>(sign | kinds[random_() % std::size(kinds)]);
    }
    uint32_t element(MatrixElement type, unsigned specials) {
        switch (type) {
            case MatrixElement::f16:
                return number(kF16, specials);
            case MatrixElement::bf16:
                return number(kBf16, specials);
            case MatrixElement::fp8:
                return number({3, 4}, specials);
            case MatrixElement::bf8:
                return number({2, 5}, specials);
            default:
                return random_() & 0xFF;
        }
    }
    uint32_t word(MatrixElement type, unsigned specials) {
        const unsigned bits = element_bits(type);
        uint32_t packed = 0;
        for (unsigned shift = 0; shift < 32; shift += bits) packed |= element(type, specials) << shift;
        return packed;
    }
    uint32_t accumulator(MatrixResult type, unsigned specials) {
        if (type == MatrixResult::f32) return number(kF32, specials);
        if (type == MatrixResult::i32) return random_();
        return word(type == MatrixResult::f16 ? MatrixElement::f16 : MatrixElement::bf16, specials);
    }
    void fill(TestWave& wave, const MatrixOperation& operation, unsigned specials) {
        const auto each = [&](unsigned first, auto value) {
            for (unsigned reg = first; reg < first + 16; ++reg)
                for (unsigned lane = 0; lane < wave.state.lanes; ++lane) wave.at(reg, lane) = value();
        };
        each(kA, [&] { return word(operation.a, specials); });
        each(kB, [&] { return word(operation.b, specials); });
        each(kC, [&] { return accumulator(operation.result, specials); });
        each(kD, [&] { return accumulator(operation.result, specials); });
        each(kIndex, [&] { return random_(); });
    }
    MatrixCall random_call(Opcode opcode, const MatrixOperation& operation) {
        const auto [isa, target, wave_size] = GetParam();
        const bool is_sparse = operation.sparsity == Sparsity::sparse;
        Instruction made;
        made.opcode = opcode;
        const unsigned places[] = {kD, kC, kC, kA, kB, kC + 1};  // of D: apart, or over what is read
        const unsigned d = is_sparse ? kD : places[random_() % std::size(places)];
        made.operands = {vgpr(d), vgpr(kA), vgpr(kB), is_sparse ? vgpr(kIndex) : vgpr(kC)};
        if (is_sparse) made.operands = {vgpr(kD), vgpr(kA), vgpr(kB), vgpr(kD), vgpr(kIndex)};
        if (!is_sparse && random_() % 8 == 0) made.operands[3] = {128};  // the constant 0
        const bool is_modified = random_() % 2 == 0;
        made.neg = is_modified ? random_() & 7 : 0;
        made.abs = is_modified ? random_() & 7 : 0;
        made.op_sel = is_modified ? random_() & (is_sparse ? 3 : 4) : 0;
        const auto call = prepare_matrix(made, generation(target), wave_size);
        return call ? *call : MatrixCall{};
    }
    // Whether the code gave a result.
    bool compare(const MatrixCall& call, TestWave& wave) {
        const MatrixFunction function = matrix_function(GetParam().isa, call);
        if (function == nullptr) {
            ADD_FAILURE() << "no code";
            return false;
        }
        const auto registers = [&] { return std::vector<uint32_t>(wave.state.vgprs, wave.state.vgpr(kRegisters)); };
        const auto before = registers();
        MatrixScratch scratch;
        const auto from = [&](unsigned reg) { return wave.state.vgpr(reg); };
        const bool done = function(from(call.d), from(call.a), from(call.b), call.c ? from(*call.c) : nullptr,
                                   from(call.index), &scratch);
        const auto after = registers();
        if (!done) {
            EXPECT_EQ(after, before) << "wrote though it declined";
            return false;
        }
        std::ranges::copy(before, wave.state.vgprs);
        multiply_matrices_in_cpp(wave.state, call);
        EXPECT_EQ(after, registers());
        return true;
    }
    std::mt19937 random_{17};
};

TEST_P(MatrixCode, AgreesWithCpp) {
    const auto [isa, target, wave_size] = GetParam();
    unsigned rows = 0;
    for (const InstructionInfo& row : all_instructions()) {
        const auto operation = matrix_operation(row.opcode);
        if (!operation || !has(target, row.opcode)) continue;
        unsigned done = 0, tried = 0;
        for (unsigned round = 0; round < 48; ++round) {
            const MatrixCall call = random_call(row.opcode, *operation);
            if (call.lanes == 0) break;  // not implemented in this wave size
            TestWave wave(target, wave_size);
            constexpr unsigned kSpecials[] = {0, 0, 1, 8};
            fill(wave, *operation, kSpecials[round % std::size(kSpecials)]);
            ++tried;
            done += compare(call, wave);
            ASSERT_FALSE(HasFailure()) << row.name << " round " << round << " neg " << int{call.neg_lo} << " abs "
                                       << int{call.neg_hi} << " op_sel " << int{call.op_sel};
            rows += round == 0;
        }
        EXPECT_GE(done, tried / 2) << row.name << " declines too often";
    }
    EXPECT_GE(rows, generation(target) == Generation::gfx11 ? 6u : 20u);
}

INSTANTIATE_TEST_SUITE_P(Levels, MatrixCode,
                         testing::Values(Case{LaneIsa::avx2, Target::gfx1100, WaveSize::wave32},
                                         Case{LaneIsa::avx2, Target::gfx1100, WaveSize::wave64},
                                         Case{LaneIsa::avx2, Target::gfx1201, WaveSize::wave32},
                                         Case{LaneIsa::avx2, Target::gfx1201, WaveSize::wave64},
                                         Case{LaneIsa::avx512, Target::gfx1100, WaveSize::wave32},
                                         Case{LaneIsa::avx512, Target::gfx1100, WaveSize::wave64},
                                         Case{LaneIsa::avx512, Target::gfx1201, WaveSize::wave32},
                                         Case{LaneIsa::avx512, Target::gfx1201, WaveSize::wave64}),
                         [](const auto& test) {
                             return std::string(test.param.isa == LaneIsa::avx2 ? "Avx2" : "Avx512") +
                                    std::string(name(test.param.target)) + "Wave" +
                                    std::to_string(lanes(test.param.wave_size));
                         });

}  // namespace matrix_x86_test
}  // namespace riftjit::rdna::emulator
