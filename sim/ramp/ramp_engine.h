// Runs the ramp network. One pass over memory per step: a range of neurons drains its arrivals into counters that stay
// in the cache, then a generated kernel decays, integrates and tests it, then the targets of those that fired are
// computed and sorted into the buckets of the next step. One barrier per step.
//
// State per neuron: v, s_exc, s_inh (f64), refractory steps left (u8), spikes (u16): 27 bytes. Weights and drive follow
// from the id. Targets are computed when a neuron fires, or stored (16 bytes more).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "host/pages.h"
#include "host/thread_pool.h"
#include "jit/x86/host_kernels.h"
#include "sim/ramp/ramp_network.h"
#include "sim/ramp/spike_buckets.h"

namespace riftjit::sim {

enum class TargetStore : uint8_t { computed, stored };

// Bytes that a step must move per neuron, whatever fires: the f64 state and the refractory count, read and written.
inline constexpr uint32_t kRampBytesPerStep = 2 * (3 * sizeof(double) + sizeof(uint8_t));
uint64_t ramp_memory_bytes(const RampNetwork& network, TargetStore targets);  // resident, at the published peak rate

class RampEngine {
public:
    // Refuses no neurons, more than 2^32 - 1, and what does not fit into memory (before allocating it).
    static Result<RampEngine> create(const RampNetwork& network, TargetStore targets, x86::HostKernels& kernels,
                                     Isa isa, ThreadPool& pool);

    // Advances by `steps`. `between` is called on the calling thread after every step with the steps done so far; when
    // it returns false the run ends there. The spikes of each step are appended to spikes_per_step().
    void run(uint32_t steps, const std::function<bool(uint32_t)>& between = {});

    uint32_t steps() const { return steps_; }
    uint64_t spikes() const { return spikes_; }
    const std::vector<uint64_t>& spikes_per_step() const { return spikes_per_step_; }
    uint64_t arrivals() const;     // delivered, and on their way after the last step
    uint64_t counts_hash() const;  // of the spike count of each neuron, in the order of ids
    uint64_t graph_hash() const;   // of the targets in the order of synapses
    Result<void> check_conservation() const;
    Result<void> check_totals() const;  // the counts of the neurons add up
    uint64_t state_bytes() const { return memory_.size_bytes(); }
    std::span<const std::byte> state_memory() const { return {memory_.data(), memory_.size_bytes()}; }

private:
    struct State {
        double *v, *s_exc, *s_inh;
        uint8_t* refractory;
        uint16_t* spikes;
    };
    struct alignas(64) Worker {
        SpikeBuckets buckets[2];  // by the parity of the step that fills them
        std::atomic<uint32_t> next_range[2];
        uint32_t first_range, end_range;
        std::vector<uint16_t> arrivals;  // of one range
        std::vector<uint32_t> fired;
        uint64_t step_spikes[2], delivered = 0;
    };
    struct Run {
        RampEngine* engine;
        uint32_t steps;
        const std::function<bool(uint32_t)>* between;
        std::atomic<bool> stop = false;
    };

    RampEngine(const RampNetwork& network, ThreadPool& pool);

    Result<void> allocate(TargetStore targets);
    void initialize();
    void fill(uint32_t thread);
    void run_thread(Run& run, uint32_t thread);
    void step(Worker& worker, uint32_t thread, uint32_t parity);
    bool claim_range(uint32_t thread, uint32_t parity, uint32_t& range);
    void step_range(Worker& worker, uint32_t range, uint32_t parity);
    void drain(Worker& worker, uint32_t range, uint32_t parity);
    void send(SpikeBuckets& buckets, const uint32_t* fired, uint32_t count) const;
    uint32_t range_end(uint32_t range) const;

    RampNetwork network_;
    RampTargets targets_;
    ThreadPool* pool_;
    KernelFunction kernel_ = nullptr;
    uint32_t log2_range_ = 0, ranges_ = 0;
    Pages memory_, stored_targets_;
    State state_{};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<uint64_t> spikes_per_step_;
    uint64_t spikes_ = 0;
    uint32_t steps_ = 0;
};

}  // namespace riftjit::sim
