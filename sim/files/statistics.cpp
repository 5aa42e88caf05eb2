#include "sim/files/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/files/metadata.h"
#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

struct MeasuredWindow {
    uint32_t first, last;  // first ≤ step < last
    uint32_t recorded;     // of these steps

    double seconds(double step_ms) const { return recorded * step_ms * 1e-3; }
};

MeasuredWindow window_of(const Recording& recording, const RecordedPopulation& population,
                         const StatisticsOptions& options) {
    const auto step_at = [&](double ms) {
        return std::min(first_step_from(ms, recording.header.step_ms), recording.summary.steps);
    };
    const uint32_t first = step_at(options.start_ms), last = std::max(first, step_at(options.stop_ms));
    const std::vector<RecordedWindow> windows = windows_within(population, recording.summary);
    MeasuredWindow measured{std::clamp(windows.front().first_step, first, last),
                            std::clamp(windows.back().end_step, first, last), 0};
    for (const RecordedWindow& window : windows)
        measured.recorded += std::clamp(window.end_step, first, last) - std::clamp(window.first_step, first, last);
    return measured;
}

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

// Binned counts less their mean, scaled to length one; empty when they never vary.
std::vector<double> normalised_counts(std::span<const uint32_t> steps, uint32_t first, uint32_t bin_steps,
                                      size_t bins) {
    std::vector<double> counts(bins);
    for (const uint32_t step : steps)
        if (const size_t bin = (step - first) / bin_steps; bin < bins) counts[bin] += 1;
    const double mean = mean_of(counts);
    double squares = 0;
    for (double& count : counts) {
        count -= mean;
        squares += count * count;
    }
    if (squares == 0) return {};
    for (double& count : counts) count /= std::sqrt(squares);
    return counts;
}

std::optional<double> mean_correlation(const SpikeTrains& trains, const MeasuredWindow& window, uint32_t bin_steps,
                                       uint32_t most_neurons) {
    std::vector<uint32_t> active;
    for (uint32_t neuron = 0; neuron < trains.neurons(); ++neuron)
        if (!trains[neuron].empty()) active.push_back(neuron);
    const size_t chosen = std::min<size_t>(active.size(), most_neurons);
    const size_t bins = (window.last - window.first) / bin_steps;
    std::vector<std::vector<double>> counts;
    for (size_t i = 0; bins > 0 && i < chosen; ++i) {
        auto normalised = normalised_counts(trains[active[i * active.size() / chosen]], window.first, bin_steps, bins);
        if (!normalised.empty()) counts.push_back(std::move(normalised));
    }
    if (counts.size() < 2) return std::nullopt;
    double sum = 0;
    for (size_t i = 0; i < counts.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            sum += std::inner_product(counts[i].begin(), counts[i].end(), counts[k].begin(), 0.0);
    return sum / (0.5 * double(counts.size()) * double(counts.size() - 1));
}

}  // namespace

SpikeTrains::SpikeTrains(const Recording& recording, const RecordedPopulation& population, uint32_t first_step,
                         uint32_t last_step)
    : starts_(size_t(population.size) + 1) {
    const auto step_before = [](const Spike& spike, uint32_t step) { return spike.step < step; };
    const auto begin = std::lower_bound(recording.spikes.begin(), recording.spikes.end(), first_step, step_before);
    const auto end = std::lower_bound(begin, recording.spikes.end(), last_step, step_before);
    const auto place = [&](const Spike& spike) { return size_t(spike.id) - population.first_id; };  // huge if below
    for (auto spike = begin; spike != end; ++spike)
        if (place(*spike) < population.size) ++starts_[place(*spike) + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    steps_.resize(starts_.back());
    std::vector<uint64_t> next(starts_.begin(), starts_.end() - 1);
    for (auto spike = begin; spike != end; ++spike)
        if (place(*spike) < population.size) steps_[next[place(*spike)]++] = spike->step;
}

std::optional<double> variation_of_intervals(std::span<const uint32_t> steps, uint32_t least_intervals) {
    if (steps.size() < 2 || steps.size() - 1 < least_intervals) return std::nullopt;
    const double count = double(steps.size() - 1);
    const double mean = double(steps.back() - steps.front()) / count;
    double squares = 0;
    for (size_t i = 1; i < steps.size(); ++i) squares += std::pow(double(steps[i] - steps[i - 1]) - mean, 2);
    return std::sqrt(squares / count) / mean;
}

PopulationStatistics statistics_of(const Recording& recording, const RecordedPopulation& population,
                                   const StatisticsOptions& options) {
    const double step_ms = recording.header.step_ms;
    const MeasuredWindow window = window_of(recording, population, options);
    const double seconds = window.seconds(step_ms);
    const auto bin_steps = uint32_t(std::max(1.0, std::nearbyint(options.bin_ms / step_ms)));
    const SpikeTrains trains(recording, population, window.first, window.last);
    PopulationStatistics statistics{population.name, population.recorded(), 0, trains.spikes(), 0, {}, {}, {}, {}};
    for (uint32_t neuron = 0; neuron < trains.neurons(); ++neuron) {
        if (trains[neuron].empty()) continue;
        ++statistics.active_neurons;
        if (seconds > 0) statistics.rates_hz.push_back(double(trains[neuron].size()) / seconds);
        if (const auto variation = variation_of_intervals(trains[neuron], options.least_intervals))
            statistics.variations.push_back(*variation);
    }
    // Which of the silent neurons were recorded is not known; how many is.
    statistics.rates_hz.resize(seconds > 0 ? statistics.neurons : 0);
    if (!statistics.rates_hz.empty()) statistics.rate_hz = mean_of(statistics.rates_hz);
    if (!statistics.variations.empty()) statistics.variation = mean_of(statistics.variations);
    statistics.correlation = mean_correlation(trains, window, bin_steps, options.correlated_neurons);
    return statistics;
}

std::vector<PopulationStatistics> population_statistics(const Recording& recording, const StatisticsOptions& options) {
    std::vector<PopulationStatistics> all;
    for (const RecordedPopulation& population : recording.header.populations)
        all.push_back(statistics_of(recording, population, options));
    return all;
}

}  // namespace riftjit::sim
