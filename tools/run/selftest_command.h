// `riftjit selftest`: whether a device's kernels compute right.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_selftest_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
