// Lanes that lie one behind another access memory together; what comes out is what each lane by itself would do.
#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace lane_runs_test {

constexpr unsigned kLanes = 32;

std::vector<uint32_t> numbers(size_t count) {
    std::vector<uint32_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(1000 + i);
    return values;
}

TEST(LaneRuns, NameTheLaneWhoseWordRaces) {
    Bench bench({.groups = 2});
    const uint64_t buffer = bench.buffer_of("buffer", numbers(4 * kLanes));
    MemoryTestWave &one = bench.wave(0), &all = bench.wave(1);
    for (MemoryTestWave* wave : {&one, &all}) {
        wave->set_pair(4, buffer);
        wave->ramp(1, 0, 16);
    }
    one.state.set_mask(Operand::kExec, uint64_t{1} << 9);
    bench.run(one, "global_store_b64 v1, v[2:3], s[4:5]");
    bench.run(all, "global_store_b128 v1, v[4:7], s[4:5]");
    const std::vector<Finding> findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingKind::global_race);
    EXPECT_EQ(findings[0].lane, 9);
    EXPECT_EQ(findings[0].times, 2u) << "two words of lane 9";
}

TEST(LaneRuns, ThatReadOneRacingWordReportEachLane) {
    Bench bench({.groups = 2});
    const uint64_t buffer = bench.buffer_of("buffer", numbers(kLanes));
    for (uint32_t group : {0u, 1u}) bench.wave(group).set_pair(4, buffer);
    bench.wave(0).ramp(1, 0, 4);
    bench.run(bench.wave(0), "global_store_b32 v1, v3, s[4:5]");
    bench.wave(1).fill(1, 20);
    bench.run(bench.wave(1), "global_load_b32 v0, v1, s[4:5]");
    const std::vector<Finding> findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].times, uint64_t{kLanes});
}

TEST(LaneRuns, EndWhereTheBufferEnds) {
    constexpr unsigned kInside = 20;
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.set_pair(4, bench.buffer_of("buffer", numbers(kInside)));
    wave.ramp(1, 0, 4);
    bench.run(wave, "global_load_b32 v0, v1, s[4:5]");
    for (unsigned lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(wave.vgpr(0, lane), lane < kInside ? 1000 + lane : 0) << lane;
    const std::vector<Finding> findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingKind::out_of_bounds);
    EXPECT_EQ(findings[0].lane, static_cast<int>(kInside));
    EXPECT_EQ(findings[0].times, uint64_t{kLanes - kInside});
}

TEST(LaneRuns, KeepEachLanesUndefinedBytes) {
    for (const CacheModel caches : {CacheModel::stale, CacheModel::coherent}) {
        Bench bench({.caches = caches});
        MemoryTestWave& wave = bench.wave();
        const uint64_t buffer = bench.buffer("buffer", 16 * kLanes);
        wave.set_pair(4, buffer);
        wave.ramp(1, 0, 12);
        for (unsigned d = 0; d < 3; ++d) wave.ramp(4 + d, 100 * d, 1);
        wave.undefined[5 * kLanes + 7] = 0xFF00;  // of the second dword of lane 7
        bench.run(wave, "global_store_b96 v1, v[4:6], s[4:5]");
        bench.run(wave, "global_load_b96 v[8:10], v1, s[4:5]");
        for (unsigned lane = 0; lane < kLanes; ++lane)
            for (unsigned d = 0; d < 3; ++d) {
                EXPECT_EQ(wave.vgpr(8 + d, lane), 100 * d + lane);
                EXPECT_EQ(wave.undefined[(8 + d) * kLanes + lane], d == 1 && lane == 7 ? 0xFF00u : 0u) << lane;
            }
        EXPECT_EQ(bench.found(), "");
    }
}

TEST(LaneRuns, ReportLdsThatOnlySomeLanesWrote) {
    Bench bench({.lds_bytes = 4 * kLanes});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 0, 4);
    wave.state.set_mask(Operand::kExec, 0xFFFF);
    bench.run(wave, "ds_store_b32 v1, v3");
    wave.state.set_mask(Operand::kExec, wave.state.all_lanes());
    bench.run(wave, "ds_load_b32 v0, v1");
    const std::vector<Finding> findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingKind::undefined_lds);
    EXPECT_EQ(findings[0].lane, 16);
    EXPECT_EQ(findings[0].times, 16u);
}

}  // namespace lane_runs_test
}  // namespace riftjit::rdna::emulator
