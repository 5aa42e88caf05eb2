// `riftjit tokenize`: text to token ids, for people, scripts and tests.
#pragma once

#include <CLI/CLI.hpp>

namespace riftjit::tools {

void add_tokenize_command(CLI::App& app, int& exit_code);

}  // namespace riftjit::tools
