// `riftjit warm`: generates the kernels of a model into the cache, for any level, so that runs compile nothing.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_warm_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
