// Buffer accesses: how resource, index and offsets make an address, and where they end.
#include <fmt/format.h>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace mubuf_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};
constexpr uint32_t kStructured = 0u << 28, kIndexOnly = 1u << 28, kOnlyEmpty = 2u << 28, kRaw = 3u << 28;

class Mubuf : public testing::TestWithParam<Target> {
protected:
    Mubuf() : bench({.target = GetParam()}) {
        std::vector<uint32_t> values(1024);
        for (uint32_t i = 0; i < 1024; ++i) values[i] = 1000 + i;
        buffer = bench.buffer_of("buffer", values);
        resource(0, 4096, kRaw);
    }
    void resource(uint32_t stride, uint32_t records, uint32_t word3) {
        wave.set_pair(4, buffer);
        wave.state.scalars[5] |= stride << 16;
        wave.state.scalars[6] = records;
        wave.state.scalars[7] = word3;
    }
    void enable_swizzle() { wave.state.scalars[5] |= GetParam() == Target::gfx1030 ? 1u << 31 : 1u << 30; }
    std::string load(unsigned dwords = 1) const {
        const std::string suffix = dwords == 1 ? "" : fmt::format("x{}", dwords);
        return GetParam() == Target::gfx1030 ? "buffer_load_dword" + suffix
                                             : fmt::format("buffer_load_b{}", 32 * dwords);
    }
    std::string store() const { return GetParam() == Target::gfx1030 ? "buffer_store_dword" : "buffer_store_b32"; }
    std::string no_offset() const { return GetParam() == Target::gfx1201 ? "null" : "0"; }

    Bench bench;
    MemoryTestWave& wave = bench.wave();
    uint64_t buffer;
};

TEST_P(Mubuf, OffsetsAddUp) {
    wave.ramp(1, 0, 4);
    wave.state.scalars[8] = 64;
    bench.run(wave, load() + " v0, v1, s[4:7], s8 offen offset:16");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 1020 + lane);
    bench.run(wave, load() + " v0, off, s[4:7], s8 offset:16");
    EXPECT_EQ(wave.vgpr(0, 9), 1020u);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Mubuf, TheIndexCountsStrides) {
    resource(32, 128, kStructured);
    wave.ramp(1, 0, 1);
    bench.run(wave, load() + " v0, v1, s[4:7], " + no_offset() + " idxen offset:4");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 1001 + 8 * lane);
    wave.fill(2, 8);  // index in v1, offset in v2
    bench.run(wave, load() + " v0, v[1:2], s[4:7], " + no_offset() + " idxen offen offset:4");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 1003 + 8 * lane);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Mubuf, RawRangesAreBytes) {
    resource(0, 40, kRaw);
    wave.ramp(1, 0, 4);
    wave.fill(0, 7);
    bench.run(wave, load() + " v0, v1, s[4:7], " + no_offset() + " offen");
    EXPECT_EQ(wave.vgpr(0, 9), 1009u);
    EXPECT_EQ(wave.vgpr(0, 10), 0u);
    EXPECT_EQ(bench.found(), "");  // that is what ranges are for
    wave.ramp(2, 1, 0);
    bench.run(wave, store() + " v2, v1, s[4:7], " + no_offset() + " offen");
    bench.wait(wave);
    EXPECT_EQ(bench.peek<uint32_t>(buffer + 36), 1u);
    EXPECT_EQ(bench.peek<uint32_t>(buffer + 40), 1010u);
}

TEST_P(Mubuf, RawRangesCountTheScalarOffset) {
    resource(0, 40, kRaw);
    wave.state.scalars[8] = 36;
    bench.run(wave, load() + " v0, off, s[4:7], s8");
    EXPECT_EQ(wave.vgpr(0, 0), 1009u);
    wave.state.scalars[8] = 40;
    bench.run(wave, load() + " v0, off, s[4:7], s8");
    EXPECT_EQ(wave.vgpr(0, 0), 0u);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Mubuf, EachDwordIsInRangeOrNot) {
    resource(0, 40, kRaw);
    bench.run(wave, load(4) + " v[8:11], off, s[4:7], " + no_offset() + " offset:32");
    EXPECT_EQ(wave.vgpr(8, 0), 1008u);
    EXPECT_EQ(wave.vgpr(9, 0), 1009u);
    EXPECT_EQ(wave.vgpr(10, 0), 0u);
    EXPECT_EQ(wave.vgpr(11, 0), 0u);
}

TEST_P(Mubuf, StructuredRangesCheckIndexAndStride) {
    const auto loaded = [&](uint32_t index, uint32_t offset) {
        wave.fill(1, index);
        wave.fill(2, offset);
        bench.run(wave, load() + " v0, v[1:2], s[4:7], " + no_offset() + " idxen offen");
        return wave.vgpr(0, 0);
    };
    resource(16, 4, kStructured);
    EXPECT_EQ(loaded(3, 12), 1015u);
    EXPECT_EQ(loaded(4, 0), 0u);
    EXPECT_EQ(loaded(3, 16), 0u);
    resource(16, 4, kIndexOnly);
    EXPECT_EQ(loaded(3, 16), 1016u);
    EXPECT_EQ(loaded(4, 0), 0u);
    resource(16, 4, kOnlyEmpty);
    EXPECT_EQ(loaded(9, 0), 1036u);
    resource(16, 0, kOnlyEmpty);
    EXPECT_EQ(loaded(0, 0), 0u);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Mubuf, RangesDoNotExcuseWhatTheAllocationLacks) {
    resource(0, 8192, kRaw);
    wave.fill(1, 4096);
    bench.run(wave, load() + " v0, v1, s[4:7], " + no_offset() + " offen");
    EXPECT_EQ(bench.found(), "out-of-bounds");
}

TEST_P(Mubuf, ANullResourceIsReportedAndReadsAsZero) {
    wave.set_pair(4, 0);
    wave.fill(0, 7);
    bench.run(wave, load() + " v0, off, s[4:7], " + no_offset());
    EXPECT_EQ(bench.found(), "out-of-bounds");
    EXPECT_EQ(wave.vgpr(0, 0), 0u);
}

// Elements of 16 bytes, 8 interleaved: dword d of element i is dword d * 8 + i of its block of 32 dwords.
TEST_P(Mubuf, SwizzledBuffersInterleaveElements) {
    resource(16, 32, kIndexOnly | 0u << 21);
    enable_swizzle();
    wave.ramp(1, 0, 1);
    bench.run(wave, load(2) + " v[8:9], v1, s[4:7], " + no_offset() + " idxen offset:4");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(wave.vgpr(8, lane), 1000 + lane / 8 * 32 + 8 + lane % 8);
        EXPECT_EQ(wave.vgpr(9, lane), 1000 + lane / 8 * 32 + 16 + lane % 8);
    }
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Mubuf, TheLaneCanBePartOfTheIndex) {
    resource(8, 64, kIndexOnly | 1u << 23);
    bench.run(wave, load() + " v0, off, s[4:7], " + no_offset());
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 1000 + 2 * lane);
}

TEST_P(Mubuf, ScratchResourceAndScratchInstructionsAgree) {
    for (const WaveSize wave_size : {WaveSize::wave32, WaveSize::wave64}) {
        Bench other({.target = GetParam(), .wave_size = wave_size, .scratch_bytes = 64});
        MemoryTestWave& own = other.wave();
        const auto words = other.memory.scratch_resource(own.state);
        std::copy(words.begin(), words.end(), own.state.scalars + 4);
        own.ramp(2, 500, 1);
        own.state.scalars[8] = 8 * own.state.lanes;  // a stack pointer counts all lanes' bytes
        other.run(own, store() + " v2, off, s[4:7], s8 offset:12");
        const bool old = GetParam() == Target::gfx1030;
        other.run(own, std::string(old ? "scratch_load_dword" : "scratch_load_b32") + " v0, off, off offset:20");
        EXPECT_EQ(own.vgpr(0, 0), 500u);
        EXPECT_EQ(own.vgpr(0, own.state.lanes - 1), 499 + own.state.lanes);
        EXPECT_EQ(other.found(), "");
        other.run(own, store() + " v2, off, s[4:7], " + no_offset() + " offset:64");
        EXPECT_EQ(other.found(), "scratch-out-of-bounds");
    }
}

TEST_P(Mubuf, AtomicsOutOfRangeReturnZeroAndDoNothing) {
    resource(0, 8, kRaw);
    wave.ramp(1, 0, 4);
    wave.fill(0, 5);
    const std::string add = GetParam() == Target::gfx1030   ? "buffer_atomic_add v0, v1, s[4:7], 0 offen glc"
                            : GetParam() == Target::gfx1100 ? "buffer_atomic_add_u32 v0, v1, s[4:7], 0 offen glc"
                                                            : "buffer_atomic_add_u32 v0, v1, s[4:7], null offen "
                                                              "th:TH_ATOMIC_RETURN";
    bench.run(wave, add);
    EXPECT_EQ(wave.vgpr(0, 1), 1001u);
    EXPECT_EQ(wave.vgpr(0, 2), 0u);
    EXPECT_EQ(bench.peek<uint32_t>(buffer + 4), 1006u);
    EXPECT_EQ(bench.peek<uint32_t>(buffer + 8), 1002u);
}

INSTANTIATE_TEST_SUITE_P(Targets, Mubuf, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(name(target.param)); });

}  // namespace mubuf_test
}  // namespace riftjit::rdna::emulator
