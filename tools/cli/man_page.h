// The manual page riftjit(1) in roff, from the command table.
#pragma once

#include <span>
#include <string>

#include "tools/cli/command_table.h"

namespace riftjit::tools {

std::string man_page(std::span<const CommandEntry> table);

}  // namespace riftjit::tools
