// `riftjit bench`: llama-bench's protocol and columns, with hashes of logits and measured limits beside the speeds.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
