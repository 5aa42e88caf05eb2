// What --check finds beyond what every run is held to.
#include <gtest/gtest.h>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/simulation.h"

namespace riftjit::sim {
namespace engine_checks_test {

// One spike, whose synapse sends more than a double holds; it arrives after 5 ms.
constexpr const char* kOverflow = R"toml(
[simulation]
duration = "10 ms"
[population.E]
model = "iaf_psc_delta"
size = 4
[population.S]
model = "spike_times"
times = [["1 ms"]]
[models.loud]
kind = "synapse"
equations = "x : 1"
initial = { x = "1e200" }
on_pre = "deliver(w * x * x)"
[[projection]]
from = "S"
to = "E"
rule = "list"
pairs = [[0, 2]]
weight = "1 mV"
delay = "5 ms"
synapse = "loud"
)toml";

TEST(Checks, FindWhatIsNotFiniteBeforeItArrives) {
    const Network network = parse_network(kOverflow, "net.toml").value();
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(2);
    auto simulation = Simulation::create(network, kernels, x86::detect().levels.front(), *pool).value();
    ASSERT_TRUE(simulation.run(5));
    EXPECT_TRUE(simulation.check_totals());
    ASSERT_TRUE(simulation.run(15)) << "states and weights are finite as yet";
    EXPECT_TRUE(simulation.check_conservation());
    const auto checked = simulation.check_totals();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message, "after 20 steps, what arrives at neuron 2 of population E is inf");
}

}  // namespace engine_checks_test
}  // namespace riftjit::sim
