#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jit/rdna/passes/passes.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace hints_test {

constexpr Target kGfx10 = Target::gfx1030, kGfx11 = Target::gfx1100, kGfx12 = Target::gfx1201;

// --- VOPD

TEST(Vopd, PairsIndependentNeighbours) {
    for (const Target target : {kGfx11, kGfx12}) {
        expect_pass(pair_dual_instructions, target, "v_mul_f32 v8, s2, v3\n v_add_f32 v5, v6, v10",
                    "v_dual_mul_f32 v8, s2, v3 :: v_dual_add_f32 v5, v6, v10");
        expect_unchanged(pair_dual_instructions, target, "v_mul_f32 v8, s2, v3\n v_add_f32 v5, v6, v8");
        expect_unchanged(pair_dual_instructions, target, "v_mul_f32 v8, s2, v3\n v_fmac_f32 v8, v6, v10");
    }
}

TEST(Vopd, PutsWhatOnlyTheSecondHalfHoldsSecond) {
    expect_pass(pair_dual_instructions, kGfx11, "v_add_nc_u32 v4, v6, v8\n v_mov_b32 v5, v9",
                "v_dual_mov_b32 v5, v9 :: v_dual_add_nc_u32 v4, v6, v8");
    expect_unchanged(pair_dual_instructions, kGfx11, "v_add_nc_u32 v4, v6, v8\n v_lshlrev_b32 v5, 3, v9");
}

TEST(Vopd, AllowsTheSecondToOverwriteWhatTheFirstReads) {
    expect_pass(pair_dual_instructions, kGfx12, "v_mov_b32 v0, v1\n v_mov_b32 v1, v2",
                "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v2");
}

TEST(Vopd, DemandsDestinationsOfDifferentParity) {
    expect_unchanged(pair_dual_instructions, kGfx11, "v_mov_b32 v0, v1\n v_mov_b32 v2, v3");
}

TEST(Vopd, DemandsDifferentBanksOfBothSources) {
    expect_unchanged(pair_dual_instructions, kGfx11, "v_add_f32 v0, v4, v1\n v_add_f32 v3, v8, v2");
    expect_unchanged(pair_dual_instructions, kGfx11, "v_add_f32 v0, v4, v1\n v_add_f32 v3, v6, v9");
    expect_pass(pair_dual_instructions, kGfx12, "v_add_f32 v0, v4, v1\n v_add_f32 v3, v6, v7",
                "v_dual_add_f32 v0, v4, v1 :: v_dual_add_f32 v3, v6, v7");
}

// In each row: whether gfx11 and gfx12 pair what reads these registers first and second.
TEST(Vopd, DemandsSourcesOfDifferentParityOnGfx11) {
    struct Sources {
        unsigned src0[2], vsrc1[2];
        bool on_gfx11, on_gfx12;
    };
    constexpr Sources kSources[] = {
        {{4, 5}, {1, 2}, true, true},   {{4, 7}, {1, 2}, true, true},   {{4, 6}, {1, 2}, false, true},
        {{5, 7}, {1, 2}, false, true},  {{4, 8}, {1, 2}, false, false}, {{4, 10}, {1, 2}, false, true},
        {{4, 5}, {1, 7}, false, true},  {{4, 5}, {2, 8}, false, true},  {{4, 5}, {2, 6}, false, false},
        {{4, 5}, {2, 9}, true, true},   {{4, 6}, {2, 8}, false, true},  {{5, 8}, {10, 9}, true, true},
        {{4, 4}, {1, 2}, false, false},
    };
    for (const auto& [src0, vsrc1, on_gfx11, on_gfx12] : kSources)
        for (const auto& [target, is_pair] :
             {std::pair{kGfx11, on_gfx11}, {Target::gfx1151, on_gfx11}, {kGfx12, on_gfx12}}) {
            const std::string x = fmt::format("mul_f32 v0, v{}, v{}", src0[0], vsrc1[0]),
                              y = fmt::format("add_f32 v3, v{}, v{}", src0[1], vsrc1[1]);
            const std::string apart = "v_" + x + "\n v_" + y;
            expect_pass(pair_dual_instructions, target, apart, is_pair ? "v_dual_" + x + " :: v_dual_" + y : apart);
        }
    // Sources of different ports, and scalars, do not meet.
    for (const Target target : {kGfx11, kGfx12})
        expect_pass(pair_dual_instructions, target, "v_mul_f32 v0, v4, v1\n v_add_f32 v3, s6, v2",
                    "v_dual_mul_f32 v0, v4, v1 :: v_dual_add_f32 v3, s6, v2");
}

TEST(Vopd, ExemptsMovesOnGfx12) {
    expect_pass(pair_dual_instructions, kGfx12, "v_mov_b32 v0, v4\n v_mov_b32 v1, v8",
                "v_dual_mov_b32 v0, v4 :: v_dual_mov_b32 v1, v8");
    expect_unchanged(pair_dual_instructions, kGfx11, "v_mov_b32 v0, v4\n v_mov_b32 v1, v8");
}

TEST(Vopd, SharesOneLiteralAndTwoScalars) {
    expect_pass(pair_dual_instructions, kGfx11, "v_mul_f32 v0, 0x40490fdb, v1\n v_mul_f32 v3, 0x40490fdb, v2",
                "v_dual_mul_f32 v0, 0x40490fdb, v1 :: v_dual_mul_f32 v3, 0x40490fdb, v2");
    expect_unchanged(pair_dual_instructions, kGfx11, "v_mul_f32 v0, 0x40490fdb, v1\n v_mul_f32 v3, 0x40490fdc, v2");
    expect_pass(pair_dual_instructions, kGfx11, "v_mul_f32 v0, s1, v1\n v_mul_f32 v3, s2, v2",
                "v_dual_mul_f32 v0, s1, v1 :: v_dual_mul_f32 v3, s2, v2");
    // vcc of the selection is the third.
    expect_unchanged(pair_dual_instructions, kGfx11, "v_cndmask_b32 v0, s1, v1, vcc_lo\n v_mul_f32 v3, s2, v2");
}

TEST(Vopd, LeavesModifiersLabelsWave64AndGfx10Alone) {
    const std::string pair = "v_mov_b32 v0, v1\n v_mov_b32 v5, v2";
    expect_unchanged(pair_dual_instructions, kGfx11, "v_add_f32_e64 v0, -v1, v2\n v_mov_b32 v5, v3");
    expect_unchanged(pair_dual_instructions, kGfx11,
                     "v_mov_b32 v0, v1\n L0:\n v_mov_b32 v5, v2\n s_cbranch_scc1 -> L0");
    expect_unchanged(pair_dual_instructions, kGfx11, pair, WaveSize::wave64);
    expect_unchanged(pair_dual_instructions, kGfx10, pair);
}

// --- s_clause

TEST(Clauses, HoldLoadsOfOneKindThatStandTogether) {
    const std::string loads = "global_load_b32 v1, v0, s[2:3]\n global_load_b64 v[2:3], v0, s[2:3]\n";
    expect_pass(insert_clauses, kGfx11, loads + "s_load_b32 s0, s[2:3], 0x0",
                "s_clause 0x1\n" + loads + "s_load_b32 s0, s[2:3], 0x0");
    const std::string scalar = "s_load_b32 s0, s[2:3], 0x0\n s_load_b32 s1, s[2:3], 0x4\n s_load_b32 s4, s[2:3], 0x8\n";
    expect_pass(insert_clauses, kGfx12, scalar, "s_clause 0x2\n" + scalar);
}

TEST(Clauses, HoldStoresFromGfx11On) {
    expect_unchanged(insert_clauses, kGfx10, "global_store_dword v0, v1, s[2:3]\n global_store_dword v0, v2, s[2:3]");
    const std::string stores = "global_store_b32 v0, v1, s[2:3]\n global_store_b32 v0, v2, s[2:3]\n";
    expect_pass(insert_clauses, kGfx11, stores, "s_clause 0x1\n" + stores);
}

TEST(Clauses, NeverHoldLdsAtomicsOrSingles) {
    expect_unchanged(insert_clauses, kGfx11, "ds_load_b32 v1, v0\n ds_load_b32 v2, v0");
    expect_unchanged(insert_clauses, kGfx11,
                     "global_load_b32 v1, v0, s[2:3]\n v_mov_b32 v5, 0\n global_load_b32 v2, v0, s[2:3]");
    expect_unchanged(insert_clauses, kGfx11,
                     "global_atomic_add_u32 v0, v1, s[2:3]\n global_atomic_add_u32 v0, v1, s[2:3]");
}

TEST(Clauses, EndAtTheirLongestAndAtLabels) {
    std::string loads;
    for (int i = 1; i <= 34; ++i) loads += "global_load_b32 v" + std::to_string(i) + ", v0, s[2:3]\n";
    Program program = read_program(kGfx11, WaveSize::wave32, loads);
    run_pass(insert_clauses, program);
    ASSERT_EQ(program.lines.size(), 36u);
    EXPECT_EQ(program.lines[0].instruction.simm16, 31);  // 32 loads
    EXPECT_EQ(program.lines[33].instruction.simm16, 1);  // the last two
    expect_unchanged(insert_clauses, kGfx11,
                     "global_load_b32 v1, v0, s[2:3]\n L0:\n global_load_b32 v2, v0, s[2:3]\n s_cbranch_scc1 -> L0");
}

// --- s_delay_alu

TEST(DelayAlu, CountsVectorInstructionsBackToTheProducer) {
    expect_pass(insert_delays, kGfx11, "v_mov_b32 v1, v0\n v_mov_b32 v5, v6\n v_mov_b32 v2, v1",
                "v_mov_b32 v1, v0\n v_mov_b32 v5, v6\n s_delay_alu instid0(VALU_DEP_2)\n v_mov_b32 v2, v1");
    expect_unchanged(insert_delays, kGfx11,
                     "v_mov_b32 v1, v0\n v_mov_b32 v5, v6\n v_mov_b32 v5, v6\n v_mov_b32 v5, v6\n v_mov_b32 v5, v6\n"
                     "v_mov_b32 v2, v1");
}

TEST(DelayAlu, NamesTranscendentalAndScalarProducers) {
    expect_pass(insert_delays, kGfx12, "v_exp_f32 v1, v0\n v_mov_b32 v2, v1",
                "v_exp_f32 v1, v0\n s_delay_alu instid0(TRANS32_DEP_1)\n v_mov_b32 v2, v1");
    expect_pass(insert_delays, kGfx12, "s_mov_b32 s1, 0\n v_mov_b32 v2, s1",
                "s_mov_b32 s1, 0\n s_delay_alu instid0(SALU_CYCLE_1)\n v_mov_b32 v2, s1");
}

TEST(DelayAlu, TellsTwoDependencesInOneHint) {
    expect_pass(insert_delays, kGfx11, "v_mov_b32 v1, v0\n v_mov_b32 v2, v0\n v_add_f32 v3, v1, v2",
                "v_mov_b32 v1, v0\n v_mov_b32 v2, v0\n s_delay_alu instid0(VALU_DEP_1) | instid1(VALU_DEP_2)\n"
                "v_add_f32 v3, v1, v2");
    expect_pass(insert_delays, kGfx11, "v_mov_b32 v1, v0\n v_mov_b32 v2, v1\n v_mov_b32 v3, v2",
                "v_mov_b32 v1, v0\n s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)\n"
                "v_mov_b32 v2, v1\n v_mov_b32 v3, v2");
}

TEST(DelayAlu, IsNoPartOfGfx10) { expect_unchanged(insert_delays, kGfx10, "v_mov_b32 v1, v0\n v_mov_b32 v2, v1"); }

// --- the release of VGPRs

TEST(VgprRelease, FollowsTheLastStores) {
    for (const Target target : {kGfx11, kGfx12})
        expect_pass(insert_vgpr_release, target, "global_store_b32 v0, v1, s[2:3]\n s_endpgm",
                    "global_store_b32 v0, v1, s[2:3]\n s_nop 0\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n s_endpgm");
    expect_unchanged(insert_vgpr_release, kGfx10, "global_store_dword v0, v1, s[2:3]\n s_endpgm");
}

TEST(VgprRelease, IsUselessWithoutStoresUnderWay) {
    expect_unchanged(insert_vgpr_release, kGfx11, "v_mov_b32 v0, 0\n s_endpgm");
    expect_unchanged(insert_vgpr_release, kGfx11,
                     "global_store_b32 v0, v1, s[2:3]\n s_waitcnt_vscnt null, 0x0\n s_endpgm");
}

// Scratch is given back with the registers, and a FLAT store may go there.
TEST(VgprRelease, WaitsForNoStoreToScratch) {
    for (const Target target : {kGfx11, kGfx12})
        for (const std::string store : {"scratch_store_b32 v0, v1, off", "flat_store_b32 v[2:3], v1"})
            expect_unchanged(insert_vgpr_release, target, store + "\n global_store_b32 v0, v1, s[2:3]\n s_endpgm");
    expect_unchanged(insert_vgpr_release, kGfx11,
                     "s_cbranch_execz -> L0\n scratch_store_b32 v0, v1, off\n L0:\n"
                     "global_store_b32 v0, v1, s[2:3]\n s_endpgm");
    const std::string waited =
        "scratch_store_b32 v0, v1, off\n s_wait_storecnt 0x0\n global_store_b32 v0, v1, s[2:3]\n";
    expect_pass(insert_vgpr_release, kGfx12, waited + "s_endpgm",
                waited + "s_nop 0\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n s_endpgm");
}

TEST(VgprRelease, ServesABranchToTheEnd) {
    expect_pass(insert_vgpr_release, kGfx11, "s_cbranch_execz -> L0\n global_store_b32 v0, v1, s[2:3]\n L0:\n s_endpgm",
                "s_cbranch_execz -> L0\n global_store_b32 v0, v1, s[2:3]\n L0:\n s_nop 0\n"
                "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n s_endpgm");
}

}  // namespace hints_test
}  // namespace riftjit::rdna
