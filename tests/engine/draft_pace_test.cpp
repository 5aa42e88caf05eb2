// The pace beside a clock that is made up.
#include "engine/draft_pace.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

namespace riftjit::engine {
namespace draft_pace_test {

struct World {
    std::function<double(uint32_t rows)> step_ms;
    std::function<double(size_t token)> share;  // of guesses that are right
    double guess_ms = 0;
    bool is_free = true;
};

// The time that so many tokens take, in plain steps.
double time_of(DraftPace& pace, const World& world, size_t tokens, uint32_t most = 64) {
    std::mt19937 engine(1);
    std::uniform_real_distribution<double> chance;
    double ms = 0;
    uint32_t backlog = 0;
    for (size_t done = 0; done < tokens;) {
        const uint32_t guesses = pace.length(0, most, world.is_free ? 0 : backlog);
        const auto is_right = [&] { return chance(engine) < world.share(done); };
        DraftPace::Step step{
            .grade = 0, .guesses = guesses, .rows = guesses + 1, .step_ms = world.step_ms(guesses + 1)};
        step.draft_ms = guesses * world.guess_ms + (guesses > 0 && !world.is_free ? backlog * 0.1 * world.guess_ms : 0);
        step.backlog = world.is_free ? 0 : backlog;
        while (step.right < guesses && is_right()) ++step.right;
        if (guesses == 0 && world.is_free) step.guesses = 1, step.right = is_right();
        ms += step.step_ms + step.draft_ms;
        const size_t tokens_of_step = guesses == 0 ? 1 : step.right + 1;
        done += tokens_of_step;
        backlog = guesses == 0 ? backlog + 1 : 1;
        pace.note(step);
    }
    return ms / world.step_ms(1);
}

double in_tiles(uint32_t rows) { return rows == 1 ? 5 : 5 * (1.2 + 0.4 * ((rows + 3) / 4)); }  // 1.6 at 2 to 4 rows
double by_row(uint32_t rows) { return 5.0 * rows; }
double nearly_free(uint32_t rows) { return 5 + 0.05 * rows; }

const std::function<double(size_t)> kNeverRight = [](size_t) { return 0.0; };
const std::function<double(size_t)> kAlwaysRight = [](size_t) { return 1.0; };

// 2 % and the time of a few tokens, whatever steps and guesses take.
TEST(DraftPace, IsNeverMuchSlowerThanPlainSteps) {
    for (const auto& step_ms : {in_tiles, by_row, nearly_free})
        for (const double share : {0.0, 0.1, 0.3, 0.5, 0.8, 1.0})
            for (const double guess_ms : {0.0, 0.5, 2.0, 6.0}) {
                DraftPace pace({.most = 16});
                pace.note_catch_up(100, 100 * 0.1 * guess_ms);
                constexpr size_t kTokens = 1000;
                const double time =
                    time_of(pace, {step_ms, [share](size_t) { return share; }, guess_ms, guess_ms == 0}, kTokens);
                EXPECT_LT(time, 1.02 * kTokens + 6) << share << ", guesses " << guess_ms << ", 4 rows " << step_ms(4);
            }
}

TEST(DraftPace, GainsWhatThereIsToGain) {
    constexpr size_t kTokens = 1000;
    DraftPace right({.most = 15}), often({.most = 15}), of_model({.most = 7});
    EXPECT_LT(time_of(right, {in_tiles, kAlwaysRight}, kTokens), 0.22 * kTokens);  // 16 rows: 2.8 plain steps, 0.175
    EXPECT_LT(time_of(often, {in_tiles, [](size_t) { return 0.7; }}, kTokens), 0.7 * kTokens);
    EXPECT_LT(time_of(of_model, {in_tiles, kAlwaysRight, 0.5, false}, kTokens), 0.4 * kTokens);
}

TEST(DraftPace, FollowsATextThatStopsRepeatingItself) {
    constexpr size_t kTokens = 1000;
    const auto first_half = [](size_t token) { return token < kTokens / 2 ? 1.0 : 0.0; };
    DraftPace half({.most = 15}), all({.most = 15});
    const double with_half = time_of(half, {in_tiles, first_half}, kTokens);
    EXPECT_LT(with_half - time_of(all, {in_tiles, kAlwaysRight}, kTokens / 2), 1.02 * kTokens / 2 + 12);
    const auto second_half = [](size_t token) { return token < kTokens / 2 ? 0.0 : 1.0; };
    DraftPace later({.most = 15});
    EXPECT_LT(time_of(later, {in_tiles, second_half}, kTokens), 0.8 * kTokens) << "it never noticed";
}

// A few steps that other work stretched do not end what pays, nor begin what does not.
TEST(DraftPace, BearsStretchedTimes) {
    constexpr size_t kTokens = 1000;
    std::mt19937 engine(5);
    const auto stretched = [&engine](uint32_t rows) { return in_tiles(rows) * (engine() % 20 == 0 ? 6 : 1); };
    DraftPace pays({.most = 15}), does_not({.most = 15});
    EXPECT_LT(time_of(pays, {stretched, kAlwaysRight}, kTokens) * stretched(1), 0.8 * kTokens * 5);
    double mean = 0;
    for (int i = 0; i < 1000; ++i) mean += stretched(1) / 1000;
    const auto first = [&](uint32_t rows) { return rows == 0 ? 5.0 : stretched(rows); };
    EXPECT_LT(time_of(does_not, {first, kNeverRight}, kTokens) * 5, 1.2 * mean * kTokens);
}

TEST(DraftPace, KeepsItsLimits) {
    for (const uint32_t least : {0U, 2U, 5U}) {
        DraftPace pace({.least = least, .most = 6});
        for (int i = 0; i < 200; ++i) {
            for (const uint32_t room : {0U, 1U, 4U, 100U}) {
                const uint32_t guesses = pace.length(0, room, 0);
                EXPECT_LE(guesses, std::min(room, 6U));
                EXPECT_TRUE(guesses == 0 || guesses >= least) << guesses;
            }
            const uint32_t guesses = pace.length(0, 100, 0);
            pace.note({.grade = 0,
                       .guesses = std::max(guesses, 1U),
                       .right = std::max(guesses, 1U),
                       .rows = guesses + 1,
                       .step_ms = in_tiles(guesses + 1)});
        }
        EXPECT_EQ(pace.length(0, 100, 0), 6u) << "all were right";
    }
    const DraftPace unbounded({.most = 6, .is_bounded = false});
    EXPECT_EQ(unbounded.length(3, 100, 0), 6u);
    EXPECT_EQ(unbounded.length(3, 4, 0), 4u);
    EXPECT_EQ(unbounded.length(3, 0, 0), 0u);
}

TEST(DraftPace, LearnsOfEachGradeByItself) {
    DraftPace pace({.most = 7});
    uint32_t tried[2] = {};
    for (int i = 0; i < 400; ++i) {
        const uint32_t grade = i % 2, guesses = pace.length(grade, 7, 0);
        if (i >= 100) tried[grade] += guesses > 0;
        const uint32_t compared = std::max(guesses, 1U);
        pace.note({.grade = grade,
                   .guesses = compared,
                   .right = grade == 1 ? compared : 0,
                   .rows = guesses + 1,
                   .step_ms = in_tiles(guesses + 1)});
    }
    EXPECT_GT(tried[1], 130u);
    EXPECT_LT(tried[0], 30u) << "trials alone";
}

}  // namespace draft_pace_test
}  // namespace riftjit::engine
