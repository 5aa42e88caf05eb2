// Completion scripts for shells, from the command table: they cannot lag behind the program.
#pragma once

#include <span>
#include <string>

#include "tools/cli/command_table.h"

namespace riftjit::tools {

std::string bash_completion(std::span<const CommandEntry> table);
std::string zsh_completion(std::span<const CommandEntry> table);
std::string fish_completion(std::span<const CommandEntry> table);

}  // namespace riftjit::tools
