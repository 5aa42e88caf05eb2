#include "tools/sim_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/available_memory.h"
#include "tools/sim_text.h"

namespace riftjit::tools {

namespace {

// What one run of the engine amounts to.
struct Speed {
    double model_ms, real_time_factor, ns_per_neuron_step;
};
Speed speed_of(const sim::Network& network, const sim::Simulation& simulation, const NetworkResult& result) {
    const double steps = simulation.steps() - result.first_step;
    if (steps == 0) return {};
    const double model_ms = steps * network.step_ms;
    return {model_ms, result.run_seconds * 1e3 / model_ms, result.run_seconds * 1e9 / steps / network.neurons()};
}

const char* name(sim::Compat compat) { return compat == sim::Compat::nest ? "nest" : "brian2"; }

std::string number_or_dash(const std::optional<double>& value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

}  // namespace

nlohmann::ordered_json network_json(const sim::Network& network, const sim::Simulation& simulation,
                                    const NetworkResult& result) {
    const Speed speed = speed_of(network, simulation, result);
    nlohmann::ordered_json json = {{"network", network.name},
                                   {"neurons", network.neurons()},
                                   {"synapses", simulation.synapses()},
                                   {"step_ms", network.step_ms},
                                   {"steps", simulation.steps()},
                                   {"first_step", result.first_step},
                                   {"seed", network.seed},
                                   {"compat", name(network.compat)},
                                   {"precision", result.precision == Precision::f64 ? "f64" : "f32"},
                                   {"spikes", simulation.spikes()},
                                   {"synaptic_events", simulation.delivered()},
                                   {"spikes_hash", fmt::format("{:016x}", simulation.spikes_hash())},
                                   {"graph_hash", fmt::format("{:016x}", simulation.graph_hash())},
                                   {"threads", result.threads},
                                   {"isa", riftjit::name(result.isa)},
                                   {"build_seconds", result.build_seconds},
                                   {"jit_ms", result.kernels_ms},
                                   {"run_seconds", result.run_seconds},
                                   {"real_time_factor", speed.real_time_factor},
                                   {"ns_per_neuron_step", speed.ns_per_neuron_step},
                                   {"peak_rss_bytes", result.peak_rss}};
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

void print_network_table(const sim::Network& network, const sim::Simulation& simulation, const NetworkResult& result) {
    const Speed speed = speed_of(network, simulation, result);
    print_row("network", fmt::format("{}, {} neurons, {} synapses, seed {}", network.name, grouped(network.neurons()),
                                     grouped(simulation.synapses()), network.seed));
    print_row("steps", fmt::format("{} of {} ms, rules of {}", grouped(simulation.steps() - result.first_step),
                                   network.step_ms, name(network.compat)));
    print_row("device", fmt::format("CPU, level {}, {}{}, {}", riftjit::name(result.isa), thread_text(result.threads),
                                    result.threads_note,
                                    result.precision == Precision::f64 ? "f64" : "f32: counts are approximate"));
    print_row("build", fmt::format("{:.2f} s, of which kernels {:.1f} ms", result.build_seconds, result.kernels_ms));
    print_row("simulation",
              fmt::format("{:.2f} s for {:.1f} ms: real-time factor {:.3f}, {:.3f} ns per neuron and step",
                          result.run_seconds, speed.model_ms, speed.real_time_factor, speed.ns_per_neuron_step));
    print_row("memory", fmt::format("peak resident {:.2f} GB", double(result.peak_rss) * 1e-9));
    print_row("spikes",
              fmt::format("{}, {} synaptic events", grouped(simulation.spikes()), grouped(simulation.delivered())));
    print_row("hashes",
              fmt::format("spikes {:016x}, graph {:016x}", simulation.spikes_hash(), simulation.graph_hash()));
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

void print_network_plan(const sim::Network& network, const sim::SimulationPlan& plan, const NetworkResult& result) {
    print_row("network", fmt::format("{}, {} neurons, about {} synapses, seed {}", network.name, grouped(plan.neurons),
                                     grouped(plan.expected_synapses), network.seed));
    print_row("steps",
              fmt::format("{} of {} ms, rules of {}", grouped(network.steps()), network.step_ms, name(network.compat)));
    print_row("device", fmt::format("CPU, level {}, {}{}", riftjit::name(result.isa), thread_text(result.threads),
                                    result.threads_note));
    print_row("memory", fmt::format("{} bytes are needed, {} are available", grouped(plan.memory_bytes),
                                    grouped(sim::available_memory())));
    print_row("traffic", fmt::format("{:.1f} bytes of columns per neuron and step", plan.bytes_per_neuron_step));
    fmt::print("\nprograms\n");
    for (const auto& program : plan.programs) {
        fmt::print("  {}: {}{}{}\n", program.name, program.kernel.empty() ? "no kernel" : program.kernel,
                   program.kernel.empty() ? "" : fmt::format(", {} bytes per element and step", program.bytes_per_run),
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
