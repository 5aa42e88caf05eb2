// Addresses of FLAT, GLOBAL and SCRATCH on each generation; what is reported about them; what is counted.
#include <fmt/format.h>

#include <thread>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace vmem_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};

// Old or new spelling.
std::string spelled(Target target, const std::string& gfx10, const std::string& later) {
    return target == Target::gfx1030 ? gfx10 : later;
}

std::vector<uint32_t> numbers(uint32_t count, uint32_t first = 1000) {
    std::vector<uint32_t> values(count);
    for (uint32_t i = 0; i < count; ++i) values[i] = first + i;
    return values;
}

class Vmem : public testing::TestWithParam<Target> {
protected:
    std::string load() const { return spelled(GetParam(), "global_load_dword", "global_load_b32"); }
    std::string store() const { return spelled(GetParam(), "global_store_dword", "global_store_b32"); }
};

TEST_P(Vmem, ScalarBaseTakesAnUnsignedOffsetPerLane) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        const uint64_t buffer = bench.buffer_of("buffer", numbers(64));
        // Far below the buffer, so that lanes' offsets have their top bit set and the sum carries into the high word.
        wave.set_pair(4, buffer - 0xFFFFFF00u);
        wave.ramp(1, 0xFFFFFF00u, 4);
        bench.run(wave, load() + " v0, v1, s[4:5] offset:8");
        for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 1002 + lane);
        EXPECT_EQ(bench.found(), "");
    }
}

TEST_P(Vmem, NegativeOffsetsReachBack) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        const uint64_t buffer = bench.buffer_of("buffer", numbers(64));
        for (unsigned lane = 0; lane < 32; ++lane) wave.set_vgpr_pair(2, lane, buffer + 64 + 4 * lane);
        bench.run(wave, load() + " v0, v[2:3], off offset:-64");
        for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 1000 + lane);
        EXPECT_EQ(bench.found(), "");
    }
}

TEST_P(Vmem, BuffersLieAcrossA4GiBBoundary) {
    Bench bench({.target = GetParam()});
    const uint64_t buffer = bench.buffer("buffer", 4096);
    EXPECT_NE(buffer >> 32, (buffer + 4095) >> 32);  // or a forgotten carry would go unnoticed
    EXPECT_EQ(buffer % 256, 0u);
}

TEST_P(Vmem, ResultsMayReplaceTheirAddresses) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        const uint64_t buffer = bench.buffer_of("buffer", numbers(256));
        for (unsigned lane = 0; lane < 32; ++lane) wave.set_vgpr_pair(2, lane, buffer + 16 * lane);
        bench.run(wave, spelled(GetParam(), "global_load_dwordx4", "global_load_b128") + " v[0:3], v[2:3], off");
        for (uint32_t lane = 0; lane < 32; ++lane)
            for (uint32_t d = 0; d < 4; ++d) EXPECT_EQ(wave.vgpr(d, lane), 1000 + 4 * lane + d);
    }
}

TEST_P(Vmem, FlatAddressesReachLdsAndScratchThroughTheirApertures) {
    Bench bench({.target = GetParam(), .lds_bytes = 4096, .scratch_bytes = 256});
    MemoryTestWave& wave = bench.wave();
    const uint64_t buffer = bench.buffer_of("buffer", numbers(64));
    const std::string flat_store = spelled(GetParam(), "flat_store_dword", "flat_store_b32");
    const std::string flat_load = spelled(GetParam(), "flat_load_dword", "flat_load_b32");
    wave.ramp(4, 70, 1);
    for (unsigned lane = 0; lane < 32; ++lane)
        wave.set_vgpr_pair(2, lane,
                           lane < 10   ? wave.state.shared_base + 64 + 4 * lane
                           : lane < 20 ? wave.state.private_base + 16
                                       : buffer + 4 * lane);
    bench.run(wave, flat_store + " v[2:3], v4 offset:4");
    bench.run(wave, flat_load + " v0, v[2:3] offset:4");
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(wave.vgpr(0, lane), 70 + lane);
    bench.wait(wave);
    EXPECT_EQ(bench.peek<uint32_t>(buffer + 4 * 20 + 4), 90u);
    wave.ramp(5, 0, 4);  // the same LDS word by its own instruction
    bench.run(wave, spelled(GetParam(), "ds_read_b32", "ds_load_b32") + " v1, v5 offset:68");
    EXPECT_EQ(wave.vgpr(1, 9), 79u);
    wave.fill(6, 16);  // the same scratch word
    bench.run(wave, spelled(GetParam(), "scratch_load_dword", "scratch_load_b32") + " v7, v6, off offset:4");
    EXPECT_EQ(wave.vgpr(7, 10), 80u);
    bench.findings();  // lanes that read what they did not write
}

TEST_P(Vmem, OffsetsDoNotLeadIntoAnAperture) {
    Bench bench({.target = GetParam(), .lds_bytes = 4096, .scratch_bytes = 256});
    MemoryTestWave& wave = bench.wave();
    const std::string load = spelled(GetParam(), "flat_load_dword", "flat_load_b32") + " v0, v[2:3] offset:4";
    for (const auto& [base, name] : {std::pair{wave.state.shared_base, "LDS"}, {wave.state.private_base, "scratch"}}) {
        for (unsigned lane = 0; lane < 32; ++lane) wave.set_vgpr_pair(2, lane, base - 4);
        bench.run(wave, load);
        const auto findings = bench.findings();
        ASSERT_EQ(findings.size(), 1u);
        EXPECT_EQ(findings[0].detail,
                  fmt::format("4 bytes read at {:#x}, in the aperture of {}, into which the address "
                              "register of a FLAT instruction leads, not its offset",
                              base, name));
    }
}

TEST_P(Vmem, ScratchIsEachLanesOwn) {
    Bench bench({.target = GetParam(), .waves_per_group = 2, .scratch_bytes = 64});
    const std::string store = spelled(GetParam(), "scratch_store_dwordx2", "scratch_store_b64");
    const std::string load = spelled(GetParam(), "scratch_load_dwordx2", "scratch_load_b64");
    for (uint32_t w : {0u, 1u}) {
        MemoryTestWave& wave = bench.wave(0, w);
        wave.state.scalars[6] = 8;
        wave.ramp(4, 1000 * w, 1);
        wave.ramp(5, 5000 + 1000 * w, 1);
        bench.run(wave, store + " off, v[4:5], s6 offset:4");
    }
    for (uint32_t w : {0u, 1u}) {
        MemoryTestWave& wave = bench.wave(0, w);
        wave.fill(1, 10);
        bench.run(wave, load + " v[8:9], v1, off offset:2");
        for (uint32_t lane = 0; lane < 32; ++lane) {
            EXPECT_EQ(wave.vgpr(8, lane), 1000 * w + lane);
            EXPECT_EQ(wave.vgpr(9, lane), 5000 + 1000 * w + lane);
        }
        bench.run(wave, load + " v[8:9], off, s6 offset:4");
        EXPECT_EQ(wave.vgpr(9, 7), 5007 + 1000 * w);
    }
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Vmem, ScratchWithNoRegisterAtAll) {
    Bench bench({.target = GetParam()});
    MemoryTestWave& wave = bench.wave();
    wave.ramp(0, 9000, 9);  // must not be taken for an address
    wave.ramp(4, 5, 1);
    bench.run(wave, spelled(GetParam(), "scratch_store_dword", "scratch_store_b32") + " off, v4, off offset:60");
    bench.run(wave, spelled(GetParam(), "scratch_load_dword", "scratch_load_b32") + " v8, off, off offset:60");
    EXPECT_EQ(wave.vgpr(8, 31), 36u);
    EXPECT_EQ(bench.found(), "");
}

// Lane masks are spilled to scratch with bits that nothing wrote beside those that count.
TEST_P(Vmem, ScratchKeepsUndefinedBitsBitByBit) {
    Bench bench({.target = GetParam()});
    MemoryTestWave& wave = bench.wave();
    wave.undefined[4 * 32 + 9] = 0xFFFFFFFE;
    wave.undefined[5 * 32 + 9] = 0x00000100;
    bench.run(wave, spelled(GetParam(), "scratch_store_dwordx2", "scratch_store_b64") + " off, v[4:5], off");
    bench.run(wave, spelled(GetParam(), "scratch_load_dwordx2", "scratch_load_b64") + " v[8:9], off, off");
    EXPECT_EQ(wave.undefined[8 * 32 + 9], 0xFFFFFFFEu);
    EXPECT_EQ(wave.undefined[9 * 32 + 9], 0x00000100u);
    EXPECT_EQ(wave.undefined[8 * 32 + 10], 0u);
    bench.run(wave, spelled(GetParam(), "scratch_load_dword", "scratch_load_b32") + " v8, off, off offset:8");
    EXPECT_EQ(wave.undefined[8 * 32 + 9], 0xFFFFFFFFu);  // never written
}

// ---- Reports

TEST_P(Vmem, ALaneOutOfBoundsIsNamedWithTheNearestAllocation) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        const uint64_t buffer = bench.buffer_of("weights", numbers(31));
        wave.set_pair(4, buffer);
        wave.ramp(1, 0, 4);
        bench.run(wave, load() + " v0, v1, s[4:5]");
        const auto findings = bench.findings();
        ASSERT_EQ(findings.size(), 1u);
        EXPECT_EQ(findings[0].kind, FindingKind::out_of_bounds);
        EXPECT_EQ(findings[0].lane, 31);
        EXPECT_EQ(findings[0].detail,
                  fmt::format("4 bytes read at {:#x} (weights + 0x7c, 124 bytes long)", buffer + 124));
        EXPECT_EQ(wave.vgpr(0, 30), 1030u);  // the others get theirs
        wave.state.scalars[Operand::kExec] = 0x7FFFFFFF;
        bench.run(wave, load() + " v0, v1, s[4:5]");
        EXPECT_EQ(bench.found(), "");
    }
}

TEST_P(Vmem, AnAccessMayNotStraddleTheEnd) {
    Bench bench({.target = GetParam()});
    MemoryTestWave& wave = bench.wave();
    wave.set_pair(4, bench.buffer_of("buffer", numbers(4)));
    wave.state.scalars[Operand::kExec] = 1;
    const std::string wide = spelled(GetParam(), "global_load_dwordx4", "global_load_b128");
    bench.run(wave, wide + " v[8:11], v1, s[4:5] offset:4");
    EXPECT_EQ(bench.found(), "out-of-bounds");
    bench.run(wave, wide + " v[8:11], v1, s[4:5]");
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Vmem, NullPointersAndStrayStoresAreReported) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        bench.run(wave, store() + " v1, v2, s[4:5]");
        const auto findings = bench.findings();
        ASSERT_EQ(findings.size(), 1u);
        EXPECT_EQ(findings[0].times, 32u);
        EXPECT_EQ(findings[0].detail, "4 bytes written at 0x0, near no allocation");
        wave.set_pair(4, uint64_t{0x7FFF} << 48);
        bench.run(wave, load() + " v0, v1, s[4:5]");
        EXPECT_EQ(bench.found(), "out-of-bounds");
    }
}

TEST_P(Vmem, ReadOnlyMemoryIsNotWritten) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        const uint64_t code = bench.buffer("code", 256, InitialBytes::undefined, MemoryAccess::read_only);
        const std::vector<uint32_t> zeros(64, 0);
        ASSERT_TRUE(bench.memory.write(code, std::as_bytes(std::span(zeros))));
        wave.set_pair(4, code);
        wave.fill(2, 7);
        bench.run(wave, store() + " v1, v2, s[4:5]");
        EXPECT_EQ(bench.found(), "write-to-read-only");
        bench.run(wave, load() + " v0, v1, s[4:5]");
        EXPECT_EQ(bench.found(), "");
        EXPECT_EQ(wave.vgpr(0, 0), 0u);
    }
}

TEST_P(Vmem, ScratchBeyondWhatTheKernelDeclares) {
    Bench bench({.target = GetParam(), .scratch_bytes = 64});
    MemoryTestWave& wave = bench.wave();
    const std::string store = spelled(GetParam(), "scratch_store_dword", "scratch_store_b32");
    bench.run(wave, store + " off, v4, off offset:64");
    EXPECT_EQ(bench.found(), "scratch-out-of-bounds");
    wave.fill(1, static_cast<uint32_t>(-4));
    bench.run(wave, store + " v1, v4, off");
    EXPECT_EQ(bench.found(), "scratch-out-of-bounds");
    bench.run(wave, store + " off, v4, off offset:60");
    EXPECT_EQ(bench.found(), "");
}

TEST_P(Vmem, AtomicsMustBeAligned) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        wave.set_pair(4, bench.buffer_of("buffer", numbers(8, 0)));
        wave.state.scalars[Operand::kExec] = 1;
        const std::string add = spelled(GetParam(), "global_atomic_add", "global_atomic_add_u32");
        const std::string wide = spelled(GetParam(), "global_atomic_add_x2", "global_atomic_add_u64");
        bench.run(wave, add + " v1, v2, s[4:5] offset:2");
        EXPECT_EQ(bench.found(), "misaligned");
        bench.run(wave, wide + " v1, v[2:3], s[4:5] offset:4");
        EXPECT_EQ(bench.found(), "misaligned");
        bench.run(wave, add + " v1, v2, s[4:5] offset:4");
        bench.run(wave, wide + " v1, v[2:3], s[4:5] offset:8");
        EXPECT_EQ(bench.found(), "");
    }
}

TEST_P(Vmem, UndefinedBytesComeBackWithLoads) {
    Bench bench({.target = GetParam()});
    MemoryTestWave& wave = bench.wave();
    const uint64_t buffer = bench.buffer("fresh", 256);
    wave.set_pair(4, buffer);
    wave.ramp(1, 0, 4);
    bench.run(wave, load() + " v0, v1, s[4:5]");
    EXPECT_EQ(wave.undefined[5], 0xFFFFFFFFu);
    bench.run(wave, spelled(GetParam(), "global_store_byte", "global_store_b8") + " v1, v2, s[4:5] offset:1");
    bench.wait(wave);
    bench.run(wave, load() + " v0, v1, s[4:5]");
    EXPECT_EQ(wave.undefined[5], 0xFFFF00FFu);
    wave.undefined[2 * 32 + 5] = 0x1;  // one undefined bit makes its byte undefined
    bench.run(wave, store() + " v1, v2, s[4:5]");
    bench.wait(wave);
    bench.run(wave, load() + " v0, v1, s[4:5]");
    EXPECT_EQ(wave.undefined[5], 0xFFu);
    EXPECT_EQ(wave.undefined[4], 0u);
}

TEST_P(Vmem, GarbageOfFreshMemoryDependsOnTheSeed) {
    const auto garbage = [&](uint64_t seed) {
        Bench bench({.target = GetParam(), .seed = seed});
        return bench.peek<uint64_t>(bench.buffer("fresh", 64));
    };
    EXPECT_EQ(garbage(1), garbage(1));
    EXPECT_NE(garbage(1), garbage(2));
}

// gfx11's L2 flushes f32 denormals; gfx12's keeps them; LDS goes by MODE.
TEST(FloatAtomics, DenormalsFollowTheUnit) {
    for (const Target target : {Target::gfx1100, Target::gfx1201}) {
        Bench bench({.target = target});
        MemoryTestWave& wave = bench.wave();
        const uint64_t buffer = bench.buffer_of("buffer", std::vector<uint32_t>(4, 0x00000010));
        wave.set_pair(4, buffer);
        wave.state.scalars[Operand::kExec] = 1;
        wave.fill(2, 0x00000001);
        bench.run(wave, "global_atomic_add_f32 v1, v2, s[4:5]");
        bench.wait(wave);
        EXPECT_EQ(bench.peek<uint32_t>(buffer), target == Target::gfx1100 ? 0u : 0x11u);
        for (const uint32_t mode : {0xF0u, 0xC0u}) {
            wave.state.mode = mode;
            wave.fill(3, 0x10);
            bench.run(wave, "ds_store_b32 v1, v3");
            bench.run(wave, "ds_add_f32 v1, v2");
            bench.run(wave, "ds_load_b32 v0, v1");
            EXPECT_EQ(wave.vgpr(0, 0), mode == 0xF0 ? 0x11u : 0u);
        }
    }
}

// ---- Counts

TEST_P(Vmem, CacheLinesAreCountedPerInstruction) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        const auto lines = [&](uint32_t start, uint32_t step, const std::string& suffix = "") {
            Bench bench({.target = GetParam(), .checks = checks});
            MemoryTestWave& wave = bench.wave();
            wave.set_pair(4, bench.buffer_of("buffer", numbers(4096)));
            wave.ramp(1, start, step);
            bench.run(wave, suffix.empty() ? load() + " v0, v1, s[4:5]" : suffix);
            return bench.end_all().cache_lines;
        };
        EXPECT_EQ(lines(0, 4), 1u);
        EXPECT_EQ(lines(64, 4), 2u);
        EXPECT_EQ(lines(0, 128), 32u);
        EXPECT_EQ(lines(0, 0), 1u);
        EXPECT_EQ(lines(31 * 64, static_cast<uint32_t>(-64)), 16u);  // descending
        EXPECT_EQ(lines(126, 0), 2u);                                // straddles a line
        EXPECT_EQ(lines(0, 16,
                        spelled(GetParam(), "global_load_dwordx4 v[8:11], v1, s[4:5]",
                                "global_load_b128 v[8:11], v1, s[4:5]")),
                  4u);
    }
}

// However often, by whatever instruction and lane; and those of other launches no longer count.
TEST_P(Vmem, LinesOfALaunchAreCountedOnce) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks, .counts_lines = true});
        const uint64_t buffer = bench.buffer_of("buffer", numbers(4096));
        bench.end_all();
        for (int launch = 0; launch < 2; ++launch) {
            bench.restart();
            MemoryTestWave& wave = bench.wave();
            wave.set_pair(4, buffer);
            wave.ramp(1, 64, 4);
            bench.run(wave, load() + " v0, v1, s[4:5]");  // lines 0 and 1
            bench.run(wave, load() + " v0, v1, s[4:5]");
            bench.run(wave, spelled(GetParam(), "s_load_dwordx8", "s_load_b256") + " s[20:27], s[4:5], 0xf0");  // 1, 2
            bench.wait(wave);
            wave.state.scalars[Operand::kExec] = 1;
            wave.fill(1, 512);
            bench.run(wave, store() + " v1, v0, s[4:5]");  // 4
            bench.wait(wave);
            bench.run(wave, load() + " v2, v1, s[4:5]");
            wave.fill(1, 1024);
            bench.run(wave,
                      spelled(GetParam(), "global_atomic_add", "global_atomic_add_u32") + " v1, v2, s[4:5]");  // 8
            bench.wait(wave);
            const Counts counts = bench.end_all();
            EXPECT_EQ(counts.lines_loaded, 5u);
            EXPECT_EQ(counts.lines_loaded_of_own, 1u);
            EXPECT_EQ(counts.lines_stored, 2u);
        }
        EXPECT_EQ(bench.found(), "");
    }
}

TEST_P(Vmem, BytesAreCountedByKind) {
    for (const Checks& checks : {Checks{}, Checks::none()}) {
        Bench bench({.target = GetParam(), .checks = checks});
        MemoryTestWave& wave = bench.wave();
        wave.set_pair(4, bench.buffer_of("buffer", numbers(4096)));
        wave.ramp(1, 0, 4);
        bench.run(wave, load() + " v0, v1, s[4:5]");
        wave.state.scalars[Operand::kExec] = 0xFF;
        bench.run(wave, store() + " v1, v0, s[4:5]");
        bench.run(wave, spelled(GetParam(), "global_atomic_add", "global_atomic_add_u32") + " v1, v2, s[4:5]");
        bench.run(wave, spelled(GetParam(), "scratch_store_short", "scratch_store_b16") + " off, v4, off");
        bench.run(wave, spelled(GetParam(), "s_load_dwordx4", "s_load_b128") + " s[20:23], s[4:5], 0x0");
        const Counts counts = bench.end_all();
        EXPECT_EQ(counts.global_bytes_loaded, 128u);
        EXPECT_EQ(counts.global_bytes_stored, 64u);
        EXPECT_EQ(counts.scratch_bytes_stored, 16u);
        EXPECT_EQ(counts.scalar_bytes_loaded, 16u);
    }
}

// ---- Allocations

TEST(Allocations, CanBeReleasedAndAreThenOutOfBounds) {
    Bench bench({});
    MemoryTestWave& wave = bench.wave();
    const uint64_t buffer = bench.buffer_of("buffer", numbers(64));
    wave.set_pair(4, buffer);
    bench.memory.release(buffer);
    bench.run(wave, "global_load_b32 v0, v1, s[4:5]");
    EXPECT_EQ(bench.found(), "out-of-bounds");
    EXPECT_FALSE(bench.memory.read(buffer, 4));
}

TEST(Allocations, HostAccessStaysInside) {
    Bench bench({});
    const uint64_t buffer = bench.buffer("buffer", 100);
    const std::vector<std::byte> bytes(50);
    EXPECT_TRUE(bench.memory.write(buffer + 50, bytes));
    const auto refused = bench.memory.write(buffer + 51, bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(
        refused.error().message,
        fmt::format("50 bytes to be written at {:#x} (buffer + 0x33, 100 bytes long) lie outside every allocation",
                    buffer + 51));
    EXPECT_EQ(bench.memory.read(buffer, 100)->size(), 100u);
}

TEST(Allocations, OfNoBytesAreLegalAndHoldNothing) {
    Bench bench({});
    const uint64_t empty = bench.buffer("empty", 0);
    EXPECT_NE(empty, bench.buffer("other", 0));
    bench.wave().set_pair(4, empty);
    bench.run(bench.wave(), "global_load_b32 v0, v1, s[4:5]");
    EXPECT_EQ(bench.found(), "out-of-bounds");
    EXPECT_TRUE(bench.memory.read(empty, 0));
    bench.memory.release(empty);
}

TEST(Allocations, AtAChosenAddressMayNotOverlap) {
    Bench bench({});
    ASSERT_TRUE(bench.memory.allocate_at(0x10000, "text", 0x1000, MemoryAccess::read_only));
    ASSERT_TRUE(bench.memory.allocate_at(0x11000, "data", 0x1000, MemoryAccess::read_write));
    const auto refused = bench.memory.allocate_at(0x10800, "other", 0x1000, MemoryAccess::read_write);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "other: 4096 bytes at 0x10800 overlap text");
    const uint32_t value = 77;
    ASSERT_TRUE(bench.memory.write(0x11FFC, std::as_bytes(std::span(&value, 1))));
    bench.wave().set_pair(4, 0x11FFC);
    bench.run(bench.wave(), "global_load_b32 v0, v1, s[4:5]");
    EXPECT_EQ(bench.wave().vgpr(0, 0), 77u);
    bench.run(bench.wave(), "global_load_b64 v[2:3], v1, s[4:5]");
    EXPECT_EQ(bench.found(), "out-of-bounds");
    bench.memory.release(0x10000);
    EXPECT_TRUE(bench.memory.allocate_at(0x10800, "other", 0x800, MemoryAccess::read_write));
}

// Without checks groups run on several host threads; their atomics meet in one word.
TEST(HostThreads, AtomicsOfParallelGroupsAddUp) {
    Findings findings;
    MemorySystem memory(
        {.target = Target::gfx1100, .wave_size = WaveSize::wave32, .checks = Checks::none(), .host_threads = 4},
        findings);
    MemoryUnit unit(Target::gfx1100, WaveSize::wave32);
    const auto parsed = parse(Target::gfx1100, WaveSize::wave32, "global_atomic_add_u32 v1, v2, s[4:5]");
    ASSERT_TRUE(parsed);
    const auto call = unit.prepare(parsed->instruction);
    ASSERT_TRUE(call);
    const std::vector<uint32_t> zero(1, 0);
    const uint64_t counter = memory.allocate("counter", 4, MemoryAccess::read_write, InitialBytes::given);
    ASSERT_TRUE(memory.write(counter, std::as_bytes(std::span(zero))));
    constexpr uint32_t kGroups = 4, kTimes = 2000;
    memory.begin_launch({0, 16, 1, kGroups, WorkgroupMode::wgp});
    std::vector<std::thread> threads;
    for (uint32_t number = 0; number < kGroups; ++number)
        threads.emplace_back([&, number] {
            Group group;
            group.number = number;
            memory.begin_group(group);
            std::vector<uint32_t> registers(kVgprsNameable * 32, 0);
            WaveState wave{};
            wave.vgprs = registers.data();
            wave.lanes = 32;
            wave.group = &group;
            wave.group_number = number;
            wave.generation = Generation::gfx11;
            wave.set_mask(Operand::kExec, wave.all_lanes());
            wave.scalars[4] = static_cast<uint32_t>(counter);
            wave.scalars[5] = static_cast<uint32_t>(counter >> 32);
            for (unsigned lane = 0; lane < 32; ++lane) registers[2 * 32 + lane] = 1;
            memory.begin_wave(wave);
            for (uint32_t i = 0; i < kTimes; ++i) {
                MemoryEffect effect{registers.data()};
                memory.execute(wave, *call, effect);
            }
            memory.end_wave(wave);
            memory.end_group(group);
        });
    for (std::thread& thread : threads) thread.join();
    const Counts counts = memory.end_launch();
    uint32_t sum = 0;
    std::memcpy(&sum, memory.read(counter, 4)->data(), 4);
    EXPECT_EQ(sum, kGroups * kTimes * 32);
    EXPECT_EQ(counts.global_bytes_stored, uint64_t{kGroups} * kTimes * 32 * 4);
}

INSTANTIATE_TEST_SUITE_P(Targets, Vmem, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(name(target.param)); });

}  // namespace vmem_test
}  // namespace riftjit::rdna::emulator
