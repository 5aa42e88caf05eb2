// The ramp network: leaky integrate-and-fire neurons with four random targets each and a drive that rises with the id.
// A throughput benchmark, first published with MLRift at 60 million neurons; every number of it is fixed, so two
// correct programs agree on the spike counts to the last spike.
#pragma once

#include <cstdint>

#include "jit/columns/lif_step.h"
#include "sim/network/random.h"

namespace riftjit::sim {

// Seekable splitmix64 without an increment before the first value.
constexpr uint64_t random_value(uint64_t seed, uint64_t index) { return mix(seed + index * 0x9E3779B97F4A7C15u); }

struct RampNetwork {
    uint32_t neurons;
    uint32_t fan_out = 4;  // synapses per neuron; no delay
    uint64_t seed = 0xDEADBEEF12345678u;
    // ms and mV. Excitatory sources add to s_exc, which decays with tau_exc; inhibitory ones to s_inh.
    double step = 0.1, tau_membrane = 10, tau_exc = 10, tau_inh = 5;
    double rest = -65, reset = -70, threshold = -50;
    double drive = 45, drive_rise = 20;  // neuron i: drive + double(i) * (drive_rise / double(neurons))
    double weight_ee = 0.2, weight_ei = 0.3, weight_ie = 0.3, weight_ii = 0.3;
    uint32_t refractory_steps = 20;

    // Ids below it are excitatory.
    constexpr uint32_t excitatory() const { return static_cast<uint32_t>(uint64_t(neurons) * 4 / 5); }
    constexpr uint64_t synapses() const { return uint64_t(neurons) * fan_out; }
    constexpr LifStepSpec spec() const {
        return {neurons,
                excitatory(),
                weight_ee,
                weight_ei,
                weight_ie,
                weight_ii,
                step / tau_exc,
                step / tau_inh,
                step / tau_membrane,
                rest,
                reset,
                threshold,
                drive,
                drive_rise / double(neurons),
                refractory_steps};
    }
};

// random_value(seed, synapse) modulo the number of neurons, without a division; a loop to the source moves on by one.
class RampTargets {
public:
    explicit RampTargets(const RampNetwork& network)
        : seed_(network.seed),
          neurons_(network.neurons),
          reciprocal_(~uint64_t(0) / network.neurons),
          fan_out_(network.fan_out) {}

    uint32_t operator()(uint32_t source, uint32_t k) const {
        const uint64_t value = random_value(seed_, uint64_t(source) * fan_out_ + k);
        // Barrett: the quotient by floor((2^64 - 1) / N) is at most two too small.
        const auto quotient = static_cast<uint64_t>((static_cast<unsigned __int128>(value) * reciprocal_) >> 64);
        uint64_t target = value - quotient * neurons_;
        target -= neurons_ & -uint64_t(target >= neurons_);  // twice without a branch: neither outcome is the rare one
        target -= neurons_ & -uint64_t(target >= neurons_);
        if (target == source) target = source + 1u == neurons_ ? 0 : source + 1u;
        return static_cast<uint32_t>(target);
    }

private:
    uint64_t seed_, neurons_, reciprocal_;
    uint32_t fan_out_;
};

}  // namespace riftjit::sim
