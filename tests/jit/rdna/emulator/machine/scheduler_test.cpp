// Who runs when: schedules, residency, barriers, deadlocks, runs that do not end.
#include <atomic>
#include <sstream>

#include "jit/rdna/emulator/machine/trace.h"
#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace scheduler_test {

constexpr Schedule kSchedules[] = {Schedule::lock_step, Schedule::long_quanta, Schedule::random, Schedule::reversed};
constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};

std::string barrier(Target target) {
    return generation(target) == Generation::gfx12 ? "s_barrier_signal -1; s_barrier_wait -1\n" : "s_barrier\n";
}
std::string wait_lds(Target target) {
    return generation(target) == Generation::gfx12 ? "s_wait_dscnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
}

// Workgroup id x into s8.
std::string group_id(Target target) {
    if (generation(target) == Generation::gfx12) return "s_mov_b32 s8, ttmp9\n";
    return generation(target) == Generation::gfx11 ? "s_mov_b32 s8, s13\n" : "s_mov_b32 s8, s2\n";
}

// Each of four waves writes LDS, and after a barrier reads what the next wave wrote; with `sync` in between.
std::string exchange_lds(Target target, const std::string& sync) {
    const bool old = generation(target) == Generation::gfx10;
    return load_out_pointer(target) +
           "v_and_b32_e32 v0, 0x3ff, v0; v_lshlrev_b32_e32 v0, 2, v0; v_mov_b32_e32 v1, v0\n" +
           (old ? "ds_write_b32 v0, v1\n" : "ds_store_b32 v0, v1\n") + wait_lds(target) + sync +
           "v_add_nc_u32_e32 v2, 0x80, v0; v_and_b32_e32 v2, 0x1fc, v2\n" +
           (old ? "ds_read_b32 v3, v2\n" : "ds_load_b32 v3, v2\n") + wait_lds(target) +
           (old ? "global_store_dword v0, v3, s[2:3]\n" : "global_store_b32 v0, v3, s[2:3]\n") + "s_endpgm";
}

ProgramSetup four_waves(Target target, Schedule schedule) {
    ProgramSetup setup{.target = target, .lds_bytes = 512};
    setup.group = {128, 1, 1};
    setup.launch.schedule = schedule;
    return setup;
}

KernelCode kernel_of(std::string name, WaveSize wave_size, uint32_t vgprs, std::string_view text) {
    KernelCode kernel;
    kernel.name = std::move(name);
    kernel.code = assemble(Target::gfx1100, wave_size, text);
    kernel.wave_size = wave_size;
    kernel.resources = {.vgprs = vgprs, .sgprs = 100, .lds_bytes = 0, .scratch_bytes = 0};
    kernel.kernarg_size = 8;
    kernel.args.push_back(
        {.offset = 0, .size = 8, .value_kind = ValueKind::global_buffer, .address_space = AddressSpace::global});
    return kernel;
}

TEST(Schedules, AllGiveTheSameResultForASynchronisedProgram) {
    for (const Target target : kTargets)
        for (const Schedule schedule : kSchedules) {
            const ProgramResult result =
                run_program(four_waves(target, schedule), exchange_lds(target, barrier(target)));
            EXPECT_TRUE(reports_nothing(result)) << name(target) << " " << name(schedule);
            EXPECT_TRUE(result.report.completed);
            for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(result.out[i], (i + 32) % 128 * 4);
        }
}

TEST(Schedules, AllReportAMissingBarrier) {
    for (const Target target : kTargets)
        for (const Schedule schedule : kSchedules)
            EXPECT_GE(run_program(four_waves(target, schedule), exchange_lds(target, "")).count(FindingKind::lds_race),
                      1u)
                << name(target) << " " << name(schedule);
}

TEST(Schedules, HaveNames) {
    for (const Schedule schedule : kSchedules) EXPECT_EQ(schedule_from_name(name(schedule)), schedule);
    EXPECT_EQ(schedule_from_name("fair"), std::nullopt);
}

TEST(Schedules, AtRandomRepeatWithTheSeed) {
    const auto trace = [](uint64_t seed) {
        std::ostringstream out;
        ProgramSetup setup = four_waves(Target::gfx1100, Schedule::random);
        setup.seed = seed;
        setup.launch.trace = &out;
        run_program(setup, exchange_lds(Target::gfx1100, "s_barrier\n"));
        return out.str();
    };
    EXPECT_EQ(trace(3), trace(3));
    EXPECT_NE(trace(3), trace(4));
}

TEST(Barrier, IsNotReachedByAWaveThatEndsEarly) {
    for (const Target target : kTargets)
        for (const Schedule schedule : kSchedules) {
            // Wave 0 has work-items below 32.
            const std::string text =
                "v_and_b32_e32 v0, 0x3ff, v0; v_readfirstlane_b32 s8, v0; s_cmp_lt_u32 s8, 32\n"
                "s_cbranch_scc1 leave\n" +
                barrier(target) + "leave:\n s_endpgm";
            ProgramSetup setup = four_waves(target, schedule);
            const ProgramResult result = run_program(setup, text);
            EXPECT_TRUE(reports_only(result, FindingKind::barrier_not_reached)) << name(target) << name(schedule);
            EXPECT_TRUE(result.report.completed) << "an ended wave no longer counts";
        }
}

TEST(Barrier, PublishesOnlyStoresToLdsThatWereWaitedFor) {
    for (const Target target : kTargets)
        for (const Schedule schedule : kSchedules) {
            std::string text = exchange_lds(target, barrier(target));
            const size_t wait = text.find(wait_lds(target), text.find("ds_"));
            text.erase(wait, wait_lds(target).size());
            EXPECT_TRUE(reports_only(run_program(four_waves(target, schedule), text), FindingKind::lds_race))
                << name(target) << name(schedule);
        }
}

TEST(SplitBarrier, LetsWorkStandBetween) {
    const std::string sync = "s_barrier_signal -1; v_mov_b32_e32 v9, 1; s_barrier_wait -1\n";
    for (const Schedule schedule : kSchedules)
        EXPECT_TRUE(
            reports_nothing(run_program(four_waves(Target::gfx1201, schedule), exchange_lds(Target::gfx1201, sync))));
}

TEST(SplitBarrier, WithoutItsWaitIsAMisuseOrARace) {
    for (const Schedule schedule : kSchedules) {
        const std::string twice =
            exchange_lds(Target::gfx1201, "s_barrier_signal -1\n s_barrier_signal -1; s_barrier_wait -1\n");
        EXPECT_GE(run_program(four_waves(Target::gfx1201, schedule), twice).count(FindingKind::barrier_misuse), 1u);
        const std::string once = exchange_lds(Target::gfx1201, "s_barrier_signal -1\n");
        EXPECT_GE(run_program(four_waves(Target::gfx1201, schedule), once).count(FindingKind::lds_race), 1u);
    }
}

TEST(SplitBarrier, WithoutItsSignalNeverOpens) {
    const ProgramResult result =
        run_program(four_waves(Target::gfx1201, Schedule::long_quanta), "s_barrier_wait -1; s_endpgm");
    EXPECT_EQ(result.count(FindingKind::barrier_misuse), 1u);
    EXPECT_EQ(result.count(FindingKind::deadlock), 1u);
    EXPECT_FALSE(result.report.completed);
    EXPECT_NE(result.text().find("group 0 wave 3 waits at barrier 0 at program+0x0"), std::string::npos)
        << result.text();
}

TEST(SplitBarrier, TellsTheFirstToSignal) {
    const std::string text = load_out_pointer(Target::gfx1201) +
                             "v_and_b32_e32 v0, 0x3ff, v0; v_lshlrev_b32_e32 v0, 2, v0; s_barrier_signal_isfirst -1\n"
                             "s_cselect_b32 s8, 1, 0; s_barrier_wait -1; v_mov_b32_e32 v1, s8\n"
                             "global_store_b32 v0, v1, s[2:3]; s_endpgm";
    const ProgramResult result = run_program(four_waves(Target::gfx1201, Schedule::random), text);
    EXPECT_TRUE(reports_nothing(result));
    EXPECT_EQ(result.out[0] + result.out[32] + result.out[64] + result.out[96], 1u);
}

TEST(NamedBarrier, CountsItsOwnMembers) {
    // Waves 0 and 1 (work-items below 64) meet at barrier 1; the others do not take part.
    const std::string text =
        "v_and_b32_e32 v0, 0x3ff, v0; v_readfirstlane_b32 s8, v0; s_mov_b32 m0, 0x20000\n s_barrier_init 1\n"
        "s_barrier_signal -1; s_barrier_wait -1\n"
        "s_cmp_lt_u32 s8, 64; s_cbranch_scc0 leave\n"
        "s_barrier_join 1; s_barrier_signal 1; s_barrier_wait 1\n leave:\n s_endpgm";
    const ProgramResult result = run_program(four_waves(Target::gfx1201, Schedule::lock_step), text);
    EXPECT_TRUE(reports_nothing(result));
    EXPECT_TRUE(result.report.completed);
}

TEST(RunLimit, EndsARunThatDoesNot) {
    ProgramSetup setup;
    setup.launch.instruction_limit = 10'000;
    const ProgramResult result = run_program(setup, "again:\n s_branch again");
    EXPECT_TRUE(reports_only(result, FindingKind::run_limit));
    EXPECT_FALSE(result.report.completed);
    EXPECT_EQ(result.report.counts.total_instructions(), 10'000u);
}

// Groups apart from each other on some host threads, without checks.
ProgramSetup apart(uint32_t groups, uint32_t threads) {
    ProgramSetup setup{.checks = Checks::none()};
    setup.grid.x = groups;
    setup.host_threads = threads;
    setup.launch.residency = Residency::one;
    return setup;
}
constexpr uint32_t kThreadCounts[] = {1, 2, 3, 8};

// 8 words before the loop, 3 in it, 2 behind it. Group n goes through its loop n % 7 + 1 times a thousand: some hundred
// microseconds, so that threads meet.
const std::string kUnevenGroups = group_id(Target::gfx1100) +
                                  "s_mul_hi_u32 s9, s8, 0x24924925; s_mul_i32 s9, s9, 7; s_sub_u32 s9, s8, s9\n"
                                  "s_add_u32 s9, s9, 1; s_mul_i32 s9, s9, 1000\n"
                                  "again:\n s_sub_u32 s9, s9, 1; s_cmp_lg_u32 s9, 0; s_cbranch_scc1 again\n";
constexpr uint64_t kBeforeLoop = 6, kTurn = 3;
uint64_t executed_by(uint64_t group) { return kBeforeLoop + kTurn * 1000 * (group % 7 + 1) + 1; }

TEST(RunLimit, OfTheWholeLaunchIsTheSameAtAnyNumberOfThreads) {
    constexpr uint32_t kGroups = 40;
    uint64_t total = 0;
    for (uint32_t group = 0; group < kGroups; ++group) total += executed_by(group);
    const auto run_with = [&](uint64_t limit, uint32_t threads) {
        ProgramSetup setup = apart(kGroups, threads);
        setup.launch.instruction_limit = limit;
        return run_program(setup, kUnevenGroups + "s_endpgm");
    };
    for (const uint32_t threads : kThreadCounts) {
        const ProgramResult enough = run_with(total, threads);
        EXPECT_TRUE(enough.report.completed) << threads << " threads";
        EXPECT_TRUE(reports_nothing(enough)) << threads << " threads";
        EXPECT_EQ(enough.report.counts.total_instructions(), total);
        for (const uint64_t limit : {total - 1, total / 2, executed_by(6) + 1}) {
            uint64_t groups = 0;
            for (uint64_t sum = 0; sum <= limit; ++groups) sum += executed_by(groups);
            const ProgramResult result = run_with(limit, threads);
            EXPECT_FALSE(result.report.completed);
            EXPECT_EQ(result.text(), fmt::format("program: run-does-not-end: the limit of {} instructions is reached "
                                                 "after {} of 40 workgroups\n",
                                                 limit, groups))
                << threads << " threads";
        }
    }
}

TEST(RunLimit, NamesTheFirstGroupThatDoesNotEndAtAnyNumberOfThreads) {
    for (const uint32_t threads : kThreadCounts) {
        ProgramSetup setup = apart(40, threads);
        setup.launch.instruction_limit = 200'000;
        const ProgramResult result = run_program(
            setup,
            kUnevenGroups + "s_cmp_lt_u32 s8, 11; s_cbranch_scc1 leave\n spin:\n s_branch spin\nleave:\n s_endpgm");
        EXPECT_FALSE(result.report.completed);
        EXPECT_EQ(
            result.text(),
            "program+0x34: s_branch 65535: run-does-not-end: group 11, wave 0: the limit of 200000 instructions is "
            "reached: group 11 wave 0 runs at program+0x34\n")
            << threads << " threads";
    }
}

TEST(Findings, AreTheSameAtAnyNumberOfThreads) {
    // Groups of odd numbers store out of bounds, group 21 comes to a trap. Groups 1 and 21 take so long for it that
    // other threads run ahead of the first, and past the second.
    const std::string text = load_out_pointer(Target::gfx1100) + group_id(Target::gfx1100) +
                             "s_mov_b32 s9, 1; s_cmp_eq_u32 s8, 1; s_cselect_b32 s9, 0x20000, s9\n"
                             "s_cmp_eq_u32 s8, 21; s_cselect_b32 s9, 0x20000, s9\n"
                             "again:\n s_sub_u32 s9, s9, 1; s_cmp_lg_u32 s9, 0; s_cbranch_scc1 again\n"
                             "s_bitcmp1_b32 s8, 0; s_cbranch_scc0 even\n"
                             "v_mov_b32_e32 v1, 0x10000; global_store_b32 v1, v1, s[2:3]\n"
                             "s_cmp_eq_u32 s8, 21; s_cbranch_scc0 even\n s_trap 2\n"
                             "even:\n s_endpgm";
    std::string expected;
    for (const uint32_t threads : kThreadCounts)
        for (unsigned round = 0; round < 4; ++round) {
            const ProgramResult result = run_program(apart(60, threads), text);
            ASSERT_EQ(result.report.findings.size(), 2u) << result.text();
            EXPECT_EQ(result.report.findings[0].kind, FindingKind::out_of_bounds);
            EXPECT_EQ(result.report.findings[0].group, 1u);
            EXPECT_EQ(result.report.findings[0].times, 11u * 32) << "of groups 1, 3, ... 21";
            EXPECT_EQ(result.report.findings[1].kind, FindingKind::trap);
            EXPECT_EQ(result.report.findings[1].group, 21u);
            if (expected.empty()) expected = result.text();
            EXPECT_EQ(result.text(), expected) << threads << " threads";
        }
}

TEST(Interrupt, EndsALaunchAndSaysWhereItStood) {
    for (const uint32_t threads : kThreadCounts) {
        ProgramSetup setup = apart(8, threads);
        std::atomic<unsigned> asked = 0;
        setup.launch.is_interrupted = [&asked] { return ++asked > 20; };
        const ProgramResult result = run_program(setup, "again:\n s_branch again");
        EXPECT_FALSE(result.report.completed);
        EXPECT_TRUE(reports_nothing(result));
        EXPECT_NE(result.report.interrupted_at.find("wave 0 runs at program+0x0"), std::string::npos)
            << result.report.interrupted_at;
    }
    ProgramSetup setup;  // all groups at once, with checks
    setup.launch.is_interrupted = [] { return true; };
    EXPECT_EQ(run_program(setup, "again:\n s_branch again").report.interrupted_at,
              "group 0 wave 0 runs at program+0x0");
    EXPECT_EQ(run_program(setup, "s_endpgm").report.interrupted_at, "") << "it had ended before anybody was asked";
}

// A grid barrier: every group adds 1 to a counter, then spins until all four have.
std::string grid_barrier() {
    return load_out_pointer(Target::gfx1100) +
           "v_and_b32_e32 v0, 0x3ff, v0; v_cmp_eq_u32_e32 vcc_lo, 0, v0; s_and_saveexec_b32 s10, vcc_lo\n"
           "s_cbranch_execz skip\n"
           "v_mov_b32_e32 v1, 0; v_mov_b32_e32 v2, 1; global_atomic_add_u32 v1, v2, s[2:3]\n"
           "spin:\n s_sleep 1; global_load_b32 v3, v1, s[2:3] glc; s_waitcnt vmcnt(0); v_readfirstlane_b32 s11, v3\n"
           "s_cmp_lt_u32 s11, 4; s_cbranch_scc1 spin\n"
           "skip:\n s_mov_b32 exec_lo, s10; s_endpgm";
}

TEST(Residency, LetsEveryGroupTakePart) {
    for (const Schedule schedule : kSchedules) {
        ProgramSetup setup;
        setup.grid.x = 4;
        setup.launch.schedule = schedule;
        setup.launch.instruction_limit = 1'000'000;
        const ProgramResult result = run_program(setup, grid_barrier());
        EXPECT_TRUE(result.report.completed) << name(schedule) << result.text();
        EXPECT_EQ(result.out[0], 4u);
    }
}

// Barriers of its own let a group go on, but not for ever: group 0 meets them while it waits for group 1.
TEST(Residency, LetsAGroupHaveItsTurnWhileAnotherSpinsThroughBarriers) {
    for (const Schedule schedule : kSchedules) {
        ProgramSetup setup;
        setup.grid.x = 2;
        setup.group.x = 64;
        setup.launch.schedule = schedule;
        setup.launch.instruction_limit = 1'000'000;
        const ProgramResult result =
            run_program(setup, load_out_pointer(Target::gfx1100) + group_id(Target::gfx1100) +
                                   "v_mov_b32_e32 v1, 0; v_mov_b32_e32 v2, 1; s_cmp_eq_u32 s8, 1\n"
                                   "s_cbranch_scc0 wait\n"
                                   "global_atomic_add_u32 v1, v2, s[2:3]; s_endpgm\n"
                                   "wait:\n s_barrier; global_load_b32 v3, v1, s[2:3] glc; s_waitcnt vmcnt(0)\n"
                                   "v_readfirstlane_b32 s11, v3; s_cmp_eq_u32 s11, 0; s_cbranch_scc1 wait\n"
                                   "s_endpgm");
        EXPECT_TRUE(result.report.completed) << name(schedule) << result.text();
        EXPECT_EQ(result.out[0], 64u);  // its work-items
    }
}

TEST(Residency, OneAfterTheOtherNeverPassesAGridBarrier) {
    ProgramSetup setup;
    setup.grid.x = 4;
    setup.launch.residency = Residency::one;
    setup.launch.instruction_limit = 100'000;
    const ProgramResult result = run_program(setup, grid_barrier());
    EXPECT_FALSE(result.report.completed);
    EXPECT_EQ(result.count(FindingKind::run_limit), 1u);
}

TEST(Residency, ByOccupancyHoldsWhatFits) {
    // 1024 work-items and 64 KiB of LDS: two groups fit a WGP, so four need two of them.
    for (const uint32_t processors : {1u, 2u}) {
        ProgramSetup setup{.lds_bytes = 65536};
        setup.grid.x = 4;
        setup.group.x = 1024;
        setup.launch.residency = Residency::occupancy;
        setup.launch.work_group_processors = processors;
        setup.launch.instruction_limit = 200'000;
        EXPECT_EQ(run_program(setup, grid_barrier()).report.completed, processors == 2);
    }
}

TEST(Groups, GetTheirIdsAndWorkItems) {
    for (const Target target : kTargets) {
        const bool old = generation(target) == Generation::gfx10;
        // The ids come before the pointer, which on gfx10 goes where the first of them is.
        const std::string text = group_id(target) + load_out_pointer(target) +
                                 "v_and_b32_e32 v0, 0x3ff, v0; v_lshl_or_b32 v1, s8, 8, v0\n"
                                 "s_lshl_b32 s10, s8, 5; v_add_nc_u32_e32 v2, s10, v0; v_lshlrev_b32_e32 v2, 2, v2\n" +
                                 (old ? "global_store_dword v2, v1, s[2:3]\n" : "global_store_b32 v2, v1, s[2:3]\n") +
                                 "s_endpgm";
        ProgramSetup setup{.target = target};
        setup.grid.x = 5;
        const ProgramResult result = run_program(setup, text);
        EXPECT_TRUE(reports_nothing(result));
        for (unsigned g = 0; g < 5; ++g)
            for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(result.out[g * 32 + i], g << 8 | i);
    }
}

TEST(Groups, OfSeveralDimensionsPackTheirWorkItemsPerGeneration) {
    for (const Target target : kTargets) {
        const bool old = generation(target) == Generation::gfx10;
        // Each lane stores its id's x and y at its place in the group; gfx10 has them in v0 and v1.
        std::string text = load_out_pointer(target);
        text += old ? "" : "v_bfe_u32 v1, v0, 10, 10\n";
        text +=
            "v_and_b32_e32 v0, 0x3ff, v0; v_lshl_add_u32 v2, v1, 2, v0; v_lshlrev_b32_e32 v2, 2, v2\n"
            "v_lshl_or_b32 v3, v1, 8, v0\n";
        text += old ? "global_store_dword v2, v3, s[2:3]\n" : "global_store_b32 v2, v3, s[2:3]\n";
        ProgramSetup setup{.target = target};
        setup.group = {4, 8, 1};
        setup.work_item_ids = WorkItemIds::xy;
        const ProgramResult result = run_program(setup, text + "s_endpgm");
        EXPECT_TRUE(reports_nothing(result)) << name(target);
        for (unsigned y = 0; y < 8; ++y)
            for (unsigned x = 0; x < 4; ++x) EXPECT_EQ(result.out[y * 4 + x], y << 8 | x);
    }
}

// clang masks nothing off where a kernel asks for the lower dimensions only.
TEST(Groups, PackOnlyTheIdsThatTheDescriptorAsksFor) {
    for (const Target target : {Target::gfx1100, Target::gfx1201})
        for (const WorkItemIds ids : {WorkItemIds::x, WorkItemIds::xy, WorkItemIds::xyz}) {
            ProgramSetup setup{.target = target};
            setup.group = {4, 4, 2};
            setup.work_item_ids = ids;
            const ProgramResult result =
                run_program(setup, load_out_pointer(target) +
                                       "v_mbcnt_lo_u32_b32 v2, -1, 0; v_lshlrev_b32_e32 v2, 2, v2\n"
                                       "global_store_b32 v2, v0, s[2:3]; s_endpgm");
            EXPECT_TRUE(reports_nothing(result)) << name(target);
            for (unsigned lane = 0; lane < 32; ++lane) {
                const unsigned x = lane % 4, y = ids >= WorkItemIds::xy ? lane / 4 % 4 : 0,
                               z = ids == WorkItemIds::xyz ? lane / 16 : 0;
                EXPECT_EQ(result.out[lane], x | y << 10 | z << 20) << name(target) << " lane " << lane;
            }
        }
}

TEST(Groups, RunOnHostThreadsWithChecksOff) {
    const std::string text = group_id(Target::gfx1100) + load_out_pointer(Target::gfx1100) +
                             "s_lshl_b32 s9, s8, 5; v_add_nc_u32_e32 v2, s9, v0; v_lshlrev_b32_e32 v3, 2, v2\n"
                             "global_store_b32 v3, v2, s[2:3]; s_endpgm";
    ProgramSetup setup{.checks = Checks::none()};
    setup.host_threads = 2;
    setup.grid.x = 128;
    setup.launch.residency = Residency::one;
    const ProgramResult result = run_program(setup, text);
    EXPECT_TRUE(result.report.completed);
    for (unsigned i = 0; i < kOutWords; ++i) EXPECT_EQ(result.out[i], i);
}

TEST(Counts, AreByClass) {
    const ProgramResult result = run_program(
        {}, load_out_pointer(Target::gfx1100) + "v_mov_b32_e32 v1, 0; v_exp_f32_e32 v2, v1; s_nop 0; s_endpgm");
    const Counts& counts = result.report.counts;
    EXPECT_EQ(counts[InstructionClass::scalar_memory], 1u);
    EXPECT_EQ(counts[InstructionClass::wait], 1u);
    EXPECT_EQ(counts[InstructionClass::valu], 1u);
    EXPECT_EQ(counts[InstructionClass::transcendental], 1u);
    EXPECT_EQ(counts.total_instructions(), 6u);
}

TEST(Trace, EndsWhenNobodyReadsIt) {
    std::ostringstream text;
    const Tracer tracer(&text);
    EXPECT_TRUE(tracer.enabled());
    text.setstate(std::ios::badbit);
    EXPECT_FALSE(tracer.enabled());
    EXPECT_FALSE(Tracer(nullptr).enabled());
}

TEST(Trace, NamesPlaceInstructionAndChange) {
    std::ostringstream out;
    ProgramSetup setup;
    setup.launch.trace = &out;
    run_program(setup, "s_mov_b32 s8, 5; v_mov_b32_e32 v1, s8; s_endpgm");
    EXPECT_EQ(out.str(),
              "0.0 program+0x0000 s_mov_b32 s8, 5  // s8=0x5\n"
              "0.0 program+0x0004 v_mov_b32_e32 v1, s8  // v1[0]=0x5\n"
              "0.0 program+0x0008 s_endpgm\n");
}

TEST(Launch, RefusesWhatCannotRun) {
    Machine machine(Target::gfx1100, {});
    EXPECT_EQ(machine.launch("nothing", {}, {}, {}).error().message, "there is no kernel nothing");
    KernelCode kernel;
    kernel.name = "program";
    kernel.code = {0xBFB00000};
    kernel.kernarg_size = 8;
    kernel.max_flat_workgroup_size = 256;
    const auto object = write_code_object(Target::gfx1100, CodeObjectVersion::v5, {&kernel, 1});
    ASSERT_TRUE(object);
    ASSERT_TRUE(machine.load(*object));
    EXPECT_EQ(machine.load(*object).error().message, "kernel program is loaded already");
    const auto message = [&](Dimensions grid, Dimensions group, size_t args, uint32_t lds = 0) {
        const std::vector<std::byte> bytes(args);
        const auto report = machine.launch("program", grid, group, bytes, {.dynamic_lds_bytes = lds});
        return report ? std::string("ran") : report.error().message;
    };
    EXPECT_EQ(message({0, 1, 1}, {1, 1, 1}, 0), "kernel program: grid and group must not be empty");
    // 2^64 workgroups, and 2^64 + 2^32 work-items.
    EXPECT_EQ(message({1u << 31, 1u << 31, 4}, {1, 1, 1}, 0), "kernel program: 18446744073709551615 workgroups");
    EXPECT_EQ(message({}, {4294967295, 4294967295, 4294967295}, 0),
              "kernel program: a workgroup of 18446744073709551615 work-items, 1024 are possible");
    EXPECT_EQ(message({1 << 30, 1, 1}, {4, 1, 1}, 0),
              "kernel program: 1073741824 workgroups of 4 work-items along x, 4294967295 work-items are possible");
    EXPECT_EQ(message({}, {1024, 2, 1}, 0), "kernel program: a workgroup of 2048 work-items, 1024 are possible");
    EXPECT_EQ(message({}, {512, 1, 1}, 0), "kernel program: a workgroup of 512 work-items, the kernel allows 256");
    EXPECT_EQ(message({}, {32, 1, 1}, 9), "kernel program: 9 bytes of arguments are given, it takes 8");
    EXPECT_EQ(message({}, {32, 1, 1}, 8, 65537), "kernel program: 65537 bytes of LDS, 65536 are possible");
    EXPECT_EQ(message({}, {32, 1, 1}, 8), "ran");
    Machine other(Target::gfx1201, {});
    EXPECT_FALSE(other.load(*object));
}

// The number of a workgroup along y and z has 16 bits of TTMP7 there.
TEST(Launches, OfMoreWorkgroupsAlongYAndZThanGfx12NumbersAreRefused) {
    const KernelCode kernel = kernel_of("program", WaveSize::wave32, 8, "s_endpgm");
    const auto object = write_code_object(Target::gfx1201, CodeObjectVersion::v5, {&kernel, 1});
    ASSERT_TRUE(object) << object.error().message;
    Machine machine(Target::gfx1201, {.checks = Checks::none()});
    ASSERT_TRUE(machine.load(*object));
    EXPECT_TRUE(machine.launch("program", {1, 65536, 1}, {1, 1, 1}, {}));
    EXPECT_EQ(machine.launch("program", {1, 65537, 1}, {1, 1, 1}, {}).error().message,
              "kernel program: 65537 workgroups along y, 65536 are possible on gfx1201");
    EXPECT_EQ(machine.launch("program", {1, 1, 65537}, {1, 1, 1}, {}).error().message,
              "kernel program: 65537 workgroups along z, 65536 are possible on gfx1201");
    EXPECT_TRUE(machine.launch("program", {65537, 1, 1}, {1, 1, 1}, {}));
}

// Memory for the groups that take part, not for those that wait.
TEST(Launches, OfBillionsOfWorkgroupsBeginAtOnce) {
    const KernelCode kernel = kernel_of("program", WaveSize::wave32, 8, "s_endpgm");
    const auto object = write_code_object(Target::gfx1100, CodeObjectVersion::v5, {&kernel, 1});
    ASSERT_TRUE(object) << object.error().message;
    Machine machine(Target::gfx1100, {.checks = Checks::none()});
    ASSERT_TRUE(machine.load(*object));
    for (const Schedule schedule : {Schedule::long_quanta, Schedule::reversed, Schedule::random}) {
        const auto report =
            machine.launch("program", {UINT32_MAX, 1, 1}, {1, 1, 1}, {},
                           {.schedule = schedule, .residency = Residency::occupancy, .instruction_limit = 1000});
        ASSERT_TRUE(report);
        ASSERT_EQ(report->findings.size(), 1u);
        EXPECT_EQ(report->findings[0].kind, FindingKind::run_limit);
        EXPECT_EQ(report->counts.total_instructions(), 1000u);
    }
}

// With checks off nothing stops a kernel that uses more registers than it declares.
TEST(Launches, LeaveNothingInTheRegistersOfLaterOnes) {
    const std::string fill = "v_mov_b32_e32 v60, 7; s_endpgm";
    const std::string show = load_out_pointer(Target::gfx1100) +
                             "v_and_b32_e32 v0, 0x3ff, v0; v_lshlrev_b32_e32 v0, 2, v0\n"
                             "global_store_b32 v0, v60, s[2:3]; s_endpgm";
    const std::vector<KernelCode> kernels = {
        kernel_of("declares", WaveSize::wave32, 64, fill), kernel_of("exceeds", WaveSize::wave32, 8, fill),
        kernel_of("wave64", WaveSize::wave64, 64, fill), kernel_of("shows", WaveSize::wave32, 8, show)};
    const auto object = write_code_object(Target::gfx1100, CodeObjectVersion::v5, kernels);
    ASSERT_TRUE(object) << object.error().message;
    Machine machine(Target::gfx1100, {.checks = Checks::none()});
    ASSERT_TRUE(machine.load(*object));
    const uint64_t out = machine.allocate("out", 4 * 64);
    for (const std::string_view before : {"declares", "exceeds", "wave64", "shows"}) {
        for (const std::string_view kernel : {before, std::string_view("shows")})
            ASSERT_TRUE(machine.launch(kernel, {1}, {64}, std::as_bytes(std::span(&out, 1))));
        const auto bytes = machine.read(out, 4 * 64);
        ASSERT_TRUE(bytes);
        EXPECT_EQ(*bytes, std::vector<std::byte>(4 * 64)) << before;
    }
}

}  // namespace scheduler_test
}  // namespace riftjit::rdna::emulator
