// What the system can give before it has to swap, and what it gave.
#pragma once

#include <cstdint>

#include "host/result.h"

namespace riftjit {

// Bytes: MemAvailable, or what the control group leaves if that is less; 0 when the system does not say.
uint64_t available_memory();

uint64_t peak_rss_bytes();  // the most that this process has held in memory at once

// "reading it takes N bytes of memory, M are available"
Result<void> refuse_beyond_memory(uint64_t bytes);

}  // namespace riftjit
