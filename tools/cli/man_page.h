// Manual pages in roff, from the command table: riftjit(1), and one for each command.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/cli/command_table.h"

namespace riftjit::tools {

struct ManPage {
    std::string name;  // "riftjit-run"
    std::string text;
};

// The program's first.
std::vector<ManPage> man_pages(std::span<const CommandEntry> table);

}  // namespace riftjit::tools
