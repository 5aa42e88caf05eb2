// `riftjit bench`: llama-bench's protocol and columns, with hashes of logits and measured limits beside the speeds.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_bench_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
