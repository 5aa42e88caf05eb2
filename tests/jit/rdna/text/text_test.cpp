// Texts and words that LLVM 19 pairs, and the other spellings that it reads.
#include "jit/rdna/text/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jit/rdna/encode/encoding.h"

namespace riftjit::rdna {
namespace text_test {

struct SpotCheck {
    Target target;
    std::string_view words, text;
};

// From llvm-mc-19, one instruction of each kind, in both directions.
constexpr SpotCheck kSpotChecks[] = {
    {Target::gfx1030, "BE850306", "s_mov_b32 s5, s6"},
    {Target::gfx1100, "BE850006", "s_mov_b32 s5, s6"},
    {Target::gfx1200, "BE850006", "s_mov_b32 s5, s6"},
    {Target::gfx1030, "BE803C6A", "s_and_saveexec_b32 s0, vcc_lo"},
    {Target::gfx1100, "BE80206A", "s_and_saveexec_b32 s0, vcc_lo"},
    {Target::gfx1200, "BE80206A", "s_and_saveexec_b32 s0, vcc_lo"},
    {Target::gfx1030, "9305FF06 00012345", "s_mul_i32 s5, s6, 0x12345"},
    {Target::gfx1100, "9605FF06 00012345", "s_mul_i32 s5, s6, 0x12345"},
    {Target::gfx1200, "9605FF06 00012345", "s_mul_i32 s5, s6, 0x12345"},
    {Target::gfx1030, "BF85FFFC", "s_cbranch_scc1 65532"},
    {Target::gfx1100, "BFA2FFFC", "s_cbranch_scc1 65532"},
    {Target::gfx1200, "BFA2FFFC", "s_cbranch_scc1 65532"},
    {Target::gfx1030, "BF8C3F72", "s_waitcnt vmcnt(2)"},
    {Target::gfx1100, "BF890BF7", "s_waitcnt vmcnt(2)"},
    {Target::gfx1200, "BFC00002", "s_wait_loadcnt 0x2"},
    {Target::gfx1030, "BF8CC07F", "s_waitcnt lgkmcnt(0)"},
    {Target::gfx1100, "BF89FC07", "s_waitcnt lgkmcnt(0)"},
    {Target::gfx1200, "BFC60000", "s_wait_dscnt 0x0"},
    {Target::gfx1030, "BBFD0000", "s_waitcnt_vscnt null, 0x0"},
    {Target::gfx1100, "BC7C0000", "s_waitcnt_vscnt null, 0x0"},
    {Target::gfx1200, "BFC10000", "s_wait_storecnt 0x0"},
    {Target::gfx1030, "F4040080 FA000008", "s_load_dwordx2 s[2:3], s[0:1], 0x8"},
    {Target::gfx1100, "F4040080 F8000008", "s_load_b64 s[2:3], s[0:1], 0x8"},
    {Target::gfx1200, "F4002080 F8000008", "s_load_b64 s[2:3], s[0:1], 0x8"},
    {Target::gfx1030, "F4080201 12000000", "s_load_dwordx4 s[8:11], s[2:3], s9"},
    {Target::gfx1100, "F4080201 12000000", "s_load_b128 s[8:11], s[2:3], s9"},
    {Target::gfx1200, "F4004201 12000000", "s_load_b128 s[8:11], s[2:3], s9 offset:0x0"},
    {Target::gfx1030, "D5038205 30020E06", "v_add_f32_e64 v5, -s6, |v7| clamp mul:4"},
    {Target::gfx1100, "D5038205 30020E06", "v_add_f32_e64 v5, -s6, |v7| clamp mul:4"},
    {Target::gfx1200, "D5038205 30020E06", "v_add_f32_e64 v5, -s6, |v7| clamp mul:4"},
    {Target::gfx1030, "D54B0005 84220F06", "v_fma_f32 v5, v6, v7, -v8"},
    {Target::gfx1100, "D6130005 84220F06", "v_fma_f32 v5, v6, v7, -v8"},
    {Target::gfx1200, "D6130005 84220F06", "v_fma_f32 v5, v6, v7, -v8"},
    {Target::gfx1030, "5A000501 40490FDB", "v_fmaak_f32 v0, v1, v2, 0x40490fdb"},
    {Target::gfx1100, "5A000501 40490FDB", "v_fmaak_f32 v0, v1, v2, 0x40490fdb"},
    {Target::gfx1200, "5A000501 40490FDB", "v_fmaak_f32 v0, v1, v2, 0x40490fdb"},
    {Target::gfx1030, "D5767D00 04120702", "v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]"},
    {Target::gfx1100, "D6FE7C00 04120702", "v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]"},
    {Target::gfx1200, "D6FE7C00 04120702", "v_mad_co_u64_u32 v[0:1], null, v2, v3, v[4:5]"},
    {Target::gfx1030, "D6FF0000 00020483", "v_lshlrev_b64 v[0:1], 3, v[2:3]"},
    {Target::gfx1100, "D73C0000 00020483", "v_lshlrev_b64 v[0:1], 3, v[2:3]"},
    {Target::gfx1200, "3E000483", "v_lshlrev_b64_e32 v[0:1], 3, v[2:3]"},
    {Target::gfx1030, "7D880300", "v_cmp_gt_u32_e32 vcc_lo, v0, v1"},
    {Target::gfx1100, "7C980300", "v_cmp_gt_u32_e32 vcc_lo, v0, v1"},
    {Target::gfx1200, "7C980300", "v_cmp_gt_u32_e32 vcc_lo, v0, v1"},
    {Target::gfx1030, "D7781800 000C0501", "v_permlanex16_b32 v0, v1, s2, s3 op_sel:[1,1]"},
    {Target::gfx1100, "D65C1800 000C0501", "v_permlanex16_b32 v0, v1, s2, s3 op_sel:[1,1]"},
    {Target::gfx1200, "D65C1800 000C0501", "v_permlanex16_b32 v0, v1, s2, s3 op_sel:[1,1]"},
    {Target::gfx1030, "060004FA FF016801", "v_add_f32_dpp v0, v1, v2 row_xmask:8 row_mask:0xf bank_mask:0xf"},
    {Target::gfx1100, "060004FA FF016801", "v_add_f32_dpp v0, v1, v2 row_xmask:8 row_mask:0xf bank_mask:0xf"},
    {Target::gfx1200, "060004FA FF016801", "v_add_f32_dpp v0, v1, v2 row_xmask:8 row_mask:0xf bank_mask:0xf"},
    {Target::gfx1030, "7E0002E9 DE54C101", "v_mov_b32_dpp v0, v1 dpp8:[1,0,3,2,5,4,7,6]"},
    {Target::gfx1100, "7E0002E9 DE54C101", "v_mov_b32_dpp v0, v1 dpp8:[1,0,3,2,5,4,7,6]"},
    {Target::gfx1200, "7E0002E9 DE54C101", "v_mov_b32_dpp v0, v1 dpp8:[1,0,3,2,5,4,7,6]"},
    {Target::gfx1100, "D5030000 000204FA FF016801",
     "v_add_f32_e64_dpp v0, v1, v2 row_xmask:8 row_mask:0xf bank_mask:0xf"},
    {Target::gfx1200, "D5030000 000204FA FF016801",
     "v_add_f32_e64_dpp v0, v1, v2 row_xmask:8 row_mask:0xf bank_mask:0xf"},
    {Target::gfx1030, "CC164000 1C0E0501", "v_dot4_i32_i8 v0, v1, v2, v3"},
    {Target::gfx1100, "CC164000 7C0E0501", "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0]"},
    {Target::gfx1200, "CC164000 7C0E0501", "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0]"},
    {Target::gfx1030, "CC124000 18020501", "v_pk_max_f16 v0, v1, v2"},
    {Target::gfx1100, "CC124000 18020501", "v_pk_max_f16 v0, v1, v2"},
    {Target::gfx1200, "CC1C4000 18020501", "v_pk_max_num_f16 v0, v1, v2"},
    {Target::gfx1100, "C8E00602 08041106", "v_dual_mul_f32 v8, s2, v3 :: v_dual_add_nc_u32 v5, v6, v8"},
    {Target::gfx1200, "C8E00602 08041106", "v_dual_mul_f32 v8, s2, v3 :: v_dual_add_nc_u32 v5, v6, v8"},
    {Target::gfx1030, "D5640000 00020902", "v_add_f64 v[0:1], v[2:3], v[4:5]"},
    {Target::gfx1100, "D7270000 00020902", "v_add_f64 v[0:1], v[2:3], v[4:5]"},
    {Target::gfx1200, "04000902", "v_add_f64_e32 v[0:1], v[2:3], v[4:5]"},
    {Target::gfx1030, "DBFC0010 00000004", "ds_read_b128 v[0:3], v4 offset:16"},
    {Target::gfx1100, "DBFC0010 00000004", "ds_load_b128 v[0:3], v4 offset:16"},
    {Target::gfx1200, "DBFC0010 00000004", "ds_load_b128 v[0:3], v4 offset:16"},
    {Target::gfx1030, "D9540000 02000100", "ds_add_rtn_f32 v2, v0, v1"},
    {Target::gfx1100, "D9E40000 02000100", "ds_add_rtn_f32 v2, v0, v1"},
    {Target::gfx1200, "D9E40000 02000100", "ds_add_rtn_f32 v2, v0, v1"},
    {Target::gfx1030, "DC308000 007D0002", "global_load_dword v0, v[2:3], off"},
    {Target::gfx1100, "DC520000 007C0002", "global_load_b32 v0, v[2:3], off"},
    {Target::gfx1200, "EE05007C 00000000 00000002", "global_load_b32 v0, v[2:3], off"},
    {Target::gfx1030, "DC388FFC 08020006", "global_load_dwordx4 v[8:11], v6, s[2:3] offset:-4"},
    {Target::gfx1100, "DC5E1FFC 08020006", "global_load_b128 v[8:11], v6, s[2:3] offset:-4"},
    {Target::gfx1200, "EE05C002 00000008 FFFFFC06", "global_load_b128 v[8:11], v6, s[2:3] offset:-4"},
    {Target::gfx1030, "DC319000 01040000", "global_load_dword v1, v0, s[4:5] glc dlc"},
    {Target::gfx1100, "DC524000 01040000", "global_load_b32 v1, v0, s[4:5] glc"},
    {Target::gfx1200, "EE050004 00080001 00000000", "global_load_b32 v1, v0, s[4:5] scope:SCOPE_DEV"},
    {Target::gfx1030, "DC788000 00020004", "global_store_dwordx4 v4, v[0:3], s[2:3]"},
    {Target::gfx1100, "DC760000 00020004", "global_store_b128 v4, v[0:3], s[2:3]"},
    {Target::gfx1200, "EE074002 00000000 00000004", "global_store_b128 v4, v[0:3], s[2:3]"},
    {Target::gfx1030, "DCC98000 05020001", "global_atomic_add v5, v1, v0, s[2:3] glc"},
    {Target::gfx1100, "DCD64000 05020001", "global_atomic_add_u32 v5, v1, v0, s[2:3] glc"},
    {Target::gfx1200, "EE0D4002 00100005 00000001", "global_atomic_add_u32 v5, v1, v0, s[2:3] th:TH_ATOMIC_RETURN"},
    {Target::gfx1030, "DD458000 06020201", "global_atomic_cmpswap_x2 v[6:7], v1, v[2:5], s[2:3] glc"},
    {Target::gfx1100, "DD0A4000 06020201", "global_atomic_cmpswap_b64 v[6:7], v1, v[2:5], s[2:3] glc"},
    {Target::gfx1200, "EE108002 01100006 00000001",
     "global_atomic_cmpswap_b64 v[6:7], v1, v[2:5], s[2:3] th:TH_ATOMIC_RETURN"},
    {Target::gfx1030, "E1C80000 00000000", "buffer_gl1_inv"},
    {Target::gfx1100, "E0B00000 00000000", "buffer_gl1_inv"},
    {Target::gfx1200, "EE0AC07C 00080000 00000000", "global_inv scope:SCOPE_DEV"},
    {Target::gfx1200, "EE0B007C 00080000 00000000", "global_wb scope:SCOPE_DEV"},
    {Target::gfx1030, "BF8A0000", "s_barrier"},
    {Target::gfx1100, "BFBD0000", "s_barrier"},
    {Target::gfx1200, "BE804EC1", "s_barrier_signal -1"},
    {Target::gfx1200, "BF94FFFF", "s_barrier_wait 0xffff"},
    {Target::gfx1100, "CC404000 1C022108", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"},
    {Target::gfx1200, "CC404000 1C021908", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]"},
    {Target::gfx1100, "CC444000 7C021908", "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] neg_lo:[1,1,0]"},
    {Target::gfx1200, "CC444000 7C021508", "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:9], v[10:11], v[0:7] neg_lo:[1,1,0]"},
    {Target::gfx1200, "CC4A4000 5C021508", "v_wmma_i32_16x16x32_iu4 v[0:7], v[8:9], v[10:11], v[0:7] neg_lo:[0,1,0]"},
    {Target::gfx1200, "CC464000 1C021508", "v_wmma_f32_16x16x16_fp8_fp8 v[0:7], v[8:9], v[10:11], v[0:7]"},
    {Target::gfx1030, "BF810000", "s_endpgm"},
    {Target::gfx1100, "BFB00000", "s_endpgm"},
    {Target::gfx1200, "BFB00000", "s_endpgm"},
};

std::string hex(std::span<const uint32_t> words) {
    std::string text;
    for (const uint32_t word : words) text += fmt::format("{}{:08X}", text.empty() ? "" : " ", word);
    return text;
}

std::vector<uint32_t> words_of(std::string_view text) {
    std::vector<uint32_t> words;
    for (size_t at = 0; at < text.size(); at += 9)
        words.push_back(static_cast<uint32_t>(std::stoul(std::string(text.substr(at, 8)), nullptr, 16)));
    return words;
}

// The words of a line, or why there are none.
std::string assembled(Target target, std::string_view line, WaveSize wave = WaveSize::wave32) {
    const Result<Parsed> parsed = parse(target, wave, line);
    if (!parsed) return parsed.error().message;
    const Result<EncodedInstruction> encoded = encode(target, wave, parsed->instruction);
    return encoded ? hex(encoded->span()) : encoded.error().message;
}

std::string reprinted(Target target, std::string_view line) {
    const Result<Parsed> parsed = parse(target, WaveSize::wave32, line);
    return parsed ? print(target, WaveSize::wave32, parsed->instruction) : parsed.error().message;
}

TEST(Text, IsWhatLlvmReadsAndPrints) {
    for (const SpotCheck& check : kSpotChecks) {
        EXPECT_EQ(assembled(check.target, check.text), check.words) << name(check.target) << ": " << check.text;
        const Decoded decoded = decode(check.target, WaveSize::wave32, words_of(check.words));
        ASSERT_TRUE(decoded.ok) << check.words << ": " << reason(check.target, WaveSize::wave32, decoded);
        EXPECT_EQ(print(check.target, WaveSize::wave32, decoded.instruction), check.text);
    }
}

TEST(Text, ReadsNumbersAsLlvmDoes) {
    const Target target = Target::gfx1100;
    EXPECT_EQ(reprinted(target, "v_mov_b32 v0, 0b101"), "v_mov_b32_e32 v0, 5");
    EXPECT_EQ(reprinted(target, "v_mov_b32 v0, 017"), "v_mov_b32_e32 v0, 15");
    EXPECT_EQ(reprinted(target, "v_mov_b32 v0, -0x5"), "v_mov_b32_e32 v0, -5");
    EXPECT_EQ(reprinted(target, "v_mov_b32 v0, -1.5"), "v_mov_b32_e32 v0, 0xbfc00000");
    EXPECT_EQ(reprinted(target, "v_mov_b32 v0, 0xffffffff"), "v_mov_b32_e32 v0, -1");
    EXPECT_EQ(reprinted(target, "v_add_f32 v0, 0x3f800000, v2"), "v_add_f32_e32 v0, 1.0, v2");
    EXPECT_EQ(reprinted(target, "v_add_f16 v0, 0x3c00, v1"), "v_add_f16_e32 v0, 1.0, v1");
    EXPECT_EQ(reprinted(target, "v_add_f16 v0, -5.3, v1"), "v_add_f16_e32 v0, 0xc54d, v1");
    EXPECT_EQ(reprinted(target, "v_pk_add_f16 v0, 1.5, v1"), "v_pk_add_f16 v0, 0x3e00, v1");
    EXPECT_EQ(reprinted(target, "v_add_f64 v[0:1], v[2:3], 1.5"), "v_add_f64 v[0:1], v[2:3], 0x3ff80000");
    EXPECT_EQ(reprinted(target, "v_add_f64 v[0:1], v[2:3], 0x40000000"), "v_add_f64 v[0:1], v[2:3], 2.0");
    EXPECT_EQ(reprinted(target, "s_mov_b64 s[0:1], -20"), "s_mov_b64 s[0:1], 0xffffffec");
}

TEST(Text, ReadsTheOtherSpellingsOfRegistersAndModifiers) {
    const Target target = Target::gfx1100;
    EXPECT_EQ(reprinted(target, "V_MOV_B32  v[5],v[1:1]"), "v_mov_b32_e32 v5, v1");
    EXPECT_EQ(reprinted(target, "v_add_f64 [v0, v1], v[2:3], v[4:5]"), "v_add_f64 v[0:1], v[2:3], v[4:5]");
    EXPECT_EQ(reprinted(target, "s_mov_b64 [vcc_lo,vcc_hi], exec"), "s_mov_b64 vcc, exec");
    EXPECT_EQ(reprinted(target, "s_mov_b32 s0, shared_base"), "s_mov_b32 s0, src_shared_base");
    EXPECT_EQ(reprinted(target, "v_add_f32 v0, abs(v1), neg(v2)"), "v_add_f32_e64 v0, |v1|, -v2");
    EXPECT_EQ(reprinted(target, "v_mov_b32 v0, v1 quad_perm:[0, 1,2,3] bound_ctrl:0"),
              "v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf");
    EXPECT_EQ(reprinted(Target::gfx1030, "v_mov_b32 v0, v1 quad_perm:[0,1,2,3] bound_ctrl:0"),
              "v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf bound_ctrl:1");
    EXPECT_EQ(reprinted(Target::gfx1030, "v_mov_b32 v0, v1 dst_sel:BYTE_0"),
              "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD");
    EXPECT_EQ(reprinted(target, "s_waitcnt vmcnt(0), lgkmcnt(1)"), "s_waitcnt vmcnt(0) lgkmcnt(1)");
    EXPECT_EQ(reprinted(target, "s_waitcnt vmcnt_sat(100) & expcnt(0)"), "s_waitcnt expcnt(0)");
    EXPECT_EQ(reprinted(target, "s_waitcnt 0"), "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)");
    EXPECT_EQ(reprinted(target, "s_load_dword s0, s[2:3]"), "s_load_b32 s0, s[2:3], null");
}

TEST(Text, TakesTheShortestFormThatHoldsTheOperands) {
    const Target target = Target::gfx1100;
    EXPECT_EQ(reprinted(target, "v_add_f32 v0, s1, v2"), "v_add_f32_e32 v0, s1, v2");
    EXPECT_EQ(reprinted(target, "v_add_f32 v0, v1, s2"), "v_add_f32_e64 v0, v1, s2");
    EXPECT_EQ(reprinted(target, "v_add_f32 v0, v1, v2 clamp"), "v_add_f32_e64 v0, v1, v2 clamp");
    EXPECT_EQ(reprinted(target, "v_cmp_eq_u32 s0, v1, v2"), "v_cmp_eq_u32_e64 s0, v1, v2");
    EXPECT_EQ(reprinted(target, "v_cmp_eq_u32 vcc_lo, v1, v2"), "v_cmp_eq_u32_e32 vcc_lo, v1, v2");
    EXPECT_EQ(reprinted(target, "v_cndmask_b32 v0, v1, v2, s0"), "v_cndmask_b32_e64 v0, v1, v2, s0");
    EXPECT_EQ(reprinted(target, "v_add_f16 v0, v128, v1"), "v_add_f16_e64 v0, v128, v1");
    EXPECT_EQ(reprinted(target, "v_add_f32 v0, v1, v2 row_shr:1"),
              "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf");
    EXPECT_EQ(reprinted(Target::gfx1200, "v_add_f64 v[0:1], v[2:3], v[4:5]"), "v_add_f64_e32 v[0:1], v[2:3], v[4:5]");
}

TEST(Text, GivesTheLabelOfABranch) {
    const Result<Parsed> parsed = parse(Target::gfx1100, WaveSize::wave32, "s_cbranch_scc1 .LBB0_2");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->label, ".LBB0_2");
    EXPECT_EQ(parsed->instruction.simm16, 0);
}

TEST(Text, TakesTheNameOfAModifierForALabel) {
    for (const std::string name : {"done", "glc", "row_mirror", "offset", "nogds"})
        for (const std::string start : {"s_branch ", "s_call_b64 s[2:3], ", "s_subvector_loop_begin s2, "}) {
            const Result<Parsed> parsed = parse(Target::gfx1100, WaveSize::wave32, start + name);
            ASSERT_TRUE(parsed) << parsed.error().message;
            EXPECT_EQ(parsed->label, name);
        }
    EXPECT_EQ(reprinted(Target::gfx1100, "s_branch done glc"),
              "s_branch: operand 1 'done glc' (column 10): is no label and no number (gfx1100)");
}

}  // namespace text_test
}  // namespace riftjit::rdna
