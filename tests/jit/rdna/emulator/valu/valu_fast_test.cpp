// Whole instructions through emitted lane functions, with every modifier that the table allows them, against the C++
// that executes one lane after the other.
#include "jit/rdna/emulator/valu/valu_fast.h"

#include <gtest/gtest.h>

#include "tests/jit/rdna/emulator/valu/valu_wave.h"
#include "tests/jit/rdna/split_mix.h"

namespace riftjit::rdna::emulator {
namespace valu_fast_test {

constexpr unsigned kRegisters = 24, kRounds = 40;

struct Case {
    Target target;
    WaveSize wave_size;
};

class ValuFast : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        if (host_lane_isa() == LaneIsa::none) GTEST_SKIP() << "this host has no AVX2";
    }

    static inline unsigned declined_ = 0;
    static void run_declined(WaveState& wave, const void* data) {
        ++declined_;
        run_slow(wave, data);
    }
    static void run_slow(WaveState& wave, const void* data) {
        LaneResults results;
        const auto& op = *static_cast<const LaneOp*>(data);
        compute_lanes(wave, op, results);
        write_lanes(wave, op, results);
    }

    uint32_t random_word() {
        constexpr uint32_t kSpecial[] = {0, 1, 0x80000000, 0x3F800000, 0x7F800000, 0x3C003C00, 0x00010000, 0x7E007E00};
        const uint32_t kind = random_() % 8;
        if (kind == 0) return kSpecial[random_() % std::size(kSpecial)];
        // Exponents of f64, f32 and f16 in the middle: no NaNs, so that most are computed without C++.
        if (kind < 6) return (random_() & 0x83FF83FF) | (14 + random_() % 4) << 26 | (10 + random_() % 8) << 10;
        return random_();
    }
    void fill(TestWave& wave) {
        for (unsigned reg = 0; reg < kRegisters; ++reg)
            for (unsigned lane = 0; lane < wave.state.lanes; ++lane) wave.at(reg, lane) = random_word();
        for (unsigned code = 0; code < Operand::kVcc + 2u; ++code) wave.state.scalars[code] = random_word();
        wave.set_exec(random_() % 2 == 0 ? wave.state.all_lanes() : random_() & wave.state.all_lanes());
    }
    Operand random_source(const OperandInfo& operand) {
        const bool is_vgpr = operand.registers == RegisterClass::vgpr;
        constexpr uint16_t kInline[] = {128, 129, 193, 240, 242, 245, 248};
        switch (is_vgpr ? 0 : random_() % 6) {
            case 4:
                return sgpr(30 + 2 * (random_() % 8));
            case 5:
                return {random_() % 4 == 0 ? uint16_t{Operand::kLiteral} : kInline[random_() % std::size(kInline)]};
            default:
                return vgpr(2 * (random_() % (kRegisters / 2 - 1)));
        }
    }
    Instruction random_instruction(const InstructionInfo& row, Generation generation) {
        Instruction made = instruction(row.opcode);
        const Modifiers& modifiers = row.modifiers[static_cast<size_t>(generation)];
        for (unsigned i = 0; i < row.sources; ++i) {
            const OperandInfo& operand = row.source_operands()[i];
            const bool is_fixed = operand.type == OperandType::mask || operand.type == OperandType::k16 ||
                                  operand.type == OperandType::k32;
            if (!is_fixed) made.operands[row.destinations + i] = random_source(operand);
        }
        made.literal = random_word();
        made.encoding = Encoding::e64;
        const auto some = [&](uint8_t allowed) {
            return static_cast<uint8_t>(random_() % 3 == 0 ? random_() & allowed : 0);
        };
        made.neg = some(modifiers.neg);
        made.abs = some(modifiers.abs);
        made.op_sel = some(modifiers.op_sel);
        if (modifiers.e64_dpp && random_() % 6 == 0) {
            constexpr uint16_t kQuadPermutation = 0x1B, kRowShift = 0x111, kRowMirror = 0x140;
            made.encoding = Encoding::e64_dpp16;
            made.dpp.control = std::array{kQuadPermutation, kRowShift, kRowMirror}[random_() % 3];
            made.operands[row.destinations] = vgpr(2 * (random_() % (kRegisters / 2 - 1)));
        }
        if (row.format == Format::VOP3P) made.op_sel_hi = 7 & ~some(modifiers.op_sel_hi);
        return made;
    }
    test::SplitMix random_{7};
};

TEST_P(ValuFast, AgreesWithTheLaneByLaneWay) {
    const auto [target, wave_size] = GetParam();
    unsigned fast_rows = 0, executed = 0;
    declined_ = 0;
    for (const InstructionInfo& row : all_instructions()) {
        if (!has(target, row.opcode) || valu_kind(row.opcode) != ValuKind::lane_wise) continue;
        bool has_fast = false;
        TestWave wave(target, wave_size), slow(target, wave_size);
        for (unsigned round = 0; round < kRounds; ++round) {
            const Instruction made = random_instruction(row, generation(target));
            const auto op = prepare_lane_op(made, target, wave_size);
            if (!op) continue;
            const auto fast = prepare_fast(*op, run_declined);
            if (!fast) continue;
            has_fast = true;
            ++executed;
            fill(wave);
            std::copy_n(wave.state.vgprs, kRegisters * wave.state.lanes, slow.state.vgprs);
            std::copy_n(wave.state.scalars, kScalarRegisters, slow.state.scalars);
            (fast->is_plain ? run_plain : run_fast)(wave.state, &*fast);
            run_slow(slow.state, &*op);
            for (unsigned i = 0; i < kRegisters * wave.state.lanes; ++i)
                ASSERT_EQ(wave.state.vgprs[i], slow.state.vgprs[i])
                    << row.name << " v" << i / wave.state.lanes << " lane " << i % wave.state.lanes << " neg "
                    << int{made.neg} << " abs " << int{made.abs} << " op_sel " << int{made.op_sel} << " op_sel_hi "
                    << int{made.op_sel_hi};
            for (unsigned code = 0; code < kScalarRegisters; ++code)
                ASSERT_EQ(wave.state.scalars[code], slow.state.scalars[code]) << row.name << " s" << code;
        }
        fast_rows += has_fast;
    }
    EXPECT_GT(fast_rows, 250u);
    EXPECT_LT(declined_, executed / 4);
    RecordProperty("rows", static_cast<int>(fast_rows));
    RecordProperty("declined", static_cast<int>(declined_));
    RecordProperty("executed", static_cast<int>(executed));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, ValuFast,
    testing::Values(Case{Target::gfx1030, WaveSize::wave32}, Case{Target::gfx1030, WaveSize::wave64},
                    Case{Target::gfx1100, WaveSize::wave32}, Case{Target::gfx1100, WaveSize::wave64},
                    Case{Target::gfx1201, WaveSize::wave32}),
    [](const auto& test) {
        return std::string(name(test.param.target)) + "Wave" + std::to_string(lanes(test.param.wave_size));
    });

}  // namespace valu_fast_test
}  // namespace riftjit::rdna::emulator
