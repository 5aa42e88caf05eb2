// What a run remembers for its files: spikes of chosen neurons in windows, sampled states, sampled weights.
#pragma once

#include <functional>
#include <vector>

#include "sim/engine/blueprint.h"
#include "sim/engine/connection_build.h"
#include "sim/engine/neuron_state.h"
#include "sim/files/recording.h"

namespace riftjit::sim {

struct StepWindow {
    uint32_t begin, end;
    bool contains(uint32_t step) const { return step >= begin && step < end; }
};
// The steps that start in [start, stop).
StepWindow step_window(double start_ms, double stop_ms, double step_ms);

// Of one sample of states or weights; 0 of a recorder of spikes.
uint64_t sample_bytes(const Blueprint& blueprint, const Recorder& recorder);

// Which spikes to keep. One that several recorders want is kept once.
class SpikeFilter {
public:
    explicit SpikeFilter(const Blueprint& blueprint);
    // Appends those of `elements` (of one population, in `step`) that some recorder wants.
    void keep(uint32_t population, uint32_t step, std::span<const uint32_t> elements, std::vector<Spike>& spikes) const;
    // When spikes of a population are kept, of one recorder or another: ascending, disjoint.
    std::vector<RecordedWindow> windows(uint32_t population) const;
    // Of how many neurons of a population spikes are kept; unset: of all.
    std::optional<uint32_t> recorded_neurons(uint32_t population) const;

private:
    struct Wanted {
        StepWindow window;
        std::vector<bool> neurons;  // empty: all
    };
    std::vector<uint32_t> first_ids_;
    std::vector<std::vector<Wanted>> wanted_;  // by population
};

// Values sampled at an interval, each thread keeping those of its own slice until they are taken.
// Sample i is of the end of step (i + 1) * interval - 1, for those steps inside the window.
class Sampler {
public:
    Sampler(StepWindow window, uint32_t interval, uint32_t threads)
        : window_(window), interval_(interval), buffers_(threads) {}

    bool samples(uint32_t step) const { return window_.contains(step) && (uint64_t(step) + 1) % interval_ == 0; }
    std::vector<double>& buffer(uint32_t thread) { return buffers_[thread]; }
    // lengths: of the pieces that make up one sample, piece by piece, with the thread that has it.
    struct Piece {
        uint32_t thread;
        uint64_t values;
    };
    void join(std::span<const Piece> pieces);  // of all samples so far, in order
    std::vector<double> take() { return std::exchange(joined_, {}); }
    std::vector<double>& joined() { return joined_; }

private:
    StepWindow window_;
    uint32_t interval_;
    std::vector<std::vector<double>> buffers_;
    std::vector<double> joined_;
};

class StateSampler {
public:
    // Refuses unknown variables, neurons outside the population and intervals that are no whole number of steps.
    static Result<StateSampler> create(const Blueprint& blueprint, const Recorder& recorder, const NeuronState& state,
                                       const Slices& slices);
    void sample(uint32_t step, uint32_t thread);
    std::vector<double> take();
    std::vector<double>& pending();  // joined, still to be taken
    size_t sample_values() const { return neurons_.size() * variables_.size(); }

private:
    struct Variable {
        const void* column;
        ColumnType type;
    };
    StateSampler(Sampler sampler) : sampler_(std::move(sampler)) {}
    void join();

    Sampler sampler_;
    std::vector<Variable> variables_;
    std::vector<uint32_t> neurons_;  // elements, ascending
    std::vector<Slice> shares_;      // of neurons_, per thread
};

class WeightSampler {
public:
    static Result<WeightSampler> create(const Blueprint& blueprint, const Recorder& recorder, uint32_t threads,
                                        const Connections& connections);
    bool samples(uint32_t step) const { return sampler_.samples(step); }
    size_t plastic() const { return plastic_; }  // index of Connections::plastics
    void sample(uint32_t thread, const PlasticSynapses& synapses);
    // By source, then target, then the order of drawing: the order of each_synapse().
    std::vector<double> take(const PlasticProjection& plastic);
    std::vector<double>& pending(const PlasticProjection& plastic);

private:
    WeightSampler(Sampler sampler, size_t plastic) : sampler_(std::move(sampler)), plastic_(plastic) {}
    void join(const PlasticProjection& plastic);

    Sampler sampler_;
    size_t plastic_;
};

// Hands out the synapses of a plastic projection block by block; ids count from `first_source` and `first_target`.
using TakeSynapses = std::function<Result<void>(std::span<const SynapseEnds>)>;
Result<void> each_synapse(const PlasticProjection& plastic, uint32_t first_source, uint32_t first_target,
                          const TakeSynapses& take);

}  // namespace riftjit::sim
