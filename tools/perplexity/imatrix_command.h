// `riftjit imatrix`: which columns of a model's matrices matter, for `riftjit quantize --imatrix`, as llama-imatrix
// measures it.
#pragma once

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_imatrix_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
