#include "sim/files/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/files/metadata.h"
#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

// Bins of one length within the windows; what is left of a window at its end is in none.
class Bins {
public:
    Bins(std::span<const RecordedWindow> windows, uint32_t steps) : windows_(windows), steps_(steps) {
        for (const RecordedWindow& window : windows) {
            firsts_.push_back(count_);
            count_ += (window.end_step - window.first_step) / steps;
        }
        firsts_.push_back(count_);
    }
    size_t count() const { return count_; }
    // Counts less their mean, scaled to length one; empty when they never vary.
    std::vector<double> normalised_counts(std::span<const uint32_t> steps) const {
        std::vector<double> counts(count_);
        size_t window = 0;
        for (const uint32_t step : steps) {  // each of them in a window
            while (step >= windows_[window].end_step) ++window;
            const size_t bin = firsts_[window] + (step - windows_[window].first_step) / steps_;
            if (bin < firsts_[window + 1]) counts[bin] += 1;
        }
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

private:
    std::span<const RecordedWindow> windows_;
    std::vector<size_t> firsts_;
    size_t count_ = 0;
    uint32_t steps_;
};

std::optional<double> mean_correlation(const SpikeTrains& trains, const Bins& bins, uint32_t most_neurons) {
    std::vector<uint32_t> active;
    for (uint32_t neuron = 0; neuron < trains.neurons(); ++neuron)
        if (!trains[neuron].empty()) active.push_back(neuron);
    const size_t chosen = std::min<size_t>(active.size(), most_neurons);
    std::vector<std::vector<double>> counts;
    for (size_t i = 0; bins.count() > 0 && i < chosen; ++i) {
        auto normalised = bins.normalised_counts(trains[active[i * active.size() / chosen]]);
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

std::vector<RecordedWindow> recorded_windows(const Recording& recording, const RecordedPopulation& population,
                                             double start_ms, double stop_ms) {
    const auto step_at = [&](double ms) {
        return std::min(first_step_from(ms, recording.header.step_ms), recording.summary.steps);
    };
    const uint32_t first = step_at(start_ms), last = std::max(first, step_at(stop_ms));
    std::vector<RecordedWindow> windows = windows_within(population, recording.summary);
    for (RecordedWindow& window : windows)
        window = {std::clamp(window.first_step, first, last), std::clamp(window.end_step, first, last)};
    std::erase_if(windows, [](const RecordedWindow& window) { return window.first_step == window.end_step; });
    return windows;
}

SpikeTrains::SpikeTrains(const Recording& recording, const RecordedPopulation& population,
                         std::vector<RecordedWindow> windows)
    : windows_(std::move(windows)), starts_(size_t(population.size) + 1) {
    const auto each = [&](const auto& use) {
        const auto step_before = [](const Spike& spike, uint32_t step) { return spike.step < step; };
        auto spike = recording.spikes.begin();
        for (const RecordedWindow& window : windows_) {
            spike = std::lower_bound(spike, recording.spikes.end(), window.first_step, step_before);
            for (; spike != recording.spikes.end() && spike->step < window.end_step; ++spike)
                if (const size_t place = size_t(spike->id) - population.first_id; place < population.size)  // or huge
                    use(place, spike->step);
        }
    };
    each([&](size_t place, uint32_t) { ++starts_[place + 1]; });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    steps_.resize(starts_.back());
    std::vector<uint64_t> next(starts_.begin(), starts_.end() - 1);
    each([&](size_t place, uint32_t step) { steps_[next[place]++] = step; });
}

std::vector<uint32_t> SpikeTrains::intervals(uint32_t neuron) const {
    const std::span<const uint32_t> steps = (*this)[neuron];
    std::vector<uint32_t> intervals;
    size_t window = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
        const size_t before = window;
        while (steps[i] >= windows_[window].end_step) ++window;
        if (i > 0 && window == before) intervals.push_back(steps[i] - steps[i - 1]);
    }
    return intervals;
}

std::optional<double> variation_of(std::span<const uint32_t> intervals, uint32_t least_intervals) {
    if (intervals.empty() || intervals.size() < least_intervals) return std::nullopt;
    const auto count = double(intervals.size());
    const double mean = double(std::accumulate(intervals.begin(), intervals.end(), uint64_t(0))) / count;
    double squares = 0;
    for (const uint32_t interval : intervals) squares += std::pow(double(interval) - mean, 2);
    return std::sqrt(squares / count) / mean;
}

PopulationStatistics statistics_of(const Recording& recording, const RecordedPopulation& population,
                                   const StatisticsOptions& options) {
    const double step_ms = recording.header.step_ms;
    const SpikeTrains trains(recording, population,
                             recorded_windows(recording, population, options.start_ms, options.stop_ms));
    uint32_t steps = 0;
    for (const RecordedWindow& window : trains.windows()) steps += window.end_step - window.first_step;
    const double seconds = steps * step_ms * 1e-3;
    PopulationStatistics statistics{population.name, population.recorded(), 0, trains.spikes(), 0, {}, {}, {}, {}};
    for (uint32_t neuron = 0; neuron < trains.neurons(); ++neuron) {
        if (trains[neuron].empty()) continue;
        ++statistics.active_neurons;
        statistics.rates_hz.push_back(double(trains[neuron].size()) / seconds);
        if (const auto variation = variation_of(trains.intervals(neuron), options.least_intervals))
            statistics.variations.push_back(*variation);
    }
    // Which of the silent neurons were recorded is not known; how many is.
    statistics.rates_hz.resize(seconds > 0 ? statistics.neurons : 0);
    if (!statistics.rates_hz.empty()) statistics.rate_hz = mean_of(statistics.rates_hz);
    if (!statistics.variations.empty()) statistics.variation = mean_of(statistics.variations);
    const auto bin_steps = uint32_t(std::max(1.0, nearest_steps(options.bin_ms, step_ms)));
    statistics.correlation = mean_correlation(trains, Bins(trains.windows(), bin_steps), options.correlated_neurons);
    return statistics;
}

std::vector<PopulationStatistics> population_statistics(const Recording& recording, const StatisticsOptions& options) {
    std::vector<PopulationStatistics> all;
    for (const RecordedPopulation& population : recording.header.populations)
        all.push_back(statistics_of(recording, population, options));
    return all;
}

}  // namespace riftjit::sim
