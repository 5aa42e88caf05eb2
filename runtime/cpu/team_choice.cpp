#include "runtime/cpu/team_choice.h"

#include <algorithm>

namespace riftjit::runtime {

// Alone, the caller would do what it did now once per thread: threads * (total - waited). That is less than total where
// it waited more than 1 - 1 / threads of the time. (When memory is the limit one thread does better than that.)
void TeamChoice::record(uint64_t waited, uint64_t total) {
    constexpr double kMemory = 7.0 / 8;  // of earlier runs
    constexpr uint32_t kRunsThatRestoreTrust = 64;
    waited_ = waited_ * kMemory + double(waited);
    total_ = total_ * kMemory + double(total);
    if (waited_ <= (1 - 1.0 / threads_) * total_) {
        if (++good_runs_ == kRunsThatRestoreTrust) next_runs_alone_ = kFirstRunsAlone;
        return;
    }
    // The next run together is a fresh attempt; the more of them fail in a row, the rarer they become.
    waited_ = total_ = 0;
    good_runs_ = 0;
    runs_alone_ = next_runs_alone_;
    next_runs_alone_ = std::min(2 * next_runs_alone_, kMostRunsAlone);
}

}  // namespace riftjit::runtime
