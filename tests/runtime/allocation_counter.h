// Counts calls of the global operator new on this thread, to prove that a loop allocates nothing.
#pragma once

#include <cstdint>

namespace riftjit {
uint64_t allocations_on_this_thread();
}
