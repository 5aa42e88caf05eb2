#include "sim/engine/simulation.h"

#include <algorithm>
#include <cmath>

#include "sim/engine/engine.h"
#include "sim/engine/network_blueprint.h"
#include "sim/engine/network_edges.h"
#include "sim/engine/static_synapses.h"
#include "sim/network/synapse_checks.h"

namespace riftjit::sim {

namespace {

std::string unit_of(const NeuronModel& model, const std::string& variable) {
    for (const std::vector<Variable>* variables : {&model.states(), &model.derived()}) {
        for (const Variable& candidate : *variables)
            if (candidate.name == variable) return unit_text(candidate.unit);
    }
    return "1";
}

// The step whose end is sampled first after `steps` steps.
uint32_t next_sample(uint32_t steps, uint32_t interval) {
    return static_cast<uint32_t>(round_up(uint64_t(steps) + 1, interval) - 1);
}

RecordedStates recorded_states(const Network& network, const Recorder& recorder, const StateRecorder& states) {
    const Population& population = network.populations[recorder.population];
    RecordedStates result;
    result.name = recorder.name;
    result.population = population.name;
    result.variables = states.variables;
    const auto* neurons = std::get_if<NeuronPopulation>(&population.kind);
    for (const std::string& variable : states.variables)
        result.units.push_back(neurons ? unit_of(neurons->model, variable) : "1");
    std::vector<uint32_t> chosen = states.neurons;
    for (uint32_t i = 0; states.neurons.empty() && i < population.size; ++i) chosen.push_back(i);
    std::sort(chosen.begin(), chosen.end());
    for (const uint32_t neuron : chosen) result.neurons.push_back(population.first_id + neuron);
    result.interval_steps = static_cast<uint32_t>(std::round(states.interval_ms / network.step_ms));
    const StepWindow window = step_window(recorder.start_ms, recorder.stop_ms, network.step_ms);
    result.first_step = next_sample(window.begin, result.interval_steps);
    return result;
}

RecordedWeights recorded_weights(const Network& network, const Recorder& recorder, uint64_t synapses) {
    const auto& weights = std::get<WeightRecorder>(recorder.kind);
    const Projection& projection = network.projections[weights.projection];
    const Population &source = network.populations[projection.source], &target = network.populations[projection.target];
    RecordedWeights result{recorder.name, projection.name, source.name, target.name, weight_unit(network, projection),
                           synapses};
    result.interval_steps = static_cast<uint32_t>(std::round(weights.interval_ms / network.step_ms));
    const StepWindow window = step_window(recorder.start_ms, recorder.stop_ms, network.step_ms);
    result.first_step = next_sample(window.begin, result.interval_steps);
    return result;
}

using Runs = SimulationPlan::Program::Runs;

SimulationPlan::Program program_plan(std::string name, const LoweredProgram& program, uint64_t elements, Runs runs) {
    return {std::move(name), kernel_name(program.spec),  program.note, program.spec,
            elements,        column_bytes(program.spec), runs};
}

std::vector<SimulationPlan::Recording> recordings_of(const Network& network, const Blueprint& blueprint) {
    std::vector<SimulationPlan::Recording> recordings;
    for (const Recorder& recorder : blueprint.recorders) {
        const uint64_t bytes = sample_bytes(blueprint, recorder);
        if (bytes == 0) continue;
        const auto* states = std::get_if<StateRecorder>(&recorder.kind);
        const double interval_ms = states ? states->interval_ms : std::get<WeightRecorder>(recorder.kind).interval_ms;
        const auto interval = static_cast<uint32_t>(std::round(interval_ms / network.step_ms));
        const StepWindow window = step_window(recorder.start_ms, recorder.stop_ms, network.step_ms);
        const uint32_t end = std::min(window.end, network.steps());
        // Samples are of steps n with n + 1 a multiple of the interval.
        const uint64_t samples = window.begin < end ? end / interval - window.begin / interval : 0;
        recordings.push_back({recorder.name, bytes, bytes * samples});
    }
    return recordings;
}

uint32_t synapse_bytes(const Blueprint& blueprint, const BlueprintProjection& projection) {
    if (projection.rule) return static_cast<uint32_t>(PlasticSynapses::bytes_per_synapse(*projection.rule));
    return entry_words(projection.shared_weight, blueprint.precision) * uint32_t(sizeof(uint32_t));
}

Traffic traffic_of(const Blueprint& blueprint, uint32_t threads) {
    double columns = 0, events = 0, synapses = 0;
    for (const BlueprintPopulation& population : blueprint.populations) {
        if (const auto* program = std::get_if<ProgramPopulation>(&population.kind))
            columns += double(column_bytes(program->program.spec)) * population.size;
    }
    for (const BlueprintProjection& projection : blueprint.projections) {
        const double passes = projection.rule ? 2 : 1;
        events +=
            double(projection.expected_synapses) * (passes * synapse_bytes(blueprint, projection) + 2 * sizeof(double));
        synapses += double(projection.expected_synapses);
    }
    const double neurons = std::max(1.0, double(blueprint.neurons()));
    return {columns / neurons, events / std::max(1.0, synapses), synapses / neurons,
            double(NeuronState::bytes(blueprint)) / neurons, Engine::memory_bytes(blueprint, threads)};
}

SimulationPlan plan_of(const Blueprint& blueprint, uint32_t threads) {
    SimulationPlan plan{};
    plan.neurons = blueprint.neurons();
    for (const BlueprintPopulation& population : blueprint.populations) {
        const auto* program = std::get_if<ProgramPopulation>(&population.kind);
        if (!program) continue;
        plan.programs.push_back(program_plan(population.name, program->program, population.size, Runs::each_step));
        if (program->initial)
            plan.programs.push_back(program_plan(population.name + ", initial values", program->initial->program,
                                                 population.size, Runs::once));
    }
    for (const BlueprintProjection& projection : blueprint.projections) {
        plan.expected_synapses += projection.expected_synapses;
        SimulationPlan::Synapses synapses{projection.name, projection.expected_synapses,
                                          synapse_bytes(blueprint, projection), projection.rule.has_value(),
                                          projection.shared_weight.has_value()};
        if (projection.rule) {
            plan.programs.push_back(
                program_plan(projection.name + ", spike of the source", projection.rule->on_pre, 0, Runs::each_event));
            if (projection.rule->has_post_events)
                plan.programs.push_back(program_plan(projection.name + ", spike of the target",
                                                     projection.rule->on_post, 0, Runs::each_event));
        }
        plan.projections.push_back(std::move(synapses));
    }
    plan.traffic = traffic_of(blueprint, threads);
    return plan;
}

}  // namespace

uint32_t SimulationPlan::useful_threads(double step_ms, uint32_t cores) const {
    // Measured on Zen 4: a neuron takes 1 to 2 ns per step, a synaptic event about 2. Rates are unknown beforehand; 10
    // Hz is of the order of the reference networks. A barrier takes about a microsecond, or a slice of the scheduler's
    // time on a machine that others use too.
    constexpr double kNeuronNs = 1.5, kEventNs = 2, kAssumedRateHz = 10, kLeastShareNs = 10'000;
    const double events = double(expected_synapses) * kAssumedRateHz * step_ms * 1e-3;
    const double step_ns = double(neurons) * kNeuronNs + events * kEventNs;
    return static_cast<uint32_t>(std::clamp(step_ns / kLeastShareNs, 1.0, double(cores)));
}

Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;
Simulation::~Simulation() = default;

Simulation::Simulation(const Network& network, std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {
    header_.step_ms = network.step_ms;
    header_.seed = network.seed;
    header_.network_name = network.name;
    header_.network_text = network.text;
    header_.compat = network.compat == Compat::nest ? "nest" : "brian2";
    for (uint32_t i = 0; i < network.populations.size(); ++i) {
        const Population& population = network.populations[i];
        header_.populations.push_back({population.name, population.first_id, population.size,
                                       engine_->spike_filter().recorded_neurons(i),
                                       engine_->spike_filter().windows(i)});
    }
    for (size_t i = 0; i < network.recorders.size(); ++i) {
        const Recorder& recorder = network.recorders[i];
        if (const auto* states = std::get_if<StateRecorder>(&recorder.kind))
            header_.states.push_back(recorded_states(network, recorder, *states));
        if (!std::holds_alternative<WeightRecorder>(recorder.kind)) continue;
        if (const uint64_t synapses = engine_->plastic_of(i).synapses(); synapses != 0)
            header_.weights.push_back(recorded_weights(network, recorder, synapses));
    }
}

Result<Simulation> Simulation::create(const Network& network, x86::HostKernels& kernels, Isa isa, ThreadPool& pool,
                                      Precision precision) {
    RIFTJIT_TRY(blueprint, make_blueprint(network, kernels, isa, precision));
    return create(network, std::move(blueprint), pool);
}

Result<Simulation> Simulation::create(const Network& network, Blueprint blueprint, ThreadPool& pool) {
    const Traffic traffic = traffic_of(blueprint, pool.size());
    RIFTJIT_TRY(engine, Engine::create(std::move(blueprint), pool));
    Simulation simulation(network, std::move(engine));
    simulation.traffic_ = traffic;
    return simulation;
}

SimulationPlan Simulation::plan(const Network& network, const Blueprint& blueprint, uint32_t threads) {
    SimulationPlan plan = plan_of(blueprint, threads);
    plan.recordings = recordings_of(network, blueprint);
    return plan;
}

Result<void> Simulation::run(uint32_t steps, const std::function<bool(uint32_t)>& between) {
    return engine_->run(steps, between);
}

std::vector<Spike> Simulation::take_spikes() { return engine_->take_spikes(); }
std::vector<double> Simulation::take_samples(size_t recorder) { return engine_->take_samples(recorder); }
Result<void> Simulation::recorded_synapses(size_t recorder, const TakeSynapses& take) const {
    const PlasticProjection& plastic = engine_->plastic_of(recorder);
    const auto& populations = engine_->blueprint().populations;
    return each_synapse(plastic, populations[plastic.source].first_id, populations[plastic.target].first_id, take);
}
RecordingHeader Simulation::recording_header() const {
    RecordingHeader header = header_;
    for (RecordedPopulation& population : header.populations) {
        for (RecordedWindow& window : population.windows)
            window = {std::max(window.first_step, steps()), std::max(window.end_step, steps())};
        // What lies before a resumed run is not recorded; of windows that all do an empty one is left.
        const auto is_over = [](const RecordedWindow& window) { return window.first_step == window.end_step; };
        const auto over = std::ranges::find_if_not(population.windows, is_over);
        const bool all_are = over == population.windows.end();
        if (!population.windows.empty())
            population.windows.erase(population.windows.begin(), all_are ? std::prev(over) : over);
    }
    for (RecordedStates& states : header.states)
        states.first_step = std::max(states.first_step, next_sample(steps(), states.interval_steps));
    for (RecordedWeights& weights : header.weights)
        weights.first_step = std::max(weights.first_step, next_sample(steps(), weights.interval_steps));
    return header;
}
uint32_t Simulation::steps() const { return engine_->steps(); }
uint64_t Simulation::spikes() const { return engine_->spikes(); }
uint64_t Simulation::synapses() const { return engine_->synapses(); }
uint64_t Simulation::delivered() const { return engine_->delivered(); }
uint64_t Simulation::spikes_hash() const { return engine_->spikes_hash(); }
uint64_t Simulation::recorded_hash() const { return engine_->recorded_hash(); }
uint64_t Simulation::counts_hash() const { return engine_->counts_hash(); }
uint64_t Simulation::graph_hash() const { return engine_->graph_hash(); }
Result<void> Simulation::check_conservation() const { return engine_->check_conservation(); }
Result<void> Simulation::check_totals() const { return engine_->check_totals(); }
Result<void> Simulation::save(const std::string& path) { return engine_->save(path); }
Result<void> Simulation::restore(const std::string& path) { return engine_->restore(path); }

}  // namespace riftjit::sim
