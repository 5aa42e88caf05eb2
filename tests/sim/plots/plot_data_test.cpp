#include "sim/plots/plot_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/plots/axes.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace plot_data_test {

Recording regular_recording(uint32_t neurons, uint32_t steps, uint32_t interval) {
    Recording recording;
    recording.header.step_ms = 0.1;
    recording.header.compat = "nest";
    recording.header.populations = {{"a", 0, neurons * 3 / 4, {}},
                                    {"b", neurons * 3 / 4, neurons - neurons * 3 / 4, {}}};
    for (uint32_t step = 0; step < steps; ++step)
        for (uint32_t id = 0; id < neurons; ++id)
            if ((step + id) % interval == 0) recording.spikes.push_back({step, id});
    recording.summary = {steps, recording.spikes.size(), 0, 0};
    return recording;
}

TEST(PlotData, ShowsEveryNeuronWhereTheyFit) {
    const Recording recording = regular_recording(100, 200, 20);
    const RasterSample sample = PlotData(recording).choose_rows(100, 1'000'000);
    EXPECT_EQ(sample.stride, 1u);
    EXPECT_EQ(sample.rows.size(), 100u);
    EXPECT_EQ(sample.first_rows, (std::vector<uint32_t>{0, 75, 100}));
}

TEST(PlotData, ChoosesNeuronsEvenlyWhereTheyDoNotFit) {
    const Recording recording = regular_recording(1000, 200, 20);
    const RasterSample sample = PlotData(recording).choose_rows(100, 1'000'000);
    EXPECT_EQ(sample.stride, 10u);
    EXPECT_EQ(sample.neurons, 1000u);
    EXPECT_EQ(sample.first_rows, (std::vector<uint32_t>{0, 75, 100}));
    for (uint32_t row = 0; row < 75; ++row) EXPECT_EQ(sample.rows[row].neuron, row * 10);
}

TEST(PlotData, ChoosesFewerNeuronsWhereTheySpikeTooOften) {
    const Recording recording = regular_recording(100, 2000, 20);  // 100 spikes each
    const PlotData data(recording);
    const RasterSample sample = data.choose_rows(100, 3000);
    uint64_t spikes = 0;
    for (const RasterRow& row : sample.rows) spikes += data.trains[row.population][row.neuron].size();
    EXPECT_LE(spikes, 3000u);
    EXPECT_GT(spikes, 1000u);
}

TEST(PlotData, BinsRatesWithoutLosingASpike) {
    const Recording recording = regular_recording(100, 1990, 20);
    const PlotData data(recording);
    const uint32_t bin = data.bin_steps(100);
    EXPECT_EQ(bin, 20u);
    const RateCurve curve = data.rate_curve(0, bin);
    ASSERT_EQ(curve.rates_hz.size(), 100u);
    // One spike per neuron and 2 ms: 500 Hz; in the last bin, of half the length, the ten phases that fall into it.
    for (size_t i = 0; i + 1 < curve.rates_hz.size(); ++i) EXPECT_DOUBLE_EQ(curve.rates_hz[i], 500);
    double spikes = 0;
    for (size_t i = 0; i < curve.rates_hz.size(); ++i) spikes += curve.rates_hz[i] * 75 * (i == 99 ? 1e-3 : 2e-3);
    EXPECT_NEAR(spikes, double(data.trains[0].spikes()), 1e-6);
}

TEST(PlotData, PutsEveryIntervalIntoOneBin) {
    const Recording recording = regular_recording(40, 2000, 30);
    const auto histograms = PlotData(recording).interval_histograms(50);
    ASSERT_EQ(histograms.size(), 2u);
    for (const Histogram& histogram : histograms) {
        EXPECT_NEAR(std::accumulate(histogram.shares.begin(), histogram.shares.end(), 0.0), 1, 1e-12);
        EXPECT_EQ(std::ranges::count(histogram.shares, 1.0), 1);  // all are 3 ms
        const auto bin = size_t(std::ranges::find(histogram.shares, 1.0) - histogram.shares.begin());
        EXPECT_LT(histogram.edges[bin], 3.0);
        EXPECT_GT(histogram.edges[bin + 1], 3.0);
    }
}

// Windows of 30 and 20 ms with spikes each 2 ms: neither the time between them nor a bin's share of it counts.
TEST(PlotData, KnowsWhichStepsWereRecorded) {
    Recording recording = regular_recording(4, 10, 10);
    recording.spikes.clear();
    recording.header.populations = {{"E", 0, 1, {}, {{0, 300}, {1510, 1710}}}};
    for (const RecordedWindow& window : recording.header.populations[0].windows)
        for (uint32_t step = window.first_step; step < window.end_step; step += 20)
            recording.spikes.push_back({step, 0});
    recording.summary.steps = 3000;
    const PlotData data(recording);
    EXPECT_EQ(std::ranges::count(data.interval_histograms(50)[0].shares, 1.0), 1);
    const RateCurve curve = data.rate_curve(0, 100);
    for (const size_t bin : {0u, 1u, 2u, 16u}) EXPECT_DOUBLE_EQ(curve.rates_hz[bin], 500);
    EXPECT_DOUBLE_EQ(curve.rates_hz[15], 5 / 9e-3);
    EXPECT_EQ(curve.rates_hz[17], 0);
    EXPECT_EQ(curve.rates_hz[20], 0);
}

// Two neighbouring steps never share a bin by half: each edge lies between two multiples of the step.
TEST(PlotData, PutsEdgesOfIntervalsBetweenSteps) {
    Recording recording = regular_recording(4, 10, 10);
    recording.spikes = {{0, 0}, {1, 0}, {3, 0}, {2000, 0}};
    recording.summary.steps = 3000;
    const auto histograms = PlotData(recording).interval_histograms(50);
    for (const double edge : histograms.front().edges) {
        const double steps = edge / 0.1;
        EXPECT_NEAR(steps - std::floor(steps), 0.5, 1e-6);
    }
}

TEST(Axes, TickAtRoundNumbersWithinTheirRange) {
    EXPECT_EQ(tick_labels(ticks({0, 1000, ""}, 5)),
              (std::vector<std::string>{"0", "200", "400", "600", "800", "1,000"}));
    EXPECT_EQ(tick_labels(ticks({0, 1, ""}, 4)), (std::vector<std::string>{"0.00", "0.25", "0.50", "0.75", "1.00"}));
    EXPECT_EQ(tick_labels(ticks({0.3, 400, "", Scale::logarithmic}, 4)), (std::vector<std::string>{"1", "10", "100"}));
    EXPECT_EQ(tick_labels(ticks({0.9, 12, "", Scale::logarithmic}, 4)),
              (std::vector<std::string>{"1", "2", "5", "10"}));
}

TEST(Axes, RoundUpToTheNextNiceNumber) {
    EXPECT_EQ(round_up_nicely(0.9), 1);
    EXPECT_EQ(round_up_nicely(1.01), 2);
    EXPECT_EQ(round_up_nicely(2.1), 2.5);
    EXPECT_EQ(round_up_nicely(37), 50);
    EXPECT_EQ(round_up_nicely(100), 100);
    EXPECT_EQ(round_up_nicely(0), 1);
}

}  // namespace plot_data_test
}  // namespace riftjit::sim
