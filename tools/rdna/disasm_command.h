// riftjit disasm: a code object, or words -> text of RDNA instructions.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_disasm_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
