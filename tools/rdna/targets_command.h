// riftjit targets: the AMD GPUs that code can be generated for, and what each has.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_targets_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
