// Described networks end to end: models become kernels, connections rows, and the known numbers come out.
#include "sim/engine/simulation.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/network_blueprint.h"
#include "sim/ramp/ramp_network.h"
#include "sim/spike_checks.h"

namespace riftjit::sim {
namespace simulation_test {

Network network_of(const std::string& text, const NetworkOverrides& overrides = {}) {
    auto network = parse_network(text, "test.toml", overrides);
    EXPECT_TRUE(network.has_value()) << network.error().message;
    return std::move(*network);
}
Network builtin(const std::string& name, const NetworkOverrides& overrides) {
    return network_of(*builtin_network_text(name), overrides);
}

struct Outcome {
    std::vector<Spike> spikes;
    std::vector<double> samples;
    uint64_t graph_hash, spikes_hash;
    bool operator==(const Outcome&) const = default;
};
Outcome outcome_of(const Network& network, Isa isa, uint32_t threads, Precision precision = Precision::f64) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(threads);
    auto simulation = Simulation::create(network, kernels, isa, *pool, precision);
    EXPECT_TRUE(simulation.has_value()) << simulation.error().message;
    EXPECT_TRUE(simulation->run(network.steps()).has_value());
    EXPECT_TRUE(simulation->check_conservation().has_value());
    Outcome result{simulation->take_spikes(), {}, simulation->graph_hash(), simulation->spikes_hash()};
    for (size_t i = 0; i < network.recorders.size(); ++i) {
        const std::vector<double> samples = simulation->take_samples(i);
        result.samples.insert(result.samples.end(), samples.begin(), samples.end());
    }
    return result;
}

// Conductances, adaptation, plasticity, noise, Poisson trains and a sine: whatever rounds.
constexpr const char* kMixed = R"(
[simulation]
duration = "60 ms"
[population.E]
model = "aeif_cond_exp"
size = 230
initial = { V = { uniform = ["-70 mV", "-52 mV"] } }
[population.I]
model = "iaf_psc_exp"
size = 77
parameters = { C_m = { normal = ["250 pF", "20 pF"] } }
[population.P]
model = "poisson"
size = 40
rate = "90 Hz"
[population.R]
model = "relay"
size = 40
[[projection]]
from = "E"
to = "I"
receptor = "ex"
rule = "fixed_indegree"
indegree = 20
weight = { normal = ["60 pA", "10 pA"] }
delay = { uniform = ["0.1 ms", "3 ms"] }
[[projection]]
from = "I"
to = "E"
receptor = "in"
rule = "pairwise_bernoulli"
probability = 0.1
weight = "3 nS"
delay = "0.8 ms"
[[projection]]
name = "learning"
from = "R"
to = "E"
receptor = "ex"
rule = "fixed_total_number"
synapses = 2000
weight = "4 nS"
delay = { uniform = ["0.2 ms", "2 ms"] }
synapse = { model = "stdp", parameters = { Wmax = 20 } }
[[projection]]
from = "P"
to = "R"
rule = "one_to_one"
delay = "0.1 ms"
[[input]]
kind = "poisson"
to = "I"
receptor = "ex"
rate = "4 kHz"
weight = "40 pA"
[[input]]
kind = "ac"
to = "E"
amplitude = "300 pA"
offset = "600 pA"
frequency = "40 Hz"
[[input]]
kind = "noise"
to = "E"
deviation = "400 pA"
[[record]]
spikes = "all"
[[record]]
weights = "learning"
interval = "20 ms"
)";

TEST(Simulation, GivesTheSameBitsAtEveryLevelAndThreadCount) {
    const Network network = network_of(kMixed);
    const std::vector<Isa> levels = x86::detect().levels;
    const Outcome expected = outcome_of(network, levels.front(), 1);
    ASSERT_GT(expected.spikes.size(), 500u);
    ASSERT_EQ(expected.samples.size(), 3u * 2000u);
    for (const Isa isa : {levels.front(), levels.back()})
        for (const uint32_t threads : {1u, 2u, 3u, 5u})
            EXPECT_TRUE(outcome_of(network, isa, threads) == expected) << name(isa) << " " << threads;
}

TEST(Simulation, InSinglePrecisionGivesTheSameBitsToo) {
    const Network network = network_of(kMixed);
    const std::vector<Isa> levels = x86::detect().levels;
    const Outcome expected = outcome_of(network, levels.front(), 1, Precision::f32);
    ASSERT_GT(expected.spikes.size(), 500u);
    EXPECT_TRUE(outcome_of(network, levels.back(), 3, Precision::f32) == expected);
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    const auto blueprint = make_blueprint(network, kernels, levels.back(), Precision::f32);
    ASSERT_TRUE(blueprint.has_value());
    const SimulationPlan plan = Simulation::plan(network, *blueprint, 1);
    EXPECT_EQ(plan.programs[0].spec.precision, Precision::f32);
    EXPECT_EQ(plan.projections[0].bytes, 8u);
}

TEST(Simulation, ContinuesFromASavedState) {
    const Network network = network_of(kMixed);
    const Isa isa = x86::detect().levels.back();
    const Outcome expected = outcome_of(network, isa, 2);
    const std::string path = testing::TempDir() + fmt::format("riftjit-simulation-{}", getpid());
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto first = ThreadPool::create(3), second = ThreadPool::create(1);
    auto saving = Simulation::create(network, kernels, isa, *first);
    ASSERT_TRUE(saving->run(277).has_value());
    ASSERT_TRUE(saving->save(path).has_value());
    KernelCache other_cache(x86::compile, DiskCache::disabled());
    x86::HostKernels others(other_cache);
    auto continuing = Simulation::create(network, others, x86::detect().levels.front(), *second);
    const auto restored = continuing->restore(path);
    std::filesystem::remove(path);
    ASSERT_TRUE(restored.has_value()) << restored.error().message;
    ASSERT_TRUE(continuing->run(network.steps() - 277).has_value());
    EXPECT_EQ(continuing->spikes_hash(), expected.spikes_hash);
    EXPECT_EQ(continuing->take_spikes(), expected.spikes);
}

// The ramp network in the language of networks. Its own definition updates first and delivers afterwards, and lets what
// arrived decay once before it acts: arrivals first, as Brian2 has them, then decay, then integration.
TEST(RampNetwork, DescribedAsANetworkGivesThePublishedTotals) {
    constexpr uint32_t kNeurons = 1000, kExcitatory = 800, kSteps = 2000;
    const RampNetwork ramp{.neurons = kNeurons};
    const RampTargets targets(ramp);
    const auto population = [&](const char* name, uint32_t size, uint32_t first) {
        std::string drive;
        for (uint32_t i = 0; i < size; ++i)
            drive += fmt::format("{:.17g},", 45.0 + double(first + i) * (20.0 / double(kNeurons)));
        return fmt::format("[population.{}]\nmodel = \"ramp\"\nsize = {}\nparameters = {{ RI = [{}] }}\n", name, size,
                           drive);
    };
    std::string text = R"(
[simulation]
duration = "200 ms"
compat = "brian2"
[models.ramp]
kind = "neuron"
equations = """
V : 1
s_exc : 1
s_inh : 1
wait : 1
"""
parameters = { RI = 50.0 }
initial = { V = -65 }
receptors = { exc = "s_exc += w", inh = "s_inh += w" }
update = """
s_exc = s_exc - s_exc * 0.01
s_inh = s_inh - s_inh * 0.02
V = where(wait > 0, -70, V + 0.1 * (-65 - V + (RI + s_exc - s_inh)) / 10)
wait = where(wait > 0, wait - 1, 0)
"""
threshold = "V >= -50"
reset = """
V = -70
wait = 20
"""
)";
    text += population("E", kExcitatory, 0) + population("I", kNeurons - kExcitatory, kExcitatory);
    for (const bool from_excitatory : {true, false}) {
        for (const bool to_excitatory : {true, false}) {
            std::string pairs;
            for (uint32_t source = 0; source < kNeurons; ++source) {
                for (uint32_t k = 0; k < 4; ++k) {
                    const uint32_t target = targets(source, k);
                    if ((source < kExcitatory) == from_excitatory && (target < kExcitatory) == to_excitatory)
                        pairs += fmt::format("[{},{}],", from_excitatory ? source : source - kExcitatory,
                                             to_excitatory ? target : target - kExcitatory);
                }
            }
            text += fmt::format(
                "[[projection]]\nfrom = \"{}\"\nto = \"{}\"\nreceptor = \"{}\"\nrule = \"list\"\n"
                "pairs = [{}]\nweight = {}\ndelay = \"0 ms\"\n",
                from_excitatory ? "E" : "I", to_excitatory ? "E" : "I", from_excitatory ? "exc" : "inh", pairs,
                from_excitatory && to_excitatory ? "0.2" : "0.3");
        }
    }
    text += "[[record]]\nspikes = \"all\"\n";
    const Network network = network_of(text);
    ASSERT_EQ(network.steps(), kSteps);
    const std::vector<Spike> spikes = outcome_of(network, x86::detect().levels.back(), 2).spikes;
    EXPECT_EQ(spikes.size(), 33'107u);
    std::vector<uint32_t> counts(kNeurons);
    uint32_t first_100 = 0, first_500 = 0, first_1000 = 0;
    for (const Spike& spike : spikes) {
        ++counts[spike.id];
        first_100 += spike.step < 100;
        first_500 += spike.step < 500;
        first_1000 += spike.step < 1000;
    }
    EXPECT_EQ(first_100, 1'728u);
    EXPECT_EQ(first_500, 8'216u);
    EXPECT_EQ(first_1000, 16'565u);
    SequenceHash hash;
    for (const uint32_t count : counts) hash.add(count);
    EXPECT_EQ(hash.value(), 0x580cee97616e544eu);
}

TEST(Simulation, PlansWhatItWillDo) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    const Network network = network_of(kMixed);
    const auto blueprint = make_blueprint(network, kernels, x86::detect().levels.back(), Precision::f64);
    ASSERT_TRUE(blueprint.has_value()) << blueprint.error().message;
    const SimulationPlan plan = Simulation::plan(network, *blueprint, 2);
    EXPECT_EQ(plan.neurons, 230u + 77u + 40u + 40u);
    ASSERT_EQ(plan.programs.size(), 5u);  // E, I, P, and both events of the plastic projection
    EXPECT_EQ(plan.programs[0].name, "E");
    EXPECT_EQ(plan.programs[0].elements, 230u);
    EXPECT_EQ(plan.programs[0].bytes_per_run, column_bytes(plan.programs[0].spec));
    ASSERT_EQ(plan.projections.size(), 4u);
    EXPECT_EQ(plan.projections[0].expected, 20u * 77u);
    EXPECT_EQ(plan.projections[0].bytes, 12u);
    EXPECT_EQ(plan.projections[1].bytes, 4u);  // one weight for all
    EXPECT_TRUE(plan.projections[2].is_plastic);
    EXPECT_GT(plan.traffic.memory_bytes, plan.expected_synapses * 4);
}

TEST(SimulationPlan, SharesAStepAmongNoMoreThreadsThanItKeepsBusy) {
    SimulationPlan plan{};
    plan.neurons = 100;
    EXPECT_EQ(plan.useful_threads(0.1, 64), 1u);
    plan.neurons = 100'000;  // 150 microseconds
    EXPECT_EQ(plan.useful_threads(0.1, 64), 15u);
    EXPECT_EQ(plan.useful_threads(0.1, 2), 2u);
    plan.neurons = 0;
    plan.expected_synapses = 50'000'000;  // at 10 Hz 50,000 events, 100 microseconds
    EXPECT_EQ(plan.useful_threads(0.1, 64), 10u);
    EXPECT_EQ(plan.useful_threads(0.01, 64), 1u);
}

TEST(Simulation, DescribesWhatItRecords) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(1);
    Network network = network_of(kMixed);
    network.recorders = {{"some", 1, SpikeRecorder{{3, 5}}},
                         {"V", 1, StateRecorder{{"V"}, {}, 0.5}},
                         {"later", 1, StateRecorder{{"V"}, {}, 0.5}, 1.2}};
    auto simulation = Simulation::create(network, kernels, x86::detect().levels.back(), *pool);
    ASSERT_TRUE(simulation.has_value()) << simulation.error().message;
    const RecordingHeader header = simulation->recording_header();
    EXPECT_EQ(header.compat, "nest");
    EXPECT_EQ(header.seed, network.seed);
    ASSERT_EQ(header.populations.size(), 4u);
    EXPECT_EQ(header.populations[0].recorded(), 0u);
    EXPECT_EQ(header.populations[1].recorded(), 2u);
    ASSERT_EQ(header.states.size(), 2u);
    EXPECT_EQ(header.states[0].first_step, 4u);
    EXPECT_EQ(header.states[1].first_step, 14u) << "12 steps are not sampled";
    ASSERT_TRUE(simulation->run(27));
    EXPECT_EQ(simulation->take_samples(1).size(), 5u * 77) << "after 5, 10, 15, 20 and 25 steps";
    EXPECT_EQ(simulation->take_samples(2).size(), 3u * 77);
    EXPECT_EQ(simulation->recording_header().states[0].first_step, 29u) << "of a file that starts now";
    EXPECT_EQ(header.states[0].units, std::vector<std::string>{"mV"});
    EXPECT_EQ(header.states[0].interval_steps, 5u);
    EXPECT_EQ(header.states[0].neurons.size(), 77u);
    EXPECT_EQ(header.states[0].neurons.front(), 230u);
}

TEST(ReferenceNetworks, CubaFiresAsPublished) {
    const Outcome result = outcome_of(builtin("cuba", {.duration_ms = 1000}), x86::detect().levels.back(), 2);
    const double rate = double(result.spikes.size()) / 4000;
    EXPECT_GE(rate, 5.4);  // six seeds, both rules: 5.4 to 5.8 Hz
    EXPECT_LE(rate, 5.8);
}

}  // namespace simulation_test
}  // namespace riftjit::sim
