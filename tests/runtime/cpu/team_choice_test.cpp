#include "runtime/cpu/team_choice.h"

#include <gtest/gtest.h>

namespace riftjit::runtime {
namespace team_choice_test {

// Runs until the next one together; returns how many were alone.
uint32_t runs_alone(TeamChoice& team) {
    uint32_t runs = 0;
    while (!team.together()) ++runs;
    return runs;
}

TEST(TeamChoice, StaysTogetherWhileNobodyWaitsLong) {
    TeamChoice team(2, Helpers::when_useful);
    for (int run = 0; run < 1000; ++run) {
        ASSERT_TRUE(team.together());
        team.record(30, 100);
    }
}

TEST(TeamChoice, OneThreadIsNeverATeam) {
    TeamChoice team(1, Helpers::when_useful);
    EXPECT_FALSE(team.together());
}

// With two threads the caller's busy half would have to be done twice: worth it from half the time waited.
TEST(TeamChoice, GoesAloneWhereWaitingCostsMoreThanTheHelpersBring) {
    TeamChoice two(2, Helpers::when_useful), four(4, Helpers::when_useful);
    two.record(60, 100);
    EXPECT_EQ(runs_alone(two), 16u);
    four.record(60, 100);
    EXPECT_EQ(runs_alone(four), 0u) << "four threads are worth it up to three quarters";
    four.record(95, 100);
    four.record(95, 100);
    EXPECT_GT(runs_alone(four), 0u);
}

TEST(TeamChoice, CanBeToldToAlwaysUseHelpers) {
    TeamChoice team(2, Helpers::always);
    for (int run = 0; run < 20; ++run) {
        team.record(99, 100);
        EXPECT_TRUE(team.together());
    }
}

TEST(TeamChoice, OneLongStallWeighsAsMuchAsItLasted) {
    TeamChoice team(2, Helpers::when_useful);
    for (int run = 0; run < 8; ++run) team.record(10, 100);
    team.record(10'000, 10'100);
    EXPECT_EQ(runs_alone(team), 16u);
}

TEST(TeamChoice, TriesLessOftenTheMoreTriesFailAndRecovers) {
    TeamChoice team(2, Helpers::when_useful);
    for (const uint32_t expected : {16u, 32u, 64u, 128u, 256u, 256u}) {
        team.record(90, 100);
        EXPECT_EQ(runs_alone(team), expected);
    }
    for (int run = 0; run < 64; ++run) team.record(10, 100);
    team.record(10'000, 10'100);
    EXPECT_EQ(runs_alone(team), 16u);
}

}  // namespace team_choice_test
}  // namespace riftjit::runtime
