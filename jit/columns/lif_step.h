// The step of the ramp network's neurons (sim/ramp/ramp_network.h), a kernel of its own beside column programs: what it
// computes and what a launch passes.
#pragma once

#include <compare>
#include <cstdint>

namespace riftjit {

// All in f64, rounded after every operation but a product that feeds a sum, which is fused. For each neuron, with its
// weights by its own id, in this order:
//   s_exc += weight * arrivals.low;  s_exc -= s_exc * decay_exc;  s_inh likewise with arrivals.high and decay_inh
//   refractory > 0:  --refractory; v is `reset` already
//   otherwise:       v += membrane * ((rest - v) + (id * drive_slope + drive + s_exc - s_inh)); it fires where v has
//                    reached the threshold: ++spikes, v = reset, refractory = refractory_steps
// Unit: neuron of the range that the arguments point at; begin and end are multiples of kLifStepNeurons.
struct LifStepSpec {
    uint32_t neurons, excitatory;   // of the network: ids from `neurons` on never fire, those below `excitatory` ...
    double weight_ee, weight_ei;    // ... take these from an excitatory source (to excitatory, to inhibitory)
    double weight_ie, weight_ii;    // and these from an inhibitory one
    double decay_exc, decay_inh;    // h / tau: s -= s * decay
    double membrane;                // h / tau_m
    double rest, reset, threshold;  // mV
    double drive, drive_slope;      // of neuron i: drive + double(i) * drive_slope
    uint32_t refractory_steps;      // at most 255
    auto operator<=>(const LifStepSpec&) const = default;
};
inline constexpr uint32_t kLifStepNeurons = 8;  // arrays are padded to a multiple of it
struct LifStepArgs {
    double* v;
    double* s_exc;
    double* s_inh;
    uint8_t* refractory;   // steps left
    uint16_t* spikes;      // per neuron, so far
    uint16_t* arrivals;    // low byte: spikes from excitatory sources, high byte: from inhibitory ones; left zero
    uint32_t* fired;       // out: ids of the neurons that fired, ascending; room for end - begin + kLifStepNeurons
    uint32_t first;        // id of the first neuron of the range
    uint32_t fired_count;  // out
};

}  // namespace riftjit
