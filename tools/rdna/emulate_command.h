// riftjit emulate: runs a kernel of a code object in the software RDNA machine.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_emulate_command(CLI::App& app, Command& chosen);
std::string check_names();  // what --check knows: "waits, undefined, ..."

}  // namespace riftjit::tools
