// Whole vector instructions on a wave: modifiers, halves, DPP, SDWA, masks, VOPD.
#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <random>

#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace valu_test {

constexpr uint32_t kOne = 0x3F800000, kTwo = 0x40000000, kThree = 0x40400000, kHalf = 0x3F000000;
constexpr uint32_t kOld = 0xA5A5A5A5;
constexpr uint32_t kFlushingMode = 0x00;  // no denormals, no ieee, no dx10_clamp

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Valu, ReadsScalarsConstantsAndLiterals) {
    TestWave wave;
    wave.fill(8, kOne);
    Instruction add = instruction(Opcode::v_add_f32);
    wave.state.scalars[7] = kTwo;
    add.operands[1] = sgpr(7);
    wave.run(add);
    EXPECT_EQ(wave.at(0, 13), kThree);
    add.operands[1] = {242};  // 1.0
    wave.run(add);
    EXPECT_EQ(wave.at(0), kTwo);
    add.operands[1] = {Operand::kLiteral};
    add.literal = bits(10.0f);
    wave.run(add);
    EXPECT_EQ(wave.at(0), bits(11.0f));
    Instruction integer = instruction(Opcode::v_add_nc_u32);
    integer.operands[1] = {194};  // -2
    wave.fill(8, 5);
    wave.run(integer);
    EXPECT_EQ(wave.at(0), 3u);
}

TEST(Valu, GivesConstantsTheTypeOfTheirOperand) {
    EXPECT_EQ(constant_bits({240}, 0, OperandType::f16, LiteralSign::zero_extended), 0x3800u);
    EXPECT_EQ(constant_bits({240}, 0, OperandType::f64, LiteralSign::zero_extended), 0x3FE0000000000000u);
    EXPECT_EQ(constant_bits({248}, 0, OperandType::f32, LiteralSign::zero_extended), 0x3E22F983u);
    EXPECT_EQ(constant_bits({248}, 0, OperandType::f16, LiteralSign::zero_extended), 0x3118u);
    EXPECT_EQ(constant_bits({248}, 0, OperandType::f64, LiteralSign::zero_extended), 0x3FC45F306DC9C882u);
    EXPECT_EQ(constant_bits({193}, 0, OperandType::i64, LiteralSign::zero_extended), ~0ull);
    EXPECT_EQ(constant_bits({Operand::kLiteral}, 0x40000000, OperandType::f64, LiteralSign::zero_extended),
              0x4000000000000000u);
    EXPECT_EQ(constant_bits({Operand::kLiteral}, 0x80000000, OperandType::i64, LiteralSign::sign_extended),
              0xFFFFFFFF80000000u);
}

TEST(Valu, AppliesAbsThenNeg) {
    TestWave wave;
    wave.fill(4, bits(-3.0f));
    wave.fill(8, kOne);
    Instruction add = instruction(Opcode::v_add_f32);
    add.encoding = Encoding::e64;
    add.abs = 1;
    wave.run(add);
    EXPECT_EQ(wave.at(0), bits(4.0f));
    add.neg = 1;
    wave.run(add);
    EXPECT_EQ(wave.at(0), bits(-2.0f));
    wave.fill64(4, std::bit_cast<uint64_t>(-3.0));
    wave.fill64(8, std::bit_cast<uint64_t>(1.0));
    Instruction wide = instruction(Opcode::v_add_f64);
    wide.neg = 2;
    wave.run(wide);
    EXPECT_EQ(wave.at64(0, 31), std::bit_cast<uint64_t>(-4.0));
}

TEST(Valu, ClampsToOneAndTurnsNanToZeroWhereTheModeSays) {
    TestWave wave;
    wave.fill(8, kOne);
    Instruction add = instruction(Opcode::v_add_f32);
    add.clamp = true;
    const auto clamped = [&](uint32_t value) {
        wave.fill(4, value);
        wave.run(add);
        return wave.at(0);
    };
    EXPECT_EQ(clamped(kTwo), kOne);
    EXPECT_EQ(clamped(bits(-5.0f)), 0u);
    EXPECT_EQ(clamped(bits(-0.5f)), kHalf);
    EXPECT_EQ(clamped(0x7FC00000), 0u);
    wave.state.mode = 0x2F0;  // without dx10_clamp
    EXPECT_EQ(clamped(0x7FC00001), 0x7FC00001u);
}

// AMD's ISA documents: ignored with IEEE mode or kept denormals before gfx12, which has neither condition.
TEST(Valu, ScalesResultsOnlyWhereTheOutputModifierActs) {
    const auto doubled = [](Target target, uint32_t mode, uint32_t value) {
        TestWave wave(target);
        wave.state.mode = mode;
        wave.fill(4, value);
        wave.fill(8, 0);
        Instruction add = instruction(Opcode::v_add_f32);
        add.omod = 1;
        wave.run(add);
        return wave.at(0);
    };
    EXPECT_EQ(doubled(Target::gfx1100, kDefaultMode, kOne), kOne);
    EXPECT_EQ(doubled(Target::gfx1100, 0x200, kOne), kOne);
    EXPECT_EQ(doubled(Target::gfx1100, kFlushingMode, kOne), kTwo);
    EXPECT_EQ(doubled(Target::gfx1030, kFlushingMode, kOne), kTwo);
    EXPECT_EQ(doubled(Target::gfx1201, 0xF0, kOne), kTwo);
    EXPECT_EQ(doubled(Target::gfx1201, 0xF0, 0x80000001), 0u);  // tiny results become +0
}

TEST(Valu, FollowsTheRoundingAndDenormalModes) {
    TestWave wave;
    wave.fill(4, kOne);
    wave.fill(8, 1);
    const Instruction add = instruction(Opcode::v_add_f32);
    wave.run(add);
    EXPECT_EQ(wave.at(0), kOne);
    wave.state.mode = kDefaultMode | 1;  // up
    wave.run(add);
    EXPECT_EQ(wave.at(0), kOne + 1);
    wave.state.mode = 0x301 | 0xC0;  // f32 denormals flushed: 1 + 0
    wave.run(add);
    EXPECT_EQ(wave.at(0), kOne);
}

TEST(Valu, LeavesInactiveLanesAndTheirMaskBitsAlone) {
    TestWave wave;
    wave.set_exec(0x0000FF0F);
    wave.fill(0, kOld);
    wave.fill(4, 7);
    wave.fill(8, 9);
    wave.run(instruction(Opcode::v_add_nc_u32));
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.at(0, lane), (0xFF0F >> lane & 1) != 0 ? 16u : kOld);
    wave.state.scalars[Operand::kVcc] = ~0u;
    wave.run(instruction(Opcode::v_cmp_lt_u32));
    EXPECT_EQ(wave.state.scalars[Operand::kVcc], 0x0000FF0Fu);
    wave.run(instruction(Opcode::v_cmpx_gt_u32));
    EXPECT_EQ(wave.state.exec(), 0u);
    wave.run(instruction(Opcode::v_add_nc_u32));  // with nothing active
    EXPECT_EQ(wave.at(0, 4), kOld);
}

TEST(Valu, AddsWithCarriesThroughMasks) {
    TestWave wave;
    for (unsigned lane = 0; lane < 32; ++lane) wave.at(4, lane) = lane % 2 == 0 ? 0xFFFFFFFF : 5;
    wave.fill(8, 1);
    Instruction add = instruction(Opcode::v_add_co_u32);
    add.operands[1] = sgpr(10);
    wave.run(add);
    EXPECT_EQ(wave.state.scalars[10], 0x55555555u);
    Instruction carry = instruction(Opcode::v_add_co_ci_u32);
    carry.encoding = Encoding::e64;
    carry.operands[1] = null_register(Generation::gfx11);
    carry.operands[4] = sgpr(10);
    wave.run(carry);
    EXPECT_EQ(wave.at(0, 0), 1u);
    EXPECT_EQ(wave.at(0, 1), 6u);
}

TEST(Valu, WritesOneHalfAndKeepsTheOther) {
    TestWave wave;
    wave.fill(0, 0xAAAABBBB);
    wave.fill(4, 0x3C004000);  // 1.0 over 2.0
    wave.fill(8, 0x42004200);  // 3.0
    Instruction add = instruction(Opcode::v_add_f16);
    wave.run(add);
    EXPECT_EQ(wave.at(0), 0xAAAA4500u);  // 2 + 3
    Instruction fma = instruction(Opcode::v_fma_f16);
    fma.op_sel = 1 | 8;  // the high half of source 0, into the high half
    wave.fill(12, 0);
    wave.run(fma);
    EXPECT_EQ(wave.at(0), 0x42004500u);
    Instruction fmac = instruction(Opcode::v_fmac_f16);
    fmac.encoding = Encoding::e64;
    fmac.op_sel = 8;  // accumulates in the high half: 2 * 3 + 3
    wave.run(fmac);
    EXPECT_EQ(wave.at(0), 0x48804500u);
}

TEST(Valu, OrdersAndNegatesPackedHalves) {
    TestWave wave;
    wave.fill(4, 0x3C004000);  // 1.0 over 2.0
    wave.fill(8, 0x00000000);
    Instruction add = instruction(Opcode::v_pk_add_f16);
    wave.run(add);
    EXPECT_EQ(wave.at(0), 0x3C004000u);
    add.op_sel = 1;
    add.op_sel_hi = 6;  // swapped
    add.neg = 1;        // the low result's operand
    wave.run(add);
    EXPECT_EQ(wave.at(0), 0x4000BC00u);
    add.abs = 1;  // and the high one's
    wave.run(add);
    EXPECT_EQ(wave.at(0), 0xC000BC00u);
}

TEST(Valu, MixesFormatsInFusedMultiplyAdds) {
    TestWave wave;
    wave.fill(4, 0x42003C00);  // as halves: 3.0 over 1.0
    wave.fill(8, kTwo);
    wave.fill(12, kHalf);
    Instruction mix = instruction(Opcode::v_fma_mix_f32);
    mix.op_sel_hi = 1;
    mix.op_sel = 1;
    wave.run(mix);
    EXPECT_EQ(wave.at(0), bits(6.5f));
    mix.neg = 1;
    wave.run(mix);
    EXPECT_EQ(wave.at(0), bits(-5.5f));
    for (const Opcode opcode : {Opcode::v_fma_mixlo_f16, Opcode::v_fma_mixhi_f16}) {
        wave.fill(0, 0xAAAABBBB);
        Instruction half = instruction(opcode);
        half.operands[4] = half.operands[0];
        half.op_sel = half.op_sel_hi = 1;
        wave.run(half);
        EXPECT_EQ(wave.at(0), opcode == Opcode::v_fma_mixlo_f16 ? 0xAAAA4680u : 0x4680BBBBu);  // 6.5
    }
    // One rounding only: 1 + 2^-11 + 2^-24 lies above the tie between two halves.
    wave.fill(4, kOne);
    wave.fill(8, bits(1 + 0x1p-11f));
    wave.fill(12, bits(0x1p-24f));
    Instruction low = instruction(Opcode::v_fma_mixlo_f16);
    low.operands[4] = low.operands[0];
    low.op_sel_hi = 0;
    wave.run(low);
    EXPECT_EQ(wave.at(0) & 0xFFFF, 0x3C01u);
}

TEST(Valu, ComputesFusedMultiplyAddsWithLiteralsAndAccumulators) {
    TestWave wave;
    wave.fill(4, kTwo);
    wave.fill(8, kThree);
    wave.fill(12, kOne);
    Instruction mk = instruction(Opcode::v_fmamk_f32);
    mk.literal = bits(10.0f);
    wave.run(mk);
    EXPECT_EQ(wave.at(0), bits(21.0f));
    Instruction ak = instruction(Opcode::v_fmaak_f32);
    ak.literal = bits(100.0f);
    wave.run(ak);
    EXPECT_EQ(wave.at(0), bits(106.0f));
    wave.run(instruction(Opcode::v_fmac_f32));
    EXPECT_EQ(wave.at(0), bits(112.0f));
    wave.fill(4, 0xFFFF4000);
    wave.fill(8, 0xFFFF4200);
    wave.fill(12, 0xFFFF3C00);
    wave.fill(0, 0x12340000);
    Instruction half = instruction(Opcode::v_fmamk_f16);
    half.literal = 0x4900;  // 10
    wave.run(half);
    EXPECT_EQ(wave.at(0), 0x12344D40u);  // 21, the upper half kept
}

TEST(Valu, ReadsBothHalvesOfVopdBeforeWriting) {
    TestWave wave;
    wave.fill(4, 111);
    wave.fill(5, 222);
    Instruction swap;
    swap.opcode = Opcode::v_mov_b32;
    swap.encoding = Encoding::vopd;
    swap.dual[0] = {Opcode::v_mov_b32, {vgpr(4), vgpr(5)}};
    swap.dual[1] = {Opcode::v_mov_b32, {vgpr(5), vgpr(4)}};
    wave.run(swap);
    EXPECT_EQ(wave.at(4, 9), 222u);
    EXPECT_EQ(wave.at(5, 9), 111u);
    // fmaak takes the shared literal as addend, cndmask vcc as selector.
    wave.fill(6, kTwo);
    wave.fill(7, kThree);
    wave.state.scalars[Operand::kVcc] = 1;
    Instruction pair = swap;
    pair.literal = kHalf;
    pair.has_literal = true;
    pair.dual[0] = {Opcode::v_fmaak_f32, {vgpr(10), vgpr(6), vgpr(7)}};
    pair.dual[1] = {Opcode::v_cndmask_b32, {vgpr(11), vgpr(6), vgpr(7)}};
    wave.run(pair);
    EXPECT_EQ(wave.at(10), bits(6.5f));
    EXPECT_EQ(wave.at(11, 0), kThree);
    EXPECT_EQ(wave.at(11, 1), kTwo);
    pair.dual[0] = {Opcode::v_fmac_f32, {vgpr(10), vgpr(6), vgpr(7)}};
    wave.set_exec(2);
    wave.run(pair);
    EXPECT_EQ(wave.at(10, 0), bits(6.5f));
    EXPECT_EQ(wave.at(10, 1), bits(12.5f));
    // Through the C++ functions: NaN results.
    wave.fill(6, 0x7FC00000);
    wave.run(pair);
    EXPECT_EQ(wave.at(10, 1), 0x7FC00000u);
}

TEST(Valu, RunsSixtyFourLanes) {
    TestWave wave(Target::gfx1100, WaveSize::wave64);
    for (unsigned lane = 0; lane < 64; ++lane) wave.at(4, lane) = lane;
    wave.fill(8, 40);
    wave.run(instruction(Opcode::v_cmp_gt_u32));
    EXPECT_EQ(wave.state.vcc(), 0xFFFFFE0000000000u);
    wave.run(instruction(Opcode::v_cndmask_b32));
    EXPECT_EQ(wave.at(0, 41), 40u);
    EXPECT_EQ(wave.at(0, 40), 40u);
    EXPECT_EQ(wave.at(0, 3), 3u);
    // A NaN in the upper half only: the lower half is computed once.
    wave.fill(0, kOne);
    wave.fill(4, kOne);
    wave.fill(8, kOne);
    wave.at(4, 50) = 0x7FC00000;
    wave.run(instruction(Opcode::v_fmac_f32));
    EXPECT_EQ(wave.at(0, 3), kTwo);
    EXPECT_EQ(wave.at(0, 40), kTwo);
    EXPECT_EQ(wave.at(0, 50), 0x7FC00000u);
    for (unsigned lane = 0; lane < 64; ++lane) wave.at(8, lane) = 0;
    wave.fill(4, ~0u);
    wave.run(instruction(Opcode::v_mbcnt_hi_u32_b32));
    EXPECT_EQ(wave.at(0, 31), 0u);
    EXPECT_EQ(wave.at(0, 40), 8u);
}

TEST(Valu, ComputesDoublesFromScalarsAndConstants) {
    TestWave wave;
    wave.fill64(8, std::bit_cast<uint64_t>(1.5));
    const auto two = std::bit_cast<uint64_t>(2.0);
    wave.state.scalars[6] = static_cast<uint32_t>(two);
    wave.state.scalars[7] = static_cast<uint32_t>(two >> 32);
    Instruction mul = instruction(Opcode::v_mul_f64);
    mul.operands[1] = sgpr(6);
    mul.neg = 1;
    wave.run(mul);
    EXPECT_EQ(wave.at64(0, 7), std::bit_cast<uint64_t>(-3.0));
    mul.operands[1] = {246};  // 4.0
    wave.run(mul);
    EXPECT_EQ(wave.at64(0, 7), std::bit_cast<uint64_t>(-6.0));
}

TEST(Valu, WritesPseudoScalarResultsWhateverExecIs) {
    TestWave wave(Target::gfx1201);
    wave.set_exec(0);
    Instruction rcp = instruction(Opcode::v_s_rcp_f32);
    wave.state.scalars[30] = kTwo;
    wave.run(rcp);
    EXPECT_EQ(wave.state.scalars[20], kHalf);
    wave.state.scalars[20] = kOld;
    wave.state.scalars[30] = 0xFFFF4000;
    wave.run(instruction(Opcode::v_s_rcp_f16));
    EXPECT_EQ(wave.state.scalars[20], 0x3800u);
}

TEST(Valu, RefusesWhatNoDocumentDefines) {
    TestWave wave;
    Instruction ldexp = instruction(Opcode::v_ldexp_f32);
    ldexp.neg = 2;
    EXPECT_EQ(wave.refusal(ldexp), "v_ldexp_f32: neg or abs of an integer source is not defined");
    Instruction dot = instruction(Opcode::v_dot4_u32_u8);
    dot.op_sel = 1;
    EXPECT_EQ(wave.refusal(dot), "v_dot4_u32_u8: op_sel of a dot product's bytes is not defined");
    dot.op_sel = 0;
    dot.neg = 1;
    EXPECT_EQ(wave.refusal(dot), "v_dot4_u32_u8: neg of a dot product's integers is not defined");
    Instruction packed = instruction(Opcode::v_pk_add_i16);
    packed.neg = 1;
    EXPECT_EQ(wave.refusal(packed), "v_pk_add_i16: neg of packed integers is not defined");
    Instruction half = instruction(Opcode::v_ldexp_f16);
    half.neg = 2;
    EXPECT_EQ(wave.refusal(half), "v_ldexp_f16: neg or abs of an exponent is not defined");
    Instruction moved = instruction(Opcode::v_movrels_b32);
    moved.encoding = Encoding::dpp16;
    EXPECT_EQ(wave.refusal(moved), "v_movrels_b32: DPP and SDWA of a register chosen by m0 are not implemented");
    Instruction dpp = instruction(Opcode::v_mov_b32);
    dpp.encoding = Encoding::dpp16;
    dpp.dpp.control = 0x130;
    EXPECT_EQ(wave.refusal(dpp), "DPP control 0x130 is not known");
    EXPECT_EQ(wave.refusal(instruction(Opcode::s_mov_b32)), "s_mov_b32: the vector unit does not execute it");
}

}  // namespace valu_test
}  // namespace riftjit::rdna::emulator
