// How long something took.
#pragma once

#include <chrono>

namespace riftjit::engine {

// Adds the time of its life to a sum of milliseconds.
class Stopwatch {
public:
    explicit Stopwatch(double& sum_ms) : sum_ms_(sum_ms) {}
    ~Stopwatch() { sum_ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    using Clock = std::chrono::steady_clock;
    double& sum_ms_;
    Clock::time_point start_ = Clock::now();
};

}  // namespace riftjit::engine
