#include <gtest/gtest.h>

#include "jit/rdna/passes/passes.h"
#include "jit/rdna/passes/sgpr_hazard.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace hazards_test {

constexpr Target kGfx10 = Target::gfx1030, kGfx11 = Target::gfx1100, kGfx115 = Target::gfx1150;
constexpr Target kGfx12 = Target::gfx1201;
constexpr WaveSize kWave64 = WaveSize::wave64;

std::string repeated(const std::string& line, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line + "\n";
    return text;
}

// --- transcendental result, gfx1100 to gfx1103

TEST(Hazards, WaitBeforeATranscendentalResultIsUsed) {
    for (const Target target : {Target::gfx1100, Target::gfx1101, Target::gfx1102, Target::gfx1103})
        expect_pass(insert_hazard_cures, target, "v_exp_f32 v1, v0\n v_add_f32 v2, v1, v1",
                    "v_exp_f32 v1, v0\n s_waitcnt_depctr 0xfff\n v_add_f32 v2, v1, v1");
    for (const Target target : {kGfx10, kGfx115, kGfx12})
        expect_unchanged(insert_hazard_cures, target, "v_exp_f32 v1, v0\n v_add_f32 v2, v1, v1");
}

TEST(Hazards, ForgetATranscendentalAfterFiveOtherVectorInstructions) {
    const std::string filler = "v_mov_b32 v5, v6";
    expect_pass(insert_hazard_cures, kGfx11, "v_exp_f32 v1, v0\n" + repeated(filler, 5) + "v_mov_b32 v2, v1",
                "v_exp_f32 v1, v0\n" + repeated(filler, 5) + "s_waitcnt_depctr 0xfff\n v_mov_b32 v2, v1");
    expect_unchanged(insert_hazard_cures, kGfx11, "v_exp_f32 v1, v0\n" + repeated(filler, 6) + "v_mov_b32 v2, v1");
}

TEST(Hazards, ForgetATranscendentalAfterTwoMore) {
    expect_pass(insert_hazard_cures, kGfx11, "v_exp_f32 v1, v0\n v_exp_f32 v3, v0\n v_mov_b32 v2, v1",
                "v_exp_f32 v1, v0\n v_exp_f32 v3, v0\n s_waitcnt_depctr 0xfff\n v_mov_b32 v2, v1");
    expect_unchanged(insert_hazard_cures, kGfx11,
                     "v_exp_f32 v1, v0\n v_exp_f32 v3, v0\n v_exp_f32 v4, v0\n v_mov_b32 v2, v1");
}

TEST(Hazards, EndATranscendentalsShadowAtAMemoryInstruction) {
    expect_unchanged(insert_hazard_cures, kGfx11, "v_exp_f32 v1, v0\n ds_load_b32 v5, v6\n v_mov_b32 v2, v1");
    expect_unchanged(insert_hazard_cures, kGfx11, "v_exp_f32 v1, v0\n global_store_b32 v0, v1, s[0:1]");
}

TEST(Hazards, DoNotMindOverwritingATranscendentalResult) {
    expect_unchanged(insert_hazard_cures, kGfx11, "v_exp_f32 v1, v0\n v_mov_b32 v1, v0");
}

TEST(Hazards, SeeAnAccumulatorAndADualHalfReadATranscendentalResult) {
    expect_pass(insert_hazard_cures, kGfx11, "v_rcp_f32 v1, v0\n v_fmac_f32 v1, v2, v3",
                "v_rcp_f32 v1, v0\n s_waitcnt_depctr 0xfff\n v_fmac_f32 v1, v2, v3");
    const std::string dual = "v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v3, v4";
    expect_pass(insert_hazard_cures, kGfx11, "v_rcp_f32 v1, v0\n" + dual,
                "v_rcp_f32 v1, v0\n s_waitcnt_depctr 0xfff\n" + dual);
}

TEST(Hazards, FollowATranscendentalOverABackEdge) {
    expect_pass(
        insert_hazard_cures, kGfx11, "L0:\n v_mov_b32 v2, v1\n v_sqrt_f32 v1, v0\n s_cbranch_scc1 -> L0\n s_endpgm",
        "L0:\n s_waitcnt_depctr 0xfff\n v_mov_b32 v2, v1\n v_sqrt_f32 v1, v0\n s_cbranch_scc1 -> L0\n s_endpgm");
}

// --- v_cmpx, then permlane

TEST(Hazards, MoveTheSourceOfAPermlaneAfterACompareToExec) {
    const std::string permlane = "v_permlanex16_b32 v0, v1, s2, s3";
    for (const Target target : {kGfx11, kGfx115, kGfx12})
        expect_pass(insert_hazard_cures, target, "v_cmpx_lt_u32 v4, v5\n" + permlane,
                    "v_cmpx_lt_u32 v4, v5\n v_mov_b32 v1, v1\n" + permlane);
    expect_unchanged(insert_hazard_cures, kGfx10, "v_cmpx_lt_u32 v4, v5\n" + permlane);
    expect_unchanged(insert_hazard_cures, kGfx11, "v_cmpx_lt_u32 v4, v5\n v_mov_b32 v9, v8\n" + permlane);
    expect_pass(insert_hazard_cures, kGfx11, "v_cmpx_lt_u32 v4, v5\n v_nop\n" + permlane,
                "v_cmpx_lt_u32 v4, v5\n v_nop\n v_mov_b32 v1, v1\n" + permlane);
}

// --- WMMA after WMMA

TEST(Hazards, SeparateAWmmaFromOneThatReadsItsResultAsAOrB) {
    const std::string producer = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\n";
    const std::string reads_as_a = "v_wmma_f32_16x16x16_f16 v[24:31], v[4:11], v[16:23], v[24:31]";
    const std::string reads_as_b = "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[7:14], v[24:31]";
    expect_pass(insert_hazard_cures, kGfx11, producer + reads_as_a, producer + "v_nop\n" + reads_as_a);
    expect_pass(insert_hazard_cures, kGfx11, producer + reads_as_b, producer + "v_nop\n" + reads_as_b);
    expect_unchanged(insert_hazard_cures, kGfx11, producer + "v_mov_b32 v40, 0\n" + reads_as_a);
}

TEST(Hazards, LetAWmmaContinueItsOwnSums) {
    const std::string accumulate = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]\n";
    expect_unchanged(insert_hazard_cures, kGfx12, accumulate + accumulate);
}

TEST(Hazards, SeparateAWmmaFromTheIndexOfASparseOne) {
    const std::string producer = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]\n";
    const std::string sparse = "v_swmmac_f32_16x16x32_f16 v[20:27], v[28:31], v[32:39], v7";
    expect_pass(insert_hazard_cures, kGfx12, producer + sparse, producer + "v_nop\n" + sparse);
}

// --- wave64 on gfx11

TEST(Hazards, WaitWhenSourcesWereWrittenOnBothSidesOfAWriteOfExec) {
    const std::string before = "v_mov_b32 v1, v0\n s_mov_b64 exec, s[2:3]\n v_mov_b32 v2, v0\n";
    const std::string reader = "v_add_f32 v3, v1, v2";
    expect_pass(insert_hazard_cures, kGfx115, before + reader, before + "s_waitcnt_depctr 0xfff\n" + reader, kWave64);
    expect_unchanged(insert_hazard_cures, kGfx12, before + reader, kWave64);
}

// The pair was written last after exec, its lower register before.
TEST(Hazards, TellARegisterFromAPairThatBeginsWithIt) {
    const std::string writes = "v_mov_b32 v2, v0\n s_mov_b64 exec, s[2:3]\n v_mov_b32 v3, v0\n";
    const std::string reader = "v_ldexp_f64 v[6:7], v[2:3], v2";
    expect_pass(insert_hazard_cures, kGfx115, writes + reader, writes + "s_waitcnt_depctr 0xfff\n" + reader, kWave64);
    const std::string twice = "v_add_f32 v3, v2, v2";  // one source
    expect_unchanged(insert_hazard_cures, kGfx115, "v_mov_b32 v2, v0\n s_mov_b64 exec, s[2:3]\n" + twice, kWave64);
}

TEST(Hazards, ForwardWithinTheirDistancesOnly) {
    const std::string filler = "v_mov_b32 v9, v8", exec = "s_mov_b64 exec, s[2:3]\n", reader = "v_add_f32 v3, v1, v2";
    const auto program = [&](int before, int after, int last) {
        return "v_mov_b32 v1, v0\n" + repeated(filler, before) + exec + repeated(filler, after) + "v_mov_b32 v2, v0\n" +
               repeated(filler, last);
    };
    const auto cured = [&](const std::string& head) { return head + "s_waitcnt_depctr 0xfff\n" + reader; };
    for (const auto& [before, after, last] : {std::tuple{1, 1, 0}, {2, 0, 0}, {0, 2, 0}, {0, 0, 4}})
        expect_pass(insert_hazard_cures, kGfx115, program(before, after, last) + reader,
                    cured(program(before, after, last)), kWave64);
    for (const auto& [before, after, last] : {std::tuple{2, 1, 0}, {3, 0, 0}, {0, 3, 0}, {0, 0, 5}})
        expect_unchanged(insert_hazard_cures, kGfx115, program(before, after, last) + reader, kWave64);
}

TEST(Hazards, WaitAfterAScalarOverwritesALaneMaskThatWasRead) {
    const std::string read = "v_cndmask_b32_e64 v1, v2, v3, s[4:5]\n";
    expect_pass(insert_hazard_cures, kGfx115, read + "s_mov_b64 s[4:5], 0\n s_endpgm",
                read + "s_mov_b64 s[4:5], 0\n s_waitcnt_depctr 0xfffe\n s_endpgm", kWave64);
    expect_pass(insert_hazard_cures, kGfx11, "v_cndmask_b32_e32 v1, v2, v3, vcc\n s_mov_b32 vcc_hi, 0\n s_endpgm",
                "v_cndmask_b32_e32 v1, v2, v3, vcc\n s_mov_b32 vcc_hi, 0\n s_waitcnt_depctr 0xfffe\n s_endpgm",
                kWave64);
    // A vector instruction that reads another scalar in between has waited for it.
    expect_unchanged(insert_hazard_cures, kGfx115, read + "v_mov_b32 v7, s9\n s_mov_b64 s[4:5], 0\n s_endpgm", kWave64);
    expect_unchanged(insert_hazard_cures, kGfx12, read + "s_mov_b64 s[6:7], 0\n s_endpgm", kWave64);
}

// --- gfx10.3

TEST(Hazards, SeparateAFloatAtomicFromAChangeOfDenormals) {
    const std::string atomic = "global_atomic_fmin v1, v2, s[2:3]\n", mode = "s_denorm_mode 15";
    expect_pass(insert_hazard_cures, kGfx10, atomic + mode, atomic + "s_nop 2\n" + mode);
    expect_unchanged(insert_hazard_cures, kGfx10, atomic + "v_mov_b32 v5, v6\n" + mode);
    expect_unchanged(insert_hazard_cures, kGfx10, "global_atomic_add v1, v2, s[2:3]\n" + mode);
    expect_unchanged(insert_hazard_cures, kGfx11, "global_atomic_min_f32 v1, v2, s[2:3]\n" + mode);
}

// --- gfx12: SGPRs that vector instructions have read

TEST(SgprReadHazard, WaitsForAScalarWriteOfAPairThatAVectorInstructionHasRead) {
    expect_pass(insert_hazard_cures, kGfx12, "v_mov_b32 v0, s2\n s_mov_b32 s3, 1\n v_mov_b32 v1, s3",
                "v_mov_b32 v0, s2\n s_mov_b32 s3, 1\n s_wait_alu 0xfffe\n v_mov_b32 v1, s3");
    expect_pass(insert_hazard_cures, kGfx12, "v_mov_b32 v0, s2\n s_mov_b32 s2, 1\n s_add_co_u32 s4, s2, 1",
                "v_mov_b32 v0, s2\n s_mov_b32 s2, 1\n s_wait_alu 0xfffe\n s_add_co_u32 s4, s2, 1");
    expect_unchanged(insert_hazard_cures, kGfx12, "s_mov_b32 s2, 1\n v_mov_b32 v0, s2\n v_mov_b32 v1, s2");
    expect_unchanged(insert_hazard_cures, kGfx11, "v_mov_b32 v0, s2\n s_mov_b32 s2, 1\n v_mov_b32 v1, s2");
}

TEST(SgprReadHazard, WaitsForAVectorWriteByItsOwnField) {
    const std::string write = "v_cmp_lt_u32_e64 s4, v0, v1\n", read = "v_cndmask_b32_e64 v2, v3, v4, s4\n";
    expect_pass(insert_hazard_cures, kGfx12, read + write + read, read + write + "s_wait_alu 0xf1ff\n" + read);
    const std::string write_vcc = "v_cmp_lt_u32_e32 vcc_lo, v0, v1\n",
                      read_vcc = "v_cndmask_b32_e32 v2, v3, v4, vcc_lo\n";
    expect_pass(insert_hazard_cures, kGfx12, read_vcc + write_vcc + read_vcc,
                read_vcc + write_vcc + "s_wait_alu 0xfffd\n" + read_vcc);
}

TEST(SgprReadHazard, WaitsForBothUnitsWritesButOfVccForTheLastAlone) {
    const std::string read = "v_mov_b32_e32 v1, s4\n", both = "s_mov_b32 s4, 1\n v_readfirstlane_b32 s4, v0\n";
    expect_pass(insert_hazard_cures, kGfx12, read + both + read, read + both + "s_wait_alu 0xf1fe\n" + read);
    const std::string read_vcc = "v_cndmask_b32_e32 v2, v3, v4, vcc_lo\n", scalar = "s_mov_b32 vcc_lo, 1\n",
                      vector = "v_cmp_lt_u32_e32 vcc_lo, v0, v1\n";
    expect_pass(insert_hazard_cures, kGfx12, read_vcc + scalar + vector + read_vcc,
                read_vcc + scalar + vector + "s_wait_alu 0xfffd\n" + read_vcc);
    expect_pass(insert_hazard_cures, kGfx12, read_vcc + vector + scalar + read_vcc,
                read_vcc + vector + scalar + "s_wait_alu 0xfffe\n" + read_vcc);
}

TEST(SgprReadHazard, IsInterlockedWhenAScalarInstructionReadsAVectorResult) {
    const std::string read = "v_cndmask_b32_e64 v2, v3, v4, s4\n";
    expect_unchanged(insert_hazard_cures, kGfx12, read + "v_cmp_lt_u32_e64 s4, v0, v1\n s_mov_b32 s6, s4\n" + read);
}

// Whichever it is, but for vcc, which is waited for apart.
TEST(SgprReadHazard, IsInterlockedByAScalarReadOfAnyRegister) {
    const std::string head = "v_mov_b32 v0, s5\n v_cmp_lt_u32_e64 s5, v0, v1\n",
                      read = "v_cndmask_b32_e64 v2, v3, v4, s5\n";
    for (const std::string from : {"s4", "s20"})
        expect_unchanged(insert_hazard_cures, kGfx12, head + "s_lshl_b32 s6, " + from + ", 2\n" + read);
    for (const std::string from : {"vcc_lo", "exec_lo", "m0", "3"}) {
        const std::string shift = "s_lshl_b32 s6, " + from + ", 2\n";
        expect_pass(insert_hazard_cures, kGfx12, head + shift + read, head + shift + "s_wait_alu 0xf1ff\n" + read);
    }
    const std::string vcc = "v_cndmask_b32_e32 v2, v3, v4, vcc_lo\n v_cmp_lt_u32_e32 vcc_lo, v0, v1\n",
                      read_vcc = "v_cndmask_b32_e32 v2, v3, v4, vcc_lo\n";
    expect_unchanged(insert_hazard_cures, kGfx12, vcc + "s_mov_b32 s6, vcc_lo\n" + read_vcc);
    expect_pass(insert_hazard_cures, kGfx12, vcc + "s_mov_b32 s6, s5\n" + read_vcc,
                vcc + "s_mov_b32 s6, s5\n s_wait_alu 0xfffd\n" + read_vcc);
}

TEST(SgprReadHazard, CombinesWhatOneInstructionNeeds) {
    const std::string head =
        "v_cndmask_b32_e64 v2, v3, v4, s4\n v_mov_b32 v5, s6\n v_cmp_lt_u32_e64 s4, v0, v1\n"
        "s_mov_b32 s6, 1\n";
    expect_pass(insert_hazard_cures, kGfx12, head + "v_cndmask_b32_e64 v2, s6, v4, s4",
                head + "s_wait_alu 0xf1fe\n v_cndmask_b32_e64 v2, s6, v4, s4");
}

TEST(SgprReadHazard, EndsAtAScalarLoad) {
    expect_unchanged(insert_hazard_cures, kGfx12,
                     "v_mov_b32 v0, s2\n s_mov_b32 s2, 1\n s_load_b32 s8, s[10:11], 0x0\n v_mov_b32 v1, s2");
}

TEST(SgprReadHazard, NeverConcernsM0ExecAndNull) {
    expect_unchanged(insert_hazard_cures, kGfx12,
                     "v_mov_b32 v0, exec_lo\n s_mov_b32 exec_lo, 1\n v_mov_b32 v1, exec_lo");
    expect_unchanged(insert_hazard_cures, kGfx12, "v_mov_b32 v0, m0\n s_mov_b32 m0, 1\n v_mov_b32 v1, m0");
}

TEST(SgprReadHazard, FollowsABackEdge) {
    expect_pass(insert_hazard_cures, kGfx12,
                "L0:\n v_mov_b32 v1, s2\n s_mov_b32 s2, 1\n s_cbranch_scc1 -> L0\n s_endpgm",
                "L0:\n s_wait_alu 0xfffe\n v_mov_b32 v1, s2\n s_mov_b32 s2, 1\n s_cbranch_scc1 -> L0\n s_endpgm");
}

}  // namespace hazards_test
}  // namespace riftjit::rdna
