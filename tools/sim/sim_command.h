// `riftjit sim`: spiking networks.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_sim_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
