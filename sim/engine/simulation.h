// Runs a described network: one column program per population and step, then delivery of the step's spikes.
//
// Exact for any number of threads: neurons are owned by threads by ranges of each population, and what arrives at a
// neuron is added in the order (lag, source, projection, drawing), whoever adds it.
//
// Order: kernels of step n take what is due, then the spikes of step n start. With a delay of D steps they are due at
// step n + D (Compat::nest, D >= 1) or n + D + 1 (Compat::brian2, D >= 0). Plastic synapses: plastic_synapses.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/thread_pool.h"
#include "jit/x86/host_kernels.h"
#include "sim/files/recording.h"
#include "sim/network/description.h"

namespace riftjit::sim {

// What a run will do, for --explain. Bytes are of memory traffic where they are per step, else of memory held.
struct Traffic {                    // bytes that a step must move
    double per_neuron_step;         // of columns, in the mean over the neurons
    double per_event;               // of a synapse, read (and written if plastic), and of the sum it is added to
    double events_per_spike;        // synapses of a neuron, in the mean
    double state_bytes_per_neuron;  // that last from step to step: columns, and arrivals
    uint64_t memory_bytes;          // held for all, as compared with what is available

    double per_step(double neurons, double events) const { return per_neuron_step * neurons + per_event * events; }
};
struct SimulationPlan {
    struct Program {
        enum class Runs : uint8_t { each_step, each_event, once };
        std::string name;    // population, or projection and event: "E", "E to I, before"
        std::string kernel;  // name of the kernel; empty: none
        std::string note;    // method of integration
        ColumnProgramSpec spec;
        uint64_t elements;       // neurons; 0 for synapses
        uint64_t bytes_per_run;  // of columns, per element and run
        Runs runs;
    };
    struct Synapses {
        std::string name;
        uint64_t expected;
        uint32_t bytes;  // per synapse
        bool is_plastic, has_shared_weight;
    };
    struct Recording {  // of states or weights
        std::string name;
        uint64_t sample_bytes, run_bytes;  // of one sample, and of all of the described run
    };
    std::vector<Program> programs;
    std::vector<Synapses> projections;
    std::vector<Recording> recordings;
    uint64_t neurons, expected_synapses;
    Traffic traffic;

    // As many as a step of `step_ms` keeps busy for longer than they wait for each other at its end; 1 to `cores`.
    uint32_t useful_threads(double step_ms, uint32_t cores) const;
};

struct Blueprint;
class Engine;

class Simulation {
public:
    // Builds connectivity; refuses what does not fit into memory before allocating it (needed and available bytes
    // named). Kernels and pool must outlive it.
    static Result<Simulation> create(const Network& network, x86::HostKernels& kernels, Isa isa, ThreadPool& pool,
                                     Precision precision = Precision::f64);
    // Of what make_blueprint() made of the network.
    static Result<Simulation> create(const Network& network, Blueprint blueprint, ThreadPool& pool);
    // What the latter would make, without making it.
    static SimulationPlan plan(const Network& network, const Blueprint& blueprint, uint32_t threads);
    Simulation(Simulation&&) noexcept;
    Simulation& operator=(Simulation&&) noexcept;
    ~Simulation();

    // Advances by `steps`. `between` is called on the calling thread with the steps done so far, every few dozen
    // milliseconds and after the last step; it may take what was recorded, save, and end the run by returning false.
    // Fails where a state of a neuron is not finite in the end.
    Result<void> run(uint32_t steps, const std::function<bool(uint32_t)>& between = {});

    // Recorded since the last take. Spikes: ascending (step, id).
    std::vector<Spike> take_spikes();
    // Of network.recorders[recorder]. States: values[sample][neuron][variable], neurons ascending. Weights: values
    // [sample][synapse], synapses by source, target, then the order of drawing.
    std::vector<double> take_samples(size_t recorder);
    // The synapses of a weight recorder, ids global, in the order of its samples.
    Result<void> recorded_synapses(size_t recorder,
                                   const std::function<Result<void>(std::span<const SynapseEnds>)>& take) const;
    // Everything but the command line and the program's version, for a file that starts here. states, weights: in the
    // order of the recorders; those of weights of projections without synapses are left out.
    RecordingHeader recording_header() const;

    uint32_t steps() const;
    uint64_t spikes() const;  // of all neurons, recorded or not
    uint64_t synapses() const;
    uint64_t delivered() const;      // arrivals, with those on their way
    uint64_t spikes_hash() const;    // hash_spikes() of all spikes
    uint64_t recorded_hash() const;  // of the recorded ones
    uint64_t counts_hash()
        const;  // of the spike count of each neuron, in the order of ids: the ramp network's function
    uint64_t graph_hash() const;
    const Traffic& traffic() const { return traffic_; }
    Result<void> check_conservation() const;  // delivered() = sum of the fan-outs of the neurons that fired
    // The counts of the neurons add up to spikes(); states, weights and what is on its way are finite.
    Result<void> check_totals() const;

    // One file: PATH.part, synced, then renamed. Continuing from it gives the bits of an uninterrupted run, at any
    // number of threads. It holds what was recorded and not taken.
    Result<void> save(const std::string& path);
    // Refuses a damaged file, and one of another network, seed, precision or version, leaving the simulation as it is.
    Result<void> restore(const std::string& path);

private:
    explicit Simulation(const Network& network, std::unique_ptr<Engine> engine);

    std::unique_ptr<Engine> engine_;
    RecordingHeader header_;
    Traffic traffic_{};
};

}  // namespace riftjit::sim
