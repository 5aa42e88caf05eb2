// `riftjit devices`: what models can run on here, and what is in the way of the rest.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/cli/command.h"

namespace riftjit::tools {

void add_devices_command(CLI::App& app, Command& chosen);

// A line for each device, also of `run --list-devices`.
std::string device_lines();
std::string device_json();  // the same as one object

}  // namespace riftjit::tools
