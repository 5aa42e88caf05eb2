// riftjit emulate: runs a kernel of a code object in the software RDNA machine.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_emulate_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
