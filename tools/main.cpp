// The riftjit command: subcommands, global help, exit codes.

#include <CLI/CLI.hpp>
#include <system_error>

#include "tools/bench/bench_command.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"
#include "tools/cli/self_description.h"
#include "tools/cli/suggestion.h"
#include "tools/model/cache_command.h"
#include "tools/model/inspect_command.h"
#include "tools/model/tokenize_command.h"
#include "tools/model/warm_command.h"
#include "tools/rdna/asm_command.h"
#include "tools/rdna/disasm_command.h"
#include "tools/rdna/emulate_command.h"
#include "tools/rdna/targets_command.h"
#include "tools/run/run_command.h"
#include "tools/sim/sim_command.h"

namespace {

using namespace riftjit;

constexpr const char* kDescription =
    "riftjit runs language models and spiking networks with machine code that it generates at\n"
    "start-up, for exactly the model's shapes, the weights' quantisation and the processor it finds.";

constexpr const char* kExamples =
    "Examples:\n"
    "  riftjit run -p \"Tell me a short story about a fox and a lamp.\"   the shipped model\n"
    "  riftjit run -m qwen3.gguf -p \"...\" -n 128 --temp 0 -t 2          another model, greedy, two threads\n"
    "  riftjit run -m qwen3.gguf --print-plan                           every launch, before running it\n"
    "  riftjit inspect qwen3.gguf                                       what the file holds\n"
    "Each command has its own --help.";

// "run, bench, ..."
std::string command_names(const CLI::App& app) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); })) {
        names += (names.empty() ? "" : ", ") + command->get_name();
    }
    return names;
}

// "; did you mean --top-k?", or where to look.
std::string hint(const CLI::App& command, const std::string& word) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
        known.push_back(inner->get_name());
    }
    const std::string meant = tools::closest(word, known);
    return meant.empty() ? "; see --help" : "; did you mean " + meant + "?";
}

// CLI11's texts, where they do not say what would be right.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
    const CLI::App* command = app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    const std::vector<std::string> unknown = app->remaining(true);
    const bool lacks_command = dynamic_cast<const CLI::RequiredError*>(&error) && !command->get_subcommands({}).empty();
    if (lacks_command && unknown.empty()) {
        return fmt::format("error: expected a command: {}; see --help\n", command_names(*command));
    }
    if (!unknown.empty()) {
        return fmt::format("error: invalid argument: {}{}\n", unknown.front(), hint(*command, unknown.front()));
    }
    return fmt::format("error: {}\n", error.what());
}

}  // namespace

int main(int argc, char** argv) {
    tools::prepare_process();
    CLI::App app(kDescription, "riftjit");
    app.footer(kExamples);
    app.set_version_flag("--version,-V", std::string("riftjit ") + RIFTJIT_VERSION);
    app.require_subcommand(1);
    app.failure_message(failure_text);
    tools::Command chosen;
    tools::add_run_command(app, chosen);
    tools::add_bench_command(app, chosen);
    tools::add_sim_command(app, chosen);
    tools::add_asm_command(app, chosen);
    tools::add_disasm_command(app, chosen);
    tools::add_emulate_command(app, chosen);
    tools::add_targets_command(app, chosen);
    tools::add_inspect_command(app, chosen);
    tools::add_tokenize_command(app, chosen);
    tools::add_warm_command(app, chosen);
    tools::add_cache_command(app, chosen);
    tools::add_self_description_commands(app);

    auto arguments = tools::normalize_arguments(argc, argv);
    if (!arguments) return tools::report(arguments.error());
    std::reverse(arguments->begin(), arguments->end());  // CLI11 parses from the back
    try {
        app.parse(std::move(*arguments));
        return tools::finish_output(chosen ? chosen() : tools::kExitDone);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error);
        return tools::finish_output(code == 0 ? tools::kExitDone : tools::kExitError);
    } catch (const std::bad_alloc&) {
        tools::write_diagnostic("error: out of memory\n");
        return tools::finish_output(tools::kExitError);
    } catch (const std::system_error& error) {  // fmt::print's, of a stdout that cannot be written
        tools::note_write_error(error.code().value());
        return tools::finish_output(tools::kExitDone);
    }
}
