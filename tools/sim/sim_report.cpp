#include "tools/sim/sim_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/available_memory.h"
#include "tools/sim/sim_bandwidth.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

// What one run of the engine amounts to.
struct Speed {
    double model_ms, real_time_factor, ns_per_neuron_step;
};
Speed speed_of(const sim::NetworkRun& run) {
    const double steps = run.simulation().steps() - run.result().first_step;
    if (steps == 0) return {};
    const double model_ms = steps * run.network().step_ms, seconds = run.result().run_seconds;
    return {model_ms, seconds * 1e3 / model_ms, seconds * 1e9 / steps / run.network().neurons()};
}

std::string hex(uint64_t hash) { return fmt::format("{:016x}", hash); }

// Without what was before a resumed state.
struct Done {
    uint64_t steps, spikes, events;
};
Done done_in_run(const sim::NetworkRun& run) {
    const sim::Simulation& simulation = run.simulation();
    const sim::RunResult& result = run.result();
    return {simulation.steps() - result.first_step, simulation.spikes() - result.first_spikes,
            simulation.delivered() - result.first_events};
}

double bytes_per_step(const sim::NetworkRun& run, const Done& done) {
    const double events = double(done.events) / std::max(1.0, double(done.steps));
    return run.simulation().traffic().per_step(run.network().neurons(), events);
}

const char* name(sim::SimulationPlan::Program::Runs runs) {
    constexpr const char* kNames[] = {"step", "event", "once"};
    return kNames[size_t(runs)];
}

std::string traffic_text(const sim::Traffic& traffic) {
    return fmt::format("{:.1f} bytes of columns per neuron and step, {:.1f} per synaptic event",
                       traffic.per_neuron_step, traffic.per_event);
}

std::vector<std::string> checks_of(const sim::RunResult& result) {
    std::vector<std::string> checks = {"arrivals", "states", "weights"};
    if (result.totals_checked) checks.insert(checks.end(), {"counts", "on_the_way"});
    return checks;
}

std::string device_text(const sim::NetworkRun& run) {
    return fmt::format("CPU, level {}, {}{}", riftjit::name(run.isa()), thread_text(run.threads()),
                       run.spares_cores() ? " (a step is too short to share among more)" : "");
}

const char* name(sim::Compat compat) { return compat == sim::Compat::nest ? "nest" : "brian2"; }

std::string number_or_dash(const std::optional<double>& value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

}  // namespace

nlohmann::ordered_json network_json(const sim::NetworkRun& run, const Measured& measured) {
    const sim::Network& network = run.network();
    const sim::Simulation& simulation = run.simulation();
    const sim::RunResult& result = run.result();
    const Speed speed = speed_of(run);
    const Done done = done_in_run(run);
    nlohmann::ordered_json json = {
        {"network", network.name},
        {"neurons", network.neurons()},
        {"synapses", simulation.synapses()},
        {"step_ms", network.step_ms},
        {"steps", simulation.steps()},
        {"first_step", result.first_step},
        {"seed", network.seed},
        {"compat", name(network.compat)},
        {"precision", run.request().precision == Precision::f64 ? "f64" : "f32"},
        {"spikes", simulation.spikes()},
        {"synaptic_events", simulation.delivered()},
        {"this_run", {{"steps", done.steps}, {"spikes", done.spikes}, {"synaptic_events", done.events}}},
        {"spikes_hash", hex(simulation.spikes_hash())},
        {"counts_hash", hex(simulation.counts_hash())},
        {"graph_hash", hex(simulation.graph_hash())},
        {"threads", run.threads()},
        {"isa", riftjit::name(run.isa())},
        {"build_seconds", result.build_seconds},
        {"jit_ms", result.kernels_ms},
        {"run_seconds", result.run_seconds},
        {"real_time_factor", speed.real_time_factor},
        {"ns_per_neuron_step", speed.ns_per_neuron_step},
        {"bytes_per_neuron", simulation.traffic().state_bytes_per_neuron},
        {"bytes_per_neuron_step", simulation.traffic().per_neuron_step},
        {"bytes_per_synaptic_event", simulation.traffic().per_event},
        {"peak_rss_bytes", measured.peak_rss},
        {"checked", checks_of(result)}};
    if (measured.read_rate) json["read_gb_per_s"] = *measured.read_rate * 1e-9;
    for (const sim::PopulationStatistics& population : result.populations) {
        nlohmann::ordered_json row = {{"name", population.name},
                                      {"neurons", population.neurons},
                                      {"active_neurons", population.active_neurons},
                                      {"spikes", population.spikes},
                                      {"rate_hz", population.rate_hz}};
        row["cv"] = population.variation ? nlohmann::ordered_json(*population.variation) : nullptr;
        row["correlation"] = population.correlation ? nlohmann::ordered_json(*population.correlation) : nullptr;
        json["populations"].push_back(row);
    }
    return json;
}

void print_network_table(const sim::NetworkRun& run, const Measured& measured) {
    const sim::Network& network = run.network();
    const sim::Simulation& simulation = run.simulation();
    const sim::RunResult& result = run.result();
    const Speed speed = speed_of(run);
    print_row("network", fmt::format("{}, {} neurons, {} synapses, seed {}", network.name, grouped(network.neurons()),
                                     grouped(simulation.synapses()), network.seed));
    const Done done = done_in_run(run);
    print_row(
        "steps",
        fmt::format(
            "{} of {} ms, rules of {}{}", grouped(done.steps), network.step_ms, name(network.compat),
            result.first_step == 0 ? "" : fmt::format(", after {} of the saved state", grouped(result.first_step))));
    print_row("device", fmt::format("{}, {}", device_text(run),
                                    run.request().precision == Precision::f64 ? "f64" : "f32: counts are approximate"));
    print_row("build", fmt::format("{:.2f} s, of which kernels {:.1f} ms", result.build_seconds, result.kernels_ms));
    print_row("simulation",
              fmt::format("{:.2f} s for {:.1f} ms: real-time factor {:.3f}, {:.3f} ns per neuron and step",
                          result.run_seconds, speed.model_ms, speed.real_time_factor, speed.ns_per_neuron_step));
    const sim::Traffic& traffic = simulation.traffic();
    print_row("memory", fmt::format("{:.1f} bytes of state per neuron; peak resident {:.2f} GB",
                                    traffic.state_bytes_per_neuron, double(measured.peak_rss) * 1e-9));
    const double step_bytes = bytes_per_step(run, done);
    const double steps_per_second = double(done.steps) / std::max(1e-9, result.run_seconds);
    print_row("traffic", fmt::format("{}, {} per step: {}", traffic_text(traffic), grouped(uint64_t(step_bytes)),
                                     share_text(step_bytes * steps_per_second, measured.read_rate)));
    print_row("spikes", fmt::format("{}, {} synaptic events", grouped(done.spikes), grouped(done.events)));
    if (result.first_step != 0)
        print_row("since step 0", fmt::format("{} spikes, {} synaptic events; the hashes are of all of them",
                                              grouped(simulation.spikes()), grouped(simulation.delivered())));
    print_row("checks",
              fmt::format("every spike arrived at each of its targets; states and weights are finite{}",
                          result.totals_checked ? "; so is what is on its way; the counts of the neurons add up" : ""));
    print_row("hashes", fmt::format("spikes {}, counts {}, graph {}", hex(simulation.spikes_hash()),
                                    hex(simulation.counts_hash()), hex(simulation.graph_hash())));
    if (result.populations.empty()) return;
    size_t width = std::string_view("population").size();
    for (const auto& population : result.populations) width = std::max(width, population.name.size());
    fmt::print("\n{:<{}} {:>10} {:>9} {:>10} {:>6}\n", "population", width, "neurons", "rate Hz", "CV", "corr.");
    for (const auto& population : result.populations) {
        fmt::print("{:<{}} {:>10} {:>9.3f} {:>10} {:>6}\n", population.name, width, grouped(population.neurons),
                   population.rate_hz, number_or_dash(population.variation, 3),
                   number_or_dash(population.correlation, 3));
    }
}

void print_network_hashes(const sim::Simulation& simulation) {
    fmt::print("spikes {}\ncounts {}\ngraph {}\n", hex(simulation.spikes_hash()), hex(simulation.counts_hash()),
               hex(simulation.graph_hash()));
}

namespace {

void add_parts(nlohmann::ordered_json& json, const sim::Network& network, const sim::SimulationPlan& plan) {
    for (const auto& program : plan.programs)
        json["programs"].push_back({{"name", program.name},
                                    {"kernel", program.kernel},
                                    {"note", program.note},
                                    {"elements", program.elements},
                                    {"runs", name(program.runs)},
                                    {"bytes_per_run", program.bytes_per_run}});
    for (size_t i = 0; i < plan.projections.size(); ++i)
        json["projections"].push_back({{"name", plan.projections[i].name},
                                       {"rule", sim::rule_text(network.projections[i].rule)},
                                       {"expected_synapses", plan.projections[i].expected},
                                       {"bytes_per_synapse", plan.projections[i].bytes},
                                       {"plastic", plan.projections[i].is_plastic},
                                       {"one_weight", plan.projections[i].has_shared_weight},
                                       {"autapses", network.projections[i].autapses},
                                       {"multapses", network.projections[i].multapses}});
    for (const auto& recording : plan.recordings)
        json["recorders"].push_back(
            {{"name", recording.name}, {"bytes_per_sample", recording.sample_bytes}, {"bytes", recording.run_bytes}});
}

}  // namespace

std::string work_text(const sim::SimulationPlan::Program& program) {
    using Runs = sim::SimulationPlan::Program::Runs;
    if (program.runs == Runs::once) return fmt::format("{} bytes per element, once", program.bytes_per_run);
    return fmt::format("{} bytes per {}", program.bytes_per_run,
                       program.runs == Runs::each_step ? "element and step" : "synapse and spike");
}

nlohmann::ordered_json network_plan_json(const sim::NetworkRun& run, const sim::SimulationPlan& plan,
                                         std::optional<double> read_rate) {
    const sim::Network& network = run.network();
    const sim::Traffic& traffic = plan.traffic;
    nlohmann::ordered_json json = {{"network", network.name},
                                   {"neurons", plan.neurons},
                                   {"expected_synapses", plan.expected_synapses},
                                   {"step_ms", network.step_ms},
                                   {"steps", network.steps()},
                                   {"seed", network.seed},
                                   {"compat", name(network.compat)},
                                   {"threads", run.threads()},
                                   {"isa", riftjit::name(run.isa())},
                                   {"bytes_per_neuron", traffic.state_bytes_per_neuron},
                                   {"bytes_per_neuron_step", traffic.per_neuron_step},
                                   {"bytes_per_synaptic_event", traffic.per_event},
                                   {"synaptic_events_per_spike", traffic.events_per_spike},
                                   {"bytes_per_step_without_spikes", traffic.per_step(double(plan.neurons), 0)},
                                   {"memory_bytes", plan.traffic.memory_bytes},
                                   {"available_bytes", available_memory()}};
    if (read_rate) {
        json["read_gb_per_s"] = *read_rate * 1e-9;
        json["least_ms_per_step_without_spikes"] = 1e3 * traffic.per_step(double(plan.neurons), 0) / *read_rate;
        json["least_ms_per_spike"] = 1e3 * traffic.per_step(0, traffic.events_per_spike) / *read_rate;
    }
    add_parts(json, network, plan);
    return json;
}

void print_network_plan(const sim::NetworkRun& run, const sim::SimulationPlan& plan, std::optional<double> read_rate) {
    const sim::Network& network = run.network();
    print_row("network", fmt::format("{}, {} neurons, about {} synapses, seed {}", network.name, grouped(plan.neurons),
                                     grouped(plan.expected_synapses), network.seed));
    print_row("steps",
              fmt::format("{} of {} ms, rules of {}", grouped(network.steps()), network.step_ms, name(network.compat)));
    print_row("device", device_text(run));
    print_row("memory", fmt::format("{} bytes are needed, {} are available", grouped(plan.traffic.memory_bytes),
                                    grouped(available_memory())));
    const sim::Traffic& traffic = plan.traffic;
    const double pass = traffic.per_step(double(plan.neurons), 0),
                 spike = traffic.per_step(0, traffic.events_per_spike);
    print_row("state", fmt::format("{:.1f} bytes per neuron", traffic.state_bytes_per_neuron));
    print_row("traffic", traffic_text(traffic));
    print_row("step", fmt::format("{} bytes: {}", grouped(uint64_t(pass)), least_time_text(pass, read_rate)));
    print_row("spike", fmt::format("{} bytes of {:.1f} synapses in the mean; how many there are is not known before{}",
                                   grouped(uint64_t(spike)), traffic.events_per_spike,
                                   read_rate ? fmt::format(": {:.3f} µs each", 1e6 * spike / *read_rate) : ""));
    fmt::print("\nprograms\n");
    for (const auto& program : plan.programs) {
        fmt::print("  {}: {}{}{}\n", program.name, program.kernel.empty() ? "no kernel" : program.kernel,
                   program.kernel.empty() ? "" : ", " + work_text(program),
                   program.note.empty() ? "" : "; " + program.note);
    }
    for (const auto& recording : plan.recordings) {
        fmt::print("  recorder {}: {} bytes per sample, {} in all\n", recording.name, grouped(recording.sample_bytes),
                   grouped(recording.run_bytes));
    }
    fmt::print("\nprojections\n");
    for (size_t i = 0; i < plan.projections.size(); ++i) {
        const auto& synapses = plan.projections[i];
        const sim::Projection& projection = network.projections[i];
        fmt::print("  {}: {}, about {} synapses of {} bytes{}{}; autapses {}, multapses {}\n", synapses.name,
                   sim::rule_text(projection.rule), grouped(synapses.expected), synapses.bytes,
                   synapses.is_plastic ? ", plastic" : "", synapses.has_shared_weight ? ", one weight" : "",
                   projection.autapses ? "allowed" : "excluded", projection.multapses ? "allowed" : "excluded");
    }
}

}  // namespace riftjit::tools
