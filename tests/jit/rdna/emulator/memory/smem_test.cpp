// Scalar memory: addresses, alignment, ranges, clocks, and what does nothing.
#include <fmt/format.h>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace smem_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};

class Smem : public testing::TestWithParam<Target> {
protected:
    Smem() : bench({.target = GetParam()}) {
        std::vector<uint32_t> values(64);
        for (uint32_t i = 0; i < 64; ++i) values[i] = 1000 + i;
        buffer = bench.buffer_of("buffer", values);
        wave.set_pair(4, buffer);
    }
    std::string load(unsigned dwords = 1) const {
        const std::string suffix = dwords == 1 ? "" : fmt::format("x{}", dwords);
        return GetParam() == Target::gfx1030 ? "s_load_dword" + suffix : fmt::format("s_load_b{}", 32 * dwords);
    }
    std::string buffer_load() const {
        return GetParam() == Target::gfx1030 ? "s_buffer_load_dwordx4" : "s_buffer_load_b128";
    }
    Bench bench;
    MemoryTestWave& wave = bench.wave();
    uint64_t buffer;
};

TEST_P(Smem, AddsBaseRegisterAndSignedImmediate) {
    wave.state.scalars[8] = 64;
    bench.run(wave, load() + " s20, s[4:5], s8");
    EXPECT_EQ(wave.state.scalars[20], 1016u);
    bench.run(wave, load() + " s20, s[4:5], s8 offset:0x4");
    EXPECT_EQ(wave.state.scalars[20], 1017u);
    wave.set_pair(4, buffer + 64);
    bench.run(wave, load() + " s20, s[4:5], -0x8");
    EXPECT_EQ(wave.state.scalars[20], 1014u);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Smem, IgnoresExec) {
    wave.state.scalars[Operand::kExec] = 0;
    bench.run(wave, load(2) + " s[20:21], s[4:5], 0x0");
    EXPECT_EQ(wave.state.scalars[21], 1001u);
}

TEST_P(Smem, LoadsIntoNullWriteNothingButAreChecked) {
    EXPECT_EQ(bench.run(wave, load() + " null, s[4:5], 0x0").lanes, 0u);
    EXPECT_EQ(wave.state.scalars[null_register(wave.state.generation).code], 0u);
    EXPECT_EQ(bench.found(), "");
    bench.run(wave, load() + " null, s[4:5], 0x100");
    EXPECT_EQ(bench.found(), "out-of-bounds");
}

TEST_P(Smem, ReportsWhatLiesBeyondTheArguments) {
    bench.run(wave, load(4) + " s[20:23], s[4:5], 0xf4");
    const auto findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingKind::out_of_bounds);
    EXPECT_EQ(findings[0].lane, kNoLane);
    EXPECT_EQ(wave.state.scalars[20], 1061u);  // what is inside still comes
    bench.run(wave, load(4) + " s[20:23], s[4:5], 0xf0");
    EXPECT_EQ(bench.found(), "");
    EXPECT_EQ(wave.state.scalars[23], 1063u);
}

TEST_P(Smem, DwordsMustBeAligned) {
    wave.set_pair(4, buffer + 2);
    bench.run(wave, load() + " s20, s[4:5], 0x0");
    EXPECT_EQ(bench.found(), "misaligned");
    EXPECT_EQ(wave.state.scalars[20], 1000u);  // the hardware drops the low bits
    bench.run(wave, load() + " s20, s[4:5], 0x2");
    EXPECT_EQ(bench.found(), "");
    EXPECT_EQ(wave.state.scalars[20], 1001u);
}

TEST_P(Smem, UndefinedBytesComeBack) {
    wave.set_pair(4, bench.buffer("fresh", 64));
    bench.run(wave, load() + " s20, s[4:5], 0x0");
    EXPECT_EQ(wave.state.scalar_undefined[20], 0xFFFFFFFFu);
}

TEST_P(Smem, BufferLoadsAreZeroBeyondTheRecords) {
    wave.state.scalars[6] = 24;  // bytes, since the stride is 0
    bench.run(wave, buffer_load() + " s[20:23], s[4:7], 0x10");
    EXPECT_EQ(wave.state.scalars[21], 1005u);
    EXPECT_EQ(wave.state.scalars[22], 0u);
    EXPECT_EQ(wave.state.scalars[23], 0u);
    wave.state.scalars[5] |= 8u << 16;  // stride 8, so 24 records are 192 bytes
    bench.run(wave, buffer_load() + " s[20:23], s[4:7], 0x10");
    EXPECT_EQ(wave.state.scalars[23], 1007u);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Smem, ANullBufferIsReported) {
    wave.set_pair(4, 0);
    bench.run(wave, buffer_load() + " s[20:23], s[4:7], 0x0");
    const auto findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].detail, "the buffer resource in s[4:7] has no address");
}

TEST_P(Smem, InvalidationsNeedNoWait) {
    EXPECT_EQ(bench.run(wave, "s_dcache_inv").token, 0u);
    if (GetParam() != Target::gfx1201) {
        EXPECT_EQ(bench.run(wave, "s_gl1_inv").token, 0u);
    }
    EXPECT_EQ(bench.found(), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, Smem, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(name(target.param)); });

TEST(SmemGfx10, ClocksCountInstructions) {
    Bench bench({.target = Target::gfx1030});
    bench.wave().state.cycle = 0x500000007;
    for (const std::string_view clock : {"s_memtime", "s_memrealtime"}) {
        bench.run(bench.wave(), fmt::format("{} s[20:21]", clock));
        EXPECT_EQ(bench.wave().state.scalars[20], 7u);
        EXPECT_EQ(bench.wave().state.scalars[21], 5u);
    }
}

TEST(SmemGfx12, PrefetchesDoNothing) {
    Bench bench({.target = Target::gfx1201});
    MemoryTestWave& wave = bench.wave();  // every address is null
    for (const std::string_view text : {"s_prefetch_data s[4:5], 0x10, s8, 7", "s_prefetch_inst s[4:5], 0x10, s8, 7",
                                        "s_prefetch_data_pc_rel 0x10, s8, 7", "s_prefetch_inst_pc_rel 0x10, s8, 7",
                                        "s_buffer_prefetch_data s[4:7], 0x10, s8, 7"}) {
        const MemoryEffect effect = bench.run(wave, text);
        EXPECT_EQ(effect.lanes, 0u);
        EXPECT_EQ(effect.token, 0u);
    }
    EXPECT_EQ(bench.found(), "");
}

TEST(SmemGfx12, ShortsAreAlignedToTwo) {
    Bench bench({.target = Target::gfx1201});
    MemoryTestWave& wave = bench.wave();
    wave.set_pair(4, bench.buffer_of("buffer", std::vector<uint32_t>{0x83828180, 0x87868584}));
    bench.run(wave, "s_load_i16 s20, s[4:5], 0x2");
    EXPECT_EQ(wave.state.scalars[20], 0xFFFF8382u);
    EXPECT_EQ(bench.found(), "");
    bench.run(wave, "s_load_u16 s20, s[4:5], 0x3");
    EXPECT_EQ(bench.found(), "misaligned");
    bench.run(wave, "s_load_u8 s20, s[4:5], 0x3");
    EXPECT_EQ(wave.state.scalars[20], 0x83u);
    EXPECT_EQ(bench.found(), "");
}

}  // namespace smem_test
}  // namespace riftjit::rdna::emulator
