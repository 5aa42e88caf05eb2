#include "tools/sim_command.h"

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
#include "tools/options.h"
#include "tools/step_progress.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr uint32_t kMostSteps = 1'300'000;  // a neuron fires at most every 21 steps, and counts its spikes in 16 bits
// Below it the state may stay in a cache, and a rate of memory says nothing.
constexpr uint64_t kLeastMeasuredBytes = 256ull << 20;

struct SimOptions {
    uint64_t neurons = 0;
    int64_t steps = 2000, threads = 0;  // 0: physical cores
    std::string targets = "computed";
    MachineChoice machine;
    bool json = false, print_plan = false, dump_isa = false;

    sim::RampNetwork network() const {
        sim::RampNetwork network;
        network.neurons = static_cast<uint32_t>(neurons);
        return network;
    }
    sim::TargetStore target_store() const {
        return targets == "stored" ? sim::TargetStore::stored : sim::TargetStore::computed;
    }
};

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

Result<SimResult> simulate(const SimOptions& options, Reporter& reporter) {
    const auto start = Clock::now();
    const sim::RampNetwork network = options.network();
    SimResult result{};
    RIFTJIT_TRY(isa, select_isa(options.machine.max_isa));
    result.isa = isa;
    result.threads = options.threads == 0 ? runtime::physical_cores() : static_cast<uint32_t>(options.threads);
    RIFTJIT_TRY(pool, runtime::ThreadPool::create(result.threads));
    const auto kernels =
        open_kernel_cache(options.machine.cache_directory, *cache_mode_from_name(options.machine.cache_mode),
                          KernelCache::Use::execute, reporter);
    RIFTJIT_TRY(engine, sim::RampEngine::create(network, options.target_store(), *kernels, isa, pool));
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

nlohmann::ordered_json to_json(const SimOptions& options, const SimResult& result) {
    const sim::RampNetwork network = options.network();
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

// 1985575928 -> "1,985,575,928".
std::string grouped(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
    return digits;
}

void print_table(const SimOptions& options, const SimResult& result) {
    const sim::RampNetwork network = options.network();
    const double ns = result.ns_per_neuron_step(network.neurons);
    const auto row = [](std::string_view label, const std::string& text) { fmt::print("{:<12} {}\n", label, text); };
    row("network", fmt::format("ramp, {} neurons, {} synapses, seed {:016x}", grouped(network.neurons),
                               grouped(network.synapses()), network.seed));
    row("steps", fmt::format("{} of {} ms", grouped(result.steps), network.step));
    row("device", fmt::format("CPU, level {}, {} threads", name(result.isa), result.threads));
    row("build", fmt::format("{:.2f} s, of which kernels {:.1f} ms", result.build_seconds, result.kernels_ms));
    row("simulation", fmt::format("{:.2f} s: {:.3f} ms per step, {:.3f} ns per neuron and step", result.run_seconds,
                                  ns * 1e-6 * network.neurons, ns));
    row("memory",
        fmt::format("{:.1f} bytes of state per neuron, targets {}; peak resident {:.2f} GB",
                    double(result.state_bytes) / network.neurons, options.targets, double(result.peak_rss) * 1e-9));
    const double bytes = double(sim::kRampBytesPerStep) * network.neurons;
    std::string share = "the state may stay in a cache, so no share of the memory's rate";
    if (result.read_rate && ns > 0) {
        const double reached = double(sim::kRampBytesPerStep) / ns;
        share = fmt::format("{:.1f} GB/s, {:.0f} % of the {:.1f} GB/s that reading reaches", reached,
                            100e9 * reached / *result.read_rate, *result.read_rate * 1e-9);
    }
    row("traffic", fmt::format("{} bytes per neuron and step, {} per step: {}", sim::kRampBytesPerStep,
                               grouped(static_cast<uint64_t>(bytes)), share));
    row("spikes", fmt::format("{}, {} arrivals", grouped(result.spikes), grouped(result.arrivals)));
    row("hashes", fmt::format("counts {:016x}, graph {:016x}", result.counts_hash, result.graph_hash));
}

void print_plan(const SimOptions& options, Isa isa) {
    const sim::RampNetwork network = options.network();
    fmt::print("{} neurons, {} steps, level {}\n", grouped(network.neurons), options.steps, name(isa));
    fmt::print("per step and range of neurons: drain arrivals into counters, {}, compute targets of those that fired\n",
               kernel_name(network.spec()));
    fmt::print("state        27 bytes per neuron: v, s_exc, s_inh (f64), refractory steps (u8), spikes (u16)\n");
    fmt::print("traffic      {} bytes per neuron and step: the f64 state and the refractory steps, read and written\n",
               sim::kRampBytesPerStep);
    fmt::print("memory       {} bytes at the peak rate, {} are available\n",
               grouped(sim::ramp_memory_bytes(network, options.target_store())), grouped(sim::available_memory()));
}

Result<int> run(const SimOptions& options, Reporter& reporter) {
    if (options.dump_isa) {
        RIFTJIT_TRY(isa, listing_isa(options.machine.max_isa));
        const KernelNote note{
            "work", fmt::format("{} operations and {} bytes moved per neuron and step",
                                cost(options.network().spec()).flops / options.neurons, sim::kRampBytesPerStep)};
        print_listing_head();
        RIFTJIT_TRY_VOID(print_kernel(options.network().spec(), 0, isa, {&note, 1}));
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

constexpr const char* kExamples =
    "Examples:\n"
    "  riftjit sim --neurons 60M                           the benchmark network, 2000 steps, totals and hashes\n"
    "  riftjit sim --neurons 10M --steps 200 -t 2 --json   for scripts\n"
    "  riftjit sim --neurons 1000 --print-plan             what a step does and moves\n"
    "The result does not depend on threads or instruction set. Ctrl-C stops after a step and prints what was done.";

}  // namespace

void add_sim_command(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("sim", "Simulate a spiking network, exactly");
    command->footer(kExamples);
    const auto options = std::make_shared<SimOptions>();
    command
        ->add_option_function<std::string>(
            "--neurons",
            [options](const std::string& text) { options->neurons = parse_count("--neurons", text, UINT32_MAX); },
            "neurons of the ramp network (60M: the published benchmark)")
        ->type_name("N")
        ->required();
    add_integer(*command, "--steps", options->steps, 1, kMostSteps, "steps of 0.1 ms");
    add_integer(*command, "-t,--threads", options->threads, 0, 1024, "threads (0: physical cores)");
    add_choice(*command, "--targets", options->targets, {"computed", "stored"},
               "targets of spikes: computed anew, or stored (16 bytes per neuron)");
    command->add_flag("--json", options->json, "print one JSON object");
    command->add_flag("--print-plan,--explain", options->print_plan, "print what a step does and moves, then stop");
    command->add_flag("--dump-isa", options->dump_isa, "print the generated kernel's listing, then stop");
    add_machine_choice(*command, "Kernels", options->machine);
    command->callback([options, &exit_code] {
        Reporter reporter;
        const auto done = run(*options, reporter);
        exit_code = done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
