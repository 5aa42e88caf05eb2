#include "sim/plots/plot_data.h"

#include <algorithm>
#include <cmath>

namespace riftjit::sim {

namespace {

uint64_t spikes_of_every(uint32_t stride, const std::vector<SpikeTrains>& trains) {
    uint64_t spikes = 0;
    for (const SpikeTrains& population : trains)
        for (uint64_t neuron = 0; neuron < population.neurons(); neuron += stride)
            spikes += population[uint32_t(neuron)].size();
    return spikes;
}

template <class Use>
void for_each_interval(const SpikeTrains& trains, const Use& use) {
    for (uint32_t neuron = 0; neuron < trains.neurons(); ++neuron)
        for (const uint32_t interval : trains.intervals(neuron)) use(interval);
}

void add(Histogram& histogram, double value) {
    const auto above = std::ranges::upper_bound(histogram.edges, value);
    const auto bin =
        std::clamp<ptrdiff_t>(above - histogram.edges.begin() - 1, 0, ptrdiff_t(histogram.shares.size()) - 1);
    ++histogram.shares[size_t(bin)];
    ++histogram.values;
}

void divide_by_values(Histogram& histogram) {
    for (double& share : histogram.shares) share /= std::max<double>(1, double(histogram.values));
}

}  // namespace

PlotData::PlotData(const Recording& recording)
    : recording(recording), statistics(population_statistics(recording, {.correlated_neurons = 0})) {
    for (const RecordedPopulation& population : recording.header.populations)
        trains.emplace_back(recording, population, recorded_windows(recording, population));
}

RasterSample PlotData::choose_rows(uint32_t most_rows, uint64_t most_spikes) const {
    RasterSample sample;
    for (const SpikeTrains& population : trains) sample.neurons += population.neurons();
    sample.stride = uint32_t(std::max<uint64_t>(1, (sample.neurons + most_rows - 1) / most_rows));
    while (sample.stride < sample.neurons && spikes_of_every(sample.stride, trains) > most_spikes) sample.stride *= 2;
    for (uint32_t population = 0; population < trains.size(); ++population) {
        sample.first_rows.push_back(uint32_t(sample.rows.size()));
        for (uint64_t neuron = 0; neuron < trains[population].neurons(); neuron += sample.stride)
            sample.rows.push_back({population, uint32_t(neuron)});
    }
    sample.first_rows.push_back(uint32_t(sample.rows.size()));
    return sample;
}

uint32_t PlotData::bin_steps(uint32_t bins) const {
    const double wanted = double(recording.summary.steps) / bins;
    for (double power = 1;; power *= 10)
        for (const double factor : {1.0, 2.0, 5.0})
            if (factor * power >= wanted) return uint32_t(factor * power);
}

RateCurve PlotData::rate_curve(size_t population, uint32_t bin_steps) const {
    const uint32_t neurons = statistics[population].neurons;
    RateCurve curve;
    curve.rates_hz.resize((size_t(recording.summary.steps) + bin_steps - 1) / bin_steps);
    for (uint32_t neuron = 0; neuron < trains[population].neurons(); ++neuron)
        for (const uint32_t step : trains[population][neuron])
            if (step / bin_steps < curve.rates_hz.size()) ++curve.rates_hz[step / bin_steps];
    // Of a bin's steps those that were recorded: the last bin may be shorter, and windows begin and end within one.
    std::vector<uint32_t> recorded(curve.rates_hz.size());
    for (const RecordedWindow& window : trains[population].windows())
        for (uint32_t step = window.first_step; step < window.end_step;) {
            const uint32_t bin = step / bin_steps;
            const auto end = uint32_t(std::min<uint64_t>(window.end_step, (uint64_t(bin) + 1) * bin_steps));
            recorded[bin] += end - step;
            step = end;
        }
    for (size_t bin = 0; bin < curve.rates_hz.size(); ++bin) {
        if (recorded[bin] == 0) continue;
        curve.rates_hz[bin] /= std::max(1u, neurons) * double(recorded[bin]) * recording.header.step_ms * 1e-3;
        curve.peak_hz = std::max(curve.peak_hz, curve.rates_hz[bin]);
    }
    return curve;
}

std::vector<Histogram> PlotData::interval_histograms(uint32_t bins) const {
    uint32_t least = UINT32_MAX, most = 1;
    for (const SpikeTrains& population : trains)
        for_each_interval(population, [&](uint32_t interval) {
            least = std::min(least, interval);
            most = std::max(most, interval);
        });
    least = std::clamp(least, 1u, most);
    // Edges half a step beside the grid on which intervals lie; bins never narrower than a step.
    const double low = (least - 0.5) * recording.header.step_ms, high = (most + 0.5) * recording.header.step_ms;
    const double factor = std::max(std::pow(high / low, 1.0 / bins), 1.0001);
    std::vector<double> edges{low};
    while (edges.back() < high * (1 - 1e-9)) {
        const double next = std::max(edges.back() * factor, edges.back() + recording.header.step_ms);
        const double steps = std::ceil(next / recording.header.step_ms - 0.5 - 1e-6);
        edges.push_back((steps + 0.5) * recording.header.step_ms);
    }
    std::vector<Histogram> histograms;
    for (const SpikeTrains& population : trains) {
        Histogram histogram{edges, std::vector<double>(edges.size() - 1), 0};
        for_each_interval(population, [&](uint32_t interval) { add(histogram, interval * recording.header.step_ms); });
        divide_by_values(histogram);
        histograms.push_back(std::move(histogram));
    }
    return histograms;
}

std::vector<Histogram> PlotData::variation_histograms(uint32_t bins) const {
    double most = 1.25;
    for (const PopulationStatistics& population : statistics)
        for (const double variation : population.variations) most = std::max(most, variation);
    const double width = std::ceil(most * 4) / 4 / bins;
    std::vector<double> edges;
    for (uint32_t i = 0; i <= bins; ++i) edges.push_back(i * width);
    std::vector<Histogram> histograms;
    for (const PopulationStatistics& population : statistics) {
        Histogram histogram{edges, std::vector<double>(bins), 0};
        for (const double variation : population.variations) add(histogram, variation);
        divide_by_values(histogram);
        histograms.push_back(std::move(histogram));
    }
    return histograms;
}

}  // namespace riftjit::sim
