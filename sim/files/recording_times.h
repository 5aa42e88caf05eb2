// Steps and the times that files give them.
#pragma once

#include "sim/files/recording.h"

namespace riftjit::sim {

// The step that stamp_ms() gives `time_ms`; refused unless it lies within a thousandth of a step of a whole one.
Result<uint32_t> step_of_stamp(double step_ms, std::string_view compat, double time_ms);

// Decimals of a fixed-point text of milliseconds that tell every step apart and, where h has a short decimal form, are
// exact. At least 3, as NEST's.
int decimals_of_times(double step_ms);

}  // namespace riftjit::sim
