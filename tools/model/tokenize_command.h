// `riftjit tokenize`: text to token ids, for people, scripts and tests.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_tokenize_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
