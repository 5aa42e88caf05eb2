// riftjit asm: text of RDNA instructions -> a code object, or words.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_asm_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
