// riftjit asm: text of RDNA instructions -> a code object, or words.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_asm_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
