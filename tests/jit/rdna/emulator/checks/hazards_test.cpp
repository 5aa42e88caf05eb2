// Each hazard: the shortest offending sequence, the distance that is just long enough, and each cure.
#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace hazards_test {

// Registers that the sequences read hold defined values.
constexpr std::string_view kPrologue =
    "v_mov_b32_e32 v0, 1.0; v_mov_b32_e32 v1, 1.0; v_mov_b32_e32 v2, 1.0; v_mov_b32_e32 v3, 1.0\n"
    "v_mov_b32_e32 v4, 1.0; v_mov_b32_e32 v5, 1.0; s_mov_b32 s8, 0; s_mov_b32 s9, 0; s_mov_b32 s10, 0\n"
    "s_mov_b32 s4, 0; s_mov_b32 s5, 0; s_mov_b32 s6, 0; s_mov_b32 s7, 0\n";

ProgramResult run(Target target, std::string_view sequence, WaveSize wave = WaveSize::wave32) {
    ProgramSetup setup{.target = target, .wave_size = wave, .vgprs = 64};
    setup.group.x = lanes(wave);
    return run_program(setup, std::string(kPrologue) + std::string(sequence) + "\ns_endpgm");
}

std::string repeated(std::string_view line, unsigned times) {
    std::string text;
    for (unsigned i = 0; i < times; ++i) text += std::string(line) + "\n";
    return text;
}

constexpr std::string_view kOther = "v_mov_b32_e32 v6, v1";
constexpr std::string_view kExp = "v_exp_f32_e32 v1, v0\n";
constexpr std::string_view kReadExp = "v_add_f32_e32 v2, v1, v1\n";

TEST(TransUseHazard, IsReportedUpToFiveVectorInstructionsLater) {
    for (unsigned between = 0; between <= 5; ++between) {
        const std::string text = std::string(kExp) + repeated("v_mov_b32_e32 v6, v3", between) + std::string(kReadExp);
        EXPECT_TRUE(reports_only(run(Target::gfx1100, text), FindingKind::valu_trans_use)) << between;
    }
    const std::string far_enough = std::string(kExp) + repeated("v_mov_b32_e32 v6, v3", 6) + std::string(kReadExp);
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, far_enough)));
}

TEST(TransUseHazard, EndsAfterTwoTranscendentalsInBetween) {
    const std::string one = std::string(kExp) + "v_exp_f32_e32 v6, v3\n" + std::string(kReadExp);
    const std::string two = std::string(kExp) + "v_exp_f32_e32 v6, v3; v_exp_f32_e32 v7, v3\n" + std::string(kReadExp);
    EXPECT_TRUE(reports_only(run(Target::gfx1103, one), FindingKind::valu_trans_use));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1103, two)));
}

TEST(TransUseHazard, IsCuredByWaitingForVectorResults) {
    for (const std::string_view cure : {"s_waitcnt_depctr 0xfff", "s_waitcnt_depctr 0xf9f"})
        EXPECT_TRUE(
            reports_nothing(run(Target::gfx1100, std::string(kExp) + std::string(cure) + "\n" + std::string(kReadExp))))
            << cure;
    const std::string weaker = std::string(kExp) + "s_waitcnt_depctr 0x1fff\n" + std::string(kReadExp);
    EXPECT_TRUE(reports_only(run(Target::gfx1100, weaker), FindingKind::valu_trans_use));
}

TEST(TransUseHazard, SeesTheAccumulatorOfFmacAndBothHalvesOfADual) {
    EXPECT_TRUE(reports_only(run(Target::gfx1100, std::string(kExp) + "v_fmac_f32_e32 v1, v2, v3"),
                             FindingKind::valu_trans_use));
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, std::string(kExp) + "v_dual_mov_b32 v6, v2 :: v_dual_add_f32 v7, v1, v3"),
                     FindingKind::valu_trans_use));
}

TEST(TransUseHazard, IgnoresOverwritingAndOtherChips) {
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, std::string(kExp) + "v_mov_b32_e32 v1, v2")));
    for (const Target target : {Target::gfx1030, Target::gfx1150, Target::gfx1201})
        EXPECT_TRUE(reports_nothing(run(target, std::string(kExp) + std::string(kReadExp)))) << name(target);
}

TEST(CmpxPermlaneHazard, NeedsAVectorInstructionOtherThanNop) {
    const std::string cmpx = "v_cmpx_eq_f32_e32 v0, v0\n", permlane = "v_permlane16_b32 v1, v2, s8, s9\n";
    for (const Target target : {Target::gfx1100, Target::gfx1151, Target::gfx1201}) {
        EXPECT_TRUE(reports_only(run(target, cmpx + permlane), FindingKind::vcmpx_permlane)) << name(target);
        EXPECT_TRUE(reports_only(run(target, cmpx + "v_nop\n" + permlane), FindingKind::vcmpx_permlane));
        EXPECT_TRUE(reports_nothing(run(target, cmpx + "v_mov_b32_e32 v2, v2\n" + permlane)));
    }
    EXPECT_TRUE(reports_nothing(run(Target::gfx1030, cmpx + permlane)));
}

TEST(CmpxPermlaneHazard, CoversTheOtherForms) {
    EXPECT_TRUE(reports_only(run(Target::gfx1100, "v_cmpx_eq_f32_e64 v0, v0; v_permlanex16_b32 v1, v2, s8, s9"),
                             FindingKind::vcmpx_permlane));
    EXPECT_TRUE(reports_only(run(Target::gfx1201, "v_cmpx_eq_f32_e32 v0, v0; v_permlane16_var_b32 v1, v2, v3"),
                             FindingKind::vcmpx_permlane));
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, "v_cmpx_eq_f32_e32 v0, v0; v_permlane64_b32 v1, v2", WaveSize::wave64),
                     FindingKind::vcmpx_permlane));
}

std::string zeroed(unsigned first, unsigned count) {
    std::string text;
    for (unsigned v = first; v < first + count; ++v) text += fmt::format("v_mov_b32_e32 v{}, 0\n", v);
    return text;
}
constexpr std::string_view kFirstWmma = "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]\n";

TEST(WmmaHazard, NeedsAVectorInstructionBeforeItsResultIsAnOperand) {
    const std::string start = zeroed(0, 48) + std::string(kFirstWmma);
    const std::string reads = "v_wmma_f32_16x16x16_f16 v[32:39], v[15:22], v[24:31], v[32:39]\n";
    EXPECT_TRUE(reports_only(run(Target::gfx1100, start + reads), FindingKind::wmma_operand));
    EXPECT_TRUE(reports_only(run(Target::gfx1150, start + "s_nop 0\n" + reads), FindingKind::wmma_operand));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, start + "v_nop\n" + reads)));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, start + std::string(kOther) + "\n" + reads)));
}

TEST(WmmaHazard, LeavesTheAccumulatorAlone) {
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, zeroed(0, 48) + repeated(kFirstWmma, 2))));
}

TEST(WmmaHazard, HoldsOnGfx12AndForTheIndexOfSparseProducts) {
    const std::string start = zeroed(0, 48) + "v_wmma_f32_16x16x16_f16 v[8:15], v[16:19], v[20:23], v[8:15]\n";
    EXPECT_TRUE(
        reports_only(run(Target::gfx1201, start + "v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[20:23], v[24:31]"),
                     FindingKind::wmma_operand));
    EXPECT_TRUE(reports_only(run(Target::gfx1201, start + "v_swmmac_f32_16x16x32_f16 v[24:31], v[32:35], v[36:43], v8"),
                             FindingKind::wmma_operand));
}

std::string forwarding(unsigned before_exec, unsigned after_exec, unsigned after_second) {
    return "v_mov_b32_e32 v1, v4\n" + repeated("v_mov_b32_e32 v6, v5", before_exec) + "s_mov_b64 exec, s[12:13]\n" +
           repeated("v_mov_b32_e32 v6, v5", after_exec) + "v_mov_b32_e32 v2, v4\n" +
           repeated("v_mov_b32_e32 v6, v5", after_second) + "v_add_f32_e32 v3, v1, v2\n";
}
ProgramResult run_forwarding(Target target, const std::string& text, WaveSize wave = WaveSize::wave64) {
    return run(target, "s_mov_b32 s12, -1; s_mov_b32 s13, -1\n" + repeated("v_mov_b32_e32 v6, v5", 8) + text, wave);
}

TEST(PartialForwardingHazard, CountsBothSidesOfTheExecWriteTogether) {
    for (const auto& [before, after] : {std::pair{0u, 0u}, {2u, 0u}, {0u, 2u}, {1u, 1u}})
        EXPECT_TRUE(reports_only(run_forwarding(Target::gfx1100, forwarding(before, after, 0)),
                                 FindingKind::valu_partial_forwarding))
            << before << " " << after;
    for (const auto& [before, after] : {std::pair{3u, 0u}, {0u, 3u}, {2u, 1u}})
        EXPECT_TRUE(reports_nothing(run_forwarding(Target::gfx1100, forwarding(before, after, 0))))
            << before << " " << after;
}

TEST(PartialForwardingHazard, EndsAfterFourInstructions) {
    EXPECT_TRUE(
        reports_only(run_forwarding(Target::gfx1150, forwarding(0, 0, 4)), FindingKind::valu_partial_forwarding));
    EXPECT_TRUE(reports_nothing(run_forwarding(Target::gfx1150, forwarding(0, 0, 5))));
}

TEST(PartialForwardingHazard, CountsAPairAsOneSource) {
    const std::string halves = "v_mov_b32_e32 v0, v4; s_mov_b64 exec, s[12:13]; v_mov_b32_e32 v1, v4\n";
    EXPECT_TRUE(reports_nothing(run_forwarding(Target::gfx1150, halves + "v_lshlrev_b64 v[0:1], 2, v[0:1]")));
    EXPECT_TRUE(reports_only(run_forwarding(Target::gfx1150, halves + "v_add_f32_e32 v3, v0, v1"),
                             FindingKind::valu_partial_forwarding));
}

TEST(PartialForwardingHazard, TellsARegisterFromAPairThatBeginsWithIt) {
    const std::string writes = "v_mov_b32_e32 v0, v4; s_mov_b64 exec, s[12:13]; v_mov_b32_e32 v1, v4\n";
    EXPECT_TRUE(reports_only(run_forwarding(Target::gfx1150, writes + "v_ldexp_f64 v[2:3], v[0:1], v0"),
                             FindingKind::valu_partial_forwarding));
}

TEST(PartialForwardingHazard, IsCuredByAWaitAndUnknownElsewhere) {
    const std::string cured =
        "v_mov_b32_e32 v1, v4; s_mov_b64 exec, s[12:13]; v_mov_b32_e32 v2, v4\n"
        "s_waitcnt_depctr 0xfff; v_add_f32_e32 v3, v1, v2";
    EXPECT_TRUE(reports_nothing(run_forwarding(Target::gfx1100, cured)));
    EXPECT_TRUE(reports_nothing(run_forwarding(Target::gfx1030, forwarding(0, 0, 0))));
    EXPECT_TRUE(
        reports_nothing(run(Target::gfx1100,
                            "s_mov_b32 s12, -1; v_mov_b32_e32 v1, v4; s_mov_b32 exec_lo, s12; v_mov_b32_e32 v2, v4\n"
                            "v_add_f32_e32 v3, v1, v2")));
}

TEST(MaskWriteHazard, WantsAWaitAfterTheWrite) {
    const std::string read = "v_cndmask_b32_e64 v1, v2, v3, s[8:9]\n", write = "s_mov_b64 s[8:9], 0\n";
    EXPECT_TRUE(reports_only(run(Target::gfx1100, read + write, WaveSize::wave64), FindingKind::valu_mask_write));
    EXPECT_TRUE(reports_only(run(Target::gfx1101, read + write + "v_mov_b32_e32 v5, v2", WaveSize::wave64),
                             FindingKind::valu_mask_write));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, read + write + "s_waitcnt_depctr 0xfffe", WaveSize::wave64)));
}

TEST(MaskWriteHazard, IsEndedByAnotherScalarOrLiteral) {
    const std::string read = "v_cndmask_b32_e64 v1, v2, v3, s[8:9]\n", write = "s_mov_b64 s[8:9], 0\n";
    for (const std::string_view cure : {"v_mov_b32_e32 v5, s4\n", "v_mov_b32_e32 v5, 0x12345\n"})
        EXPECT_TRUE(reports_nothing(run(Target::gfx1100, read + std::string(cure) + write, WaveSize::wave64))) << cure;
    EXPECT_TRUE(reports_only(run(Target::gfx1100, read + "v_mov_b32_e32 v5, 64\n" + write, WaveSize::wave64),
                             FindingKind::valu_mask_write));
    EXPECT_TRUE(reports_nothing(
        run(Target::gfx1100, "v_cndmask_b32_e64 v1, v2, v3, s8; s_mov_b32 s8, 0; v_mov_b32_e32 v5, v2")));
}

// As LLVM 22 has it: va_sdst 0, or va_vcc 0 for vcc, behind the VALU that writes the mask.
TEST(MaskWriteHazard, IsEndedByAVectorWriteThatWasWaitedFor) {
    const std::string read = "v_cndmask_b32_e64 v1, v2, v3, s[8:9]\n", write = "s_mov_b64 s[8:9], 0\n",
                      rewrite = "v_cmp_eq_u32_e64 s[8:9], v1, v2\n", wait = "s_waitcnt_depctr 0xf1ff\n";
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, read + rewrite + wait + write, WaveSize::wave64)));
    for (const std::string& code :
         {read + rewrite + write, read + wait + write, read + rewrite + "s_waitcnt_depctr 0xfffd\n" + write,
          read + rewrite + wait + read + wait + write})
        EXPECT_TRUE(reports_only(run(Target::gfx1100, code, WaveSize::wave64), FindingKind::valu_mask_write)) << code;
    const std::string vcc = "v_cndmask_b32_e32 v1, v2, v3, vcc\nv_cmp_eq_u32_e32 vcc, v1, v2\n";
    EXPECT_TRUE(
        reports_nothing(run(Target::gfx1100, vcc + "s_waitcnt_depctr 0xfffd; s_mov_b64 vcc, 0", WaveSize::wave64)));
    EXPECT_TRUE(reports_only(run(Target::gfx1100, vcc + wait + "s_mov_b64 vcc, 0", WaveSize::wave64),
                             FindingKind::valu_mask_write));
}

// The other half of what LLVM 22 waits for: the mask's new value, before anything reads it.
TEST(MaskRewriteHazard, WantsAWaitBetweenAVectorWriteOfAMaskAndItsUse) {
    const std::string read = "v_cndmask_b32_e64 v1, v2, v3, s[8:9]\n", rewrite = "v_cmp_eq_u32_e64 s[8:9], v1, v2\n",
                      wait = "s_waitcnt_depctr 0xf1ff\n";
    for (const std::string& use :
         {std::string("s_mov_b64 s[10:11], s[8:9]\n"), std::string("v_mov_b32_e32 v5, s9\n"), read}) {
        EXPECT_TRUE(
            reports_only(run(Target::gfx1100, read + rewrite + use, WaveSize::wave64), FindingKind::valu_mask_rewrite))
            << use;
        EXPECT_TRUE(reports_nothing(run(Target::gfx1100, read + rewrite + wait + use, WaveSize::wave64))) << use;
        // Only what was read as a mask, and in wave64 of gfx11.
        EXPECT_TRUE(reports_nothing(run(Target::gfx1100, rewrite + use, WaveSize::wave64))) << use;
        EXPECT_TRUE(reports_nothing(run(Target::gfx1030, read + rewrite + use, WaveSize::wave64))) << use;
    }
    const std::string carry = "v_add_co_ci_u32_e32 v1, vcc, v2, v3, vcc\n";
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, carry + carry, WaveSize::wave64)));
    EXPECT_TRUE(
        reports_only(run(Target::gfx1100, carry + carry + carry, WaveSize::wave64), FindingKind::valu_mask_rewrite));
    EXPECT_TRUE(
        reports_nothing(run(Target::gfx1100, carry + carry + "s_waitcnt_depctr 0xfffd\n" + carry, WaveSize::wave64)));
    // Another scalar beside the mask's reader ends it, one that the writer reads does not.
    EXPECT_TRUE(
        reports_nothing(run(Target::gfx1100, read + "v_mov_b32_e32 v6, s4\n" + rewrite + read, WaveSize::wave64)));
    EXPECT_TRUE(reports_only(run(Target::gfx1100, read + "v_cmp_eq_u32_e64 s[8:9], v1, s4\n" + read, WaveSize::wave64),
                             FindingKind::valu_mask_rewrite));
}

TEST(DeallocMessage, NeedsANopBeforeIt) {
    for (const Target target : {Target::gfx1100, Target::gfx1200}) {
        EXPECT_TRUE(reports_only(run(target, "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"), FindingKind::dealloc_message));
        EXPECT_TRUE(reports_nothing(run(target, "s_nop 0; s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)")));
    }
}

TEST(DeallocMessage, LeavesNoVgprToUse) {
    const std::string release = "s_nop 0; s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n";
    for (const Target target : {Target::gfx1100, Target::gfx1200}) {
        EXPECT_TRUE(reports_nothing(run(target, release + "s_mov_b32 s4, 0")));
        for (const std::string_view use : {"v_mov_b32_e32 v1, 0", "ds_store_b32 v0, v0", "v_readfirstlane_b32 s4, v0"})
            EXPECT_TRUE(reports_only(run(target, release + std::string(use)), FindingKind::vgpr_released)) << use;
    }
}

TEST(DeallocMessage, WaitsForStoresToScratchAlone) {
    const std::string release = "s_nop 0; s_sendmsg sendmsg(MSG_DEALLOC_VGPRS); s_endpgm";
    for (const Target target : {Target::gfx1100, Target::gfx1200}) {
        const bool is_gfx12 = generation(target) == Generation::gfx12;
        const std::string global = "v_lshlrev_b32_e32 v1, 2, v0; global_store_b32 v1, v0, s[2:3]\n",
                          scratch = "scratch_store_b32 off, v0, off\n",
                          wait = is_gfx12 ? "s_wait_storecnt 0x0\n" : "s_waitcnt_vscnt null, 0x0\n";
        const ProgramSetup setup{.target = target, .scratch_bytes = 16};
        const std::string start = load_out_pointer(target);
        EXPECT_TRUE(reports_nothing(run_program(setup, start + global + release)));
        EXPECT_TRUE(reports_only(run_program(setup, start + scratch + release), FindingKind::dealloc_message));
        EXPECT_TRUE(reports_nothing(run_program(setup, start + scratch + wait + release)));
    }
}

ProgramResult run_atomic(std::string_view between, Target target = Target::gfx1030) {
    const std::string text = load_out_pointer(target) +
                             "v_mov_b32_e32 v0, 0; v_mov_b32_e32 v1, 1.0\n"
                             "global_atomic_fmax v0, v1, s[2:3]\n" +
                             std::string(between) + "\ns_denorm_mode 15\ns_endpgm";
    return run_program({.target = target}, text);
}

TEST(FloatAtomicHazard, NeedsThreeWaitStatesBeforeTheModeChanges) {
    EXPECT_TRUE(reports_only(run_atomic(""), FindingKind::float_atomic_denorm_mode));
    EXPECT_TRUE(reports_only(run_atomic("s_nop 1"), FindingKind::float_atomic_denorm_mode));
    EXPECT_TRUE(reports_only(run_atomic("s_mov_b32 s4, 0; s_mov_b32 s5, 0"), FindingKind::float_atomic_denorm_mode));
    EXPECT_TRUE(reports_nothing(run_atomic("s_nop 2")));
    EXPECT_TRUE(reports_nothing(run_atomic("s_mov_b32 s4, 0; s_mov_b32 s5, 0; s_mov_b32 s6, 0")));
}

TEST(FloatAtomicHazard, EndsAtAVectorInstructionOrAWait) {
    EXPECT_TRUE(reports_nothing(run_atomic("v_mov_b32_e32 v1, v0")));
    EXPECT_TRUE(reports_nothing(run_atomic("s_waitcnt_vscnt null, 0x0")));
}

// s[8:9] becomes tracked by the first instruction.
constexpr std::string_view kTrack = "v_mov_b32_e32 v6, s8\n";

ProgramResult run_gfx12(std::string_view sequence) { return run(Target::gfx1201, sequence); }
std::string tracked(std::string_view sequence) { return std::string(kTrack) + std::string(sequence); }

TEST(SgprReadHazard, FollowsAScalarWriteOfATrackedPair) {
    EXPECT_TRUE(reports_only(run_gfx12(tracked("s_mov_b32 s8, 1; v_mov_b32_e32 v7, s8")), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_only(run_gfx12(tracked("s_mov_b32 s9, 1; v_mov_b32_e32 v7, s9")), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_only(run_gfx12(tracked("s_mov_b32 s8, 1; s_add_co_u32 s4, s8, 1")), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_nothing(run_gfx12("s_mov_b32 s8, 1; v_mov_b32_e32 v7, s8")));
    EXPECT_TRUE(reports_nothing(run_gfx12(tracked("s_mov_b32 s10, 1; v_mov_b32_e32 v7, s10"))));
    EXPECT_TRUE(reports_nothing(run_gfx12(tracked("s_mov_b32 s8, 1; s_wait_alu 0xfffe; v_mov_b32_e32 v7, s8"))));
    EXPECT_TRUE(reports_only(run_gfx12(tracked("s_mov_b32 s8, 1; s_wait_alu 0xf1ff; v_mov_b32_e32 v7, s8")),
                             FindingKind::sgpr_read));
}

TEST(SgprReadHazard, FollowsAVectorWriteOfATrackedPair) {
    const std::string compare = "v_cmp_eq_f32_e64 s8, v1, v2\n", read = "v_cndmask_b32_e64 v7, v1, v2, s8";
    EXPECT_TRUE(reports_only(run_gfx12(tracked(compare + read)), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_nothing(run_gfx12(tracked(compare + "s_wait_alu 0xf1ff\n" + read))));
    EXPECT_TRUE(reports_only(run_gfx12(tracked(compare + "s_wait_alu 0xfffe\n" + read)), FindingKind::sgpr_read));
    // As LLVM 22 has it, a scalar read of any register is interlocked, and waits for the vector write.
    for (const std::string from : {"s8", "s9", "s20"})
        EXPECT_TRUE(reports_nothing(
            run_gfx12(tracked("s_mov_b32 s20, 1\n" + compare + "s_add_co_u32 s4, " + from + ", 1\n" + read))));
    for (const std::string from : {"exec_lo", "m0", "1"})
        EXPECT_TRUE(reports_only(run_gfx12(tracked(compare + "s_add_co_u32 s4, " + from + ", 1\n" + read)),
                                 FindingKind::sgpr_read));
}

// As LLVM 22 has it: each of the two asks for a wait of its own.
TEST(SgprReadHazard, OutlivesAWriteByTheOtherUnit) {
    const std::string scalar = "s_mov_b32 s8, 1\n", vector = "v_readfirstlane_b32 s8, v1\n";
    const std::string read = "v_mov_b32_e32 v7, s8", scalar_wait = "s_wait_alu 0xfffe\n",
                      vector_wait = "s_wait_alu 0xf1ff\n";
    for (const std::string& writes : {scalar + vector, vector + scalar}) {
        EXPECT_TRUE(reports_only(run_gfx12(tracked(writes + scalar_wait + read)), FindingKind::sgpr_read));
        EXPECT_TRUE(reports_only(run_gfx12(tracked(writes + vector_wait + read)), FindingKind::sgpr_read));
        EXPECT_TRUE(reports_nothing(run_gfx12(tracked(writes + scalar_wait + vector_wait + read))));
    }
    EXPECT_TRUE(reports_only(run_gfx12(tracked(scalar + vector + "s_add_co_u32 s4, s8, 1")), FindingKind::sgpr_read));
}

TEST(SgprReadHazard, OfVccIsThatOfTheLastWrite) {
    const std::string track = "v_cndmask_b32_e32 v6, v1, v2, vcc_lo\n", scalar = "s_mov_b32 vcc_lo, 1\n";
    const std::string vector = "v_cmp_eq_f32_e32 vcc_lo, v1, v2\n", read = "v_cndmask_b32_e32 v7, v1, v2, vcc_lo";
    const std::string prologue = "s_mov_b32 vcc_lo, 0\n" + track;
    EXPECT_TRUE(reports_nothing(run_gfx12(prologue + scalar + vector + "s_wait_alu 0xfffd\n" + read)));
    EXPECT_TRUE(
        reports_only(run_gfx12(prologue + scalar + vector + "s_wait_alu 0xfffe\n" + read), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_nothing(run_gfx12(prologue + vector + scalar + "s_wait_alu 0xfffe\n" + read)));
    EXPECT_TRUE(
        reports_only(run_gfx12(prologue + vector + scalar + "s_wait_alu 0xfffd\n" + read), FindingKind::sgpr_read));
}

TEST(SgprReadHazard, KeepsVccApart) {
    const std::string track =
        "v_cmp_eq_f32_e32 vcc_lo, v1, v2; s_wait_alu 0xfffd; v_cndmask_b32_e32 v6, v1, v2, vcc_lo\n";
    const std::string compare = "v_cmp_eq_f32_e32 vcc_lo, v1, v2\n", read = "v_cndmask_b32_e32 v7, v1, v2, vcc_lo";
    EXPECT_TRUE(reports_only(run_gfx12(track + compare + read), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_only(run_gfx12(track + compare + "s_wait_alu 0xf1ff\n" + read), FindingKind::sgpr_read));
    EXPECT_TRUE(reports_nothing(run_gfx12(track + compare + "s_wait_alu 0xfffd\n" + read)));
}

TEST(SgprReadHazard, CanBeSwitchedOff) {
    ProgramSetup setup{.target = Target::gfx1201};
    setup.checks.sgpr_read_hazard = false;
    const std::string text = std::string(kPrologue) + tracked("s_mov_b32 s8, 1; v_mov_b32_e32 v7, s8; s_endpgm");
    EXPECT_TRUE(reports_nothing(run_program(setup, text)));
}

TEST(SgprReadHazard, IsClearedByScalarMemory) {
    const std::string text = load_out_pointer(Target::gfx1201) +
                             tracked("s_mov_b32 s8, 1; s_load_b32 s20, s[2:3], null; v_mov_b32_e32 v7, s8");
    EXPECT_TRUE(reports_nothing(run_gfx12(text)));
}

// v4 was written just before, all others long ago.
TEST(VopdInterlockHazard, IsReportedForSourcesOfOneParityWhileAVectorInstructionMayWriteThem) {
    const std::string write = "v_mov_b32_e32 v10, 1.0; v_mov_b32_e32 v7, 1.0; v_mov_b32_e32 v20, 1.0\n" +
                              repeated("v_mov_b32_e32 v30, v1", 20) + "v_mov_b32_e32 v4, 1.0\n";
    const auto after = [&](Target target, std::string_view between, std::string_view pair, Checks checks = {}) {
        ProgramSetup setup{.target = target, .checks = checks, .vgprs = 64};
        return run_program(setup,
                           std::string(kPrologue) + write + std::string(between) + std::string(pair) + "\ns_endpgm");
    };
    const auto is_reported = [&](std::string_view between, std::string_view pair, Target target = Target::gfx1100) {
        return reports_only(after(target, between, pair), FindingKind::vopd_interlock);
    };
    const auto is_silent = [&](std::string_view between, std::string_view pair, Target target = Target::gfx1100) {
        return reports_nothing(after(target, between, pair));
    };
    const std::string first = "v_dual_mul_f32 v12, v4, v1 :: v_dual_add_f32 v13, v10, v20";
    const std::string second = "v_dual_mul_f32 v12, v1, v10 :: v_dual_add_f32 v13, v10, v4";
    const std::string moves = "v_dual_mov_b32 v12, v10 :: v_dual_lshlrev_b32 v13, v4, v1";
    for (const std::string& pair : {first, second, moves}) EXPECT_TRUE(is_reported("", pair)) << pair;
    for (const Target target : {Target::gfx1103, Target::gfx1151}) EXPECT_TRUE(is_reported("", first, target));
    EXPECT_TRUE(is_silent("", first, Target::gfx1201));
    // Different parity; a scalar; the other port; an accumulator and a constant's neighbour; what was written long ago.
    for (const std::string pair : {"v_dual_mul_f32 v12, v4, v1 :: v_dual_add_f32 v13, v7, v20",
                                   "v_dual_mul_f32 v12, v4, v1 :: v_dual_add_f32 v13, s4, v20",
                                   "v_dual_mul_f32 v12, v4, v1 :: v_dual_add_f32 v13, v7, v10",
                                   "v_dual_fmac_f32 v4, v1, v10 :: v_dual_fmac_f32 v13, v20, v7",
                                   "v_dual_mul_f32 v12, v10, v1 :: v_dual_add_f32 v13, v20, v10"})
        EXPECT_TRUE(is_silent("", pair)) << pair;
    // As far as va_vdst counts, and each wait.
    EXPECT_TRUE(is_reported(repeated("v_mov_b32_e32 v30, v1", 14), first));
    EXPECT_TRUE(is_silent(repeated("v_mov_b32_e32 v30, v1", 15), first));
    const std::string two = repeated("v_mov_b32_e32 v30, v1", 2);
    for (const std::string cure : {"s_waitcnt_depctr depctr_va_vdst(0)\n", "s_waitcnt_depctr depctr_va_vdst(2)\n",
                                   "ds_load_b32 v31, v3\n s_waitcnt lgkmcnt(0)\n"})
        EXPECT_EQ(after(Target::gfx1100, two + cure, first).count(FindingKind::vopd_interlock), 0u) << cure;
    EXPECT_TRUE(is_reported(two + "s_waitcnt_depctr depctr_va_vdst(3)\n", first));
    EXPECT_TRUE(is_reported(two + "s_waitcnt_depctr depctr_va_sdst(0)\n", first));
    Checks checks;
    checks.vopd_interlock = false;
    EXPECT_TRUE(reports_nothing(after(Target::gfx1100, "", first, checks)));
}

}  // namespace hazards_test
}  // namespace riftjit::rdna::emulator
