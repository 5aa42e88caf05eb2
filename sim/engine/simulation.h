// Runs a described network: one column program per population and step, then delivery of the step's spikes.
//
// Exact for any number of threads: neurons are owned by threads by ranges of each population, and what arrives at a
// neuron is added in the order (delay, source, synapse), whoever adds it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "jit/kernel_cache.h"
#include "runtime/thread_pool.h"
#include "sim/files/recording.h"
#include "sim/network/description.h"

namespace riftjit::sim {

struct SimulationPlan;  // kernels, bytes per neuron and step, bytes per synapse: for --explain

class Simulation {
public:
    // Builds connectivity; refuses what does not fit into memory before allocating it (needed and available bytes
    // named).
    static Result<Simulation> create(const Network& network, KernelCache& kernels, Isa isa, runtime::ThreadPool& pool,
                                     Precision precision = Precision::f64);
    Simulation(Simulation&&) noexcept;
    ~Simulation();

    // Advances by `steps`; `between` is called after every step (or few) on the calling thread and may stop the run.
    Result<void> run(uint32_t steps, const std::function<bool(uint32_t)>& between = {});

    // Recorded since the last take, ascending (step, id).
    std::vector<Spike> take_spikes();
    std::vector<double> take_states(size_t recorder);

    uint32_t steps() const;
    uint64_t spikes() const, synapses() const, delivered() const;  // delivered = sum of fan-outs of fired neurons
    uint64_t spikes_hash() const, graph_hash() const;
    Result<void> save(const std::string& path) const;
    Result<void> restore(const std::string& path);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace riftjit::sim
