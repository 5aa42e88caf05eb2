// Networks that their files describe without a mistake of form, and that still cannot run.
#include <gtest/gtest.h>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/network_blueprint.h"
#include "sim/engine/simulation.h"
#include "tests/sim/network/network_text.h"

namespace riftjit::sim {
namespace faults_test {

std::string blueprint_error(const std::string& text) {
    const Result<Network> network = parse_network(text, "net.toml");
    if (!network) return network.error().message;
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    const auto blueprint = make_blueprint(*network, kernels, x86::detect().levels.front(), Precision::f64);
    return blueprint ? "" : blueprint.error().message;
}

// Not after drawing four billion values to look at them.
TEST(Memory, IsComparedBeforeParametersAreDrawn) {
    const std::string error = blueprint_error(
        "[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"iaf_psc_exp\"\nsize = 4000000000\n"
        "parameters = { tau_m = { normal = [\"10 ms\", \"1 ms\"] } }\n");
    EXPECT_TRUE(error.starts_with("net.toml:3:1: population E: 4000000000 neurons take 136000000000 bytes")) << error;
}

TEST(SpikeTimes, AreOnePerStepAndInsideWhatCanBeRun) {
    const auto with = [](const std::string& times) {
        return kSmall + "[population.S]\nmodel = \"spike_times\"\ntimes = [" + times + "]\n";
    };
    const std::string population = "net.toml:9:1: population S: ";
    EXPECT_EQ(blueprint_error(with("[\"1 ms\", \"1.02 ms\"]")),
              population + "two spikes of neuron 0 in the step of 1 ms");
    EXPECT_EQ(blueprint_error(with("[\"1 ms\"], [\"1e300 ms\"]")),
              population + "a spike of neuron 1 at 1e+300 ms, after more than 4294967295 steps");
    EXPECT_EQ(blueprint_error(with("[\"0 ms\"]")),
              population + "a spike of neuron 0 at 0 ms: the first step gives spikes at 0.1 ms");
    EXPECT_EQ(blueprint_error(with("[\"1 ms\"], [\"1 ms\", \"1.1 ms\"]")), "");
    EXPECT_EQ(
        parse_network(with("[\"1.04 ms\", \"2 ms\"]"), "net.toml")->notes,
        std::vector<std::string>{"population S: 1 of 2 spike times, such as 1.04 ms, are rounded to steps of 0.1 ms"});
}

TEST(ValuesOfSingleNeurons, AreCheckedAsThatOfAllWouldBe) {
    const auto with = [](const std::string& parameters) {
        return kSmall + "[population.I]\nmodel = \"iaf_psc_exp\"\nsize = 3\nparameters = { " + parameters + " }\n";
    };
    const std::string population = "net.toml:9:1: population I: ";
    EXPECT_EQ(blueprint_error(with("tau_m = 0")), "net.toml:12:24: 'tau_m' is 0 ms: it must be above 0");
    EXPECT_EQ(blueprint_error(with("tau_m = [\"10 ms\", \"-1 ms\", 0]")),
              "net.toml:12:24: 'tau_m' of neuron 1 is -1 ms: it must be above 0");
    EXPECT_EQ(blueprint_error(with("t_ref = [\"2 ms\", \"-10 ms\", \"10 ms\"]")),
              "net.toml:12:24: 't_ref' of neuron 1 is -10 ms: it must not be below 0");
    const std::string drawn = blueprint_error(with("C_m = { uniform = [\"-2 pF\", \"-1 pF\"] }"));
    EXPECT_TRUE(drawn.starts_with(population + "'C_m' of neuron ")) << drawn;
    EXPECT_TRUE(drawn.ends_with(" pF: it must be above 0")) << drawn;
    EXPECT_NE(blueprint_error(with("t_ref = { uniform = [\"9000 ms\", \"9001 ms\"] }")), "");
    EXPECT_EQ(blueprint_error(with("tau_m = [\"10 ms\", \"20 ms\", \"15 ms\"]")), "");
}

TEST(Faults, PointIntoTheFile) {
    EXPECT_EQ(error_of(kSmall + "[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\nweight = \"1 mV\"\n"
                                "delay = \"1 ms\"\n[[record]]\nweights = \"E -> E\"\n"),
              "net.toml:16:12: the weights of projection E -> E are static and do not change");
    EXPECT_EQ(blueprint_error(kSmall + "[models.m]\nkind = \"neuron\"\nequations = \"dx/dt = x*x/ms : 1\"\n"
                                       "method = \"exact\"\n[population.M]\nmodel = \"m\"\nsize = 1\n"),
              "net.toml:13:1: population M: model 'm': no exact integration: dx/dt is not linear with constant "
              "coefficients");
    EXPECT_EQ(error_of(kSmall + "initial = { V_m = { normal = [1, 1], least = 5, most = 3 } }\n").substr(0, 9),
              "net.toml:");
}

TEST(States, ThatAreNotFiniteAreAnErrorThatNamesThem) {
    const std::string text = kSmall +
                             "[models.m]\nkind = \"neuron\"\nequations = \"dx/dt = x*x/ms : 1\"\nmethod = \"euler\"\n"
                             "[population.M]\nmodel = \"m\"\nsize = 3\ninitial = { x = [0, -0.5, 1] }\n";
    const Network network = parse_network(text, "net.toml").value();
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(2);
    auto simulation = Simulation::create(network, kernels, x86::detect().levels.front(), *pool).value();
    EXPECT_TRUE(simulation.run(5));
    const auto run = simulation.run(95);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message, "after 100 steps, x of neuron 2 of population M is inf");
}

// A trace that doubles with every spike, and more than doubles what it holds: a weight of 1 overflows at the 11th.
TEST(States, OfPlasticSynapsesThatAreNotFiniteAreAnErrorToo) {
    const std::string text =
        kSmall +
        "[models.growing]\nkind = \"synapse\"\nequations = \"x : 1\"\ninitial = { x = \"2\" }\n"
        "on_pre = \"x *= x; deliver(w)\"\n[population.S]\nmodel = \"spike_times\"\n"
        "times = [[], [\"1 ms\", \"2 ms\", \"3 ms\", \"4 ms\", \"5 ms\", \"6 ms\", \"7 ms\", \"8 ms\", "
        "\"9 ms\", \"10 ms\"]]\n[[projection]]\nfrom = \"S\"\nto = \"E\"\nrule = \"list\"\n"
        "pairs = [[0, 1], [1, 3]]\nweight = \"0.1 mV\"\ndelay = \"1 ms\"\nsynapse = \"growing\"\n";
    const Network network = parse_network(text, "net.toml").value();
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(2);
    auto simulation = Simulation::create(network, kernels, x86::detect().levels.front(), *pool).value();
    EXPECT_TRUE(simulation.run(95));  // 2^(2^9)
    const auto run = simulation.run(5);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message, "after 100 steps, x of a synapse from neuron 1 to 3 of projection S -> E is inf");
}

TEST(ConstantsThatAreNotFinite, AreBlamedOnTheParameterThatMakesThem) {
    const auto with = [](const std::string& parameters) {
        return blueprint_error(kSmall +
                               "[models.m]\nkind = \"neuron\"\nequations = \"dx/dt = (b - x / a) / ms : 1\"\n"
                               "parameters = { a = 1, b = 2 }\n[population.M]\nmodel = \"m\"\nsize = 1\n"
                               "parameters = { " +
                               parameters + " }\n");
    };
    EXPECT_EQ(with("b = 0, a = 3"), "");
    EXPECT_EQ(with("b = 5, a = 0"),
              "net.toml:13:1: population M: model 'm': with 'a' of 0 a constant is not finite (a division by 0, or the "
              "root or logarithm of a negative number)");
}

// 5 ms to 8 ms at 0.5 ms: samples of the ends of steps 54, 59, 64, 69, 74 and 79.
TEST(Plans, SayWhatRecordersWillProduceAndCountThem) {
    const auto plan_of = [](const std::string& recorder) {
        KernelCache cache(x86::compile, DiskCache::disabled());
        x86::HostKernels kernels(cache);
        const Network network = parse_network(kSmall + recorder, "net.toml").value();
        const auto level = x86::detect().levels.front();
        return Simulation::plan(network, make_blueprint(network, kernels, level, Precision::f64).value(), 1);
    };
    const SimulationPlan plan = plan_of(
        "[[record]]\nstates = \"E\"\nvariables = [\"V\"]\ninterval = \"0.5 ms\"\nstart = \"5 ms\"\nstop = \"8 ms\"\n");
    ASSERT_EQ(plan.recordings.size(), 1u);
    EXPECT_EQ(plan.recordings[0].sample_bytes, 4 * sizeof(double));
    EXPECT_EQ(plan.recordings[0].run_bytes, 6 * 4 * sizeof(double));
    EXPECT_GE(plan.traffic.memory_bytes, plan_of("").traffic.memory_bytes + 2 * 4 * sizeof(double));
}

}  // namespace faults_test
}  // namespace riftjit::sim
