// `riftjit quantize`: a model's file with weights of fewer bits, as llama-quantize makes it.
#pragma once

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_quantize_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
