// Hidden commands with which the build makes shell completion and the manual pages: `completion bash`, `man-page`.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_self_description_commands(CLI::App& app);

}  // namespace riftjit::tools
