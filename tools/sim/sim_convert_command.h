// riftjit sim convert: recordings from one format into another.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_sim_convert_command(CLI::App& sim, Command& chosen);

}  // namespace riftjit::tools
