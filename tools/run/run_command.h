// `riftjit run`: from a model file to text.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_run_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
