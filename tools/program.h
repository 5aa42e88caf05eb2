// The riftjit command: subcommands, global help, exit codes.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_commands(CLI::App& app, Command& chosen);  // all there are

int program(int argc, char** argv);  // the exit status

}  // namespace riftjit::tools
