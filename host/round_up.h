// The next multiple of a number.
#pragma once

#include <cstdint>

namespace riftjit {

constexpr uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace riftjit
