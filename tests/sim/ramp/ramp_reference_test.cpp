// The ramp network against loops over its published definition, one neuron after the other in doubles.
#include <gtest/gtest.h>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/ramp/ramp_engine.h"

namespace riftjit::sim {
namespace ramp_reference_test {

uint64_t value(uint64_t n) {
    uint64_t z = 0xDEADBEEF12345678 + n * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

struct Loops {
    uint64_t spikes = 0, counts_hash = 1469598103934665603, graph_hash = 1469598103934665603;
};
Loops loops(uint32_t neurons, uint32_t steps) {
    const auto hash = [](uint64_t& so_far, uint64_t one) { so_far = (so_far ^ one) * 1099511628211; };
    const uint32_t excitatory = neurons * 4ull / 5;
    const double rise = 20.0 / double(neurons);
    std::vector<double> v(neurons, -65), exc(neurons), inh(neurons);
    std::vector<uint32_t> wait(neurons), counts(neurons), targets, fired;
    for (uint32_t i = 0; i < neurons; ++i) {
        for (uint32_t k = 0; k < 4; ++k) {
            auto target = static_cast<uint32_t>(value(4ull * i + k) % neurons);
            if (target == i) target = i + 1 == neurons ? 0 : i + 1;
            targets.push_back(target);
        }
    }
    Loops result;
    for (const uint32_t target : targets) hash(result.graph_hash, target);
    for (uint32_t step = 0; step < steps; ++step) {
        fired.clear();
        for (uint32_t i = 0; i < neurons; ++i) {
            exc[i] -= exc[i] * 0.01;
            inh[i] -= inh[i] * 0.02;
            if (wait[i] > 0) {
                --wait[i];
                v[i] = -70;
                continue;
            }
            const double drive = 45.0 + double(i) * rise + exc[i] - inh[i];
            v[i] += 0.1 * (-65 - v[i] + drive) / 10;
            if (v[i] < -50) continue;
            v[i] = -70;
            wait[i] = 20;
            ++counts[i];
            ++result.spikes;
            fired.push_back(i);
        }
        for (const uint32_t i : fired) {
            for (uint32_t k = 0; k < 4; ++k) {
                const uint32_t target = targets[4 * i + k];
                if (i < excitatory) {
                    exc[target] += target < excitatory ? 0.2 : 0.3;
                } else {
                    inh[target] += 0.3;
                }
            }
        }
    }
    for (const uint32_t count : counts) hash(result.counts_hash, count);
    return result;
}

// MLRift's own versions of this network differ in their totals by spikes that three edges lost.
TEST(RampReference, AgreesToTheLastSpikeOfEveryNeuron) {
    for (const uint32_t neurons : {7u, 1'000u, 4'321u}) {
        const Loops expected = loops(neurons, 600);
        KernelCache cache(x86::compile, DiskCache::disabled());
        x86::HostKernels kernels(cache);
        auto pool = ThreadPool::create(3);
        for (const TargetStore store : {TargetStore::computed, TargetStore::stored}) {
            auto engine = RampEngine::create({.neurons = neurons}, store, kernels, x86::detect().levels.back(), *pool);
            ASSERT_TRUE(engine) << engine.error().message;
            engine->run(600);
            EXPECT_EQ(engine->spikes(), expected.spikes) << neurons;
            EXPECT_EQ(engine->counts_hash(), expected.counts_hash) << neurons;
            EXPECT_EQ(engine->graph_hash(), expected.graph_hash) << neurons;
        }
    }
}

}  // namespace ramp_reference_test
}  // namespace riftjit::sim
