#include "sim/run/network_run.h"

#include <algorithm>
#include <chrono>

#include "host/cpus.h"
#include "sim/engine/network_blueprint.h"
#include "sim/engine/network_edges.h"

namespace riftjit::sim {

namespace {

class Stopwatch {
public:
    explicit Stopwatch(double& seconds) : seconds_(seconds) {}
    ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    double& seconds_;
    const Clock::time_point start_ = Clock::now();
};

}  // namespace

void record_all_spikes_if_none(Network& network) {
    for (const Recorder& recorder : network.recorders)
        if (std::holds_alternative<SpikeRecorder>(recorder.kind)) return;
    for (uint32_t population = 0; population < network.populations.size(); ++population)
        network.recorders.push_back({network.populations[population].name, population, SpikeRecorder{}});
}

NetworkRun::NetworkRun(Network network, RunRequest request, x86::HostKernels& kernels, Isa isa)
    : network_(std::move(network)), request_(std::move(request)), kernels_(&kernels), isa_(isa) {}

Result<std::unique_ptr<NetworkRun>> NetworkRun::create(Network network, RunRequest request, x86::HostKernels& kernels,
                                                       Isa isa) {
    std::unique_ptr<NetworkRun> run(new NetworkRun(std::move(network), std::move(request), kernels, isa));
    const Stopwatch stopwatch(run->result_.build_seconds);
    RIFTJIT_TRY(blueprint, make_blueprint(run->network_, kernels, isa, run->request_.precision));
    run->blueprint_ = std::move(blueprint);
    run->choose_threads();
    return run;
}

void NetworkRun::choose_threads() {
    if (request_.threads == 0) keep_to_performance_cores();
    offered_threads_ = threads_ = request_.threads != 0 ? request_.threads : default_threads();
    if (request_.threads == 0) threads_ = plan().useful_threads(network_.step_ms, threads_);
}

bool NetworkRun::spares_cores() const { return threads_ < offered_threads_; }

SimulationPlan NetworkRun::plan() const {
    riftjit::check(blueprint_.has_value(), "a plan is asked for before the network is built");
    return Simulation::plan(network_, *blueprint_, threads_);
}

Result<void> NetworkRun::build() {
    const Stopwatch stopwatch(result_.build_seconds);
    RIFTJIT_TRY(pool, ThreadPool::create(threads_));
    pool_ = std::move(pool);
    RIFTJIT_TRY(simulation, Simulation::create(network_, std::move(*blueprint_), *pool_));
    blueprint_.reset();
    simulation_ = std::move(simulation);
    if (!request_.resume.empty()) RIFTJIT_TRY_VOID(simulation_->restore(request_.resume));
    end_step_ = request_.steps ? simulation_->steps() + *request_.steps : network_.steps();
    if (end_step_ > UINT32_MAX || end_step_ <= simulation_->steps()) {
        return fail(ErrorKind::Usage, "sim: nothing is left to do: {} is at step {} of {}", request_.resume,
                    simulation_->steps(), end_step_);
    }
    result_.kernels_ms = kernels_->statistics().compile_ms + kernels_->statistics().load_ms;
    return {};
}

Result<void> NetworkRun::open(Warn warn) {
    const Stopwatch stopwatch(result_.build_seconds);
    const RunFiles& files = request_.files;
    if (!files.network.empty()) {
        RIFTJIT_TRY(written, write_network_edges(files.network, network_, request_.precision, files.command_line,
                                                 files.program_version, files.existing));
        riftjit::check(written.graph_hash == simulation_->graph_hash(),
                       "a file of the network holds the synapses that are simulated");
    }
    RIFTJIT_TRY(output, RunOutput::create(files, network_, *simulation_, end_step_, std::move(warn)));
    output_ = std::move(output);
    result_.first_step = simulation_->steps();
    result_.first_spikes = simulation_->spikes();
    result_.first_events = simulation_->delivered();
    return {};
}

// Every run is held to the first, and its states to be finite.
Result<void> NetworkRun::check() const {
    RIFTJIT_TRY_VOID(simulation_->check_conservation());
    return request_.check == RunRequest::Check::totals_too ? simulation_->check_totals() : Result<void>();
}

Result<void> NetworkRun::run(const std::function<bool(uint32_t)>& between) {
    Result<void> done;
    {
        const Stopwatch stopwatch(result_.run_seconds);
        Result<void> taken;
        done = simulation_->run(static_cast<uint32_t>(end_step_) - simulation_->steps(), [&](uint32_t steps) {
            taken = output_->take(*simulation_);
            return taken.has_value() && between(steps);
        });
        if (done) done = taken;
    }
    if (done) done = check();
    if (!done) {
        output_->keep_what_was_recorded(*simulation_);
        return done;
    }
    result_.totals_checked = request_.check == RunRequest::Check::totals_too;
    RIFTJIT_TRY_VOID(output_->finish(network_, *simulation_));
    if (output_->spikes()) result_.populations = rates();
    return {};
}

// Of each population over the windows in which its spikes are recorded; none where the run reached none.
std::vector<PopulationStatistics> NetworkRun::rates() const {
    const Recording& recording = *output_->spikes();
    std::vector<PopulationStatistics> found;
    for (const RecordedPopulation& population : recording.header.populations) {
        if (population.recorded() == 0) continue;
        if (recorded_windows(recording, population, request_.discard_ms).empty()) continue;
        found.push_back(statistics_of(recording, population, {.start_ms = request_.discard_ms}));
    }
    return found;
}

}  // namespace riftjit::sim
