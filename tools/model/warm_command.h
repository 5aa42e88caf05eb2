// `riftjit warm`: generates the kernels of a model into the cache, for any level, so that runs compile nothing.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_warm_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
