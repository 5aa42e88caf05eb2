// Times in steps: one rule for delays, refractory times and spikes, one for what begins, changes and ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace riftjit::sim {

// Of a step: what decimals lose in a division. 0.35 / 0.1 is below 3.5.
inline constexpr double kStepTolerance = 1e-9;

// The nearest whole number of steps, halves up.
inline double nearest_steps(double time_ms, double step_ms) {
    return std::floor(time_ms / step_ms + 0.5 + kStepTolerance);
}

// Whether a step starts at this time. A millionth of a step allows for times written in decimals.
inline bool is_start_of_step(double time_ms, double step_ms) {
    const double steps = time_ms / step_ms;
    return std::abs(steps - std::round(steps)) <= 1e-6;
}

// Of two times, whether less than a step lies between them.
inline bool is_closer_than_step(double first_ms, double second_ms, double step_ms) {
    return (second_ms - first_ms) / step_ms < 1 - 1e-6;
}

// The first step that starts at `time_ms` or later, UINT32_MAX at most: throughout a step holds what does at its start.
inline uint32_t first_step_from(double time_ms, double step_ms) {
    const double steps = time_ms / step_ms;
    const double first = is_start_of_step(time_ms, step_ms) ? std::round(steps) : std::ceil(steps);
    return static_cast<uint32_t>(std::clamp(first, 0.0, double(UINT32_MAX)));
}

}  // namespace riftjit::sim
