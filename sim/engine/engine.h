// Runs a blueprint. In each step every thread runs the kernels of its slices, waits for the others once, then reads who
// fired and delivers to its own slices what the next step's kernels take. Nothing else is shared, so nothing is locked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/thread_pool.h"
#include "sim/engine/blueprint.h"
#include "sim/engine/checkpoint.h"
#include "sim/engine/connection_build.h"
#include "sim/engine/neuron_state.h"
#include "sim/engine/recorders.h"
#include "sim/engine/slices.h"
#include "sim/engine/spike_history.h"

namespace riftjit::sim {

class Engine {
public:
    // Refuses what does not fit into memory before allocating it. The pool must outlive the engine.
    static Result<std::unique_ptr<Engine>> create(Blueprint blueprint, ThreadPool& pool);
    Engine(const Engine&) = delete;

    // As Simulation::run().
    Result<void> run(uint32_t steps, const std::function<bool(uint32_t)>& between);

    const Blueprint& blueprint() const { return blueprint_; }
    uint32_t steps() const { return steps_; }
    uint64_t spikes() const { return spikes_; }
    uint64_t spikes_hash() const { return spikes_hash_; }
    uint64_t recorded_hash() const { return recorded_hash_; }
    uint64_t synapses() const { return connections_.synapses; }
    uint64_t graph_hash() const { return connections_.hash; }
    uint64_t network_hash() const { return network_hash_; }
    uint64_t delivered() const;  // and on the way
    uint64_t counts_hash() const;
    Result<void> check_conservation() const;
    Result<void> check_totals() const;
    static uint64_t memory_bytes(const Blueprint& blueprint, uint32_t threads);
    const SpikeFilter& spike_filter() const { return filter_; }
    double read(uint32_t population, size_t column, uint32_t element) const;  // of the program's columns

    std::vector<Spike> take_spikes() { return std::exchange(recorded_, {}); }
    std::vector<double> take_samples(size_t recorder);
    const PlasticProjection& plastic_of(size_t weight_recorder) const {
        return connections_.plastics[weights_[weight_recorder]->plastic()];
    }

    Result<void> save(const std::string& path);
    Result<void> restore(const std::string& path);

private:
    struct FiredList {
        std::vector<uint32_t> elements;
        uint32_t count = 0;
        std::span<const uint32_t> span() const { return {elements.data(), count}; }
        void push(uint32_t element) {
            if (count == elements.size()) elements.resize(2 * elements.size() + kColumnPadding);
            elements[count++] = element;
        }
    };
    struct alignas(64) Worker {
        std::vector<std::vector<double>> scalars;            // by population
        std::vector<size_t> next_timed;                      // by population: its first spike at or after this step
        std::vector<std::optional<SpikeHistory>> histories;  // by population: of its own slice
        std::vector<uint32_t> heard;                         // threads in whose slices neurons fired in this step
    };
    struct Restored;  // a saved state, checked

    explicit Engine(Blueprint blueprint, ThreadPool& pool);
    static Result<void> check_references(const Blueprint& blueprint);
    Result<void> check_finite() const;  // what neurons and plastic synapses hold
    Result<void> check_memory() const;
    Result<void> build();
    void build_workers();
    Result<void> build_recorders();
    uint64_t hash_network() const;

    void run_steps(uint32_t steps);
    void run_thread(uint32_t steps, uint32_t thread);
    void seek_timed(Worker& worker, uint32_t step) const;
    void integrate(uint32_t thread, uint32_t step);
    void launch(const ProgramPopulation& population, uint32_t index, uint32_t thread, uint32_t step, FiredList& fired);
    void relay(uint32_t index, uint32_t thread, FiredList& fired);
    void exchange(uint32_t thread, uint32_t step);
    void hear(uint32_t thread, uint32_t step);
    void remember(uint32_t thread, uint32_t step);
    void fire_plastic(uint32_t thread, uint32_t step);
    void replay(uint32_t population, uint32_t thread, uint32_t step);
    void replay_all(uint32_t next_step);
    void deliver(uint32_t thread, uint32_t step);
    void sample(uint32_t thread, uint32_t step);
    void record(uint32_t step);

    FiredList& fired(uint32_t step, uint32_t population, uint32_t thread) {
        return fired_[step & 1][population * pool_->size() + thread];
    }
    uint32_t populations() const { return static_cast<uint32_t>(blueprint_.populations.size()); }
    uint32_t max_delay(uint32_t population) const;  // of plastic synapses to it, at least
    uint32_t max_static_lag() const;

    CheckpointIdentity identity() const;
    void save_neurons(CheckpointWriter& writer) const;
    void save_plastic(CheckpointWriter& writer);
    void save_records(CheckpointWriter& writer);
    Result<Restored> read_state(CheckpointReader& reader);
    Result<void> read_spikes(CheckpointReader& reader, std::vector<Spike>& spikes, uint32_t first_step,
                             uint32_t end_step) const;
    Result<void> read_counts(CheckpointReader& reader, Restored& restored) const;
    Result<void> read_neurons(CheckpointReader& reader, Restored& restored) const;
    Result<void> read_plastic(CheckpointReader& reader, Restored& restored);
    Result<void> read_histories(CheckpointReader& reader, Restored& restored) const;
    Result<void> read_records(CheckpointReader& reader, Restored& restored) const;
    void apply(const Restored& restored);
    void restore_in_flight(const std::vector<Spike>& spikes);

    Blueprint blueprint_;
    ThreadPool* pool_;
    Slices slices_;
    NeuronState state_;
    Connections connections_;
    std::vector<std::unique_ptr<Worker>> workers_;
    // By the parity of the step: one is read while the other is written.
    std::vector<FiredList> fired_[2];
    std::vector<uint8_t> has_fired_[2];  // by thread: whether any of its lists has an entry
    SpikeFilter filter_;
    std::vector<std::optional<StateSampler>> states_;    // by recorder
    std::vector<std::optional<WeightSampler>> weights_;  // by recorder
    std::vector<std::vector<uint32_t>> recent_;          // ids that fired in each of the last steps that still matter
    std::vector<Spike> recorded_;
    std::vector<uint32_t> counts_;  // spikes of each neuron
    uint32_t steps_ = 0;
    uint64_t spikes_ = 0, spikes_hash_ = kSpikesHashStart, recorded_hash_ = kSpikesHashStart;
    uint64_t fan_out_sum_ = 0, delivered_before_ = 0;  // delivered_before_: by the run that was restored
    uint64_t network_hash_ = 0;
};

}  // namespace riftjit::sim
