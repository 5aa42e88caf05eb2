#include "sim/engine/blueprint.h"

#include <algorithm>
#include <cmath>

#include "sim/network/random.h"

namespace riftjit::sim {

double Waveform::at(uint32_t step) const {
    if (step < begin_step || step >= end_step || (step - begin_step) % every_steps != 0) return 0;
    double value = level;
    if (!levels.empty()) {
        const auto next = std::upper_bound(levels.begin(), levels.end(), step,
                                           [](uint32_t wanted, const auto& entry) { return wanted < entry.first; });
        value = next == levels.begin() ? 0 : std::prev(next)->second;
    }
    if (amplitude != 0) value += amplitude * std::sin(angle_per_step * step + phase);
    value = std::max(value, least);
    // portable_exp() ends at -700, where the probability has long been 1.
    return gives == Gives::value ? value : 1 - portable_exp(-std::min(value, 700.0));
}

}  // namespace riftjit::sim
