// A described network from its lowering to its results: threads chosen, state resumed, files written, rates measured.
//
//     create()   lowers the network and compiles its kernels; plan() says what a run will do
//     build()    draws the synapses, takes the saved state
//     open()     opens every file, so that what cannot be written shows before the first step
//     run()      runs, writing as it goes; then checks, finishes the files and measures rates
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/thread_pool.h"
#include "jit/x86/host_kernels.h"
#include "sim/engine/blueprint.h"
#include "sim/engine/simulation.h"
#include "sim/files/statistics.h"
#include "sim/run/run_output.h"

namespace riftjit::sim {

struct RunRequest {
    Precision precision = Precision::f64;
    uint32_t threads = 0;           // 0: physical cores, or as many as a step of the network is worth
    std::optional<uint64_t> steps;  // from where the run starts; unset: to the end of the network's duration
    std::string resume;             // a saved state to go on from; empty: from the start
    double discard_ms = 0;          // from the start of the network on, left out of rates
    enum class Check : uint8_t { arrivals_and_states, totals_too } check = Check::arrivals_and_states;
    RunFiles files;
};

struct RunResult {
    double build_seconds = 0;  // until the first step: kernels too
    double kernels_ms = 0;     // of it, to make and load kernels
    double run_seconds = 0;
    uint32_t first_step = 0;                      // of this run: after 0 when it went on from a saved state
    uint64_t first_spikes = 0, first_events = 0;  // spikes and synaptic events before it
    bool totals_checked = false;
    // Those recorded in windows that the run reached; empty also where too many spikes were recorded to keep.
    std::vector<PopulationStatistics> populations;
};

// For a recording or a picture of a network whose file names no spike recorder.
void record_all_spikes_if_none(Network& network);

class NetworkRun {
public:
    // `kernels` must outlive the run.
    static Result<std::unique_ptr<NetworkRun>> create(Network network, RunRequest request, x86::HostKernels& kernels,
                                                      Isa isa);
    NetworkRun(const NetworkRun&) = delete;

    SimulationPlan plan() const;  // before build()
    Result<void> build();
    Result<void> open(Warn warn);
    // `between` is called as Simulation::run() does; when it returns false the run ends there, with results.
    Result<void> run(const std::function<bool(uint32_t steps)>& between);

    const Network& network() const { return network_; }
    const RunRequest& request() const { return request_; }
    Isa isa() const { return isa_; }
    uint32_t threads() const { return threads_; }
    bool spares_cores() const;  // fewer threads than cores, because a step is too short to share among more

    // From build() on.
    const Simulation& simulation() const { return *simulation_; }
    uint64_t end_step() const { return end_step_; }

    // From run() on.
    const RunResult& result() const { return result_; }
    const Recording* spikes() const { return output_->spikes(); }  // null: too many were recorded to keep

private:
    NetworkRun(Network network, RunRequest request, x86::HostKernels& kernels, Isa isa);

    void choose_threads();
    Result<void> check() const;
    std::vector<PopulationStatistics> rates() const;

    Network network_;
    RunRequest request_;
    x86::HostKernels* kernels_;
    Isa isa_;
    uint32_t threads_ = 0;                // that run
    uint32_t offered_threads_ = 0;        // that were asked for, or that this machine has
    std::optional<Blueprint> blueprint_;  // until build()
    std::optional<ThreadPool> pool_;
    std::optional<Simulation> simulation_;
    uint64_t end_step_ = 0;
    std::optional<RunOutput> output_;
    RunResult result_;
};

}  // namespace riftjit::sim
