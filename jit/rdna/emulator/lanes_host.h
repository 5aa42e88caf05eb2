// Lane functions that are C++: what the host's vector units have no instruction for, or none that rounds as wanted.
#pragma once

#include <span>

#include "jit/rdna/emulator/lanes_x86.h"

namespace riftjit::rdna::emulator {

struct HostLaneFunction {
    Opcode opcode;
    LaneKernelFunction function;
    LaneKernelResult result = LaneKernelResult::words;
    uint8_t sources = 1;
};
std::span<const HostLaneFunction> host_lane_functions();

}  // namespace riftjit::rdna::emulator
