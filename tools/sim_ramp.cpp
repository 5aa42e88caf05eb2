#include "tools/sim_ramp.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/cpus.h"
#include "runtime/peaks.h"
#include "sim/available_memory.h"
#include "sim/ramp_engine.h"
#include "tools/dump_isa.h"
#include "tools/engine.h"
#include "tools/generation.h"
#include "tools/interrupt.h"
#include "tools/sim_text.h"
#include "tools/step_progress.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Below it the state may stay in a cache, and a rate of memory says nothing.
constexpr uint64_t kLeastMeasuredBytes = 256ull << 20;

sim::RampNetwork network_of(const RampOptions& options) {
    sim::RampNetwork network;
    network.neurons = static_cast<uint32_t>(options.neurons);
    return network;
}

sim::TargetStore target_store(const RampOptions& options) {
    return options.targets == "stored" ? sim::TargetStore::stored : sim::TargetStore::computed;
}

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

Result<SimResult> simulate(const RampOptions& options, Reporter& reporter) {
    const auto start = Clock::now();
    const sim::RampNetwork network = network_of(options);
    SimResult result{};
    RIFTJIT_TRY(isa, select_isa(options.machine.max_isa));
    result.isa = isa;
    result.threads = options.threads == 0 ? runtime::physical_cores() : static_cast<uint32_t>(options.threads);
    RIFTJIT_TRY(pool, runtime::ThreadPool::create(result.threads));
    const auto kernels =
        open_kernel_cache(options.machine.cache_directory, *cache_mode_from_name(options.machine.cache_mode),
                          KernelCache::Use::execute, reporter);
    RIFTJIT_TRY(engine, sim::RampEngine::create(network, target_store(options), *kernels, isa, pool));
    result.build_seconds = seconds_since(start);
    result.kernels_ms = kernels->statistics().compile_ms + kernels->statistics().load_ms;
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
    check(result.arrivals == result.spikes * network.fan_out, "every spike arrives at each of its targets");
    result.peak_rss = peak_rss_bytes();
    result.counts_hash = engine.counts_hash();
    result.graph_hash = engine.graph_hash();
    result.state_bytes = engine.state_bytes();
    if (result.state_bytes >= kLeastMeasuredBytes) {
        RIFTJIT_TRY(rate, runtime::measure_read_rate(isa, result.threads, engine.state_memory()));
        result.read_rate = rate;
    }
    return result;
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
                                   {"targets", options.targets}};
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
    std::string share = "the state may stay in a cache, so no share of the memory's rate";
    if (result.read_rate && ns > 0) {
        const double reached = double(sim::kRampBytesPerStep) / ns;
        share = fmt::format("{:.1f} GB/s, {:.0f} % of the {:.1f} GB/s that reading reaches", reached,
                            100e9 * reached / *result.read_rate, *result.read_rate * 1e-9);
    }
    print_row("traffic", fmt::format("{} bytes per neuron and step, {} per step: {}", sim::kRampBytesPerStep,
                                     grouped(static_cast<uint64_t>(bytes)), share));
    print_row("spikes", fmt::format("{}, {} arrivals", grouped(result.spikes), grouped(result.arrivals)));
    print_row("hashes", fmt::format("counts {:016x}, graph {:016x}", result.counts_hash, result.graph_hash));
}

void print_plan(const RampOptions& options, Isa isa) {
    const sim::RampNetwork network = network_of(options);
    fmt::print("{} neurons, {} steps, level {}\n", grouped(network.neurons), options.steps, name(isa));
    fmt::print("per step and range of neurons: drain arrivals into counters, {}, compute targets of those that fired\n",
               kernel_name(network.spec()));
    fmt::print("state        27 bytes per neuron: v, s_exc, s_inh (f64), refractory steps (u8), spikes (u16)\n");
    fmt::print("traffic      {} bytes per neuron and step: the f64 state and the refractory steps, read and written\n",
               sim::kRampBytesPerStep);
    fmt::print("memory       {} bytes at the peak rate, {} are available\n",
               grouped(sim::ramp_memory_bytes(network, target_store(options))), grouped(sim::available_memory()));
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
        RIFTJIT_TRY(isa, select_isa(options.machine.max_isa));
        print_plan(options, isa);
        return kExitDone;
    }
    RIFTJIT_TRY(result, simulate(options, reporter));
    if (options.json) {
        fmt::print("{}\n", to_json(options, result).dump());
    } else {
        print_table(options, result);
    }
    return pending_interrupt() == Interrupt::none ? kExitDone : kExitInterrupted;
}

}  // namespace riftjit::tools
