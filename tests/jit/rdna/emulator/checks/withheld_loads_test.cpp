// Results of memory operations are withheld until a sufficient wait has executed.
#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace withheld_loads_test {

// One spelling per generation of what the programs below are made of.
struct Words {
    std::string load, load_lds, store_lds, load_scalar, store;
    std::string wait_load(unsigned n) const {
        return is_gfx12 ? fmt::format("s_wait_loadcnt {:#x}\n", n) : fmt::format("s_waitcnt vmcnt({})\n", n);
    }
    std::string wait_lds(unsigned n) const {
        return is_gfx12 ? fmt::format("s_wait_dscnt {:#x}\n", n) : fmt::format("s_waitcnt lgkmcnt({})\n", n);
    }
    std::string wait_scalar(unsigned n) const {
        return is_gfx12 ? fmt::format("s_wait_kmcnt {:#x}\n", n) : fmt::format("s_waitcnt lgkmcnt({})\n", n);
    }
    bool is_gfx12 = false;
};

Words words(Target target) {
    if (generation(target) == Generation::gfx10)
        return {.load = "global_load_dword",
                .load_lds = "ds_read_b32",
                .store_lds = "ds_write_b32",
                .load_scalar = "s_load_dword",
                .store = "global_store_dword"};
    return {.load = "global_load_b32",
            .load_lds = "ds_load_b32",
            .store_lds = "ds_store_b32",
            .load_scalar = "s_load_b32",
            .store = "global_store_b32",
            .is_gfx12 = generation(target) == Generation::gfx12};
}

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};

ProgramResult run(Target target, const std::string& text) {
    return run_program(
        {.target = target, .lds_bytes = 1024},
        load_out_pointer(target) + "v_and_b32_e32 v0, 31, v0; v_lshlrev_b32_e32 v0, 2, v0\n" + text + "s_endpgm");
}

std::string load(const Words& w, unsigned destination, unsigned offset = 0) {
    return fmt::format("{} v{}, v0, s[2:3] offset:{}\n", w.load, destination, offset);
}

TEST(WithheldLoads, AreReportedWhenReadWithoutAWait) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        EXPECT_TRUE(
            reports_only(run(target, load(w, 1) + "v_add_nc_u32_e32 v2, 1, v1\n"), FindingKind::use_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, load(w, 1) + w.wait_load(0) + "v_add_nc_u32_e32 v2, 1, v1\n")));
    }
}

TEST(WithheldLoads, AreThoseOfTheRegisterThatM0Chooses) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string pending = "s_mov_b32 m0, 3; v_mov_b32_e32 v2, 0\n" + load(w, 5);
        EXPECT_TRUE(reports_only(run(target, pending + "v_movrels_b32_e32 v1, v2\n"), FindingKind::use_before_wait));
        EXPECT_TRUE(
            reports_only(run(target, pending + "v_movreld_b32_e32 v2, v0\n"), FindingKind::overwrite_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, pending + "v_movreld_b32_e32 v5, v0\n"))) << "v8 is written";
        EXPECT_TRUE(reports_nothing(run(target, pending + "v_mov_b32_e32 v8, 0; v_movrels_b32_e32 v1, v5\n")));
        const std::string scalar = "s_mov_b32 m0, 3\n" + w.load_scalar + " s15, s[2:3], null\n";
        EXPECT_TRUE(reports_only(run(target, scalar + "s_movrels_b32 s20, s12\n"), FindingKind::use_before_wait));
        EXPECT_TRUE(reports_only(run(target, scalar + "s_movreld_b32 s12, 0\n"), FindingKind::overwrite_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, scalar + "s_movreld_b32 s15, 0\n"))) << "s18 is written";
    }
}

TEST(WithheldLoads, MayHaveYoungerOnesOutstanding) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string loads = load(w, 1) + load(w, 2, 128) + load(w, 3, 256);
        EXPECT_TRUE(reports_nothing(run(target, loads + w.wait_load(2) + "v_add_nc_u32_e32 v4, 1, v1\n")));
        EXPECT_TRUE(reports_only(run(target, loads + w.wait_load(2) + "v_add_nc_u32_e32 v4, 1, v2\n"),
                                 FindingKind::use_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, loads + w.wait_load(1) + "v_add_nc_u32_e32 v4, 1, v2\n")));
    }
}

TEST(WithheldLoads, GiveTheirValueAfterTheWait) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const ProgramResult result =
            run(target, fmt::format("v_mov_b32_e32 v1, 7; {} v0, v1, s[2:3]\n", w.store) +
                            (w.is_gfx12 ? "s_wait_storecnt 0x0\n" : "s_waitcnt_vscnt null, 0x0\n") + load(w, 2) +
                            w.wait_load(0) +
                            fmt::format("v_add_nc_u32_e32 v2, 1, v2; {} v0, v2, s[2:3] offset:128\n", w.store));
        EXPECT_TRUE(reports_nothing(result)) << name(target);
        EXPECT_EQ(result.out[32 + 5], 8u);
    }
}

TEST(WithheldLoads, AreReportedWhenOverwrittenByTheAlu) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        EXPECT_TRUE(
            reports_only(run(target, load(w, 1) + "v_mov_b32_e32 v1, 0\n"), FindingKind::overwrite_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, load(w, 1) + w.wait_load(0) + "v_mov_b32_e32 v1, 0\n")));
        EXPECT_TRUE(reports_nothing(run(target, load(w, 1) + "v_mov_b32_e32 v0, 0\n")))
            << "the address register may change";
    }
}

TEST(WithheldLoads, IntoOneRegisterAreOrderedBeforeGfx12Only) {
    for (const Target target : kTargets) {
        const ProgramResult result = run(target, load(words(target), 1) + load(words(target), 1, 128));
        if (generation(target) == Generation::gfx12)
            EXPECT_TRUE(reports_only(result, FindingKind::overwrite_before_wait));
        else
            EXPECT_TRUE(reports_nothing(result));
    }
}

TEST(WithheldLoads, OfDifferentCountersAreNeverOrdered) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string init = fmt::format("{} v0, v0\n", w.store_lds) + w.wait_lds(0);
        EXPECT_TRUE(reports_only(run(target, init + load(w, 1) + fmt::format("{} v1, v0\n", w.load_lds)),
                                 FindingKind::overwrite_before_wait));
    }
}

TEST(WithheldLoads, OfLdsArriveInOrder) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string text = fmt::format("{0} v0, v0\n{1} v1, v0\n{1} v2, v0\n", w.store_lds, w.load_lds);
        EXPECT_TRUE(reports_nothing(run(target, text + w.wait_lds(1) + "v_add_nc_u32_e32 v3, 1, v1\n")));
        EXPECT_TRUE(reports_only(run(target, text + w.wait_lds(1) + "v_add_nc_u32_e32 v3, 1, v2\n"),
                                 FindingKind::use_before_wait));
    }
}

TEST(WithheldLoads, OfScalarsNeedAWaitToZero) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string text = fmt::format("{0} s8, s[2:3], 0x0\n{0} s9, s[2:3], 0x4\n", w.load_scalar);
        EXPECT_TRUE(
            reports_only(run(target, text + w.wait_scalar(1) + "s_mov_b32 s10, s8\n"), FindingKind::use_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, text + w.wait_scalar(0) + "s_mov_b32 s10, s8\n")));
        EXPECT_TRUE(reports_only(run(target, text + "s_mov_b32 s8, 0\n"), FindingKind::overwrite_before_wait));
        EXPECT_TRUE(reports_only(run(target, text + "v_mov_b32_e32 v5, s9\n"), FindingKind::use_before_wait));
    }
}

TEST(WithheldLoads, OfLdsAreNotCountedWithScalarsInTheSharedCounter) {
    for (const Target target : {Target::gfx1030, Target::gfx1100}) {
        const Words w = words(target);
        const std::string text =
            fmt::format("{} v0, v0\n{} v1, v0\n{} s8, s[2:3], 0x0\n", w.store_lds, w.load_lds, w.load_scalar);
        EXPECT_TRUE(reports_only(run(target, text + w.wait_lds(1) + "v_add_nc_u32_e32 v3, 1, v1\n"),
                                 FindingKind::use_before_wait))
            << "the scalar load may be the one that has come";
        EXPECT_TRUE(reports_nothing(run(target, text + w.wait_lds(0) + "v_add_nc_u32_e32 v3, 1, v1\n")));
    }
}

TEST(WithheldLoads, ThroughFlatNeedBothCounters) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string flat = generation(target) == Generation::gfx10 ? "flat_load_dword" : "flat_load_b32";
        const std::string text = "v_mov_b32_e32 v4, s2; v_mov_b32_e32 v5, s3\n" + flat + " v1, v[4:5]\n";
        const std::string use = "v_add_nc_u32_e32 v3, 1, v1\n";
        EXPECT_TRUE(reports_only(run(target, text + w.wait_load(0) + use), FindingKind::use_before_wait));
        EXPECT_TRUE(reports_only(run(target, text + w.wait_lds(0) + use), FindingKind::use_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, text + w.wait_load(0) + w.wait_lds(0) + use)));
    }
}

TEST(WithheldLoads, ThroughFlatTakeTheirTurnInBothCounters) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string flat = generation(target) == Generation::gfx10 ? "flat_load_dword" : "flat_load_b32";
        const std::string address = "v_mov_b32_e32 v4, s2; v_mov_b32_e32 v5, s3\n", younger = flat + " v2, v[4:5]\n";
        const std::string text = address + flat + " v1, v[4:5]\n" + younger;
        const std::string first = "v_add_nc_u32_e32 v3, 1, v1\n", second = "v_add_nc_u32_e32 v3, 1, v2\n";
        EXPECT_TRUE(reports_nothing(run(target, text + w.wait_load(1) + w.wait_lds(1) + first)));
        EXPECT_TRUE(
            reports_only(run(target, text + w.wait_load(1) + w.wait_lds(1) + second), FindingKind::use_before_wait));
        EXPECT_TRUE(reports_nothing(run(target, text + load(w, 6) + w.wait_load(2) + w.wait_lds(1) + first)));
        const std::string lds = address + fmt::format("{} v0, v0\n{} v1, v0\n", w.store_lds, w.load_lds) + younger;
        EXPECT_TRUE(reports_nothing(run(target, lds + w.wait_lds(1) + first)));
        EXPECT_TRUE(reports_only(run(target, lds + w.wait_lds(2) + first), FindingKind::use_before_wait));
    }
}

TEST(WithheldLoads, ThroughFlatMayGoWhereTheOlderLoadDidNot) {
    for (const Target target : kTargets) {
        const Words w = words(target);
        const std::string word = generation(target) == Generation::gfx10 ? "flat_load_dword" : "flat_load_b32";
        const std::string address = "v_mov_b32_e32 v4, s2; v_mov_b32_e32 v5, s3\n", flat = word + " v1, v[4:5]\n";
        for (const std::string& older : {flat, load(w, 1)}) {
            EXPECT_TRUE(reports_only(run(target, address + older + flat), FindingKind::overwrite_before_wait));
            EXPECT_TRUE(reports_nothing(run(target, address + older + w.wait_load(0) + w.wait_lds(0) + flat)));
        }
        EXPECT_TRUE(reports_only(run(target, address + flat + load(w, 1)), FindingKind::overwrite_before_wait));
        if (generation(target) != Generation::gfx12) {
            EXPECT_TRUE(reports_nothing(run(target, address + flat + w.wait_lds(0) + load(w, 1))));
        }
    }
}

TEST(WithheldLoads, OfAtomicsThatReturnCountAsLoads) {
    const std::string text = "v_mov_b32_e32 v1, 1; global_atomic_add_u32 v2, v0, v1, s[2:3] glc\n";
    EXPECT_TRUE(reports_only(run(Target::gfx1100, text + "s_waitcnt_vscnt null, 0x0; v_mov_b32_e32 v3, v2\n"),
                             FindingKind::use_before_wait));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100, text + "s_waitcnt vmcnt(0); v_mov_b32_e32 v3, v2\n")));
    const std::string gfx12 = "v_mov_b32_e32 v1, 1; global_atomic_add_u32 v2, v0, v1, s[2:3] th:TH_ATOMIC_RETURN\n";
    EXPECT_TRUE(reports_nothing(run(Target::gfx1201, gfx12 + "s_wait_loadcnt 0x0; v_mov_b32_e32 v3, v2\n")));
}

TEST(WithheldLoads, OfHalvesKeepTheOtherHalf) {
    const std::string text =
        "v_mov_b32_e32 v1, 0x12345678; v_mov_b32_e32 v2, 0xabcd9999\n"
        "global_store_b32 v0, v1, s[2:3]; s_waitcnt_vscnt null, 0x0\n"
        "global_load_d16_b16 v2, v0, s[2:3]; s_waitcnt vmcnt(0)\n"
        "global_store_b32 v0, v2, s[2:3] offset:128\n";
    const ProgramResult result = run(Target::gfx1100, text);
    EXPECT_TRUE(reports_nothing(result));
    EXPECT_EQ(result.out[32], 0xabcd5678u);
}

TEST(WithheldLoads, AreDeliveredAtOnceWithThatCheckOff) {
    ProgramSetup setup;
    setup.checks.waits = false;
    const std::string text = load_out_pointer(Target::gfx1100) +
                             "v_lshlrev_b32_e32 v0, 2, v0; global_load_b32 v1, v0, s[2:3]; v_add_nc_u32_e32 v1, 9, v1\n"
                             "global_store_b32 v0, v1, s[2:3] offset:128\n s_endpgm";
    const ProgramResult result = run_program(setup, text);
    EXPECT_TRUE(reports_nothing(result));
    EXPECT_EQ(result.out[32 + 31], 9u);
}

TEST(WaitInstructions, OfOlderChipsAreIllegalOnGfx12) {
    EXPECT_TRUE(reports_only(run(Target::gfx1201, "s_waitcnt 0\n"), FindingKind::illegal_instruction));
}

TEST(WaitInstructions, WithTwoCountersWaitForBoth) {
    const std::string text = "ds_store_b32 v0, v0\nds_load_b32 v1, v0\nglobal_load_b32 v2, v0, s[2:3]\n";
    EXPECT_TRUE(
        reports_nothing(run(Target::gfx1201, text + "s_wait_loadcnt_dscnt 0x0\nv_add_nc_u32_e32 v3, v1, v2\n")));
    EXPECT_TRUE(reports_only(run(Target::gfx1201, text + "s_wait_loadcnt_dscnt 0x100\nv_add_nc_u32_e32 v3, v1, v2\n"),
                             FindingKind::use_before_wait));
}

TEST(WaitInstructions, OfOneCounterWaitForNoOther) {
    for (const Target target : {Target::gfx1030, Target::gfx1100}) {
        const Words w = words(target);
        const std::string text = w.store_lds + " v0, v0\n" + w.load_lds + " v1, v0\n", use = "v_mov_b32_e32 v3, v1\n";
        EXPECT_TRUE(reports_nothing(run(target, text + "s_waitcnt_lgkmcnt null, 0x0\n" + use)));
        for (const std::string_view other : {"s_waitcnt_lgkmcnt null, 0x1\n", "s_waitcnt_vmcnt null, 0x0\n",
                                             "s_waitcnt_vscnt null, 0x0\n", "s_waitcnt_expcnt null, 0x0\n"})
            EXPECT_TRUE(reports_only(run(target, text + std::string(other) + use), FindingKind::use_before_wait))
                << other;
    }
}

TEST(WaitInstructions, CoverClocksAndMessages) {
    EXPECT_TRUE(reports_only(
        run(Target::gfx1100, "s_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_REALTIME); s_mov_b32 s10, s8\n"),
        FindingKind::use_before_wait));
    EXPECT_TRUE(reports_nothing(run(Target::gfx1100,
                                    "s_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_REALTIME)\n"
                                    "s_waitcnt lgkmcnt(0); s_mov_b32 s10, s8\n")));
    EXPECT_TRUE(
        reports_only(run(Target::gfx1030, "s_memtime s[8:9]; s_mov_b32 s10, s8\n"), FindingKind::use_before_wait));
}

}  // namespace withheld_loads_test
}  // namespace riftjit::rdna::emulator
