// LDS beyond single rows: lane exchange, counters, who may see what, what is reported, what is counted.
#include <fmt/format.h>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace lds_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};

std::string read_b32(Target target) { return target == Target::gfx1030 ? "ds_read_b32" : "ds_load_b32"; }
std::string write_b32(Target target) { return target == Target::gfx1030 ? "ds_write_b32" : "ds_store_b32"; }

// ---- ds_swizzle

std::vector<uint32_t> swizzled(uint16_t control, uint32_t exec = 0xFFFFFFFF) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 100, 1);
    wave.fill(0, 7);
    wave.state.scalars[Operand::kExec] = exec;
    bench.run(wave, fmt::format("ds_swizzle_b32 v0, v1 offset:{:#x}", control));
    return {wave.registers.begin(), wave.registers.begin() + 32};
}

TEST(Swizzle, BitMasksSelectByAndOrXor) {
    const auto reversed = swizzled(0x7C1F);  // xor 31
    const auto first_of_four = swizzled(0x001C);
    const auto or_one = swizzled(0x003F);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(reversed[lane], 100 + 31 - lane);
        EXPECT_EQ(first_of_four[lane], 100 + lane / 4 * 4);
        EXPECT_EQ(or_one[lane], 100 + (lane | 1));
    }
}

TEST(Swizzle, QuadsPermuteWithinFourLanes) {
    const auto rotated = swizzled(0x8000 | 0b00'11'10'01);  // lane i takes i + 1
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(rotated[lane], 100 + lane / 4 * 4 + (lane + 1) % 4);
}

TEST(Swizzle, RotatesWithinTheUnmaskedBits) {
    const auto forward = swizzled(0xC000 | 3 << 5), back = swizzled(0xC400 | 3 << 5);
    const auto in_eights = swizzled(0xC000 | 1 << 5 | 0x18);  // bits 3 and 4 stay: groups of eight
    for (uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(forward[lane], 100 + (lane + 3) % 32);
        EXPECT_EQ(back[lane], 100 + (lane + 29) % 32);
        EXPECT_EQ(in_eights[lane], 100 + lane / 8 * 8 + (lane + 1) % 8);
    }
}

TEST(Swizzle, FftModeReversesLaneBits) {
    const auto all = swizzled(0xE000), none = swizzled(0xE01F);
    const uint32_t head[] = {0, 16, 8, 24, 4, 20, 12, 28};
    for (uint32_t lane = 0; lane < 8; ++lane) EXPECT_EQ(all[lane], 100 + head[lane]);
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(none[lane], 100 + lane);
}

TEST(Swizzle, LanesThatAreOffReadAsZeroAndKeepTheirs) {
    const auto reversed = swizzled(0x7C1F, 0x0000FFFE);
    EXPECT_EQ(reversed[0], 7u);  // off
    EXPECT_EQ(reversed[1], 0u);  // its source, lane 30, is off
    EXPECT_EQ(swizzled(0x041F, 0x3)[1], 100u);
}

// ---- ds_permute, ds_bpermute

TEST(Permute, BackwardPullsFromTheLaneAtAByteAddress) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 4 * 33, 4);  // lane i asks for lane i + 33, which is i + 1 of 32
    wave.ramp(2, 100, 1);
    wave.state.scalars[Operand::kExec] = 0xFFFFFFFD;
    wave.fill(0, 7);
    bench.run(wave, "ds_bpermute_b32 v0, v1, v2 offset:4");
    EXPECT_EQ(wave.vgpr(0, 2), 104u);  // 2 + 33 + 1 of the offset
    EXPECT_EQ(wave.vgpr(0, 31), 0u);   // lane 1 is off
    EXPECT_EQ(wave.vgpr(0, 1), 7u);
}

TEST(Permute, ForwardPushesAndTheLastSenderWins) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.fill(1, 8);       // everybody sends to lane 2
    wave.vgpr(1, 31) = 0;  // but lane 31, to lane 0
    wave.ramp(2, 100, 1);
    bench.run(wave, "ds_permute_b32 v0, v1, v2");
    EXPECT_EQ(wave.vgpr(0, 2), 130u);
    EXPECT_EQ(wave.vgpr(0, 0), 131u);
    EXPECT_EQ(wave.vgpr(0, 1), 0u);
}

TEST(Permute, Wave64StaysWithinHalves) {
    Bench bench({.wave_size = WaveSize::wave64});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 4, 4);
    wave.ramp(2, 100, 1);
    bench.run(wave, "ds_bpermute_b32 v0, v1, v2");
    EXPECT_EQ(wave.vgpr(0, 31), 100u);
    EXPECT_EQ(wave.vgpr(0, 32), 133u);
    EXPECT_EQ(wave.vgpr(0, 63), 132u);
}

TEST(Permute, CarriesUndefinedBits) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.undefined[2 * 32 + 1] = 0xFF00;
    wave.ramp(1, 4, 4);
    bench.run(wave, "ds_bpermute_b32 v0, v1, v2");
    EXPECT_EQ(wave.undefined[0], 0xFF00u);
    EXPECT_EQ(wave.undefined[1], 0u);
}

// ---- Counters in LDS

TEST(LdsCounter, MovesByTheNumberOfActiveLanes) {
    for (const Target target : kTargets) {
        Bench bench({.target = target});
        MemoryTestWave& wave = bench.wave();
        wave.state.scalars[m0_register(wave.state.generation).code] = 64;
        wave.fill(1, 72);
        wave.fill(2, 1000);
        bench.run(wave, write_b32(target) + " v1, v2");
        wave.state.scalars[Operand::kExec] = 0x00FF0001;
        wave.fill(0, 7);
        bench.run(wave, "ds_append v0 offset:8");
        EXPECT_EQ(wave.vgpr(0, 0), 1000u);
        EXPECT_EQ(wave.vgpr(0, 16), 1000u);
        EXPECT_EQ(wave.vgpr(0, 1), 7u);
        wave.state.scalars[Operand::kExec] = 0x3;
        bench.run(wave, "ds_consume v0 offset:8");
        EXPECT_EQ(wave.vgpr(0, 0), 1009u);
        bench.run(wave, read_b32(target) + " v0, v1");
        EXPECT_EQ(wave.vgpr(0, 0), 1007u);
        EXPECT_EQ(bench.found(), "");
    }
}

TEST(Lds, TheHighestLaneWinsAtOneAddress) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.fill(1, 16);
    wave.ramp(2, 500, 1);
    bench.run(wave, "ds_store_b32 v1, v2");
    bench.run(wave, "ds_load_b32 v0, v1");
    EXPECT_EQ(wave.vgpr(0, 5), 531u);
    EXPECT_EQ(bench.found(), "");  // the lanes of one instruction do not race
}

TEST(Lds, ANopLeavesRegistersAndBytesAlone) {
    for (const Target target : kTargets) {
        Bench bench({.target = target});
        MemoryTestWave& wave = bench.wave();
        wave.ramp(1, 0, 4);
        wave.ramp(2, 100, 1);
        bench.run(wave, write_b32(target) + " v1, v2");
        bench.run(wave, "ds_nop");
        bench.run(wave, read_b32(target) + " v3, v1");
        bench.wait(wave);
        for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(3, lane), 100 + lane);
        for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(2, lane), 100 + lane);
        EXPECT_EQ(bench.found(), "");
    }
}

TEST(Lds, OffsetsReachBackFromNegativeAddresses) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, static_cast<uint32_t>(-16), 4);
    wave.ramp(2, 500, 1);
    bench.run(wave, "ds_store_b32 v1, v2 offset:16");
    wave.ramp(3, 0, 4);
    bench.run(wave, "ds_load_b32 v0, v3");
    EXPECT_EQ(wave.vgpr(0, 9), 509u);
    EXPECT_EQ(bench.found(), "");
}

// ---- Reports

TEST(LdsReports, ALaneBeyondTheGroupsBytes) {
    Bench bench({.lds_bytes = 128});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 4, 4);
    wave.ramp(2, 1, 1);
    bench.run(wave, "ds_store_b32 v1, v2");
    const auto findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingKind::lds_out_of_bounds);
    EXPECT_EQ(findings[0].lane, 31);
    EXPECT_EQ(findings[0].detail, "4 bytes written at 0x80 of 128 bytes of LDS");
    wave.state.scalars[Operand::kExec] = 0x7FFFFFFF;  // cured: the lane is off
    bench.run(wave, "ds_store_b32 v1, v2");
    EXPECT_EQ(bench.found(), "");
}

TEST(LdsReports, AWordReadBeforeItIsWritten) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 0, 4);
    bench.run(wave, "ds_load_b32 v0, v1");
    EXPECT_EQ(bench.found(), "undefined-lds");
    EXPECT_EQ(wave.undefined[0], 0xFFFFFFFFu);
    bench.run(wave, "ds_store_b32 v1, v2");
    bench.run(wave, "ds_load_b32 v0, v1");
    EXPECT_EQ(bench.found(), "");
    EXPECT_EQ(wave.undefined[0], 0u);
}

TEST(LdsReports, ByteStoresDefineTheirByte) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 0, 4);
    bench.run(wave, "ds_store_b8 v1, v2 offset:1");
    bench.run(wave, "ds_load_u8 v0, v1 offset:1");
    EXPECT_EQ(bench.found(), "");
    bench.run(wave, "ds_load_b32 v0, v1");
    EXPECT_EQ(wave.undefined[0], 0xFFFF00FFu);
    EXPECT_EQ(bench.found(), "undefined-lds");
}

TEST(LdsReports, GarbageDependsOnTheSeed) {
    const auto garbage = [](uint64_t seed) {
        Bench bench({.seed = seed});
        bench.run(bench.wave(), "ds_load_b32 v0, v1");
        return bench.wave().vgpr(0, 0);
    };
    EXPECT_NE(garbage(1), garbage(2));
    EXPECT_EQ(garbage(3), garbage(3));
}

TEST(LdsReports, AlignmentAsTheModeDemands) {
    for (const AlignmentMode mode : {AlignmentMode::any, AlignmentMode::natural}) {
        const std::string misaligned = mode == AlignmentMode::natural ? "misaligned" : "";
        const auto found = [&](std::string_view text, uint32_t address) {
            Bench bench({.alignment = mode});
            bench.wave().fill(1, address);
            bench.wave().state.scalars[Operand::kExec] = 1;
            bench.run(bench.wave(), text);
            return bench.found();
        };
        EXPECT_EQ(found("ds_store_b32 v1, v4", 2), misaligned);
        EXPECT_EQ(found("ds_store_b64 v1, v[4:5]", 4), misaligned);
        EXPECT_EQ(found("ds_store_b96 v1, v[4:6]", 8), misaligned);
        EXPECT_EQ(found("ds_store_b128 v1, v[4:7]", 8), misaligned);
        EXPECT_EQ(found("ds_store_2addr_b64 v1, v[4:5], v[6:7] offset0:1 offset1:2", 4), misaligned);
        EXPECT_EQ(found("ds_store_b128 v1, v[4:7]", 16), "");
        EXPECT_EQ(found("ds_store_b64 v1, v[4:5]", 8), "");
    }
}

TEST(LdsReports, AtomicsMustBeAlignedInEveryMode) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.fill(1, 64);
    bench.run(wave, "ds_store_b64 v1, v[4:5]");
    wave.fill(1, 66);
    bench.run(wave, "ds_add_u32 v1, v2");
    EXPECT_EQ(bench.found(), "misaligned");
    wave.fill(1, 64);
    bench.run(wave, "ds_add_u32 v1, v2");
    bench.run(wave, "ds_add_u64 v1, v[2:3]");
    EXPECT_EQ(bench.found(), "");
}

// ---- Races

class LdsRaces : public testing::TestWithParam<Target> {
protected:
    LdsRaces() : bench({.target = GetParam(), .waves_per_group = 2}) {
        for (MemoryTestWave* wave : {&first, &second}) {
            wave->ramp(1, 0, 4);
            wave->ramp(2, 4, 4);
        }
        second.state.scalars[Operand::kExec] = 0x7FFFFFFF;
    }
    void write(MemoryTestWave& wave, int vgpr = 1) {
        bench.run(wave, fmt::format("{} v{}, v3", write_b32(GetParam()), vgpr));
    }
    void read(MemoryTestWave& wave, int vgpr = 1) {
        bench.run(wave, fmt::format("{} v0, v{}", read_b32(GetParam()), vgpr));
    }
    Bench bench;
    MemoryTestWave& first = bench.wave(0, 0);
    MemoryTestWave& second = bench.wave(0, 1);
};

TEST_P(LdsRaces, AnExchangeWithoutBarrierIsReportedInEitherOrder) {
    write(first);
    bench.wait(first);
    read(second);
    EXPECT_EQ(bench.found(), "lds-race");

    Bench other({.target = GetParam(), .waves_per_group = 2});
    for (uint32_t w : {0u, 1u}) other.wave(0, w).ramp(1, 0, 4);
    other.run(other.wave(0, 1), read_b32(GetParam()) + " v0, v1");
    other.wait(other.wave(0, 1));
    other.run(other.wave(0, 0), write_b32(GetParam()) + " v1, v3");
    EXPECT_EQ(other.found(), "undefined-lds lds-race");
}

TEST_P(LdsRaces, ABarrierAfterTheWaitOrders) {
    write(first);
    bench.barrier(0);
    read(second);
    bench.barrier(0);
    write(first);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(LdsRaces, ABarrierWithoutTheWaitDoesNot) {
    write(first);
    bench.barrier(0, false);
    read(second);
    EXPECT_EQ(bench.found(), "lds-race");
}

TEST_P(LdsRaces, AReadInFlightAcrossTheBarrierDoesNot) {
    write(first);
    bench.barrier(0);
    read(second);
    bench.barrier(0, false);
    write(first);
    EXPECT_EQ(bench.found(), "lds-race");
}

TEST_P(LdsRaces, EqualValuesRaceToo) {
    write(first);
    bench.wait(first);
    write(second);
    const auto findings = bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingKind::lds_race);
    EXPECT_EQ(findings[0].wave, 1u);
    EXPECT_NE(findings[0].detail.find("LDS at 0x0 is written here and written by group 0, wave 0 (text+0x8: " +
                                      write_b32(GetParam()) + " v1, v3)"),
              std::string::npos)
        << findings[0].detail;
}

TEST_P(LdsRaces, NeighbouringBytesDoNot) {
    const std::string byte = GetParam() == Target::gfx1030 ? "ds_write_b8" : "ds_store_b8";
    bench.run(first, byte + " v1, v3");
    bench.run(second, byte + " v1, v3 offset:1");
    bench.run(first, byte + " v1, v3 offset:2");
    EXPECT_EQ(bench.found(), "");
    bench.run(second, byte + " v1, v3 offset:2");
    EXPECT_EQ(bench.found(), "lds-race");
}

TEST_P(LdsRaces, AtomicsDoNotRaceWithAtomics) {
    write(first);
    bench.barrier(0);
    bench.run(first, "ds_add_u32 v1, v3");
    bench.run(second, "ds_add_u32 v1, v3");
    bench.run(first, "ds_add_u32 v1, v3");
    EXPECT_EQ(bench.found(), "");
    read(second);  // but with a plain read they do
    EXPECT_EQ(bench.found(), "lds-race");
}

TEST_P(LdsRaces, AReturningAtomicAcquiresWhatAnAtomicReleased) {
    write(first);  // v1: data in words 0 to 31
    first.fill(4, 256);
    second.fill(4, 256);
    bench.run(first, write_b32(GetParam()) + " v4, v3");
    bench.barrier(0);
    write(first);
    bench.wait(first);  // release
    bench.run(first, "ds_add_u32 v4, v3");
    bench.run(second, "ds_add_rtn_u32 v5, v4, v3");
    bench.wait(second);  // acquire
    read(second);
    EXPECT_EQ(bench.found(), "");
}

TEST_P(LdsRaces, WithoutTheWaitBeforeItAnAtomicReleasesNothing) {
    first.fill(4, 256);
    second.fill(4, 256);
    bench.run(first, write_b32(GetParam()) + " v4, v3");
    bench.barrier(0);
    write(first);
    bench.run(first, "ds_add_u32 v4, v3");
    bench.run(second, "ds_add_rtn_u32 v5, v4, v3");
    bench.wait(second);
    read(second);
    EXPECT_EQ(bench.found(), "lds-race");
}

INSTANTIATE_TEST_SUITE_P(Targets, LdsRaces, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(name(target.param)); });

// ---- Counts

uint64_t conflicts(std::string_view text, uint32_t start, uint32_t step, WaveSize wave_size = WaveSize::wave32) {
    Bench bench({.wave_size = wave_size, .lds_bytes = 65536});
    bench.wave().ramp(1, start, step);
    bench.run(bench.wave(), text);
    return bench.end_all().lds_bank_conflicts;
}

TEST(BankConflicts, FollowFromTheBanksThatLanesShare) {
    EXPECT_EQ(conflicts("ds_store_b32 v1, v4", 0, 4), 0u);
    EXPECT_EQ(conflicts("ds_store_b32 v1, v4", 0, 8), 1u);        // two lanes on each even bank
    EXPECT_EQ(conflicts("ds_store_b32 v1, v4", 0, 128), 31u);     // all on bank 0
    EXPECT_EQ(conflicts("ds_store_b32 v1, v4", 0, 132), 0u);      // padded by one
    EXPECT_EQ(conflicts("ds_store_b32 v1, v4", 0, 0), 0u);        // one dword for all
    EXPECT_EQ(conflicts("ds_store_b64 v1, v[4:5]", 0, 8), 0u);    // 16 lanes a pass
    EXPECT_EQ(conflicts("ds_store_b64 v1, v[4:5]", 0, 16), 2u);   // two passes, two dwords on a bank
    EXPECT_EQ(conflicts("ds_store_b128 v1, v[4:7]", 0, 16), 0u);  // eight lanes a pass
    EXPECT_EQ(conflicts("ds_store_b128 v1, v[4:7]", 0, 128), 4u * 7u);
    EXPECT_EQ(conflicts("ds_store_b32 v1, v4", 0, 128, WaveSize::wave64), 62u);
}

TEST(LdsCounts, BytesAreThoseOfActiveLanes) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(1, 0, 16);
    bench.run(wave, "ds_store_b128 v1, v[4:7]");
    wave.state.scalars[Operand::kExec] = 0xF;
    bench.run(wave, "ds_load_2addr_b32 v[8:9], v1 offset1:1");
    const Counts counts = bench.end_all();
    EXPECT_EQ(counts.lds_bytes_stored, 512u);
    EXPECT_EQ(counts.lds_bytes_loaded, 32u);
}

}  // namespace lds_test
}  // namespace riftjit::rdna::emulator
