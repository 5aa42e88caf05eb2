// riftjit targets: the AMD GPUs that code can be generated for, and what each has.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_targets_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
