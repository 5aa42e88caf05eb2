// Damaged network files: those that come with the program, and one of everything else that a file may say.
#include <filesystem>
#include <fstream>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/network_blueprint.h"
#include "tests/mutants/campaign.h"

namespace riftjit::sim {
namespace mutant_networks_test {

constexpr const char* kEverything = R"toml(name = "all"
description = "of each"
[simulation]
duration = "20 ms"
step = "0.1 ms"
seed = 3
interval = "1 ms"
[constants]
J = "20 pA"
g = 5
n = "round(20 * g / 3)"
[models.own]
kind = "neuron"
equations = """
dV/dt = (E - V + R * I) / tau : mV
dI/dt = -I / tau_s : pA"""
threshold = "V > theta"
reset = "V = E; I *= 0.5"
refractory = "2 * ms"
parameters = { tau = "10 ms", tau_s = "2 ms", E = "-65 mV", theta = "-50 mV", R = "40 mV/nA" }
receptors = { in = "I += w" }
[population.E]
model = "own"
size = "n"
parameters = { tau = { normal = ["10 ms", "1 ms"], least = "1 ms" }, theta = { uniform = ["-51 mV", "-49 mV"] } }
initial = { V = "-60 mV + 2*mV*randn()" }
positions = { shape = "grid", extent = ["1 mm", "1 mm"], columns = 5 }
[population.F]
model = "iaf_psc_exp"
size = 10
parameters = { t_ref = ["1 ms", "2 ms", "1 ms", "2 ms", "1 ms", "2 ms", "1 ms", "2 ms", "1 ms", "2.05 ms"] }
[population.S]
model = "spike_times"
times = [["1 ms", "2 ms"], [], ["3 ms"]]
[population.P]
model = "poisson"
size = 4
times = ["0 ms", "5 ms"]
rates = ["8 Hz", "100 Hz"]
[[projection]]
from = ["E", "F"]
to = "F"
receptor = "ex"
rule = "fixed_indegree"
indegree = 3
weight = { lognormal = ["J", 0.5] }
delay = { uniform = ["0.5 ms", "3 ms"] }
[[projection]]
from = "E"
to = "E"
rule = "distance"
profile = "gaussian"
probability = 0.4
length = "200 um"
most_distance = "500 um"
boundary = "periodic"
weight = "2 * J"
delay = "1.5 ms"
[[projection]]
from = "S"
to = "E"
rule = "list"
pairs = [[0, 1], [2, 3]]
weight = ["1 pA", "2 pA"]
delay = ["1 ms", "1.05 ms"]
[[projection]]
from = "P"
to = "F"
receptor = "ex"
rule = "pairwise_bernoulli"
probability = 0.5
weight = "J"
delay = "1 ms"
synapse = { model = "stdp", parameters = { Wmax = 100 } }
[[input]]
kind = "poisson"
to = ["E"]
rate = "1 kHz"
weight = "J"
[[input]]
kind = "steps"
to = "F"
times = ["1 ms", "2 ms"]
amplitudes = ["10 pA", "0 pA"]
[[input]]
kind = "noise"
to = "F"
deviation = "10 pA"
interval = "0.5 ms"
[[input]]
kind = "ac"
to = "F"
amplitude = "10 pA"
frequency = "10 Hz"
start = "1 ms"
stop = "9 ms"
[[record]]
spikes = "all"
[[record]]
states = "E"
variables = ["V"]
neurons = "0..4"
[variants.x.constants]
g = 4
)toml";

TEST(MutantNetworks, AreReadOrRefusedWithinTheirLimits) {
    std::vector<std::string> seeds{kEverything};
    for (const std::string& name : builtin_network_names()) seeds.push_back(*builtin_network_text(name));
    const Result<Network> whole = parse_network(kEverything, "net.toml");
    ASSERT_TRUE(whole) << whole.error().message;
    const auto make = [&](uint64_t number, mutants::Random& random) {
        return mutants::changed_text(seeds[number % 2 == 0 ? 0 : number / 2 % seeds.size()], random);
    };
    const auto read = [&](const std::string& mutant) -> Result<void> {
        RIFTJIT_TRY(network, parse_network(mutant, "net.toml"));
        // Of some the code too: what takes long then is its size, not what it says.
        if (mutant.size() % 8 != 0 || network.neurons() > 20'000) return {};
        KernelCache cache(x86::compile, DiskCache::disabled());
        x86::HostKernels kernels(cache);
        RIFTJIT_TRY_VOID(make_blueprint(network, kernels, x86::detect().levels.back(), Precision::f64));
        return {};
    };
    mutants::Campaign("network", make, [&](const std::string& mutant) {
        return mutants::outcome_of(read(mutant));
    }).run(400);
}

}  // namespace mutant_networks_test
}  // namespace riftjit::sim
