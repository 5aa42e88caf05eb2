// What plastic synapses have sent and kernels have not taken yet: a slot of sums per step, for one receptor.
#pragma once

#include "host/pages.h"
#include "sim/engine/neuron_state.h"
#include "sim/engine/slices.h"
#include "sim/engine/step_ring.h"

namespace riftjit::sim {

class ArrivalRing {
public:
    static uint64_t bytes(uint32_t neurons, uint32_t max_lag) {
        return StepRing(max_lag).slots() * round_up(neurons, kColumnPadding) * sizeof(double);
    }
    static Result<ArrivalRing> create(uint32_t population, uint32_t neurons, uint32_t first_arrival, uint32_t max_lag) {
        ArrivalRing ring;
        RIFTJIT_TRY(sums,
                    Pages::allocate(bytes(neurons, max_lag), Pages::Size::huge, "the delays of plastic synapses"));
        ring.population_ = population;
        ring.first_arrival_ = first_arrival;
        ring.stride_ = round_up(neurons, kColumnPadding);
        ring.steps_ = StepRing(max_lag);
        ring.sums_ = std::move(sums);
        return ring;
    }

    uint32_t population() const { return population_; }
    uint32_t first_arrival() const { return first_arrival_; }
    uint32_t max_lag() const { return steps_.slots() - 1; }

    void add(uint32_t step, uint32_t lag, uint32_t element, double value) { slot(step, lag)[element] += value; }
    double* slot(uint32_t step, uint32_t lag) const { return sums_.as<double>() + steps_.slot(step, lag) * stride_; }

    // Adds the slot of `step` to the arrivals of a slice, and empties it.
    void take(uint32_t step, Slice slice, double* arrivals) {
        double* const sums = slot(step, 0);
        for (uint32_t element = slice.begin; element < slice.end; ++element) {
            arrivals[first_arrival_ + element] += sums[element];
            sums[element] = 0;
        }
    }

private:
    uint32_t population_ = 0, first_arrival_ = 0;
    uint64_t stride_ = 0;
    StepRing steps_;
    Pages sums_;
};

}  // namespace riftjit::sim
