// `riftjit sim`: spiking networks.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_sim_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
