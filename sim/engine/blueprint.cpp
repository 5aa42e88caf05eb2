#include "sim/engine/blueprint.h"

#include <algorithm>
#include <cmath>

namespace riftjit::sim {

double Waveform::at(uint32_t step) const {
    if (step < begin_step || step >= end_step) return 0;
    double value = level;
    if (!levels.empty()) {
        const auto next = std::upper_bound(levels.begin(), levels.end(), step,
                                           [](uint32_t wanted, const auto& entry) { return wanted < entry.first; });
        value = next == levels.begin() ? 0 : std::prev(next)->second;
    }
    return amplitude == 0 ? value : value + amplitude * std::sin(angle_per_step * step + phase);
}

}  // namespace riftjit::sim
