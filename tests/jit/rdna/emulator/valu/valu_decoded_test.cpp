// The vector unit on instructions as the decoder gives them: every row of every generation prepares and does what the
// instruction it was encoded from does.
#include <gtest/gtest.h>

#include <random>

#include "jit/rdna/emulator/valu/valu_op.h"
#include "jit/rdna/encode/encoding.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"

namespace riftjit::rdna::emulator {
namespace valu_decoded_test {

// Sources that stand for the old destination repeat it.
Instruction with_ties(Opcode opcode) {
    Instruction made = instruction(opcode);
    const InstructionInfo& row = info(opcode);
    const auto tie = [&](unsigned source) { made.operands[row.destinations + source] = made.operands[0]; };
    if (row.name.starts_with("v_permlane")) {
        if (row.sources > 1) tie(row.sources - 1u);
    } else if (row.name.starts_with("v_fma_mixlo") || row.name.starts_with("v_fma_mixhi")) {
        tie(3);
    } else if (row.name.starts_with("v_writelane") || row.name.starts_with("v_cvt_pk_fp8") ||
               row.name.starts_with("v_cvt_pk_bf8") || row.name.starts_with("v_cvt_sr") ||
               row.name.starts_with("v_swmmac")) {
        tie(2);
    } else if (row.name.starts_with("v_swap")) {
        made.operands = {vgpr(0), vgpr(4), vgpr(4), vgpr(0)};
    }
    return made;
}

void randomize(TestWave& wave, uint32_t seed) {
    std::mt19937 random(seed);
    for (unsigned reg = 0; reg < 40; ++reg)
        for (unsigned lane = 0; lane < wave.state.lanes; ++lane)
            wave.at(reg, lane) = (random() & 0x807FFFFF) | (110 + random() % 30) << 23;
    for (unsigned i = 0; i < 106; ++i) wave.state.scalars[i] = random();
    wave.state.set_mask(Operand::kVcc, random() | static_cast<uint64_t>(random()) << 32);
    wave.state.scalars[m0_register(wave.state.generation).code] = 2;
}

struct After {
    std::vector<uint32_t> vgprs, scalars;
    bool operator==(const After&) const = default;
};
After run(Target target, WaveSize size, const Instruction& instruction) {
    TestWave wave(target, size);
    randomize(wave, 77);
    const auto call = wave.unit.prepare(instruction);
    EXPECT_TRUE(call.has_value()) << info(instruction.opcode).name << ": " << call.error().message;
    if (call) call->run(wave.state, call->data);
    return {{wave.state.vgprs, wave.state.vgprs + 40 * wave.state.lanes},
            {wave.state.scalars, wave.state.scalars + kScalarRegisters}};
}

Result<EncodedInstruction> encoded(Target target, WaveSize size, Instruction& made) {
    auto words = encode(target, size, made);
    if (words) return words;
    made.encoding = Encoding::e64;
    return encode(target, size, made);
}

TEST(ValuDecoded, DoesWhatTheEncodedInstructionDoes) {
    unsigned rows = 0;
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201})
        for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64})
            for (const InstructionInfo& row : all_instructions()) {
                if (valu_kind(row.opcode) == ValuKind::not_a_valu || !has(target, row.opcode)) continue;
                if (row.opcode == Opcode::v_swmmac_i32_16x16x32_iu4 && size == WaveSize::wave64) continue;  // refused
                Instruction made = with_ties(row.opcode);
                const auto words = encoded(target, size, made);
                ASSERT_TRUE(words.has_value()) << words.error().message;
                const Decoded decoded = decode(target, size, words->span());
                ASSERT_TRUE(decoded.ok) << row.name;
                EXPECT_EQ(run(target, size, made), run(target, size, decoded.instruction)) << row.name;
                ++rows;
            }
    EXPECT_GT(rows, 2500u);
}

// The emitted functions and the C++ ones, reached through the unit, on every source kind and modifier that both take.
TEST(ValuDecoded, AgreesWithTheLaneFunctionsOnWholeWaves) {
    std::mt19937 random(78);
    for (const InstructionInfo& row : all_instructions()) {
        if (valu_kind(row.opcode) != ValuKind::lane_wise) continue;
        for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64})
            for (unsigned variant = 0; variant < 8; ++variant) {
                Instruction made = with_ties(row.opcode);
                const Modifiers& modifiers = row.modifiers[1];
                const unsigned first = row.destinations;
                if (variant % 3 == 1 && made.operands[first].is_vgpr() &&
                    row.source_operands()[0].registers == RegisterClass::any)
                    made.operands[first] = sgpr(10);
                if (variant % 3 == 2 && made.operands[first].is_vgpr() &&
                    row.source_operands()[0].registers == RegisterClass::any)
                    made.operands[first] = {244};
                const bool floats = row.source_operands()[0].type == OperandType::f32 ||
                                    row.source_operands()[0].type == OperandType::f64;
                if (variant >= 3 && floats && row.format != Format::VOP3P) {
                    made.neg = modifiers.neg & 1;
                    made.abs = modifiers.abs & 1;
                }
                if (variant >= 6 && modifiers.dpp) {
                    made.encoding = Encoding::dpp16;
                    made.operands[first] = vgpr(4);
                    made.dpp = {static_cast<uint16_t>(variant == 6 ? 0x112 : 0x163), 15, 13, variant == 6, false, 0};
                }
                TestWave fast(Target::gfx1100, size), slow(Target::gfx1100, size);
                randomize(fast, 100 + variant);
                randomize(slow, 100 + variant);
                const uint64_t exec = variant % 2 == 0 ? ~0ull : 0x123456789ABCDEF5;
                fast.set_exec(exec);
                slow.set_exec(exec);
                fast.run(made);
                const auto op = prepare_lane_op(made, Target::gfx1100, size);
                ASSERT_TRUE(op.has_value());
                LaneResults results;
                compute_lanes(slow.state, *op, results);
                write_lanes(slow.state, *op, results);
                ASSERT_TRUE(std::equal(fast.state.vgprs, fast.state.vgprs + 40 * fast.state.lanes, slow.state.vgprs))
                    << row.name << " " << variant;
                ASSERT_TRUE(std::equal(fast.state.scalars, fast.state.scalars + kScalarRegisters, slow.state.scalars))
                    << row.name << " " << variant;
            }
    }
}

}  // namespace valu_decoded_test
}  // namespace riftjit::rdna::emulator
