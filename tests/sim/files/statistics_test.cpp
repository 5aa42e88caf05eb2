#include "sim/files/statistics.h"

#include <algorithm>
#include <cmath>

#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace statistics_test {

Recording recording_of(std::vector<Spike> spikes, std::vector<RecordedPopulation> populations, uint32_t steps) {
    Recording recording;
    recording.header.step_ms = 0.1;
    recording.header.compat = "nest";
    recording.header.populations = std::move(populations);
    std::ranges::sort(spikes);
    recording.spikes = std::move(spikes);
    recording.summary = {steps, recording.spikes.size(), 0, 0};
    return recording;
}

TEST(Statistics, CountSilentNeuronsInTheRate) {
    // 3 spikes of 4 neurons in 100 ms: 7.5 Hz; the other population is its own.
    const auto all = population_statistics(
        recording_of({{0, 0}, {10, 0}, {20, 2}, {30, 7}}, {{"E", 0, 4, {}}, {"I", 4, 4, {}}}, 1000));
    ASSERT_EQ(all.size(), 2u);
    EXPECT_DOUBLE_EQ(all[0].rate_hz, 7.5);
    EXPECT_EQ(all[0].active_neurons, 2u);
    EXPECT_EQ(all[0].spikes, 3u);
    EXPECT_DOUBLE_EQ(all[1].rate_hz, 2.5);
}

TEST(Statistics, CountRecordedNeuronsOnly) {
    const auto all = population_statistics(recording_of({{0, 0}, {10, 1}}, {{"E", 0, 1000, 2}}, 1000));
    EXPECT_EQ(all[0].neurons, 2u);
    EXPECT_DOUBLE_EQ(all[0].rate_hz, 10);
}

TEST(Statistics, TakeTheVariationOfIntervalsWithinTheWindow) {
    // Intervals 10, 20, 10, 20, 10 steps: mean 14, variance 24 (divided by 5): CV sqrt(24) / 14.
    std::vector<Spike> spikes;
    for (const uint32_t step : {100u, 110u, 130u, 140u, 160u, 170u}) spikes.push_back({step, 0});
    const Recording recording = recording_of(spikes, {{"E", 0, 1, {}}}, 1000);
    const auto all = population_statistics(recording);
    ASSERT_TRUE(all[0].variation);
    EXPECT_DOUBLE_EQ(*all[0].variation, std::sqrt(24.0) / 14);
    // Four intervals are too few; a window that cuts the first spike off leaves four.
    EXPECT_FALSE(population_statistics(recording, {.start_ms = 10.5})[0].variation);
    EXPECT_TRUE(population_statistics(recording, {.start_ms = 10.5, .least_intervals = 4})[0].variation);
    EXPECT_EQ(population_statistics(recording, {.start_ms = 10.5})[0].spikes, 5u);
    EXPECT_EQ(population_statistics(recording, {.stop_ms = 17})[0].spikes, 5u);  // step 170 begins at 17 ms
}

// A gap between windows is no interval, and its bins, in which nobody could be seen to fire, correlate nothing.
TEST(Statistics, LeaveOutWhatLiesBetweenRecordedWindows) {
    const std::vector<RecordedWindow> parts{{0, 400}, {9600, 10000}}, single{{0, 10000}};
    std::vector<Spike> regular, opposite;
    for (const RecordedWindow& window : parts)
        for (uint32_t step = window.first_step; step < window.end_step; step += 20) {
            regular.push_back({step, 0});
            opposite.push_back({step, step / 20 % 2});
        }
    struct Case {
        std::vector<RecordedWindow> windows;
        double start_ms, rate_hz, variation, correlation;
    };
    const double gap = 9220, mean = (38 * 20 + gap) / 39;  // in steps, where the gap counts
    const double deviation = std::sqrt((38 * (20 - mean) * (20 - mean) + (gap - mean) * (gap - mean)) / 39);
    const Case cases[] = {
        {parts, 0, 40 / 0.08, 0, -1},
        {parts, 20, 30 / 0.06, 0, -1},
        {single, 0, 40 / 1.0, deviation / mean, -0.8 / 19.2},
    };
    for (const Case& one : cases) {
        const StatisticsOptions options{.start_ms = one.start_ms};
        const auto alone = population_statistics(recording_of(regular, {{"E", 0, 1, {}, one.windows}}, 10000), options);
        EXPECT_NEAR(alone[0].rate_hz, one.rate_hz, 1e-9);
        EXPECT_NEAR(alone[0].variation.value(), one.variation, 1e-12);
        const auto pair = population_statistics(recording_of(opposite, {{"E", 0, 2, {}, one.windows}}, 10000), options);
        EXPECT_NEAR(pair[0].correlation.value(), one.correlation, 1e-12);
    }
}

TEST(Statistics, OfARegularTrainAreOfVariationZero) {
    std::vector<Spike> spikes;
    for (uint32_t step = 0; step < 1000; step += 30) spikes.push_back({step, 0});
    EXPECT_DOUBLE_EQ(*population_statistics(recording_of(spikes, {{"E", 0, 1, {}}}, 1000))[0].variation, 0);
}

TEST(Statistics, CorrelateEqualTrainsByOneAndOppositeOnesByMinusOne) {
    std::vector<Spike> equal, opposite;
    for (uint32_t bin = 0; bin < 50; bin += 2) {  // bins of 20 steps
        for (const uint32_t id : {0u, 1u}) equal.push_back({bin * 20 + 3 * id, id});
        opposite.push_back({bin * 20, 0});
        opposite.push_back({(bin + 1) * 20, 1});
    }
    const std::vector<RecordedPopulation> pair{{"E", 0, 2, {}}};
    EXPECT_NEAR(*population_statistics(recording_of(equal, pair, 1000))[0].correlation, 1, 1e-12);
    EXPECT_NEAR(*population_statistics(recording_of(opposite, pair, 1000))[0].correlation, -1, 1e-12);
    EXPECT_FALSE(population_statistics(recording_of({{0, 0}}, pair, 1000))[0].correlation);
}

TEST(Statistics, OfNoTimeAreNone) {
    const auto all = population_statistics(recording_of({}, {{"E", 0, 3, {}}, {"none", 3, 0, {}}}, 0));
    EXPECT_EQ(all[0].rate_hz, 0);
    EXPECT_TRUE(all[0].rates_hz.empty());
    EXPECT_EQ(all[1].neurons, 0u);
}

}  // namespace statistics_test
}  // namespace riftjit::sim
