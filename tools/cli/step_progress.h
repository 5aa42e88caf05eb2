// A bar with the time left on a terminal's stderr, for work in known steps; nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace riftjit::tools {

class StepProgress {
public:
    explicit StepProgress(uint64_t steps, std::string_view unit = "steps");
    ~StepProgress() { wipe(); }
    StepProgress(const StepProgress&) = delete;
    StepProgress& operator=(const StepProgress&) = delete;

    // Cheap to call after every step: draws at most ten times a second.
    void show(uint64_t done);
    void wipe();  // the line, if there is one

private:
    using Clock = std::chrono::steady_clock;
    uint64_t steps_;
    std::string unit_;
    bool is_terminal_, is_drawn_ = false;
    Clock::time_point start_, drawn_;
};

// "[#######             ]  35 %, 702 of 2000 steps, 1:23 left"; before the first step no time that would be left.
std::string progress_line(uint64_t done, uint64_t steps, double seconds_so_far, std::string_view unit = "steps");

// A line that wrapped could not be wiped: what does not fit goes, from a comma on.
std::string fitted(std::string line, unsigned columns);

}  // namespace riftjit::tools
