// riftjit sim convert: recordings from one format into another.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_sim_convert_command(CLI::App& sim, int& exit_code);

}  // namespace riftjit::tools
