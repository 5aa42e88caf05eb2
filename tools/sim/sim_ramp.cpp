#include "tools/sim/sim_ramp.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/machine.h"
#include "host/available_memory.h"
#include "host/cpus.h"
#include "host/json_text.h"
#include "sim/ramp/ramp_engine.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/step_progress.h"
#include "tools/run/dump_isa.h"
#include "tools/sim/sim_bandwidth.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

sim::RampNetwork network_of(const RampOptions& options) {
    sim::RampNetwork network;
    network.neurons = static_cast<uint32_t>(options.neurons);
    return network;
}

sim::TargetStore target_store(const RampOptions& options) {
    return options.targets == "stored" ? sim::TargetStore::stored : sim::TargetStore::computed;
}

uint32_t thread_count(const RampOptions& options) {
    return options.threads == 0 ? default_threads() : static_cast<uint32_t>(options.threads);
}

constexpr uint32_t kStateBytes = 27;  // per neuron

struct SimResult {
    Isa isa;
    uint32_t threads = 0, steps = 0;
    uint64_t spikes = 0, arrivals = 0, counts_hash = 0, graph_hash = 0;
    double build_seconds = 0, kernels_ms = 0, run_seconds = 0;
    uint64_t state_bytes = 0, peak_rss = 0;
    std::optional<double> read_rate;  // bytes per second, of the threads together

    double ns_per_neuron_step(uint64_t neurons) const {
        return steps == 0 ? 0 : 1e9 * run_seconds / double(steps) / double(neurons);
    }
};

// Every run is held to the first; --check to the second too.
Result<void> check_result(const RampOptions& options, const sim::RampEngine& engine) {
    RIFTJIT_TRY_VOID(engine.check_conservation());
    return options.check ? engine.check_totals() : Result<void>();
}

Result<SimResult> simulate(const RampOptions& options, Reporter& reporter) {
    const auto start = Clock::now();
    const sim::RampNetwork network = network_of(options);
    SimResult result{};
    RIFTJIT_TRY(isa, engine::select_isa(options.machine.max_isa));
    result.isa = isa;
    if (options.threads == 0) keep_to_performance_cores();
    result.threads = thread_count(options);
    RIFTJIT_TRY(pool, ThreadPool::create(result.threads));
    const auto cache = engine::open_kernel_cache(options.machine.cache_directory,
                                                 *cache_mode_from_name(options.machine.cache_mode), reporter.warner());
    x86::HostKernels kernels(*cache);
    RIFTJIT_TRY(engine, sim::RampEngine::create(network, target_store(options), kernels, isa, pool));
    result.build_seconds = seconds_since(start);
    result.kernels_ms = kernels.statistics().compile_ms + kernels.statistics().load_ms;
    watch_interrupts();
    {
        StepProgress progress(static_cast<uint64_t>(options.steps));
        const auto run_start = Clock::now();
        engine.run(static_cast<uint32_t>(options.steps), [&](uint32_t steps) {
            progress.show(steps);
            return pending_interrupt() == Interrupt::none;
        });
        result.run_seconds = seconds_since(run_start);
    }
    result.steps = engine.steps();
    result.spikes = engine.spikes();
    result.arrivals = engine.arrivals();
    RIFTJIT_TRY_VOID(check_result(options, engine));
    result.peak_rss = peak_rss_bytes();
    result.counts_hash = engine.counts_hash();
    result.graph_hash = engine.graph_hash();
    result.state_bytes = engine.state_bytes();
    if (options.prints == SimPrints::hashes) return result;
    RIFTJIT_TRY(rate, measured_read_rate(result.state_bytes, isa, result.threads));
    result.read_rate = rate;
    return result;
}

std::vector<std::string> checks_of(const RampOptions& options) {
    std::vector<std::string> checks = {"arrivals"};
    if (options.check) checks.push_back("counts");
    return checks;
}

nlohmann::ordered_json to_json(const RampOptions& options, const SimResult& result) {
    const sim::RampNetwork network = network_of(options);
    nlohmann::ordered_json json = {{"neurons", network.neurons},
                                   {"synapses", network.synapses()},
                                   {"steps", result.steps},
                                   {"seed", fmt::format("{:016x}", network.seed)},
                                   {"spikes", result.spikes},
                                   {"arrivals", result.arrivals},
                                   {"counts_hash", fmt::format("{:016x}", result.counts_hash)},
                                   {"graph_hash", fmt::format("{:016x}", result.graph_hash)},
                                   {"threads", result.threads},
                                   {"isa", name(result.isa)},
                                   {"build_seconds", result.build_seconds},
                                   {"jit_ms", result.kernels_ms},
                                   {"run_seconds", result.run_seconds},
                                   {"ns_per_neuron_step", result.ns_per_neuron_step(network.neurons)},
                                   {"bytes_per_neuron", double(result.state_bytes) / network.neurons},
                                   {"bytes_per_neuron_step", sim::kRampBytesPerStep},
                                   {"peak_rss_bytes", result.peak_rss},
                                   {"targets", options.targets},
                                   {"checked", checks_of(options)}};
    if (result.read_rate) json["read_gb_per_s"] = *result.read_rate * 1e-9;
    return json;
}

void print_table(const RampOptions& options, const SimResult& result) {
    const sim::RampNetwork network = network_of(options);
    const double ns = result.ns_per_neuron_step(network.neurons);
    print_row("network", fmt::format("ramp, {} neurons, {} synapses, seed {:016x}", grouped(network.neurons),
                                     grouped(network.synapses()), network.seed));
    print_row("steps", fmt::format("{} of {} ms", grouped(result.steps), network.step));
    print_row("device", fmt::format("CPU, level {}, {}", name(result.isa), thread_text(result.threads)));
    print_row("build", fmt::format("{:.2f} s, of which kernels {:.1f} ms", result.build_seconds, result.kernels_ms));
    print_row("simulation", fmt::format("{:.2f} s: {:.3f} ms per step, {:.3f} ns per neuron and step",
                                        result.run_seconds, ns * 1e-6 * network.neurons, ns));
    print_row("memory", fmt::format("{:.1f} bytes of state per neuron, targets {}; peak resident {:.2f} GB",
                                    double(result.state_bytes) / network.neurons, options.targets,
                                    double(result.peak_rss) * 1e-9));
    const double bytes = double(sim::kRampBytesPerStep) * network.neurons;
    const double reached = ns > 0 ? 1e9 * double(sim::kRampBytesPerStep) / ns : 0;
    print_row("traffic", fmt::format("{} bytes per neuron and step, {} per step: {}", sim::kRampBytesPerStep,
                                     grouped(static_cast<uint64_t>(bytes)), share_text(reached, result.read_rate)));
    print_row("spikes", fmt::format("{}, {} arrivals", grouped(result.spikes), grouped(result.arrivals)));
    print_row("checks", fmt::format("every spike arrived at its {} targets{}", network.fan_out,
                                    options.check ? "; the counts of the neurons add up" : ""));
    print_row("hashes", fmt::format("counts {:016x}, graph {:016x}", result.counts_hash, result.graph_hash));
}

nlohmann::ordered_json plan_json(const RampOptions& options, Isa isa, uint32_t threads,
                                 std::optional<double> read_rate) {
    const sim::RampNetwork network = network_of(options);
    const double bytes = double(sim::kRampBytesPerStep) * network.neurons;
    nlohmann::ordered_json json = {{"neurons", network.neurons},
                                   {"synapses", network.synapses()},
                                   {"steps", options.steps},
                                   {"isa", name(isa)},
                                   {"threads", threads},
                                   {"kernel", kernel_name(network.spec())},
                                   {"bytes_per_neuron", kStateBytes},
                                   {"bytes_per_neuron_step", sim::kRampBytesPerStep},
                                   {"bytes_per_step", bytes},
                                   {"memory_bytes", sim::ramp_memory_bytes(network, target_store(options))},
                                   {"available_bytes", available_memory()}};
    if (!read_rate) return json;
    json["read_gb_per_s"] = *read_rate * 1e-9;
    json["least_ms_per_step"] = 1e3 * bytes / *read_rate;
    return json;
}

void print_plan(const RampOptions& options, Isa isa, std::optional<double> read_rate) {
    const sim::RampNetwork network = network_of(options);
    fmt::print("{} neurons, {} steps, level {}\n", grouped(network.neurons), options.steps, name(isa));
    fmt::print("per step and range of neurons: drain arrivals into counters, {}, compute targets of those that fired\n",
               kernel_name(network.spec()));
    fmt::print("state        {} bytes per neuron: v, s_exc, s_inh (f64), refractory steps (u8), spikes (u16)\n",
               kStateBytes);
    fmt::print("traffic      {} bytes per neuron and step: the f64 state and the refractory steps, read and written\n",
               sim::kRampBytesPerStep);
    const double bytes = double(sim::kRampBytesPerStep) * network.neurons;
    fmt::print("step         {} bytes: {}\n", grouped(uint64_t(bytes)), least_time_text(bytes, read_rate));
    fmt::print("memory       {} bytes at the peak rate, {} are available\n",
               grouped(sim::ramp_memory_bytes(network, target_store(options))), grouped(available_memory()));
}

}  // namespace

Result<int> run_ramp(const RampOptions& options, Reporter& reporter) {
    if (options.dump_isa) {
        RIFTJIT_TRY(isa, listing_isa(options.machine.max_isa));
        const KernelNote note{
            "work", fmt::format("{} operations and {} bytes moved per neuron and step",
                                cost(network_of(options).spec()).flops / options.neurons, sim::kRampBytesPerStep)};
        print_listing_head();
        RIFTJIT_TRY_VOID(print_kernel(network_of(options).spec(), 0, isa, {&note, 1}));
        return kExitDone;
    }
    if (options.print_plan) {
        RIFTJIT_TRY(isa, engine::select_isa(options.machine.max_isa));
        const uint32_t threads = thread_count(options);
        RIFTJIT_TRY(rate, measured_read_rate(options.neurons * kStateBytes, isa, threads));
        if (options.prints == SimPrints::json)
            fmt::print("{}\n", json_text(plan_json(options, isa, threads, rate)));
        else
            print_plan(options, isa, rate);
        return kExitDone;
    }
    RIFTJIT_TRY(result, simulate(options, reporter));
    if (options.prints == SimPrints::json)
        fmt::print("{}\n", json_text(to_json(options, result)));
    else if (options.prints == SimPrints::hashes)
        fmt::print("counts {:016x}\ngraph {:016x}\n", result.counts_hash, result.graph_hash);
    else
        print_table(options, result);
    return exit_code_of_interrupt();
}

}  // namespace riftjit::tools
