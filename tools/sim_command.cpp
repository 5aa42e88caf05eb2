#include "tools/sim_command.h"

#include "tools/sim_ramp.h"

namespace riftjit::tools {

namespace {

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
    const auto options = std::make_shared<RampOptions>();
    command
        ->add_option_function<std::string>(
            "--neurons",
            [options](const std::string& text) { options->neurons = parse_count("--neurons", text, UINT32_MAX); },
            "neurons of the ramp network (60M: the published benchmark)")
        ->type_name("N")
        ->required();
    add_integer(*command, "--steps", options->steps, 1, kMostRampSteps, "steps of 0.1 ms");
    add_integer(*command, "-t,--threads", options->threads, 0, 1024, "threads (0: physical cores)");
    add_choice(*command, "--targets", options->targets, {"computed", "stored"},
               "targets of spikes: computed anew, or stored (16 bytes per neuron)");
    command->add_flag("--json", options->json, "print one JSON object");
    command->add_flag("--print-plan,--explain", options->print_plan, "print what a step does and moves, then stop");
    command->add_flag("--dump-isa", options->dump_isa, "print the generated kernel's listing, then stop");
    add_machine_choice(*command, "Kernels", options->machine);
    command->callback([options, &exit_code] {
        Reporter reporter;
        const auto done = run_ramp(*options, reporter);
        exit_code = done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
