// `riftjit convert`: a folder as transformers saves it becomes a GGUF file.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_convert_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
