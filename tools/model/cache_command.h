// `riftjit cache`: what the code-object cache holds, whether it is sound, and how to empty it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string_view>

#include "host/result.h"
#include "tools/cli/command.h"

namespace riftjit::tools {

void add_cache_command(CLI::App& app, Command& chosen);

// "4096", "64K", "1.5M", "2G" (powers of 1024).
Result<uint64_t> parse_bytes(std::string_view flag, std::string_view text);

}  // namespace riftjit::tools
