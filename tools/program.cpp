#include "tools/program.h"

#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <system_error>

#include "engine/devices.h"
#include "models/gguf/gguf_mapping.h"
#include "tools/bench/bench_command.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"
#include "tools/cli/self_description.h"
#include "tools/cli/suggestion.h"
#include "tools/embed/embed_command.h"
#include "tools/model/cache_command.h"
#include "tools/model/convert_command.h"
#include "tools/model/inspect_command.h"
#include "tools/model/quantize_command.h"
#include "tools/model/tokenize_command.h"
#include "tools/model/warm_command.h"
#include "tools/perplexity/imatrix_command.h"
#include "tools/perplexity/perplexity_command.h"
#include "tools/rdna/asm_command.h"
#include "tools/rdna/disasm_command.h"
#include "tools/rdna/emulate_command.h"
#include "tools/rdna/targets_command.h"
#include "tools/run/devices_command.h"
#include "tools/run/run_command.h"
#include "tools/run/selftest_command.h"
#include "tools/serve/serve_command.h"
#include "tools/sim/sim_command.h"

namespace riftjit::tools {
namespace {

constexpr const char* kDescription =
    "riftjit runs language models and spiking networks with machine code that it generates at\n"
    "start-up, for exactly the model's shapes, the weights' quantisation and the processor it finds.";

constexpr const char* kProgramExamples =
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
    const std::string meant = closest(word, known);
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

void add_commands(CLI::App& app, Command& chosen) {
    add_run_command(app, chosen);
    add_serve_command(app, chosen);
    add_bench_command(app, chosen);
    add_perplexity_command(app, chosen);
    add_embed_command(app, chosen);
    add_sim_command(app, chosen);
    add_asm_command(app, chosen);
    add_disasm_command(app, chosen);
    add_emulate_command(app, chosen);
    add_targets_command(app, chosen);
    add_devices_command(app, chosen);
    add_selftest_command(app, chosen);
    add_inspect_command(app, chosen);
    add_convert_command(app, chosen);
    add_imatrix_command(app, chosen);
    add_quantize_command(app, chosen);
    add_tokenize_command(app, chosen);
    add_warm_command(app, chosen);
    add_cache_command(app, chosen);
}

int program(int argc, char** argv) {
    prepare_process();
    models::set_lost_page_handler([] { _exit(kExitError); });
    engine::set_stuck_kernel_handler([](const std::string& line) {
        write_diagnostic(fmt::format("error: {}\n", line));
        _exit(kExitError);
    });
    engine::set_unreleased_handler(note_late_error);
    CLI::App app(kDescription, "riftjit");
    app.footer(kProgramExamples);
    app.set_version_flag("--version,-V", std::string("riftjit ") + RIFTJIT_VERSION);
    app.require_subcommand(1);
    app.failure_message(failure_text);
    Command chosen;
    add_commands(app, chosen);
    add_self_description_commands(app);

    auto arguments = normalize_arguments(argc, argv);
    if (!arguments) return report(arguments.error());
    std::reverse(arguments->begin(), arguments->end());  // CLI11 parses from the back
    try {
        app.parse(std::move(*arguments));
        return finish_output(chosen ? chosen() : kExitDone);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out, err;  // CLI11's own printing would not say why standard output could not be written
        const int code = app.exit(error, out, err);
        write_output(out.str());
        write_diagnostic(err.str());
        return finish_output(code == 0 ? kExitDone : kExitError);
    } catch (const std::bad_alloc&) {
        write_diagnostic("error: out of memory\n");
        return finish_output(kExitError);
    } catch (const std::exception& error) {
        // fmt::print's, of a stdout that cannot be written; or a library's, which nothing between had an answer to.
        const auto* system = dynamic_cast<const std::system_error*>(&error);
        if (system != nullptr && std::ferror(stdout) != 0) {
            note_write_error(system->code().value());
            return finish_output(kExitDone);
        }
        return finish_output(report({ErrorKind::Io, error.what()}));
    }
}

}  // namespace riftjit::tools
