// What a run can be held to without running it again.
#include <cmath>
#include <numeric>

#include "sim/engine/engine.h"
#include "sim/spike_checks.h"

namespace riftjit::sim {

uint64_t Engine::counts_hash() const {
    SequenceHash hash;
    for (const uint32_t count : counts_) hash.add(count);
    return hash.value();
}

Result<void> Engine::check_conservation() const { return check_arrivals(delivered(), fan_out_sum_); }

Result<void> Engine::check_totals() const {
    RIFTJIT_TRY_VOID(check_counts(std::accumulate(counts_.begin(), counts_.end(), uint64_t(0)), spikes_));
    for (const ArrivalRing& ring : connections_.rings) {
        const BlueprintPopulation& population = blueprint_.populations[ring.population()];
        for (uint32_t lag = 0; lag <= ring.max_lag(); ++lag) {
            const std::span<const double> sums(ring.slot(steps_, lag), population.size);
            for (uint32_t element = 0; element < population.size; ++element)
                if (!std::isfinite(sums[element]))
                    return fail(ErrorKind::Usage, "after {} steps, what arrives at neuron {} of population {} is {}",
                                steps_, element, population.name, sums[element]);
        }
    }
    return check_finite();
}

}  // namespace riftjit::sim
