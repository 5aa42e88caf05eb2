// What riftjit emulate says of a run, as text or as JSON.
#pragma once

#include <string>
#include <string_view>

#include "jit/rdna/emulator/machine/machine.h"

namespace riftjit::tools {

// As given on the command line, or chosen.
struct EmulatedLaunch {
    std::string_view kernel, target, grid, group, schedule, checks;
};

std::string json_report(const EmulatedLaunch& launch, const rdna::emulator::RunReport& report);  // one line
// With what a reader has to know of some kinds of findings.
std::string text_report(const EmulatedLaunch& launch, const rdna::emulator::RunReport& report);

}  // namespace riftjit::tools
