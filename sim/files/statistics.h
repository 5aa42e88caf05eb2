// Rates, irregularity and correlation of recorded spikes.
#pragma once

#include <limits>

#include "sim/files/recording.h"

namespace riftjit::sim {

// The trains of one population, steps ascending.
class SpikeTrains {
public:
    // Steps first_step ≤ step < last_step.
    SpikeTrains(const Recording& recording, const RecordedPopulation& population, uint32_t first_step = 0,
                uint32_t last_step = std::numeric_limits<uint32_t>::max());

    uint32_t neurons() const { return static_cast<uint32_t>(starts_.size() - 1); }
    uint64_t spikes() const { return steps_.size(); }
    std::span<const uint32_t> operator[](uint32_t neuron) const {  // by its place within the population
        return std::span(steps_).subspan(starts_[neuron], starts_[neuron + 1] - starts_[neuron]);
    }

private:
    std::vector<uint64_t> starts_;
    std::vector<uint32_t> steps_;
};

// Deviation (of the population: divided by n) over mean of the intervals; none with fewer than `least_intervals`.
std::optional<double> variation_of_intervals(std::span<const uint32_t> steps, uint32_t least_intervals);

struct StatisticsOptions {
    double start_ms = 0, stop_ms = std::numeric_limits<double>::infinity();  // of model time; at most the run's end
    uint32_t least_intervals = 5;       // within the window, for a neuron's CV to count
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
