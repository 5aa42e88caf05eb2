// CPUs that this process may use: cpusets, containers and affinity masks are respected.
#pragma once

#include <cstdint>

namespace riftjit {

uint32_t usable_cpus();     // hardware threads
uint32_t physical_cores();  // cores that have one of them

}  // namespace riftjit
