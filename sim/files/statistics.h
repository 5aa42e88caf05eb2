// Rates, irregularity and correlation of recorded spikes.
#pragma once

#include <limits>

#include "sim/files/recording.h"

namespace riftjit::sim {

// The steps within [start, stop) in which spikes of a population were recorded: ascending, disjoint, none empty.
std::vector<RecordedWindow> recorded_windows(const Recording& recording, const RecordedPopulation& population,
                                             double start_ms = 0,
                                             double stop_ms = std::numeric_limits<double>::infinity());

// The trains of one population within windows, steps ascending.
class SpikeTrains {
public:
    SpikeTrains(const Recording& recording, const RecordedPopulation& population, std::vector<RecordedWindow> windows);

    uint32_t neurons() const { return static_cast<uint32_t>(starts_.size() - 1); }
    uint64_t spikes() const { return steps_.size(); }
    const std::vector<RecordedWindow>& windows() const { return windows_; }
    std::span<const uint32_t> operator[](uint32_t neuron) const {  // by its place within the population
        return std::span(steps_).subspan(starts_[neuron], starts_[neuron + 1] - starts_[neuron]);
    }
    // Between spikes of one window: what passed between two windows is not known to be an interval.
    std::vector<uint32_t> intervals(uint32_t neuron) const;

private:
    std::vector<RecordedWindow> windows_;
    std::vector<uint64_t> starts_;
    std::vector<uint32_t> steps_;
};

// Deviation (of the population: divided by n) over mean; none of fewer than `least_intervals`.
std::optional<double> variation_of(std::span<const uint32_t> intervals, uint32_t least_intervals);

struct StatisticsOptions {
    double start_ms = 0, stop_ms = std::numeric_limits<double>::infinity();  // of model time; at most the run's end
    uint32_t least_intervals = 5;       // within the windows, for a neuron's CV to count
    double bin_ms = 2;                  // of the counts that are correlated
    uint32_t correlated_neurons = 200;  // at most, evenly among those of a population that fired
};
struct PopulationStatistics {
    std::string name;
    uint32_t neurons, active_neurons;  // recorded; that fired
    uint64_t spikes;
    double rate_hz;                     // mean over recorded neurons, silent ones too
    std::vector<double> rates_hz;       // of each recorded neuron
    std::vector<double> variations;     // CV of the intervals of each neuron that has enough
    std::optional<double> variation;    // their mean
    std::optional<double> correlation;  // mean over pairs of Pearson's, of binned counts
};
PopulationStatistics statistics_of(const Recording& recording, const RecordedPopulation& population,
                                   const StatisticsOptions& options = {});
std::vector<PopulationStatistics> population_statistics(const Recording& recording,
                                                        const StatisticsOptions& options = {});

}  // namespace riftjit::sim
