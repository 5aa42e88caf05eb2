// `riftjit run`: from a model file to text.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_run_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
