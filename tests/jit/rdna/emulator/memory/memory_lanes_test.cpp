// Loads and stores of whole waves: without checks they go other ways than with them, and must move and count the same;
// and what they count is held against the definitions, taken literally.
#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"

namespace riftjit::rdna::emulator {
namespace memory_lanes_test {

constexpr uint32_t kBytes = 8192;  // of LDS and of the buffer
constexpr unsigned kLanes = 32, kRounds = 24;

struct Access {
    std::string_view name;
    unsigned bytes;
};
constexpr Access kLds[] = {
    {"ds_load_b32 v8, v1", 4},        {"ds_load_b64 v[8:9], v1", 8},   {"ds_load_b96 v[8:10], v1", 12},
    {"ds_load_b128 v[8:11], v1", 16}, {"ds_load_u16 v8, v1", 2},       {"ds_load_u8 v8, v1", 1},
    {"ds_store_b32 v1, v4", 4},       {"ds_store_b64 v1, v[4:5]", 8},  {"ds_store_b96 v1, v[4:6]", 12},
    {"ds_store_b128 v1, v[4:7]", 16}, {"ds_load_b128 v[1:4], v1", 16},
};
constexpr Access kGlobal[] = {
    {"global_load_b32 v8, v1, s[2:3]", 4},        {"global_load_b64 v[8:9], v1, s[2:3]", 8},
    {"global_load_b96 v[8:10], v1, s[2:3]", 12},  {"global_load_b128 v[8:11], v1, s[2:3]", 16},
    {"global_store_b32 v1, v4, s[2:3]", 4},       {"global_store_b64 v1, v[4:5], s[2:3]", 8},
    {"global_store_b128 v1, v[4:7], s[2:3]", 16}, {"global_load_b128 v[1:4], v1, s[2:3]", 16},
};

struct Lanes {
    std::array<uint32_t, kLanes> address{};
    uint32_t exec = ~0u;

    bool is_on(unsigned lane) const { return (exec >> lane & 1) != 0; }
};

// As kernels form them: strides, rows of several lanes, one word for all; and without order.
Lanes lanes_of(std::mt19937& random, unsigned round) {
    Lanes lanes;
    constexpr uint32_t kStrides[] = {0, 4, 8, 12, 16, 20, 32, 36, 48, 64, 128, 132, 2, 6, 256 - 4, 0u - 16};
    const uint32_t stride = kStrides[random() % std::size(kStrides)], start = random() % 64 * 4;
    const unsigned align = 1u << random() % 5, row = 1u << random() % 4;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        uint32_t& address = lanes.address[lane];
        if (round % 3 == 0)
            address = start + (static_cast<int32_t>(stride) < 0 ? 1024 : 0) + lane * stride;
        else if (round % 3 == 1)
            address = start + lane / row * 48 + lane % row * 8;
        else
            address = random() % (kBytes - 16) / align * align;
    }
    if (random() % 3 == 0) lanes.exec = random() | 1;
    return lanes;
}

struct Outcome {
    std::vector<uint32_t> registers;
    std::vector<uint32_t> memory;  // LDS or the buffer, afterwards
    Counts counts;
};

Outcome run(std::string_view text, const Lanes& lanes, const Checks& checks) {
    Bench bench({.checks = checks, .lds_bytes = kBytes, .counts_lines = true});
    std::vector<uint32_t> words(kBytes / 4);
    for (uint32_t i = 0; i < words.size(); ++i) words[i] = i * 0x9E3779B9;
    const uint64_t buffer = bench.buffer_of("buffer", words);
    bench.end_all();
    bench.restart();  // lines are counted of what is there when a launch begins
    MemoryTestWave& wave = bench.wave();
    const bool is_lds = text.starts_with("ds_");
    const auto for_each_row = [&](const auto& function) {
        for (uint32_t at = 0; is_lds && at < words.size(); at += kLanes) {
            wave.ramp(12, 4 * at, 4);
            function(at);
        }
    };
    for_each_row([&](uint32_t at) {
        for (unsigned lane = 0; lane < kLanes; ++lane) wave.vgpr(13, lane) = words[at + lane];
        bench.run(wave, "ds_store_b32 v12, v13");
    });
    wave.set_pair(2, buffer);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        wave.vgpr(1, lane) = lanes.address[lane];
        for (unsigned d = 4; d < 8; ++d) wave.vgpr(d, lane) = 1000 * lane + d;
    }
    wave.state.set_mask(Operand::kExec, lanes.exec);
    bench.run(wave, text);
    wave.state.set_mask(Operand::kExec, ~0u);
    Outcome outcome{{wave.registers.begin(), wave.registers.begin() + 12 * kLanes}, {}, {}};
    bench.wait(wave);
    for_each_row([&](uint32_t) {
        bench.run(wave, "ds_load_b32 v13, v12");
        outcome.memory.insert(outcome.memory.end(), &wave.vgpr(13, 0), &wave.vgpr(13, 0) + kLanes);
    });
    outcome.counts = bench.end_all();
    for (uint32_t at = 0; !is_lds && at < kBytes; at += 4) outcome.memory.push_back(bench.peek<uint32_t>(buffer + at));
    EXPECT_EQ(bench.found(), "") << text;
    return outcome;
}

// Passes of as many lanes as have 128 bytes; of a pass the most different dwords in one of 32 banks, less one.
uint64_t conflicts(const Lanes& lanes, unsigned bytes) {
    const unsigned pass = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
    uint64_t sum = 0;
    for (unsigned first = 0; first < kLanes; first += pass) {
        std::array<std::set<uint32_t>, 32> dwords;
        for (unsigned lane = first; lane < first + pass; ++lane)
            for (uint32_t at = lanes.address[lane]; lanes.is_on(lane) && at < lanes.address[lane] + bytes; ++at)
                dwords[at / 4 % 32].insert(at / 4);
        size_t most = 1;
        for (const auto& bank : dwords) most = std::max(most, bank.size());
        sum += most - 1;
    }
    return sum;
}

uint64_t lines(const Lanes& lanes, unsigned bytes) {  // of a buffer that begins with a line
    std::set<uint32_t> different;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (uint32_t at = lanes.address[lane]; lanes.is_on(lane) && at < lanes.address[lane] + bytes; ++at)
            different.insert(at / 128);
    return different.size();
}

void expect_same(const Outcome& checked, const Outcome& unchecked, std::string_view text) {
    EXPECT_EQ(checked.registers, unchecked.registers) << text;
    EXPECT_EQ(checked.memory, unchecked.memory) << text;
    EXPECT_EQ(checked.counts.lds_bytes_loaded, unchecked.counts.lds_bytes_loaded) << text;
    EXPECT_EQ(checked.counts.lds_bytes_stored, unchecked.counts.lds_bytes_stored) << text;
    EXPECT_EQ(checked.counts.global_bytes_loaded, unchecked.counts.global_bytes_loaded) << text;
    EXPECT_EQ(checked.counts.global_bytes_stored, unchecked.counts.global_bytes_stored) << text;
}

TEST(MemoryLanes, MoveTheSameInLdsWithAndWithoutChecksAndCountConflictsAsDefined) {
    std::mt19937 random(7);
    for (unsigned round = 0; round < kRounds; ++round)
        for (const auto& [text, bytes] : kLds) {
            const Lanes lanes = lanes_of(random, round);
            const Outcome checked = run(text, lanes, {}), unchecked = run(text, lanes, Checks::none());
            expect_same(checked, unchecked, text);
            EXPECT_EQ(checked.counts.lds_bank_conflicts, conflicts(lanes, bytes)) << text << " round " << round;
            EXPECT_EQ(unchecked.counts.lds_bank_conflicts, conflicts(lanes, bytes)) << text << " round " << round;
        }
}

TEST(MemoryLanes, MoveTheSameInGlobalMemoryWithAndWithoutChecksAndCountLinesAsDefined) {
    std::mt19937 random(8);
    for (unsigned round = 0; round < kRounds; ++round)
        for (const auto& [text, bytes] : kGlobal) {
            const Lanes lanes = lanes_of(random, round);
            const Outcome checked = run(text, lanes, {}), unchecked = run(text, lanes, Checks::none());
            expect_same(checked, unchecked, text);
            EXPECT_EQ(checked.counts.cache_lines, lines(lanes, bytes)) << text << " round " << round;
            EXPECT_EQ(unchecked.counts.cache_lines, lines(lanes, bytes)) << text << " round " << round;
            for (const Counts& counts : {checked.counts, unchecked.counts}) {
                const bool loads = text.find("load") != std::string_view::npos;
                EXPECT_EQ(counts.lines_loaded, loads ? lines(lanes, bytes) : 0) << text << " round " << round;
                EXPECT_EQ(counts.lines_stored, loads ? 0 : lines(lanes, bytes)) << text << " round " << round;
                EXPECT_EQ(counts.lines_loaded_of_own, 0u) << text << " round " << round;
            }
        }
}

}  // namespace memory_lanes_test
}  // namespace riftjit::rdna::emulator
