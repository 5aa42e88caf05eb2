// riftjit disasm: a code object, or words -> text of RDNA instructions.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_disasm_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
