// The emitted functions that make sources against the C++ ones.
#include "jit/rdna/emulator/lanes/lanes_sources.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace riftjit::rdna::emulator {
namespace lanes_sources_test {

constexpr unsigned kLanes = 32;
using Words = std::array<uint32_t, 2 * kLanes>;  // the second half must stay as it is, or takes the high words

class LaneSources : public testing::TestWithParam<LaneIsa> {
protected:
    void SetUp() override {
        if (GetParam() > host_lane_isa()) GTEST_SKIP() << "this host lacks the instruction set";
    }
    const LaneSourceFunctions& emitted_ = lane_source_functions(GetParam());
    const LaneSourceFunctions& plain_ = lane_source_functions(LaneIsa::none);
};

TEST_P(LaneSources, AreEmitted) {
    EXPECT_NE(emitted_.fill, plain_.fill);
    EXPECT_NE(emitted_.fill_pair, plain_.fill_pair);
    EXPECT_NE(emitted_.modify, plain_.modify);
    EXPECT_NE(emitted_.pack, plain_.pack);
    EXPECT_NE(emitted_.permute_row, plain_.permute_row);
}

TEST_P(LaneSources, FillWordsAndPairs) {
    Words words{}, expected{};
    emitted_.fill(words.data(), 0xDEADBEEF);
    plain_.fill(expected.data(), 0xDEADBEEF);
    EXPECT_EQ(words, expected);
    emitted_.fill_pair(words.data(), words.data() + kLanes, 1, 0x80000000);
    plain_.fill_pair(expected.data(), expected.data() + kLanes, 1, 0x80000000);
    EXPECT_EQ(words, expected);
}

TEST_P(LaneSources, ModifyAndPackAsTheCppDoes) {
    std::mt19937 random{20241128};
    for (unsigned round = 0; round < 100; ++round) {
        Words from, words{}, expected{};
        for (uint32_t& word : from) word = random();
        const uint32_t shift = random() % 2 * 16, other_shift = random() % 2 * 16, keep = random(), flip = random();
        emitted_.modify(words.data(), from.data(), shift, keep, flip);
        plain_.modify(expected.data(), from.data(), shift, keep, flip);
        ASSERT_EQ(words, expected) << "shift " << shift;
        emitted_.pack(words.data(), from.data(), shift, other_shift, flip);
        plain_.pack(expected.data(), from.data(), shift, other_shift, flip);
        ASSERT_EQ(words, expected) << "shifts " << shift << " and " << other_shift;
    }
}

TEST_P(LaneSources, PermuteARowAsTheCppDoes) {
    std::mt19937 random{5};
    for (unsigned round = 0; round < 200; ++round) {
        Words from, words{}, expected{};
        for (uint32_t& word : from) word = random();
        const uint32_t low = random(), high = random();
        emitted_.permute_row(words.data(), from.data(), low, high);
        plain_.permute_row(expected.data(), from.data(), low, high);
        ASSERT_EQ(words, expected);
        ASSERT_EQ(words[9], from[high >> 4 & 15]);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, LaneSources, testing::Values(LaneIsa::avx2, LaneIsa::avx512),
                         [](const auto& level) { return level.param == LaneIsa::avx2 ? "Avx2" : "Avx512"; });

}  // namespace lanes_sources_test
}  // namespace riftjit::rdna::emulator
