// Global memory between waves: the memory model's sequences order accesses, and without any one of their pieces the
// fault is reported.
#include <fmt/format.h>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace races_test {

// The spelling of each piece (facts: LLVM's memory model for gfx10, gfx11, gfx12). v1 holds an offset, s[4:5] the
// buffer; v3 is stored, v0 loaded.
struct Words {
    Target target;
    std::string store, load;                 // plain
    std::string flag_store, flag_load;       // device scope
    std::string add, add_returning;          // atomics at device scope
    std::string group_load;                  // workgroup scope
    std::vector<std::string> release;        // beyond the waits
    std::vector<std::string> acquire;        // device scope
    std::vector<std::string> acquire_group;  // workgroup scope
    std::string scalar_load;
};

const Words kWords[] = {
    {Target::gfx1030,
     "global_store_dword v1, v3, s[4:5]",
     "global_load_dword v0, v1, s[4:5]",
     "global_store_dword v2, v3, s[6:7]",
     "global_load_dword v0, v2, s[6:7] glc dlc",
     "global_atomic_add v2, v3, s[6:7]",
     "global_atomic_add v0, v2, v3, s[6:7] glc",
     "global_load_dword v0, v2, s[6:7] glc",
     {},
     {"buffer_gl1_inv", "buffer_gl0_inv"},
     {"buffer_gl0_inv"},
     "s_load_dword s20, s[4:5], 0x0"},
    {Target::gfx1100,
     "global_store_b32 v1, v3, s[4:5]",
     "global_load_b32 v0, v1, s[4:5]",
     "global_store_b32 v2, v3, s[6:7]",
     "global_load_b32 v0, v2, s[6:7] glc",
     "global_atomic_add_u32 v2, v3, s[6:7]",
     "global_atomic_add_u32 v0, v2, v3, s[6:7] glc",
     "global_load_b32 v0, v2, s[6:7] glc",
     {},
     {"buffer_gl1_inv", "buffer_gl0_inv"},
     {"buffer_gl0_inv"},
     "s_load_b32 s20, s[4:5], 0x0"},
    {Target::gfx1201,
     "global_store_b32 v1, v3, s[4:5]",
     "global_load_b32 v0, v1, s[4:5]",
     "global_store_b32 v2, v3, s[6:7] scope:SCOPE_DEV",
     "global_load_b32 v0, v2, s[6:7] scope:SCOPE_DEV",
     "global_atomic_add_u32 v2, v3, s[6:7] scope:SCOPE_DEV",
     "global_atomic_add_u32 v0, v2, v3, s[6:7] th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
     "global_load_b32 v0, v2, s[6:7] scope:SCOPE_SE",
     {"global_wb scope:SCOPE_DEV"},
     {"global_inv scope:SCOPE_DEV"},
     {"global_inv scope:SCOPE_SE"},
     "s_load_b32 s20, s[4:5], 0x0"},
};

constexpr uint64_t kSeeds[] = {1, 2, 3, 4, 5, 6, 7, 8};

struct Scene {
    Scene(const Words& words, uint64_t seed, uint32_t groups, uint32_t waves, CacheModel caches = CacheModel::stale,
          WorkgroupMode mode = WorkgroupMode::wgp)
        : words(words),
          bench({.target = words.target,
                 .seed = seed,
                 .groups = groups,
                 .waves_per_group = waves,
                 .caches = caches,
                 .workgroup_mode = mode}) {
        data = bench.buffer_of("data", std::vector<uint32_t>(64, 100));
        flag = bench.buffer_of("flag", std::vector<uint32_t>(64, 0));
        for (uint32_t g = 0; g < groups; ++g)
            for (uint32_t w = 0; w < waves; ++w) {
                MemoryTestWave& wave = bench.wave(g, w);
                wave.set_pair(4, data);
                wave.set_pair(6, flag);
                wave.state.set_mask(Operand::kExec, 1);
            }
    }
    // One lane's access to a word of the data or flag buffer.
    void store(MemoryTestWave& wave, const std::string& text, uint32_t word, uint32_t value) {
        wave.fill(1, 4 * word);
        wave.fill(2, 4 * word);
        wave.fill(3, value);
        bench.run(wave, text);
    }
    uint32_t load(MemoryTestWave& wave, const std::string& text, uint32_t word) {
        wave.fill(1, 4 * word);
        wave.fill(2, 4 * word);
        wave.fill(3, 1);
        bench.run(wave, text);
        return wave.vgpr(0, 0);
    }
    void run(MemoryTestWave& wave, const std::vector<std::string>& texts) {
        for (const std::string& text : texts) bench.run(wave, text);
    }

    const Words& words;
    Bench bench;
    uint64_t data, flag;
};

// ---- Message passing between workgroups

struct Pieces {
    bool release_wait = true;   // stores complete before the flag is stored
    bool flag_bypass = true;    // the flag load passes the caches by
    bool flag_wait = true;      // the flag has come before caches are invalidated
    bool l1 = true, l0 = true;  // invalidations
};

struct Outcome {
    std::string found;
    bool stale = false, never_seen = false;
    bool noticed() const { return !found.empty() || stale || never_seen; }
};

Outcome pass_message(const Words& words, uint64_t seed, const Pieces& pieces, CacheModel caches) {
    Scene scene(words, seed, 2, 1, caches);
    MemoryTestWave &producer = scene.bench.wave(0), &consumer = scene.bench.wave(1);
    scene.load(consumer, words.load, 1);  // brings the data's line into the consumer's caches
    scene.bench.wait(consumer);
    scene.store(producer, words.store, 0, 42);
    if (pieces.release_wait) {
        scene.run(producer, words.release);
        scene.bench.wait(producer);
    }
    scene.store(producer, words.flag_store, 0, 1);
    Outcome outcome;
    const std::string plain_flag_load =
        words.target == Target::gfx1030 ? "global_load_dword v0, v2, s[6:7]" : "global_load_b32 v0, v2, s[6:7]";
    int tries = 0;
    while (scene.load(consumer, pieces.flag_bypass ? words.flag_load : plain_flag_load, 0) != 1) {
        if (pieces.flag_wait) scene.bench.wait(consumer);
        if (++tries == 4000) {
            outcome.never_seen = true;
            break;
        }
    }
    if (pieces.flag_wait) scene.bench.wait(consumer);
    for (const std::string& invalidate : words.acquire) {
        const bool is_l1 = invalidate.find("gl1") != std::string::npos;
        if (is_l1 ? pieces.l1 : pieces.l0) scene.bench.run(consumer, invalidate);
    }
    outcome.stale = scene.load(consumer, words.load, 0) != 42 && !outcome.never_seen;
    outcome.found = scene.bench.found();
    return outcome;
}

class MemoryModelSequences : public testing::TestWithParam<Words> {};

TEST_P(MemoryModelSequences, PassMessagesUnderEverySeed) {
    for (const CacheModel caches : {CacheModel::stale, CacheModel::random, CacheModel::coherent})
        for (const uint64_t seed : kSeeds) {
            const Outcome outcome = pass_message(GetParam(), seed, {}, caches);
            EXPECT_EQ(outcome.found, "");
            EXPECT_FALSE(outcome.stale || outcome.never_seen);
        }
}

TEST_P(MemoryModelSequences, EveryMissingPieceOfMessagePassingIsReported) {
    for (const uint64_t seed : kSeeds) {
        EXPECT_EQ(pass_message(GetParam(), seed, {.release_wait = false}, CacheModel::stale).found, "global-race");
        EXPECT_EQ(pass_message(GetParam(), seed, {.flag_bypass = false}, CacheModel::stale).found.substr(0, 11),
                  "global-race");
        EXPECT_EQ(pass_message(GetParam(), seed, {.flag_wait = false}, CacheModel::stale).found, "global-race");
        const Outcome no_l0 = pass_message(GetParam(), seed, {.l0 = false}, CacheModel::stale);
        EXPECT_EQ(no_l0.found, "stale-read");
        EXPECT_TRUE(no_l0.stale);                            // and the value shows it
        if (GetParam().target == Target::gfx1201) continue;  // one instruction does both
        const Outcome no_l1 = pass_message(GetParam(), seed, {.l1 = false}, CacheModel::stale);
        EXPECT_EQ(no_l1.found, "stale-read");
        EXPECT_TRUE(no_l1.stale);
    }
}

TEST(MemoryModelOrder, InvalidatingL0BeforeL1IsNotEnough) {
    Scene scene(kWords[1], 1, 2, 1);
    MemoryTestWave &producer = scene.bench.wave(0), &consumer = scene.bench.wave(1);
    scene.store(producer, kWords[1].store, 0, 42);
    scene.bench.wait(producer);
    scene.store(producer, kWords[1].flag_store, 0, 1);
    scene.bench.wait(producer);
    EXPECT_EQ(scene.load(consumer, kWords[1].flag_load, 0), 1u);
    scene.bench.wait(consumer);
    scene.run(consumer, {"buffer_gl0_inv", "buffer_gl1_inv"});
    scene.load(consumer, kWords[1].load, 0);
    EXPECT_EQ(scene.bench.found(), "stale-read");
}

TEST(MemoryModelOrder, OnGfx12ANarrowScopeIsNotEnoughBetweenGroups) {
    const Words& words = kWords[2];
    Scene scene(words, 1, 2, 1);
    MemoryTestWave &producer = scene.bench.wave(0), &consumer = scene.bench.wave(1);
    scene.store(producer, words.store, 0, 42);
    scene.bench.wait(producer);
    scene.store(producer, words.flag_store, 0, 1);
    scene.bench.wait(producer);
    EXPECT_EQ(scene.load(consumer, words.flag_load, 0), 1u);
    scene.bench.wait(consumer);
    scene.run(consumer, {"global_inv scope:SCOPE_SE"});
    scene.load(consumer, words.load, 0);
    EXPECT_EQ(scene.bench.found(), "stale-read");
}

TEST(MemoryModelOrder, OnGfx12WritingBackInvalidatesOnlyIfItSaysSo) {
    for (const std::string_view text : {"global_wbinv scope:SCOPE_DEV", "global_wb scope:SCOPE_DEV"}) {
        const Words& words = kWords[2];
        Scene scene(words, 1, 2, 1);
        MemoryTestWave &producer = scene.bench.wave(0), &consumer = scene.bench.wave(1);
        scene.load(consumer, words.load, 1);
        scene.store(producer, words.store, 0, 42);
        scene.bench.wait(producer);
        scene.store(producer, words.flag_store, 0, 1);
        scene.bench.wait(producer);
        scene.load(consumer, words.flag_load, 0);
        scene.bench.wait(consumer);
        scene.bench.run(consumer, text);
        const bool invalidates = text.find("inv") != std::string_view::npos;
        EXPECT_EQ(scene.load(consumer, words.load, 0), invalidates ? 42u : 100u);
        EXPECT_EQ(scene.bench.found(), invalidates ? "" : "stale-read");
    }
}

TEST(MemoryModelOrder, OnGfx10AFlagLoadWithoutDlcMayHitTheL1) {
    const Words& words = kWords[0];
    Scene scene(words, 1, 2, 1);
    MemoryTestWave &producer = scene.bench.wave(0), &consumer = scene.bench.wave(1);
    EXPECT_EQ(scene.load(consumer, "global_load_dword v0, v2, s[6:7] glc", 0), 0u);
    scene.bench.wait(consumer);
    scene.store(producer, words.flag_store, 0, 1);
    scene.bench.wait(producer);
    EXPECT_EQ(scene.load(consumer, "global_load_dword v0, v2, s[6:7] glc", 0), 0u);
    EXPECT_EQ(scene.load(consumer, words.flag_load, 0), 1u);
}

// ---- Within a workgroup

TEST_P(MemoryModelSequences, AWorkgroupSharesGlobalDataAcrossABarrier) {
    const Words& words = GetParam();
    for (const bool invalidates : {true, false})
        for (const WorkgroupMode mode : {WorkgroupMode::wgp, WorkgroupMode::cu}) {
            Scene scene(words, 1, 1, 2, CacheModel::stale, mode);
            scene.load(scene.bench.wave(0, 1), words.load, 1);
            scene.store(scene.bench.wave(0, 0), words.store, 0, 42);
            scene.bench.barrier(0);
            if (invalidates) scene.run(scene.bench.wave(0, 1), words.acquire_group);
            const uint32_t value = scene.load(scene.bench.wave(0, 1), words.load, 0);
            const bool fault = !invalidates && mode == WorkgroupMode::wgp;  // in CU mode the L0 is common
            EXPECT_EQ(value, fault ? 100u : 42u);
            EXPECT_EQ(scene.bench.found(), fault ? "stale-read" : "");
        }
}

TEST_P(MemoryModelSequences, ABarrierDoesNotOrderAStoreThatNobodyWaitedFor) {
    Scene scene(GetParam(), 1, 1, 2);
    scene.store(scene.bench.wave(0, 0), GetParam().store, 0, 42);
    scene.bench.barrier(0, false);
    scene.run(scene.bench.wave(0, 1), GetParam().acquire);
    scene.load(scene.bench.wave(0, 1), GetParam().load, 0);
    EXPECT_EQ(scene.bench.found(), "global-race");
}

TEST_P(MemoryModelSequences, LoadsOfOthersDataMayBeInFlightAcrossABarrier) {
    Scene scene(GetParam(), 1, 1, 2);
    scene.load(scene.bench.wave(0, 0), GetParam().load, 0);
    scene.bench.barrier(0, false);
    scene.load(scene.bench.wave(0, 1), GetParam().load, 0);
    EXPECT_EQ(scene.bench.found(), "");
    scene.store(scene.bench.wave(0, 1), GetParam().store, 0, 1);  // but not if the barrier protects them from a store
    EXPECT_EQ(scene.bench.found(), "global-race");
}

// ---- Within a workgroup in CU mode, whose waves share one L0

TEST_P(MemoryModelSequences, InCuModeABarrierOrdersWhatWasIssued) {
    const Words& words = GetParam();
    for (const uint64_t seed : kSeeds) {
        Scene scene(words, seed, 1, 2, CacheModel::stale, WorkgroupMode::cu);
        MemoryTestWave &first = scene.bench.wave(0, 0), &second = scene.bench.wave(0, 1);
        scene.store(first, words.store, 0, 42);
        scene.bench.barrier(0, false);
        EXPECT_EQ(scene.load(second, words.load, 0), 42u);
        scene.store(second, words.store, 0, 43);  // while the load may be under way
        scene.bench.barrier(0, false);
        scene.store(first, words.store, 0, 44);
        scene.bench.barrier(0, false);
        EXPECT_EQ(scene.load(second, words.load, 0), 44u);
        scene.bench.wait(second);
        scene.bench.wait(first);
        EXPECT_EQ(scene.bench.peek<uint32_t>(scene.data), 44u);
        EXPECT_EQ(scene.bench.found(), "");
    }
}

TEST_P(MemoryModelSequences, InCuModeAnAtomicFindsWhatWasStored) {
    const Words& words = GetParam();
    Scene scene(words, 1, 1, 2, CacheModel::stale, WorkgroupMode::cu);
    scene.store(scene.bench.wave(0, 0), words.flag_store, 0, 42);
    scene.bench.barrier(0, false);
    EXPECT_EQ(scene.load(scene.bench.wave(0, 1), words.add_returning, 0), 42u);
    EXPECT_EQ(scene.bench.found(), "");
}

TEST_P(MemoryModelSequences, InCuModeAFlagOrdersWhatWasIssued) {
    const Words& words = GetParam();
    for (const WorkgroupMode mode : {WorkgroupMode::cu, WorkgroupMode::wgp}) {
        Scene scene(words, 1, 1, 2, CacheModel::coherent, mode);
        MemoryTestWave &producer = scene.bench.wave(0, 0), &consumer = scene.bench.wave(0, 1);
        scene.store(producer, words.store, 1, 7);
        scene.store(producer, words.flag_store, 1, 1);
        scene.store(producer, words.store, 0, 42);
        scene.store(producer, words.flag_store, 0, 1);
        if (mode == WorkgroupMode::wgp)
            while (scene.load(consumer, words.flag_load, 0) == 0) scene.bench.wait(consumer);
        else
            EXPECT_EQ(scene.load(consumer, words.flag_load, 0), 1u);
        scene.bench.wait(consumer);
        scene.run(consumer, words.acquire);
        scene.load(consumer, words.load, 0);
        EXPECT_EQ(scene.bench.found(), mode == WorkgroupMode::cu ? "" : "global-race");
    }
}

TEST_P(MemoryModelSequences, InCuModeNothingOrdersWavesWithoutABarrier) {
    Scene scene(GetParam(), 1, 1, 2, CacheModel::stale, WorkgroupMode::cu);
    scene.store(scene.bench.wave(0, 0), GetParam().store, 0, 42);
    scene.load(scene.bench.wave(0, 1), GetParam().load, 0);
    EXPECT_EQ(scene.bench.found(), "global-race");
}

TEST_P(MemoryModelSequences, InCuModeScalarLoadsAndOtherGroupsNeedTheWait) {
    const Words& words = GetParam();
    for (const bool waits : {true, false}) {
        Scene scene(words, 1, 2, 2, CacheModel::stale, WorkgroupMode::cu);
        MemoryTestWave &producer = scene.bench.wave(0, 0), &publisher = scene.bench.wave(0, 1),
                       &consumer = scene.bench.wave(1, 0);
        scene.store(producer, words.store, 0, 42);
        if (waits) scene.bench.wait(producer);
        scene.bench.barrier(0, false);
        scene.run(publisher, {"s_dcache_inv"});
        scene.bench.run(publisher, words.scalar_load);
        EXPECT_EQ(scene.bench.found(), waits ? "" : "global-race");
        scene.bench.wait(publisher);
        scene.run(publisher, words.release);
        scene.store(publisher, words.flag_store, 0, 1);
        scene.bench.wait(publisher);
        scene.load(consumer, words.flag_load, 0);
        scene.bench.wait(consumer);
        scene.run(consumer, words.acquire);
        scene.load(consumer, words.load, 0);
        EXPECT_EQ(scene.bench.found(), waits ? "" : "global-race");
    }
}

// ---- Plain races

TEST_P(MemoryModelSequences, WithoutOrderEveryConflictIsReported) {
    const Words& words = GetParam();
    const auto conflict = [&](const std::string& first, const std::string& second) {
        Scene scene(words, 1, 2, 1);
        scene.load(scene.bench.wave(0), first, 0);
        scene.bench.wait(scene.bench.wave(0));
        scene.load(scene.bench.wave(1), second, 0);
        return scene.bench.found();
    };
    EXPECT_EQ(conflict(words.store, words.load), "global-race");
    EXPECT_EQ(conflict(words.load, words.store), "global-race");
    EXPECT_EQ(conflict(words.store, words.store), "global-race");
    EXPECT_EQ(conflict(words.load, words.load), "");
    EXPECT_EQ(conflict(words.add, words.add), "");
    EXPECT_EQ(conflict(words.add_returning, words.flag_load), "");
    EXPECT_EQ(conflict(words.flag_load, words.add), "");
    EXPECT_EQ(conflict(words.flag_store, words.flag_load), "");
}

TEST_P(MemoryModelSequences, AnAtomicRacesWithAPlainAccess) {
    const Words& words = GetParam();
    const std::string plain_load =
        words.target == Target::gfx1030 ? "global_load_dword v0, v2, s[6:7]" : "global_load_b32 v0, v2, s[6:7]";
    const std::string plain_store =
        words.target == Target::gfx1030 ? "global_store_dword v2, v3, s[6:7]" : "global_store_b32 v2, v3, s[6:7]";
    for (const std::string& plain : {plain_load, plain_store}) {
        Scene scene(words, 1, 2, 1);
        scene.load(scene.bench.wave(0), plain, 0);  // as a wave that forgets the barrier after it cleared a counter
        scene.bench.wait(scene.bench.wave(0));
        scene.load(scene.bench.wave(1), words.add, 0);
        EXPECT_EQ(scene.bench.found(), "global-race");
    }
}

TEST_P(MemoryModelSequences, NeighbouringBytesDoNotRace) {
    const std::string byte =
        GetParam().target == Target::gfx1030 ? "global_store_byte v1, v3, s[4:5]" : "global_store_b8 v1, v3, s[4:5]";
    Scene scene(GetParam(), 1, 2, 1);
    scene.store(scene.bench.wave(0), byte, 0, 1);
    scene.store(scene.bench.wave(1), byte + " offset:1", 0, 2);
    EXPECT_EQ(scene.bench.found(), "");
    scene.store(scene.bench.wave(1), byte, 0, 2);
    EXPECT_EQ(scene.bench.found(), "global-race");
}

TEST_P(MemoryModelSequences, AReportNamesBothInstructionsAndTheBuffer) {
    const Words& words = GetParam();
    Scene scene(words, 1, 2, 1);
    scene.store(scene.bench.wave(0), words.store, 2, 1);
    scene.load(scene.bench.wave(1), words.load, 2);
    const auto findings = scene.bench.findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].group, 1u);
    EXPECT_EQ(findings[0].lane, 0);
    EXPECT_NE(findings[0].instruction.find("global_load"), std::string::npos);
    EXPECT_EQ(
        findings[0].detail,
        fmt::format("{:#x} (data + 0x8, 256 bytes long) is read here and written by group 0, wave 0 (text+0x8: {}), "
                    "and nothing orders the two",
                    scene.data + 8, words.store));
}

TEST_P(MemoryModelSequences, ANewLaunchStartsWithEverythingOrdered) {
    Scene scene(GetParam(), 1, 2, 1);
    scene.store(scene.bench.wave(0), GetParam().store, 0, 1);
    scene.bench.end_all();
    EXPECT_EQ(scene.bench.peek<uint32_t>(scene.data), 1u);
    scene.bench.restart();
    scene.bench.wave(1).set_pair(4, scene.data);
    EXPECT_EQ(scene.load(scene.bench.wave(1), GetParam().load, 0), 1u);
    EXPECT_EQ(scene.bench.found(), "");
}

// ---- A spin lock: on gfx10 and gfx11 it is released with a plain store

TEST_P(MemoryModelSequences, ALockOrdersItsHolders) {
    const Words& words = GetParam();
    const std::string swap = words.target == Target::gfx1030   ? "global_atomic_swap v0, v2, v3, s[6:7] glc"
                             : words.target == Target::gfx1100 ? "global_atomic_swap_b32 v0, v2, v3, s[6:7] glc"
                                                               : "global_atomic_swap_b32 v0, v2, v3, s[6:7] "
                                                                 "th:TH_ATOMIC_RETURN scope:SCOPE_DEV";
    for (const uint64_t seed : kSeeds) {
        Scene scene(words, seed, 3, 1);
        for (uint32_t holder : {0u, 1u, 2u, 0u, 2u}) {
            MemoryTestWave& wave = scene.bench.wave(holder);
            for (int tries = 0; scene.load(wave, swap, 0) != 0 && tries < 4000; ++tries) scene.bench.wait(wave);
            scene.bench.wait(wave);
            scene.run(wave, words.acquire);
            const uint32_t value = scene.load(wave, words.load, 0);
            scene.bench.wait(wave);
            scene.store(wave, words.store, 0, value + 1);
            scene.run(wave, words.release);
            scene.bench.wait(wave);
            scene.store(wave, words.flag_store, 0, 0);
        }
        EXPECT_EQ(scene.bench.found(), "");
        scene.bench.end_all();
        EXPECT_EQ(scene.bench.peek<uint32_t>(scene.data), 105u);
    }
}

// The atomic that took the lock is forgotten once its wave has stored to the word, its nature must not be.
TEST_P(MemoryModelSequences, ALockReleasedTwiceIsStillALock) {
    const Words& words = GetParam();
    Scene scene(words, 1, 2, 1);
    for (const uint32_t holder : {0u, 1u, 0u, 1u}) {
        MemoryTestWave& wave = scene.bench.wave(holder);
        scene.load(wave, words.add_returning, 0);
        scene.bench.wait(wave);
        scene.store(wave, words.flag_store, 0, 0);
        scene.bench.wait(wave);
        scene.store(wave, words.flag_store, 0, 0);
        scene.bench.wait(wave);
    }
    EXPECT_EQ(scene.bench.found(), "");
}

// ---- Two producers that publish the same flag

TEST_P(MemoryModelSequences, SeveralWavesMaySetOneFlag) {
    const Words& words = GetParam();
    Scene scene(words, 1, 3, 1);
    EXPECT_EQ(scene.load(scene.bench.wave(2), words.flag_load, 0), 0u);
    scene.store(scene.bench.wave(0), words.flag_store, 0, 1);
    scene.store(scene.bench.wave(1), words.flag_store, 0, 1);
    EXPECT_EQ(scene.bench.found(), "");
}

// ---- The grid barrier of a persistent kernel

struct GridPieces {
    bool release_wait = true, second_barrier = true, acquire_l1 = true, acquire_l0 = true, bypass = true;
};

// Two groups of two waves. Each wave stores its word, all meet, each reads the words of all; twice.
Outcome meet_on_the_grid(const Words& words, uint64_t seed, const GridPieces& pieces) {
    constexpr uint32_t kGroups = 2, kWaves = 2;
    Scene scene(words, seed, kGroups, kWaves);
    Bench& bench = scene.bench;
    Outcome outcome;
    const std::string plain_flag_load =
        words.target == Target::gfx1030 ? "global_load_dword v0, v2, s[6:7]" : "global_load_b32 v0, v2, s[6:7]";
    const auto every_wave = [&](const auto& act) {
        for (uint32_t g = 0; g < kGroups; ++g)
            for (uint32_t w = 0; w < kWaves; ++w) act(bench.wave(g, w), g * kWaves + w);
    };
    const auto grid_barrier = [&](uint32_t phase) {
        every_wave([&](MemoryTestWave& wave, uint32_t) {
            if (!pieces.release_wait) return;
            scene.run(wave, words.release);
            bench.wait(wave);
        });
        for (uint32_t g = 0; g < kGroups; ++g) bench.barrier(g, pieces.release_wait);
        for (uint32_t g = 0; g < kGroups; ++g) scene.store(bench.wave(g, 0), words.add, 0, 1);
        for (uint32_t g = 0; g < kGroups; ++g) {
            int tries = 0;
            while (scene.load(bench.wave(g, 0), pieces.bypass ? words.flag_load : plain_flag_load, 0) <
                   (phase + 1) * kGroups) {
                bench.wait(bench.wave(g, 0));
                if (++tries == 4000) {
                    outcome.never_seen = true;
                    return;
                }
            }
            bench.wait(bench.wave(g, 0));
        }
        if (pieces.second_barrier)
            for (uint32_t g = 0; g < kGroups; ++g) bench.barrier(g);
        every_wave([&](MemoryTestWave& wave, uint32_t) {
            for (const std::string& invalidate : words.acquire) {
                const bool is_l1 = invalidate.find("gl1") != std::string::npos;
                if (is_l1 ? pieces.acquire_l1 : pieces.acquire_l0) bench.run(wave, invalidate);
            }
        });
    };
    for (uint32_t phase = 0; phase < 4 && !outcome.never_seen; ++phase) {
        if (phase % 2 == 0)
            every_wave(
                [&](MemoryTestWave& wave, uint32_t id) { scene.store(wave, words.store, id, 1000 * phase + id); });
        else
            every_wave([&](MemoryTestWave& wave, uint32_t) {
                for (uint32_t id = 0; id < kGroups * kWaves; ++id)
                    outcome.stale |= scene.load(wave, words.load, id) != 1000 * (phase - 1) + id;
            });
        grid_barrier(phase);
    }
    outcome.found = bench.found();
    return outcome;
}

TEST_P(MemoryModelSequences, TheGridBarrierOrdersTheGrid) {
    for (const uint64_t seed : kSeeds) {
        const Outcome outcome = meet_on_the_grid(GetParam(), seed, {});
        EXPECT_EQ(outcome.found, "");
        EXPECT_FALSE(outcome.stale || outcome.never_seen);
    }
}

TEST_P(MemoryModelSequences, EveryMissingPieceOfTheGridBarrierIsNoticed) {
    for (const uint64_t seed : kSeeds) {
        EXPECT_NE(meet_on_the_grid(GetParam(), seed, {.release_wait = false}).found.find("global-race"),
                  std::string::npos);
        EXPECT_NE(meet_on_the_grid(GetParam(), seed, {.second_barrier = false}).found.find("global-race"),
                  std::string::npos);
        EXPECT_EQ(meet_on_the_grid(GetParam(), seed, {.acquire_l0 = false}).found, "stale-read");
        EXPECT_TRUE(meet_on_the_grid(GetParam(), seed, {.bypass = false}).noticed());
        if (GetParam().target != Target::gfx1201) {
            EXPECT_EQ(meet_on_the_grid(GetParam(), seed, {.acquire_l1 = false}).found, "stale-read");
        }
    }
}

// ---- Scalar loads

TEST_P(MemoryModelSequences, ScalarLoadsSeeStoresOnlyAfterTheirCacheIsInvalidated) {
    const Words& words = GetParam();
    for (const bool invalidate : {true, false}) {
        Scene scene(words, 1, 1, 1);
        MemoryTestWave& wave = scene.bench.wave();
        scene.bench.run(wave, words.scalar_load);
        EXPECT_EQ(wave.state.scalars[20], 100u);
        scene.store(wave, words.store, 0, 42);
        scene.bench.wait(wave);
        if (invalidate) scene.bench.run(wave, "s_dcache_inv");
        scene.bench.run(wave, words.scalar_load);
        EXPECT_EQ(wave.state.scalars[20], invalidate ? 42u : 100u);
        EXPECT_EQ(scene.bench.found(), invalidate ? "" : "stale-read");
    }
}

TEST_P(MemoryModelSequences, ScalarCachesAreNotEmptiedByVectorInvalidations) {
    const Words& words = GetParam();
    Scene scene(words, 1, 1, 2);
    scene.store(scene.bench.wave(0, 0), words.store, 0, 42);
    scene.bench.barrier(0);
    scene.run(scene.bench.wave(0, 1), words.acquire);
    scene.bench.run(scene.bench.wave(0, 1), words.scalar_load);
    EXPECT_EQ(scene.bench.found(), "stale-read");
}

// ---- Withheld stores

TEST_P(MemoryModelSequences, AWaveSeesItsOwnStoresInOrderBeforeAnyWait) {
    for (const uint64_t seed : kSeeds) {
        Scene scene(GetParam(), seed, 1, 1);
        MemoryTestWave& wave = scene.bench.wave();
        for (uint32_t value = 1; value < 20; ++value) {
            scene.store(wave, GetParam().store, 0, value);
            scene.store(wave, GetParam().store, 1, value);
            if (value % 3 == 0) {
                EXPECT_EQ(scene.load(wave, GetParam().load, 0), value);
            }
        }
        scene.bench.end_all();
        EXPECT_EQ(scene.bench.peek<uint32_t>(scene.data), 19u);
        EXPECT_EQ(scene.bench.peek<uint32_t>(scene.data + 4), 19u);
    }
}

TEST_P(MemoryModelSequences, OthersMaySeeStoresOutOfOrderUntilTheyAreWaitedFor) {
    const Words& words = GetParam();
    bool second_first = false, hidden = false;
    for (uint64_t seed = 1; seed < 60; ++seed) {
        Scene scene(words, seed, 2, 1);
        MemoryTestWave &writer = scene.bench.wave(0), &reader = scene.bench.wave(1);
        scene.store(writer, words.flag_store, 0, 1);
        scene.store(writer, words.flag_store, 32, 2);
        for (int tries = 0; tries < 8; ++tries) {
            const uint32_t later = scene.load(reader, words.flag_load, 32);
            const uint32_t earlier = scene.load(reader, words.flag_load, 0);
            second_first |= later == 2 && earlier == 0;
            hidden |= later == 0 && earlier == 0;
        }
        scene.bench.wait(writer);
        EXPECT_EQ(scene.load(reader, words.flag_load, 0), 1u);
        EXPECT_EQ(scene.load(reader, words.flag_load, 32), 2u);
    }
    EXPECT_TRUE(second_first);
    EXPECT_TRUE(hidden);
}

INSTANTIATE_TEST_SUITE_P(Targets, MemoryModelSequences, testing::ValuesIn(kWords),
                         [](const auto& words) { return std::string(name(words.param.target)); });

}  // namespace races_test
}  // namespace riftjit::rdna::emulator
