// What the line parser says of common mistakes, and that nothing makes it crash.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/mutation.h"

namespace riftjit::rdna {
namespace text_errors_test {

std::string refusal(Target target, std::string_view line, WaveSize wave = WaveSize::wave32) {
    const Result<Parsed> parsed = parse(target, wave, line);
    return parsed ? "accepted" : parsed.error().message;
}

TEST(TextErrors, NameAnUnknownInstruction) {
    EXPECT_EQ(refusal(Target::gfx1100, "v_frobnicate v0, v1"), "v_frobnicate: no such instruction (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, ""), "no instruction in an empty line");
}

TEST(TextErrors, NameAnInstructionThatTheTargetLacks) {
    EXPECT_EQ(refusal(Target::gfx1030, "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"),
              "v_wmma_f32_16x16x16_f16: gfx1030 has no such instruction");
    EXPECT_EQ(refusal(Target::gfx1200, "s_barrier"), "s_barrier: gfx1200 has no such instruction");
    EXPECT_EQ(refusal(Target::gfx1100, "s_add_f32 s0, s1, s2"), "s_add_f32: gfx1100 has no such instruction");
    EXPECT_EQ(refusal(Target::gfx1030, "global_load_b32 v0, v[2:3], off"),
              "global_load_b32: gfx1030 has no such instruction");
}

TEST(TextErrors, NameOperandAndColumn) {
    EXPECT_EQ(refusal(Target::gfx1100, "v_add_f32 v0, v300, v2"),
              "v_add_f32: operand 2 'v300' (column 15): is no register and no number (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_add_f64 v[0:1], v2, v[4:5]"),
              "v_add_f64: operand 2 'v2' (column 19): is a VGPR of 32 bits where 64 are needed (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "s_mov_b32 s[0:1], 0"),
              "s_mov_b32: operand 1 's[0:1]' (column 11): is a register of 64 bits where 32 are needed (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_fma_f32 v0, v1, 0x1234, 0x5678"),
              "v_fma_f32: operand 4 '0x5678' (column 27): is a second literal; an instruction holds one (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1200, "s_mov_b64 s[0:1], 0x123456789"),
              "s_mov_b64: operand 2 '0x123456789' (column 19): 4886718345 does not fit 32 bits (gfx1200)");
    EXPECT_EQ(refusal(Target::gfx1030, "v_add_f16 v0, 0x12345, v1"),
              "v_add_f16: operand 2 '0x12345' (column 15): 74565 does not fit 16 bits (gfx1030)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_add_f32 v0,, v1"), "v_add_f32: operand 2 (column 14) is empty");
    EXPECT_EQ(refusal(Target::gfx1100, "v_add_nc_u32 v0, -v1, v2"),
              "v_add_nc_u32: operand 2 '-v1' (column 18): takes no minus sign (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "s_mov_b32 s0, |s1|"),
              "s_mov_b32: operand 2 '|s1|' (column 15): takes no absolute value (gfx1100)");
}

TEST(TextErrors, NameASuffixOfAnotherFormat) {
    EXPECT_EQ(refusal(Target::gfx1100, "s_mov_b32_e64 s0, s1"), "s_mov_b32_e64: gfx1100 has no such form of s_mov_b32");
}

TEST(TextErrors, SayHowManyOperandsThereShouldBe) {
    EXPECT_EQ(refusal(Target::gfx1100, "v_add_f32 v0, v1"), "v_add_f32: takes 3 operands, not 2 (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "s_barrier 0"), "s_barrier: takes 0 operands, not 1 (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_dual_mov_b32 v0 :: v_dual_mov_b32 v1, v2"),
              "v_dual_mov_b32: takes 2 operands, not 1 (gfx1100)");
}

TEST(TextErrors, NameTheModifier) {
    EXPECT_EQ(refusal(Target::gfx1200, "global_load_b32 v0, v[2:3], off glc"),
              "global_load_b32: modifier at column 33: glc is th: and scope: on this target (gfx1200)");
    EXPECT_EQ(refusal(Target::gfx1100, "ds_load_b32 v0, v1 offset0:4"),
              "ds_load_b32: modifier at column 20: takes no offset0 (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_mov_b32_dpp v0, v1 quad_perm:[0,1,2]"),
              "v_mov_b32_dpp: modifier at column 22: quad_perm: [0,1,2] has 3 values, not 4 (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_mov_b32_dpp v0, v1 row_shl:16"),
              "v_mov_b32_dpp: modifier at column 22: row_shl:16 is not between 1 and 15 (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1200, "global_load_b32 v0, v[2:3], off th:TH_STORE_NT"),
              "global_load_b32: modifier at column 33: th:TH_STORE_NT is no temporal hint of this instruction "
              "(gfx1200)");
    EXPECT_EQ(refusal(Target::gfx1100, "s_mov_b32 s0, s1 clamp"),
              "s_mov_b32: modifier at column 18: takes no clamp (gfx1100)");
}

TEST(TextErrors, ReadSymbolicImmediates) {
    EXPECT_EQ(refusal(Target::gfx1100, "s_waitcnt vmcnt(64)"),
              "s_waitcnt: operand 1 'vmcnt(64)' (column 11): vmcnt 64 is not between 0 and 63 (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "s_waitcnt vscnt(0)"),
              "s_waitcnt: operand 1 'vscnt(0)' (column 11): 'vscnt' is no counter of s_waitcnt (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1200, "s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS)"),
              "s_getreg_b32: operand 2 'hwreg(HW_REG_TRAPSTS)' (column 18): 'HW_REG_TRAPSTS' is no hardware register "
              "(gfx1200)");
    EXPECT_EQ(refusal(Target::gfx1030, "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"),
              "s_sendmsg: operand 1 'sendmsg(MSG_DEALLOC_VGPRS)' (column 11): 'MSG_DEALLOC_VGPRS' is no message "
              "(gfx1030)");
    EXPECT_EQ(refusal(Target::gfx1100, "s_delay_alu instid0(VALU_DEP_9)"),
              "s_delay_alu: operand 1 'instid0(VALU_DEP_9)' (column 13): 'VALU_DEP_9' is no dependency of s_delay_alu "
              "(gfx1100)");
}

TEST(TextErrors, RefuseTheMaskOfTheOtherWaveSize) {
    EXPECT_EQ(refusal(Target::gfx1100, "v_cndmask_b32_e32 v0, v1, v2, vcc", WaveSize::wave32),
              "v_cndmask_b32_e32: operand 4 'vcc' (column 31): must be vcc_lo in this form (gfx1100)");
    EXPECT_EQ(refusal(Target::gfx1100, "v_cmp_eq_u32_e32 vcc_lo, v1, v2", WaveSize::wave64),
              "v_cmp_eq_u32_e32: operand 1 'vcc_lo' (column 18): must be vcc in this form (gfx1100)");
}

// Lines that the parser reads, as a start for mutations.
const std::vector<std::string>& seeds() {
    static const std::vector<std::string> lines = {
        "v_add_f32_e64 v5, -s6, |v7| clamp mul:4",
        "v_mov_b32_dpp v0, v1 quad_perm:[3,1,1,3] row_mask:0xe bank_mask:0x1 bound_ctrl:1",
        "v_dual_fmaak_f32 v3, 46, v138, 0x575decbf :: v_dual_and_b32 v200, s57, v248",
        "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[16:19], v[0:7] neg_lo:[1,1,0]",
        "s_waitcnt vmcnt(0) & lgkmcnt(0)",
        "s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(SALU_CYCLE_2)",
        "s_getreg_b32 s5, hwreg(HW_REG_MODE, 4, 4)",
        "s_setreg_b32 {id: 1, offset: 4, size: 4}, s5",
        "ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,\"01pi0\")",
        "global_atomic_add_u32 v5, v1, v0, s[2:3] offset:-16 glc",
        "buffer_load_b128 v[0:3], v[4:5], s[8:11], s20 idxen offen offset:4095 glc slc dlc tfe",
        "s_load_b64 s[2:3], s[0:1], s4 offset:0x10",
        "v_add_f32_sdwa v1, -|v5|, sext(v2) clamp mul:2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3",
        "s_sendmsg sendmsg(MSG_GS, GS_OP_CUT, 1)",
        "v_pk_fma_f16 v0, v1, 0x3c003c00, neg(v3) op_sel:[0,1,1] op_sel_hi:[0,0,1]",
    };
    return lines;
}

TEST(TextErrors, AnyLineIsReadOrRefusedWithAReason) {
    std::mt19937 random(20240611);
    size_t accepted = 0;
    const size_t count = test::mutation_count(2000) * all_targets().size();
    for (size_t i = 0; i < count; ++i) {
        const Target target = all_targets()[i % all_targets().size()].target;
        const WaveSize wave = i % 3 == 0 ? WaveSize::wave64 : WaveSize::wave32;
        const std::string& donor = seeds()[test::below(random, seeds().size())];
        const std::string line = test::mutated_text(seeds()[i % seeds().size()], donor, random);
        const Result<Parsed> parsed = parse(target, wave, line);
        if (!parsed) {
            ASSERT_FALSE(parsed.error().message.empty()) << line;
            continue;
        }
        ++accepted;
        if (parsed->label.empty()) {
            ASSERT_FALSE(print(target, wave, parsed->instruction).empty()) << line;
        }
    }
    EXPECT_GT(accepted, count / 100) << "the mutations leave too few lines alive to reach far into the parser";
}

}  // namespace text_errors_test
}  // namespace riftjit::rdna
