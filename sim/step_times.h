// Times in steps: one rule for delays, refractory times, spikes and durations, one for what begins, changes and ends.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace riftjit::sim {

// Of rates in spikes per step: what a multiplication may lose.
inline constexpr double kStepTolerance = 1e-9;

// What a step may last. Beyond, a time in files would be no number, or no other than the next one's.
inline constexpr double kLeastStepMs = 1e-6, kMostStepMs = 1e6;

namespace step_times {

// digits * 10^exponent
struct Decimal {
    int64_t digits;
    int exponent;
};

// The decimal that somebody wrote who meant `value`, not negative and finite: of 15 digits, all that every double
// keeps. What is in the 16th and 17th comes from arithmetic: 0.1 + 0.2 is 0.3, 0.00035 s are 0.35 ms.
inline Decimal decimal_of(double value) {
    constexpr int kDigits = 15;
    char text[32];
    const char* const end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, kDigits - 1).ptr;
    Decimal decimal{0, 0};
    const char* at = text;
    for (; at != end && *at != 'e'; ++at)
        if (*at != '.') decimal.digits = decimal.digits * 10 + (*at - '0');
    int exponent = 0;
    if (at != end) std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
    decimal.exponent = exponent - (kDigits - 1);
    return decimal;
}

// Below, at or above half a step after `whole` steps: -1, 0, 1. The time is within a part in 10^13 of that.
inline int side_of_half(double time_ms, double step_ms, uint64_t whole) {
    __extension__ using Wide = __int128;
    const Decimal time = decimal_of(time_ms), step = decimal_of(step_ms);
    Wide twice_time = Wide(time.digits) * 2, odd_steps = Wide(2 * whole + 1) * step.digits;
    // Both are nearly equal, so that neither grows beyond the other, which is below 10^27.
    for (int i = step.exponent; i < time.exponent; ++i) twice_time *= 10;
    for (int i = time.exponent; i < step.exponent; ++i) odd_steps *= 10;
    return twice_time < odd_steps ? -1 : twice_time > odd_steps ? 1 : 0;
}

}  // namespace step_times

// The nearest whole number of steps; a half, as decimals have it, goes to the even one: 0.15 and 0.25 ms are 2 steps of
// 0.1 ms, though 0.15 / 0.1 is below 1.5.
inline double nearest_steps(double time_ms, double step_ms) {
    if (time_ms < 0) return -nearest_steps(-time_ms, step_ms);
    const double steps = time_ms / step_ms, whole = std::floor(steps), beyond_half = steps - whole - 0.5;
    constexpr double kUnsure = 1e-13, kMostWithHalves = 0x1p32;
    if (!(std::abs(beyond_half) <= steps * kUnsure)) return beyond_half < 0 ? whole : whole + 1;
    if (steps > kMostWithHalves) return std::nearbyint(steps);
    const int side = step_times::side_of_half(time_ms, step_ms, uint64_t(whole));
    return side < 0 || (side == 0 && std::fmod(whole, 2) == 0) ? whole : whole + 1;
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
