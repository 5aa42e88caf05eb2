#include "tools/sim/sim_command.h"

#include "tools/sim/large_stack.h"
#include "tools/sim/sim_convert_command.h"
#include "tools/sim/sim_network.h"
#include "tools/sim/sim_ramp.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

constexpr const char* kSimExamples =
    "Examples:\n"
    "  riftjit sim --neurons 60M                           the benchmark network, 2000 steps, totals and hashes\n"
    "  riftjit sim --neurons 10M --steps 200 -t 2 --json   for scripts\n"
    "  riftjit sim brunel --record spikes.h5 --plot raster.png\n"
    "  riftjit sim pd14 --scale 0.2 --duration '2 s' --discard '500 ms'\n"
    "  riftjit sim cuba --print-network > my.toml          a network file to start from; then riftjit sim my.toml\n"
    "  riftjit sim my.toml --set population.E.size=2000 --explain\n"
    "  riftjit sim convert spikes.h5 --to nwb\n"
    "Results do not depend on threads or instruction set. Ctrl-C stops after a step, writes what was recorded and "
    "prints\n"
    "what was done. Network files are described in docs/SIMULATOR.md.";

struct SimOptions {
    RampOptions ramp;
    NetworkRunOptions network;
    int64_t steps = 0, threads = 0;
    bool json = false, hash = false, check = false, print_plan = false, dump_isa = false;
    MachineChoice machine;
};

void add_network_options(CLI::App& command, NetworkRunOptions& network) {
    const std::string group = "Networks";
    command.add_option("network", network.network, "a network file (TOML), or brunel, cuba, coba, pd14")
        ->check(file_name())
        ->group(group);
    command.add_option("--duration", network.duration, "model time, also that before a resumed state: '500 ms', '2 s'")
        ->group(group);
    command.add_option("--step", network.step, "integration step: '0.1 ms'")->group(group);
    command
        .add_option_function<std::string>(
            "--seed", [&network](const std::string& text) { network.seed = parse_unsigned("--seed", text); },
            "of all random numbers")
        ->type_name("N")
        ->group(group);
    command
        .add_option_function<std::string>(
            "--scale",
            [&network](const std::string& text) { network.scale = parse_number("--scale", text, 1e-6, 1e6); },
            "of networks that declare it: pd14, brunel, cuba, coba")
        ->type_name("FACTOR")
        ->group(group);
    add_choice(command, "--compat", network.compat, {"nest", "brian2"}, "order within a step, refractory time, stamps")
        ->group(group);
    command.add_option("--set", network.settings, "change a value of the file: population.E.size=100")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false)
        ->group(group);
    add_choice(command, "--precision", network.precision, {"f64", "f32"},
               "of state, weights that are listed or drawn, and arithmetic")
        ->group(group);
    command.add_flag("--print-network", network.print_network, "print the network's file, then stop")->group(group);
}

void add_result_options(CLI::App& command, NetworkRunOptions& network) {
    const std::string group = "Results";
    command
        .add_option("--record", network.record,
                    "write what the network's recorders record (.h5 or .hdf5, .sonata.h5, .nwb, .npz, .dat)")
        ->check(file_name())
        ->group(group);
    add_choice(command, "--record-format", network.record_format, {"h5", "sonata", "nwb", "npz", "dat"},
               "in place of the one that the file's name says")
        ->group(group);
    command
        .add_option("--record-network", network.record_network,
                    "write populations and synapses as drawn (.h5: SONATA's nodes and edges)")
        ->check(file_name())
        ->group(group);
    command.add_option("--plot", network.plots, "draw to .png or .svg, or '-': to the terminal")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->group(group);
    add_choice(command, "--plot-kind", network.plot_kind, {"summary", "raster", "rate", "isi"},
               "what to draw, in place of what the file's name ends in")
        ->group(group);
    command.add_option("--discard", network.discard, "left out of rates and intervals at the start: '500 ms'")
        ->group(group);
    command.add_option("--save", network.save, "write the state at the end, and at each --save-interval")
        ->check(file_name())
        ->group(group);
    command.add_option("--save-interval", network.save_interval, "model time between saves: '1 s'")->group(group);
    command.add_option("--resume", network.resume, "go on from a state that --save wrote; bit-equal to one run")
        ->check(file_name())
        ->group(group);
    command.add_flag("--force", network.force, "replace files that exist, once the new ones are whole")->group(group);
}

SimPrints prints_of(const SimOptions& options) {
    if (options.json) return SimPrints::json;
    return options.hash ? SimPrints::hashes : SimPrints::table;
}

// Flags that would say nothing beside others.
Result<void> check_flags(const SimOptions& options) {
    if (options.json && options.hash) return fail(ErrorKind::Usage, "--hash: --json prints the hashes too");
    const bool runs = !options.print_plan && !options.dump_isa && !options.network.print_network;
    if (options.json && (options.dump_isa || options.network.print_network))
        return fail(ErrorKind::Usage, "--json: {} prints text", options.dump_isa ? "--dump-isa" : "--print-network");
    if (!runs && options.hash) return fail(ErrorKind::Usage, "--hash: nothing is run");
    if (!runs && options.check) return fail(ErrorKind::Usage, "--check: nothing is run");
    return {};
}

Result<int> run(const CLI::App& command, SimOptions& options, Reporter& reporter) {
    RIFTJIT_TRY_VOID(check_flags(options));
    const bool is_ramp = command.count("--neurons") != 0;
    if (is_ramp == !options.network.network.empty()) {
        return fail(ErrorKind::Usage, "sim: expected either a network or --neurons N{}",
                    is_ramp ? fmt::format(", got \"{}\" and --neurons", options.network.network) : "");
    }
    for (const CLI::Option* option : command.get_options()) {
        const bool is_of_networks = option->get_group() == "Networks" || option->get_group() == "Results";
        if (is_ramp && is_of_networks && option->count() != 0)
            return fail(ErrorKind::Usage, "sim: {} is for networks, not for --neurons", option->get_name());
    }
    if (!is_ramp && command.count("--targets") != 0)
        return fail(ErrorKind::Usage, "sim: --targets is for --neurons, not for networks");
    if (is_ramp) {
        RampOptions& ramp = options.ramp;
        if (command.count("--steps") != 0) ramp.steps = options.steps;
        if (ramp.steps > kMostRampSteps) {
            return fail(ErrorKind::Usage, "--steps: {} is out of range, expected 1 to {} with --neurons", ramp.steps,
                        kMostRampSteps);
        }
        ramp.threads = options.threads;
        ramp.prints = prints_of(options), ramp.check = options.check;
        ramp.print_plan = options.print_plan, ramp.dump_isa = options.dump_isa;
        ramp.machine = options.machine;
        return run_ramp(ramp, reporter);
    }
    NetworkRunOptions& network = options.network;
    if (command.count("--steps") != 0) network.steps = options.steps;
    network.threads = options.threads;
    network.prints = prints_of(options), network.check = options.check;
    network.print_plan = options.print_plan, network.dump_isa = options.dump_isa;
    network.machine = options.machine;
    return run_network(network, reporter);
}

}  // namespace

void add_sim_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("sim", "Simulate a spiking network, exactly");
    command->footer(kSimExamples);
    const auto options = std::make_shared<SimOptions>();
    command
        ->add_option_function<std::string>(
            "--neurons",
            [options](const std::string& text) { options->ramp.neurons = parse_count("--neurons", text, UINT32_MAX); },
            "neurons of the ramp network (60M: the published benchmark)")
        ->type_name("N");
    add_integer(*command, "--steps", options->steps, 1, UINT32_MAX,
                "steps to simulate from here on (ramp network: 2000)");
    add_integer(*command, "-t,--threads", options->threads, 0, 1024,
                "threads (0: physical cores within the CPU quota, or as many as a step of the network is worth)");
    add_choice(*command, "--targets", options->ramp.targets, {"computed", "stored"},
               "ramp network: targets of spikes computed anew, or stored (16 bytes per neuron)");
    add_network_options(*command, options->network);
    add_result_options(*command, options->network);
    command->add_flag("--json", options->json, "print one JSON object");
    command->add_flag("--hash", options->hash, "print the hashes and nothing else, to compare runs by");
    command->add_flag("--check", options->check,
                      "check counts and what is on its way too (arrivals, states and weights always are)");
    command->add_flag("--print-plan,--explain", options->print_plan, "print what a step does and moves, then stop");
    command->add_flag("--dump-isa", options->dump_isa, "print the generated kernels' listings, then stop");
    add_machine_choice(*command, "Kernels", options->machine);
    add_sim_convert_command(*command, chosen);
    on_chosen(*command, chosen, [command, options] {
        Reporter reporter;
        const auto done = on_large_stack([&] { return run(*command, *options, reporter); });
        return done ? *done : report_shortened(done.error());
    });
}

}  // namespace riftjit::tools
