#include "sim/spike_checks.h"

namespace riftjit::sim {

Result<void> check_arrivals(uint64_t arrivals, uint64_t fan_outs) {
    if (arrivals == fan_outs) return {};
    return fail(ErrorKind::Usage, "{} arrivals for {} synapses of the neurons that fired: the simulation lost spikes",
                arrivals, fan_outs);
}

Result<void> check_counts(uint64_t counted, uint64_t spikes) {
    if (counted == spikes) return {};
    return fail(ErrorKind::Usage, "the neurons fired {} times, {} spikes were counted", counted, spikes);
}

}  // namespace riftjit::sim
