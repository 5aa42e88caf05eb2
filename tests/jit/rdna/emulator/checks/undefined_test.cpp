// Bits that nothing wrote: copied silently, reported where they matter.
#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace undefined_test {

ProgramResult run(std::string_view text, Target target = Target::gfx1100, WaveSize wave = WaveSize::wave32) {
    ProgramSetup setup{.target = target, .wave_size = wave, .lds_bytes = 1024};
    setup.group.x = lanes(wave);
    return run_program(setup, load_out_pointer(target) + "v_and_b32_e32 v0, 0x3ff, v0; v_lshlrev_b32_e32 v0, 2, v0\n" +
                                  std::string(text) + "\ns_endpgm");
}
// v9 was never written; what the lines leave in v1 is stored.
ProgramResult store_v1(std::string_view text) { return run(std::string(text) + "\nglobal_store_b32 v0, v1, s[2:3]"); }

TEST(Undefined, IsReportedInAnAddress) {
    EXPECT_TRUE(reports_only(run("v_and_b32_e32 v9, 0xfc, v9; global_load_b32 v1, v9, s[2:3]"),
                             FindingKind::undefined_address));
    EXPECT_EQ(run("s_load_b32 s8, s[20:21], 0x0").count(FindingKind::undefined_address), 1u);
    EXPECT_TRUE(reports_only(run("v_and_b32_e32 v9, 0xfc, v9; ds_store_b32 v9, v0"), FindingKind::undefined_address));
}

TEST(Undefined, IsReportedInABranch) {
    EXPECT_TRUE(reports_only(run("s_cmp_eq_u32 s20, 0; s_cbranch_scc1 leave\n s_nop 0\n leave:"),
                             FindingKind::undefined_branch));
    EXPECT_TRUE(reports_only(run("v_cmp_eq_u32_e32 vcc_lo, 0, v9; s_and_b32 vcc_lo, exec_lo, vcc_lo\n"
                                 "s_cbranch_vccz leave\n s_nop 0\n leave:"),
                             FindingKind::undefined_branch));
}

TEST(Undefined, IsNotReportedInABranchThatOneDefinedBitDecides) {
    EXPECT_TRUE(reports_nothing(run("s_or_b32 s21, s20, 1; s_cbranch_scc1 leave\n s_nop 0\n leave:")));
    EXPECT_TRUE(reports_nothing(run("s_and_b32 s21, s20, 0; s_cbranch_scc1 leave\n s_nop 0\n leave:")));
    EXPECT_TRUE(reports_nothing(run("s_or_b32 vcc_lo, s20, 4; s_cbranch_vccnz leave\n s_nop 0\n leave:")));
}

TEST(Undefined, IsReportedInExec) {
    EXPECT_TRUE(reports_only(run("s_mov_b32 exec_lo, s20"), FindingKind::undefined_exec));
    EXPECT_TRUE(reports_only(run("s_and_saveexec_b32 s21, s20"), FindingKind::undefined_exec));
    EXPECT_TRUE(reports_only(run("v_cmpx_eq_u32_e32 0, v9"), FindingKind::undefined_exec));
}

TEST(Undefined, IsNotReportedInLanesThatExecMasksAway) {
    // A lane mask as compilers merge them: bits of inactive lanes are never written.
    EXPECT_TRUE(
        reports_nothing(run("s_mov_b32 exec_lo, 15; v_cmp_gt_u32_e64 s20, 8, v0\n"
                            "s_and_not1_b32 s21, s21, exec_lo; s_and_b32 s20, s20, exec_lo\n"
                            "s_or_b32 s21, s21, s20; s_and_saveexec_b32 s22, s21")));
    EXPECT_TRUE(
        reports_nothing(run("s_mov_b32 exec_lo, 15; v_mov_b32_e32 v9, 0; v_mov_b32_e32 v1, v9\n"
                            "global_store_b32 v0, v1, s[2:3]")));
    EXPECT_TRUE(reports_only(run("s_mov_b32 exec_lo, 15; v_mov_b32_e32 v9, 0; s_mov_b32 exec_lo, -1\n"
                                 "global_store_b32 v0, v9, s[2:3]"),
                             FindingKind::undefined_store));
}

TEST(Undefined, IsReportedInWhatIsStored) {
    EXPECT_TRUE(reports_only(store_v1(""), FindingKind::undefined_store));
    EXPECT_TRUE(reports_only(store_v1("v_add_f32_e32 v1, 1.0, v9"), FindingKind::undefined_store));
    EXPECT_TRUE(reports_only(store_v1("v_mov_b32_e32 v1, s20"), FindingKind::undefined_store));
    EXPECT_TRUE(reports_only(run("v_mov_b32_e32 v4, 0; v_mov_b32_e32 v5, 0; v_mov_b32_e32 v7, 0\n"
                                 "global_store_b128 v0, v[4:7], s[2:3]"),
                             FindingKind::undefined_store));
}

TEST(Undefined, StaysSilentWhileItIsOnlyCopied) {
    EXPECT_TRUE(
        reports_nothing(run("v_mov_b32_e32 v1, v9; v_add_f32_e32 v2, v1, v9; v_readfirstlane_b32 s20, v2\n"
                            "s_add_u32 s21, s20, 1; ds_store_b32 v0, v9; v_writelane_b32 v3, s21, 0")));
    EXPECT_TRUE(reports_nothing(store_v1("v_and_b32_e32 v1, 0xff, v9"))) << "padding: some bits are defined";
}

TEST(Undefined, StaysSilentInTheRestOfABitFieldsByte) {
    // As clang -O0 sets a field of 3 bits in memory that nothing wrote.
    EXPECT_TRUE(
        reports_nothing(run("v_and_b32_e32 v1, 7, v0; v_and_b32_e32 v9, 0xf8, v9; v_or_b32_e32 v1, v9, v1\n"
                            "global_store_b8 v0, v1, s[2:3]")));
}

TEST(Undefined, IsNoAddressInWhatLanesExchange) {
    const std::string swizzle = "ds_swizzle_b32 v1, v9 offset:swizzle(BITMASK_PERM,\"00000\"); s_waitcnt lgkmcnt(0)";
    EXPECT_TRUE(reports_nothing(run(swizzle)));
    EXPECT_TRUE(reports_only(store_v1(swizzle), FindingKind::undefined_store));
}

TEST(Undefined, IsSaidToComeOfAnOverlapOnlyWhereItDoes) {
    const std::string multiply = "v_mov_b32_e32 v3, 0; v_mad_u64_u32 v[4:5], null, v0, v0, v[3:4]\n";
    const std::string note = "overlaps its addend";
    EXPECT_NE(store_v1(multiply + "v_add_nc_u32_e32 v1, 1, v5").text().find(note), std::string::npos);
    const ProgramResult other = store_v1(multiply + "v_add_nc_u32_e32 v1, 1, v9");
    EXPECT_TRUE(reports_only(other, FindingKind::undefined_store));
    EXPECT_EQ(other.text().find(note), std::string::npos) << other.text();
    EXPECT_EQ(store_v1(multiply + "v_mov_b32_e32 v5, v9; v_mov_b32_e32 v1, v5").text().find(note), std::string::npos);
}

TEST(Undefined, EndsWhereTheValueNoLongerMatters) {
    EXPECT_TRUE(reports_nothing(store_v1("v_and_b32_e32 v1, 0, v9")));
    EXPECT_TRUE(reports_nothing(store_v1("v_or_b32_e32 v1, -1, v9")));
    EXPECT_TRUE(reports_nothing(store_v1("v_xor_b32_e32 v1, v9, v9")));
    EXPECT_TRUE(reports_nothing(store_v1("v_lshlrev_b32_e32 v1, 24, v9; v_and_b32_e32 v1, 0xffffff, v1")));
    EXPECT_TRUE(reports_nothing(store_v1("v_and_b32_e32 v1, 0xff, v9; v_cvt_f32_ubyte1_e32 v1, v1")));
    EXPECT_TRUE(reports_nothing(store_v1("v_and_b32_e32 v1, 0xffff0000, v9; v_cvt_f32_f16_e32 v1, v1")));
    EXPECT_TRUE(reports_nothing(store_v1("s_mov_b32 s20, 0; v_cndmask_b32_e64 v1, v0, v9, s20")));
    EXPECT_TRUE(
        reports_only(store_v1("s_mov_b32 s20, 1; v_cndmask_b32_e64 v1, v0, v9, s20"), FindingKind::undefined_store));
}

TEST(Undefined, FollowsPackingAndShifts) {
    const std::string half = "v_mov_b32_e32 v4, 0x1234\n";  // v9's bits never reach the result
    EXPECT_TRUE(reports_nothing(run(half + "v_perm_b32 v1, v9, v4, 0x0c0c0c00; v_and_b32_e32 v1, 0xfc, v1\n"
                                           "s_mov_b32 exec_lo, 1; ds_store_b32 v1, v4")));
    EXPECT_TRUE(
        reports_nothing(run(half + "v_perm_b32 v1, v9, v4, 0x0c0c0c0c; s_mov_b32 exec_lo, 1; ds_store_b32 v1, v4")));
    EXPECT_TRUE(reports_only(
        run(half +
            "v_perm_b32 v1, v9, v4, 0x0c0c0c04; v_and_b32_e32 v1, 0xfc, v1; s_mov_b32 exec_lo, 1; ds_store_b32 v1, v4"),
        FindingKind::undefined_address));
    EXPECT_TRUE(reports_nothing(run(half + "v_lshl_or_b32 v1, v9, 16, v4; v_and_b32_e32 v1, 0xfc, v1\n"
                                           "s_mov_b32 exec_lo, 1; ds_store_b32 v1, v4")));
    EXPECT_TRUE(reports_nothing(
        run(half + "v_bfe_u32 v1, v9, 0, 8; v_lshrrev_b32_e32 v1, 8, v1; s_mov_b32 exec_lo, 1; ds_store_b32 v1, v4")));
}

TEST(Undefined, GoesThroughLaneOperations) {
    EXPECT_TRUE(reports_only(store_v1("v_mov_b32_dpp v1, v9 row_share:0 row_mask:0xf bank_mask:0xf"),
                             FindingKind::undefined_store));
    // Lane 0 of v4 alone is undefined: only what reads it is.
    const std::string lane0 =
        "v_mov_b32_e32 v4, 0; s_mov_b32 exec_lo, 1; v_mov_b32_e32 v4, v9; s_mov_b32 exec_lo, -1\n";
    EXPECT_TRUE(reports_nothing(store_v1(lane0 + "v_mov_b32_dpp v1, v4 row_share:1 row_mask:0xf bank_mask:0xf")));
    EXPECT_TRUE(reports_only(store_v1(lane0 + "v_mov_b32_dpp v1, v4 row_share:0 row_mask:0xf bank_mask:0xf"),
                             FindingKind::undefined_store));
    EXPECT_TRUE(reports_nothing(store_v1(lane0 + "v_readlane_b32 s20, v4, 1; v_mov_b32_e32 v1, s20")));
    EXPECT_TRUE(reports_only(store_v1(lane0 + "v_readlane_b32 s20, v4, 0; v_mov_b32_e32 v1, s20"),
                             FindingKind::undefined_store));
    EXPECT_TRUE(reports_only(store_v1("v_readlane_b32 s20, v0, s21; v_mov_b32_e32 v1, s20"),
                             FindingKind::undefined_lane_select));
}

TEST(Undefined, FollowsTheVectorRegisterThatM0Chooses) {
    const std::string m0_is_3 = "v_mov_b32_e32 v1, 0; s_mov_b32 m0, 3\n";
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201}) {
        const std::string store = generation(target) == Generation::gfx10 ? "\nglobal_store_dword v0, v1, s[2:3]"
                                                                          : "\nglobal_store_b32 v0, v1, s[2:3]";
        const auto is_reported = [&](std::string_view text) {
            return reports_only(run(m0_is_3 + std::string(text) + store, target), FindingKind::undefined_store);
        };
        const auto is_silent = [&](std::string_view text) {
            return reports_nothing(run(m0_is_3 + std::string(text) + store, target));
        };
        EXPECT_TRUE(is_reported("v_mov_b32_e32 v6, 0; v_movrels_b32_e32 v1, v6"));
        EXPECT_TRUE(is_silent("v_mov_b32_e32 v9, 0; v_movrels_b32_e32 v1, v6"));
        EXPECT_TRUE(is_reported("v_mov_b32_e32 v5, v1; v_movreld_b32_e32 v2, v9; v_mov_b32_e32 v1, v5"));
        EXPECT_TRUE(is_silent("v_mov_b32_e32 v2, 0; v_movreld_b32_e32 v2, v9; v_mov_b32_e32 v1, v2"));
        EXPECT_TRUE(is_silent("v_movreld_b32_e32 v2, v0; v_mov_b32_e32 v1, v5"));
        EXPECT_TRUE(is_silent("v_movreld_b32_e32 v2, 7; v_mov_b32_e32 v1, v5"));
        EXPECT_TRUE(is_reported("v_movreld_b32_e32 v2, v0; v_mov_b32_e32 v1, v2")) << "the base is not written";
        EXPECT_TRUE(is_silent("v_mov_b32_e32 v7, 0; v_movrelsd_b32_e32 v2, v4; v_mov_b32_e32 v1, v5"));
        EXPECT_TRUE(is_reported("v_mov_b32_e32 v4, 0; v_movrelsd_b32_e32 v2, v4; v_mov_b32_e32 v1, v5"));
        // m0[9:0] leads to the source, m0[25:16] to the destination.
        const std::string apart = "s_mov_b32 m0, 0x20001; v_mov_b32_e32 v5, 0\n";
        EXPECT_TRUE(is_silent(apart + "v_movrelsd_2_b32_e32 v6, v4; v_mov_b32_e32 v1, v8"));
        EXPECT_TRUE(is_reported(apart + "v_movrelsd_2_b32_e32 v6, v5; v_mov_b32_e32 v1, v8"));
        EXPECT_TRUE(is_silent(apart + "v_swaprel_b32 v6, v4; v_mov_b32_e32 v1, v8"));
        EXPECT_TRUE(is_reported(apart + "v_swaprel_b32 v6, v4; v_mov_b32_e32 v1, v5"));
        EXPECT_EQ(run("v_movrels_b32_e32 v1, v0", target).count(FindingKind::undefined_lane_select), 1u)
            << "m0 was never written";
    }
}

TEST(Undefined, FollowsTheScalarRegisterThatM0Chooses) {
    const auto is_reported = [&](std::string_view text) {
        return reports_only(run("s_mov_b32 m0, 3; s_mov_b64 s[20:21], 0\n" + std::string(text) +
                                "\nv_mov_b32_e32 v1, s30; global_store_b32 v0, v1, s[2:3]"),
                            FindingKind::undefined_store);
    };
    const auto is_silent = [&](std::string_view text) {
        return reports_nothing(run("s_mov_b32 m0, 3; s_mov_b64 s[20:21], 0\n" + std::string(text) +
                                   "\nv_mov_b32_e32 v1, s30; global_store_b32 v0, v1, s[2:3]"));
    };
    EXPECT_TRUE(is_reported("s_movrels_b32 s30, s20"));
    EXPECT_TRUE(is_silent("s_movrels_b32 s30, s17"));
    EXPECT_TRUE(is_silent("s_movreld_b32 s27, s20"));
    EXPECT_TRUE(is_silent("s_movreld_b32 s27, 5"));
    EXPECT_TRUE(is_reported("s_movreld_b32 s30, s20")) << "the base is not written";
    EXPECT_TRUE(is_reported("s_mov_b32 s30, 0; s_movreld_b32 s27, s22"));
    EXPECT_TRUE(is_silent("s_mov_b32 m0, 2; s_movreld_b64 s[28:29], s[20:21]"));
    EXPECT_TRUE(is_reported("s_mov_b32 m0, 2; s_movrels_b64 s[30:31], s[20:21]"));
    EXPECT_TRUE(is_silent("s_mov_b32 m0, 0x30001; s_movrelsd_2_b32 s27, s19"));
    EXPECT_TRUE(is_reported("s_mov_b32 m0, 0x30001; s_movrelsd_2_b32 s27, s22"));
    EXPECT_GT(run("s_movrels_b32 s30, s2").count(FindingKind::undefined_lane_select), 0u) << "m0 was never written";
}

TEST(Undefined, IsKeptPerHalfOfARegister) {
    EXPECT_TRUE(reports_nothing(store_v1("v_add_f16_e32 v1, 1.0, v0")));  // high half undefined, low half defined
    EXPECT_TRUE(reports_only(store_v1("v_add_f16_e32 v1, 1.0, v9"), FindingKind::undefined_store));
}

TEST(Undefined, IsOfTheWholeWordWhereADotProductOfHalvesIs) {
    const auto dot = [](Target target, const std::string& instruction) {
        const std::string store = generation(target) == Generation::gfx10 ? "global_store_dword" : "global_store_b32";
        return run("v_mov_b32_e32 v1, 0\n" + instruction + "\nv_bfe_i32 v1, v1, 20, 1; " + store + " v0, v1, s[2:3]",
                   target);
    };
    const auto is_followed = [&](Target target, const std::string& name, const std::string& addend) {
        EXPECT_TRUE(reports_only(dot(target, name + " v1, v0, v9" + addend), FindingKind::undefined_store)) << name;
        EXPECT_TRUE(reports_nothing(dot(target, name + " v1, v0, v0" + addend))) << name;
    };
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201})
        is_followed(target, "v_dot2_f32_f16", ", v0");
    for (const Target target : {Target::gfx1100, Target::gfx1201}) is_followed(target, "v_dot2_f32_bf16", ", v0");
    for (const Target target : {Target::gfx1030, Target::gfx1100}) is_followed(target, "v_dot2c_f32_f16", "");
    is_followed(Target::gfx1030, "v_dot2_i32_i16", ", v0");
    is_followed(Target::gfx1030, "v_dot2_u32_u16", ", v0");
    const std::string fresh = "v_dot2_f32_f16 v2, v0, v0, v0; v_mov_b32_e32 v1, v2";
    EXPECT_TRUE(reports_nothing(dot(Target::gfx1100, fresh)));
    // These write a half: the other one stays what it was.
    EXPECT_TRUE(reports_nothing(dot(Target::gfx1100, "v_dot2_f16_f16 v1, v0, v9, v0")));
    EXPECT_TRUE(reports_only(dot(Target::gfx1100, "v_dot2_f16_f16 v1, v0, v9, v0 op_sel:[0,0,0,1]"),
                             FindingKind::undefined_store));
}

TEST(Undefined, TakesConstantsAsTheOperationReadsThem) {
    // 1.0 is 0x3f800000, 4.0 is 0x40800000.
    EXPECT_TRUE(reports_nothing(store_v1("v_and_b32_e32 v1, 4.0, v9; v_bfe_i32 v1, v1, 0, 1")));
    EXPECT_TRUE(
        reports_only(store_v1("v_and_b32_e32 v1, 4.0, v9; v_bfe_i32 v1, v1, 30, 1"), FindingKind::undefined_store));
    EXPECT_TRUE(reports_nothing(store_v1("v_or_b32_e32 v1, 1.0, v9; v_bfe_i32 v1, v1, 24, 1")));
    EXPECT_TRUE(
        reports_only(store_v1("v_or_b32_e32 v1, 1.0, v9; v_bfe_i32 v1, v1, 0, 1"), FindingKind::undefined_store));
}

TEST(Undefined, IsPlacedInThePartThatIsWritten) {
    const auto gfx10 = [](std::string_view text) {
        return run("v_mov_b32_e32 v1, 0\n" + std::string(text) +
                       "\nv_bfe_i32 v1, v1, 20, 1; global_store_dword v0, v1, s[2:3]",
                   Target::gfx1030);
    };
    const std::string low_half = "v_and_b32_e32 v9, 0xffff0000, v9\n";  // is defined
    const std::string byte_0 = " dst_sel:BYTE_0 dst_unused:";
    EXPECT_TRUE(reports_only(gfx10("v_mov_b32_sdwa v1, v9" + byte_0 + "UNUSED_SEXT src0_sel:BYTE_0"),
                             FindingKind::undefined_store));
    EXPECT_TRUE(reports_nothing(gfx10("v_mov_b32_sdwa v1, v9" + byte_0 + "UNUSED_PAD src0_sel:BYTE_0")));
    EXPECT_TRUE(reports_nothing(gfx10("v_mov_b32_sdwa v1, v9" + byte_0 + "UNUSED_PRESERVE src0_sel:BYTE_0")));
    EXPECT_TRUE(reports_only(gfx10("v_fma_mixhi_f16 v1, v0, v9, v0"), FindingKind::undefined_store));
    EXPECT_TRUE(reports_nothing(gfx10("v_fma_mixlo_f16 v1, v0, v9, v0")));
    EXPECT_TRUE(reports_nothing(gfx10(low_half + "v_fma_mixhi_f16 v1, v0, v9, v0 op_sel_hi:[0,1,0]")));
    EXPECT_TRUE(reports_only(gfx10(low_half + "v_fma_mixhi_f16 v1, v0, v9, v0 op_sel:[0,1,0] op_sel_hi:[0,1,0]"),
                             FindingKind::undefined_store));
    EXPECT_TRUE(reports_nothing(gfx10("v_cvt_pkrtz_f16_f32_e64 v1, v9, v0")));
    EXPECT_TRUE(reports_only(gfx10("v_cvt_pkrtz_f16_f32_e64 v1, v0, v9"), FindingKind::undefined_store));
}

TEST(Undefined, StaysInTheUnusedHalvesOfAMatrix) {
    std::string text;
    for (const unsigned v : {10u, 11u, 12u, 13u, 14u, 15u, 16u, 17u})  // the lower halves of the accumulator
        text += fmt::format("v_mov_b32_e32 v{0}, 0; v_and_b32_e32 v{1}, 0xffff0000, v{1}\n", v, v + 8);
    text += "v_wmma_f16_16x16x16_f16 v[18:25], v[10:17], v[10:17], v[18:25]\n";
    EXPECT_TRUE(reports_nothing(store_v1(text + "v_bfe_i32 v1, v18, 4, 1")));
    EXPECT_TRUE(reports_only(store_v1(text + "v_bfe_i32 v1, v18, 20, 1"), FindingKind::undefined_store));
}

TEST(Undefined, CoversInitialStatePerGeneration) {
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201}) {
        EXPECT_TRUE(reports_only(run("s_cmp_eq_u32 s40, 0; s_cbranch_scc1 leave\n s_nop 0\n leave:", target),
                                 FindingKind::undefined_branch));
        EXPECT_TRUE(reports_only(run("s_cmp_eq_u32 m0, 0; s_cbranch_scc1 leave\n s_nop 0\n leave:", target),
                                 FindingKind::undefined_branch));
    }
}

TEST(Undefined, ComesFromMemoryThatNothingWrote) {
    const ProgramResult result =
        run("ds_load_b32 v1, v0; s_waitcnt lgkmcnt(0); v_and_b32_e32 v1, 0xfc, v1\n"
            "global_load_b32 v2, v1, s[2:3]");
    EXPECT_GE(result.count(FindingKind::undefined_address) + result.count(FindingKind::undefined_lds), 1u)
        << result.text();
}

TEST(Undefined, IsNotTrackedWithThatCheckOff) {
    ProgramSetup setup;
    setup.checks.undefined = false;
    EXPECT_TRUE(
        reports_nothing(run_program(setup, load_out_pointer(Target::gfx1100) + "s_mov_b32 exec_lo, s20; s_endpgm")));
}

}  // namespace undefined_test
}  // namespace riftjit::rdna::emulator
