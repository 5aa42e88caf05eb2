// --device and --check: what a model runs on. Targets by name, for code that runs elsewhere.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/devices.h"

namespace riftjit::tools {

void add_device_option(CLI::App& app, const std::string& group, engine::DeviceChoice& choice);
void add_check_option(CLI::App& app, const std::string& group, engine::DeviceChoice& choice);
// --check without a device that checks anything.
Result<void> check_device_flags(const CLI::App& app, const engine::DeviceChoice& choice);

// "gfx1100", or a level of the processor: "avx2". Refused with the flag's name.
Target parse_target(const std::string& flag, const std::string& text);

}  // namespace riftjit::tools
