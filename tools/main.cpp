// The riftjit command: subcommands, global help, exit codes.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "tools/arguments.h"
#include "tools/bench_command.h"
#include "tools/cache_command.h"
#include "tools/inspect_command.h"
#include "tools/reporter.h"
#include "tools/run_command.h"
#include "tools/self_description.h"
#include "tools/tokenize_command.h"
#include "tools/warm_command.h"

namespace {

using namespace riftjit;

constexpr const char* kDescription =
    "riftjit runs language models with machine code that it generates at start-up, for exactly\n"
    "the model's shapes, the weights' quantisation and the processor it finds.";

constexpr const char* kExamples =
    "Examples:\n"
    "  riftjit run -p \"Tell me a short story about a fox and a lamp.\"   the shipped model\n"
    "  riftjit run -m qwen3.gguf -p \"...\" -n 128 --temp 0 -t 2          another model, greedy, two threads\n"
    "  riftjit run -m qwen3.gguf --print-plan                           every launch, before running it\n"
    "  riftjit inspect qwen3.gguf                                       what the file holds\n"
    "Each command has its own --help.";

// A broken pipe or a full disk shows when stdout is flushed, not before.
int finish_output(int exit_code) {
    if (std::fflush(stdout) == 0) return exit_code;
    if (errno == EPIPE) return exit_code;  // the reader left: nothing to say to it
    std::perror("error: standard output");
    return exit_code == 0 ? tools::kExitError : exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    CLI::App app(kDescription, "riftjit");
    app.footer(kExamples);
    app.set_version_flag("--version,-V", std::string("riftjit ") + RIFTJIT_VERSION);
    app.require_subcommand(1);
    app.failure_message(
        [](const CLI::App*, const CLI::Error& error) { return fmt::format("error: {}\n", error.what()); });
    int exit_code = 0;
    tools::add_run_command(app, exit_code);
    tools::add_bench_command(app, exit_code);
    tools::add_inspect_command(app, exit_code);
    tools::add_tokenize_command(app, exit_code);
    tools::add_warm_command(app, exit_code);
    tools::add_cache_command(app, exit_code);
    tools::add_self_description_commands(app);

    auto arguments = tools::normalize_arguments(argc, argv);
    if (!arguments) return tools::report(arguments.error());
    std::reverse(arguments->begin(), arguments->end());  // CLI11 parses from the back
    try {
        app.parse(std::move(*arguments));
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error);
        return finish_output(code == 0 ? 0 : tools::kExitError);
    }
    return finish_output(exit_code);
}
