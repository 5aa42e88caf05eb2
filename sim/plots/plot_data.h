// What plots show, computed from a recording: the same for pictures and for the terminal.
#pragma once

#include "sim/files/statistics.h"

namespace riftjit::sim {

// One line of a raster: a neuron and its spikes.
struct RasterRow {
    uint32_t population, neuron;  // the neuron's place within its population
};
struct RasterSample {
    std::vector<RasterRow> rows;       // by population, then neuron
    std::vector<uint32_t> first_rows;  // where each population starts, and the end
    uint64_t neurons = 0;              // that could have been shown
    uint32_t stride = 1;               // every stride-th neuron of each population is shown
};
struct RateCurve {
    std::vector<double> rates_hz;  // of each bin
    double peak_hz = 0;
};
struct Histogram {
    std::vector<double> edges, shares;  // shares of all values, which sum to 1; edges: one more
    uint64_t values = 0;
};

class PlotData {
public:
    explicit PlotData(const Recording& recording);

    const Recording& recording;
    std::vector<SpikeTrains> trains;  // of each population
    std::vector<PopulationStatistics> statistics;

    double duration_ms() const { return recording.summary.steps * recording.header.step_ms; }
    // The densest even choice with at most so many rows and spikes.
    RasterSample choose_rows(uint32_t most_rows, uint64_t most_spikes) const;
    // Whole steps, about `bins` of them over the run, of 1, 2 or 5 times a power of ten steps.
    uint32_t bin_steps(uint32_t bins) const;
    RateCurve rate_curve(size_t population, uint32_t bin_steps) const;
    // Over bins that grow by a constant factor, the same for all populations.
    std::vector<Histogram> interval_histograms(uint32_t bins) const;
    std::vector<Histogram> variation_histograms(uint32_t bins) const;
};

}  // namespace riftjit::sim
