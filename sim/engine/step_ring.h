// Slots by step for what is still to come.
#pragma once

#include <cstdint>

#include "host/result.h"

namespace riftjit::sim {

class StepRing {
public:
    explicit StepRing(uint32_t max_lag = 0) : max_lag_(max_lag) {}
    uint32_t slots() const { return max_lag_ + 1; }
    // The slot of what step `step` sends `lag` steps ahead; lag 0 is the slot of the step itself.
    uint32_t slot(uint32_t step, uint32_t lag) const {
        check(lag <= max_lag_, "a delay fits into its ring");
        return static_cast<uint32_t>((uint64_t(step) + lag) % slots());
    }

private:
    uint32_t max_lag_;
};

}  // namespace riftjit::sim
