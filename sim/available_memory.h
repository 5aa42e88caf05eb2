// What the system can give before it has to swap.
#pragma once

#include <cstdint>

namespace riftjit::sim {

// Bytes: MemAvailable, or what the control group leaves if that is less; 0 when the system does not say.
uint64_t available_memory();

}  // namespace riftjit::sim
