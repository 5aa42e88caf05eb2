#include "sim/files/recording_times.h"

#include <cmath>
#include <limits>

namespace riftjit::sim {

namespace {

constexpr double kMostSteps = std::numeric_limits<uint32_t>::max();

}  // namespace

double stamp_ms(const RecordingHeader& header, uint32_t step) {
    return (double(step) + (header.compat == "nest" ? 1 : 0)) * header.step_ms;
}

Result<uint32_t> step_of_stamp(double step_ms, std::string_view compat, double time_ms) {
    const double exact = time_ms / step_ms - (compat == "nest" ? 1 : 0);
    const double step = std::nearbyint(exact);
    if (!(std::abs(exact - step) <= 1e-3))
        return fail(ErrorKind::Format, "time {} ms is not a whole number of steps of {} ms", time_ms, step_ms);
    if (step < 0 || step > kMostSteps)
        return fail(ErrorKind::Format, "time {} ms lies outside the steps 0 to {} of {} ms", time_ms,
                    uint64_t(kMostSteps), step_ms);
    return static_cast<uint32_t>(step);
}

int decimals_of_times(double step_ms) {
    constexpr int kMostDecimals = 12;
    double scaled = step_ms * 1e3;
    for (int decimals = 3; decimals < kMostDecimals; ++decimals, scaled *= 10)
        if (scaled >= 1 && std::abs(scaled - std::nearbyint(scaled)) < 1e-9 * scaled) return decimals;
    return kMostDecimals;
}

}  // namespace riftjit::sim
