// Network files: what they say, and one clear line with file, line and column for what they cannot say.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "sim/network/description.h"
#include "tests/sim/network/network_text.h"

namespace riftjit::sim {
namespace network_file_test {

// The first six lines of every file below; a case's own text begins in line 7.
const std::string kHead = R"toml([simulation]
duration = "100 ms"
[population.E]
model = "iaf_psc_exp"
size = 10

)toml";

std::string error_after_head(const std::string& text) { return error_of(kHead + text); }

Network parsed(const std::string& text, const NetworkOverrides& overrides = {}) {
    Result<Network> network = parse_network(text, "net.toml", overrides);
    EXPECT_TRUE(network) << network.error().message;
    return network ? *network : Network{};
}
Network after_head(const std::string& text) { return parsed(kHead + text); }

double constant(const Distribution& distribution) { return std::get<Constant>(distribution.kind).value; }

const std::string kProjection = R"toml([[projection]]
from = "E"
to = "E"
receptor = "ex"
weight = "1 pA"
delay = "1 ms"
)toml";

TEST(NetworkFile, HoldsWhatItSays) {
    const Network network = parsed(R"toml(
name = "small"
[simulation]
step = "0.2 ms"
duration = "2 s"
seed = 42
compat = "brian2"
[constants]
half = "n / 2"
n = 20
[population.E]
model = "iaf_psc_exp"
size = "n"
method = "exact"
parameters = { tau_m = "15 ms", V_th = { normal = ["-50 mV", "1 mV"], least = "-52 mV", most = "-48 mV" } }
initial = { V = { uniform = ["-70 mV", "-60 mV"] } }
[population.drive]
model = "poisson"
size = "half"
rate = "8 Hz"
start = "10 ms"
[[projection]]
name = "in"
from = "drive"
to = "E"
receptor = "ex"
rule = "fixed_indegree"
indegree = 3
weight = { normal = ["87.8 pA", "8.78 pA"], keep_sign = true }
delay = { lognormal = ["1.5 ms", 0.25] }
autapses = false
multapses = false
[[input]]
kind = "dc"
to = "E"
amplitude = "0.2 nA"
stop = "1 s"
[[record]]
spikes = "all"
[[record]]
name = "potentials"
states = "E"
variables = ["V", "I_syn"]
neurons = "0..3"
interval = "1 ms"
)toml");
    EXPECT_EQ(network.name, "small");
    EXPECT_EQ(network.step_ms, 0.2);
    EXPECT_EQ(network.duration_ms, 2000);
    EXPECT_EQ(network.steps(), 10'000u);
    EXPECT_EQ(network.seed, 42u);
    EXPECT_EQ(network.compat, Compat::brian2);
    EXPECT_EQ(network.neurons(), 30u);
    ASSERT_EQ(network.populations.size(), 2u);  // in the order of the file
    EXPECT_EQ(network.populations[0].name, "E");
    EXPECT_EQ(network.populations[1].first_id, 20u);
    const auto& neurons = std::get<NeuronPopulation>(network.populations[0].kind);
    EXPECT_EQ(neurons.method, Method::exact);
    EXPECT_EQ(constant(neurons.parameters.at("tau_m")), 15);
    EXPECT_EQ(std::get<Normal>(neurons.parameters.at("V_th").kind).deviation, 1);
    EXPECT_EQ(neurons.parameters.at("V_th").most, -48);
    EXPECT_EQ(std::get<Uniform>(neurons.initial.at("V").kind).low, -70);
    const auto& drive = std::get<PoissonPopulation>(network.populations[1].kind);
    EXPECT_DOUBLE_EQ(drive.rate.level_per_ms, 0.008);
    EXPECT_EQ(drive.start_ms, 10);
    ASSERT_EQ(network.projections.size(), 1u);
    const Projection& projection = network.projections[0];
    EXPECT_EQ(projection.name, "in");
    EXPECT_EQ(projection.source, 1u);
    EXPECT_EQ(std::get<FixedInDegree>(projection.rule).degree, 3u);
    EXPECT_FALSE(projection.autapses || projection.multapses);
    EXPECT_EQ(projection.weight.least, 0);
    EXPECT_NEAR(std::get<Lognormal>(projection.delay_ms.kind).mu, std::log(1.5), 1e-15);
    EXPECT_EQ(constant(std::get<CurrentInput>(network.inputs[0].kind).amplitude), 200);
    EXPECT_EQ(std::get<CurrentInput>(network.inputs[0].kind).parameter, "I_e");
    EXPECT_EQ(network.inputs[0].stop_ms, 1000);
    ASSERT_EQ(network.recorders.size(), 3u);
    EXPECT_EQ(network.recorders[1].name, "spikes of drive");
    EXPECT_EQ(std::get<StateRecorder>(network.recorders[2].kind).neurons, (std::vector<uint32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(network.notes.empty()) << network.notes[0];
}

TEST(NetworkFile, HasDefaultsThatAreWrittenDown) {
    const Network network = after_head(kProjection + "rule = \"all_to_all\"\n");
    EXPECT_EQ(network.name, "net");
    EXPECT_EQ(network.step_ms, 0.1);
    EXPECT_EQ(network.seed, 1u);
    EXPECT_EQ(network.compat, Compat::nest);
    EXPECT_EQ(network.projections[0].name, "E -> E");
    EXPECT_TRUE(network.projections[0].autapses);
    EXPECT_FALSE(network.projections[0].multapses) << "a rule that connects a pair once has none";
    EXPECT_TRUE(after_head(kProjection + "rule = \"fixed_indegree\"\nindegree = 2\n").projections[0].multapses);
}

TEST(NetworkFile, NamesThePlaceOfAnUnknownKey) {
    EXPECT_EQ(error_after_head("[populations.I]"),
              "net.toml:7:2: the file has no key 'populations'; did you mean "
              "'population'?");
    EXPECT_EQ(error_of("[simulation]\nduration = \"1 s\"\nsteps = 3\n"),
              "net.toml:3:1: [simulation] has no key 'steps'; did you mean 'step'?");
    EXPECT_EQ(error_of(kHead + "[population.I]\nmodel = \"relay\"\nsize = 1\nratio = 2\n"),
              "net.toml:10:1: [population.I] has no key 'ratio'");
    EXPECT_EQ(error_after_head(kProjection + "rule = \"all_to_all\"\nindegree = 4\n"),
              "net.toml:14:1: [[projection]] has no key 'indegree'");
    EXPECT_EQ(error_after_head("[[input]]\nkind = \"dc\"\nto = \"E\"\namplitude = \"1 pA\"\nrate = \"1 Hz\"\n"),
              "net.toml:11:1: [[input]] has no key 'rate'");
    EXPECT_EQ(error_after_head("[[record]]\nspikes = \"E\"\nevery = 2\n"),
              "net.toml:9:1: [[record]] has no key 'every'");
}

TEST(NetworkFile, NamesThePlaceOfSyntaxErrors) {
    const std::string message = error_of("[simulation]\nstep = \n");
    EXPECT_TRUE(message.starts_with("net.toml:2:8: ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_TRUE(error_of(kHead + "[population.E]\nsize = 3\n").starts_with("net.toml:7:")) << "a name given twice";
}

TEST(NetworkFile, ChecksUnits) {
    EXPECT_EQ(error_of("[simulation]\nduration = \"100 mV\"\n"),
              "net.toml:2:13: 'duration' takes a value in ms, not one in mV");
    EXPECT_EQ(error_of("[simulation]\nduration = 100\n"),
              "net.toml:2:12: 'duration' takes a value in ms, not 100 without a unit");
    EXPECT_EQ(error_after_head("[population.I]\nmodel = \"iaf_psc_exp\"\nsize = \"5 ms\"\n"),
              "net.toml:9:9: 'size' takes a number without a unit, not one in ms");
    EXPECT_EQ(
        error_after_head("[population.I]\nmodel = \"iaf_psc_exp\"\nsize = 5\nparameters = { tau_m = \"1 nA\" }\n"),
        "net.toml:10:25: 'tau_m' takes a value in ms, not one in pA");
    EXPECT_EQ(error_of("[simulation]\nduration = \"1 s + 2 mV\"\n"), "net.toml:2:17: units differ: ms and mV");
    EXPECT_EQ(error_of("[simulation]\nduration = \"1 second\"\nstep = \"1 parsec\"\n"),
              "net.toml:3:11: expected an operator or a unit, found 'parsec'");
}

TEST(NetworkFile, RefusesNumbersThatAreNone) {
    const auto with_tau = [](const std::string& value) {
        return error_after_head("[population.I]\nmodel = \"iaf_psc_exp\"\nsize = 5\nparameters = { tau_m = " + value +
                                " }\n");
    };
    EXPECT_EQ(with_tau("nan"), "net.toml:10:24: a value of nan");
    EXPECT_EQ(with_tau("inf"), "net.toml:10:24: a value of inf");
    EXPECT_EQ(with_tau("\"10 ms / 0\""), "net.toml:10:31: division by zero");
    EXPECT_EQ(with_tau("\"10 ms * sqrt(0 - 1)\""), "net.toml:10:25: '10 ms * sqrt(0 - 1)' is -nan");
    EXPECT_EQ(with_tau("\"1e300 ms * 1e300\""), "net.toml:10:25: '1e300 ms * 1e300' is inf");
    EXPECT_EQ(with_tau("true"), "net.toml:10:24: expected a number or an expression, found true or false");
    EXPECT_EQ(with_tau("{ normal = [\"10 ms\", \"-1 ms\"] }"),
              "net.toml:10:24: 'tau_m' in ms has a standard deviation of -1");
    EXPECT_EQ(with_tau("{ normal = [\"10 ms\"] }"), "net.toml:10:35: 'normal' takes a list of two values");
    EXPECT_EQ(with_tau("{ least = \"10 ms\" }"),
              "net.toml:10:24: the distribution of 'tau_m' is one of normal, uniform, lognormal");
    EXPECT_EQ(with_tau("{ gamma = [1, 2] }"), "net.toml:10:26: the distribution of 'tau_m' has no key 'gamma'");
    EXPECT_EQ(with_tau("[\"1 ms\", \"2 ms\"]"), "net.toml:10:24: 'tau_m' has 2 values for 5");
    EXPECT_EQ(with_tau("{ uniform = [\"1 ms\", \"2 ms\"], normal = [\"1 ms\", \"2 ms\"] }"),
              "net.toml:10:36: the distribution of 'tau_m' is given twice");
}

TEST(NetworkFile, ChecksPopulations) {
    const auto with = [](const std::string& keys) { return error_after_head("[population.I]\n" + keys); };
    EXPECT_EQ(with("size = 3\n"), "net.toml:7:1: [population.I] has no 'model'");
    EXPECT_EQ(with("model = \"iaf_psc_exp\"\n"), "net.toml:7:1: [population.I] has no 'size'");
    EXPECT_EQ(with("model = \"iaf_psc_exp\"\nsize = 0\n"), "net.toml:9:8: 'size' is 0, below 1");
    EXPECT_EQ(with("model = \"relay\"\nsize = \"round(0.1)\"\n"), "net.toml:9:9: 'size' is 0, below 1");
    EXPECT_EQ(with("model = \"relay\"\nsize = -2\n"), "net.toml:9:8: 'size' is -2, below 1");
    EXPECT_EQ(with("model = \"relay\"\nsize = \"5 / 2\"\n"),
              "net.toml:9:9: 'size' is 2.5, which is not whole: round(...) makes it so");
    EXPECT_EQ(with("model = \"relay\"\nsize = 4294967296\n"), "net.toml:9:8: 'size' is 4294967296, above 4294967295");
    EXPECT_EQ(with("model = \"relay\"\nsize = 4294967290\n"),
              "net.toml:7:1: with population I there are 4294967300 neurons, more than 4294967295");
    EXPECT_EQ(with("model = \"iaf_psc_ex\"\nsize = 3\n"),
              "net.toml:8:10: there is no neuron model 'iaf_psc_ex'; did you mean 'iaf_psc_exp'?");
    EXPECT_EQ(
        with("model = \"iaf_psc_exp\"\nsize = 3\nparameters = { tau = \"1 ms\" }\n"),
        "net.toml:10:16: model iaf_psc_exp has no parameter 'tau'; there are C_m, tau_m, tau_syn_ex, tau_syn_in, E_L, "
        "V_th, V_reset, t_ref, I_e");
    EXPECT_EQ(with("model = \"iaf_psc_exp\"\nsize = 3\ninitial = { V_n = \"1 mV\" }\n"),
              "net.toml:10:13: model iaf_psc_exp has no variable 'V_n'; there are V, I_ex, I_in");
    EXPECT_EQ(with("model = \"iaf_psc_exp\"\nsize = 3\nmethod = \"rk5\"\n"),
              "net.toml:10:11: unknown method 'rk5': expected automatic, exact, exponential_euler, rk4, euler; did you "
              "mean 'rk4'?");
    EXPECT_EQ(with("model = \"poisson\"\nsize = 3\nrate = \"0 Hz - 1 Hz\"\n"),
              "net.toml:10:9: 'rate' is -0.001 per ms, below 0");
    EXPECT_EQ(with("model = \"poisson\"\nsize = 3\nrate = \"1 Hz\"\nstart = \"5 ms\"\nstop = \"5 ms\"\n"),
              "net.toml:12:9: 'stop' is 5 ms, not after 'start' at 5 ms");
    EXPECT_EQ(error_of("[simulation]\nduration = \"1 s\"\n"),
              "net.toml: no population: [population.NAME] describes one");
    EXPECT_EQ(error_of("population = 3\n[simulation]\nduration = \"1 s\"\n"),
              "net.toml:1:14: 'population' is a table of tables: [population.NAME]");
}

TEST(NetworkFile, ChecksTheRun) {
    const auto with = [](const std::string& keys) {
        return error_of("[simulation]\n" + keys + "[population.E]\nmodel = \"relay\"\nsize = 1\n");
    };
    EXPECT_EQ(with(""), "net.toml:1:1: [simulation] has no 'duration'");
    EXPECT_EQ(with("duration = \"0 ms\"\n"), "net.toml:2:13: 'duration' is 0 ms: a time above 0 is wanted");
    EXPECT_EQ(with("duration = \"0.04 ms\"\n"), "net.toml:2:13: a duration of 0.04 ms is less than one step of 0.1 ms");
    EXPECT_EQ(with("duration = \"1 ms\"\nstep = \"-1 ms\"\n"),
              "net.toml:3:9: 'step' is -1 ms: a time above 0 is wanted");
    EXPECT_EQ(with("duration = \"1e6 s\"\n"),
              "net.toml:2:13: a duration of 1000000000 ms is more than 4294967295 steps of 0.1 ms");
    EXPECT_EQ(with("duration = \"1 ms\"\nseed = -1\n"), "net.toml:3:8: 'seed' is a whole number from 0 on, not -1");
    EXPECT_EQ(with("duration = \"1 ms\"\ncompat = \"neuron\"\n"),
              "net.toml:3:11: 'compat' is \"nest\" or \"brian2\", not \"neuron\"");
    EXPECT_EQ(parsed("[simulation]\nduration = \"1.03 ms\"\n[population.E]\nmodel = \"relay\"\nsize = 1\n").notes,
              std::vector<std::string>{"a duration of 1.03 ms is run as 10 steps of 0.1 ms"});
}

TEST(NetworkFile, ChecksProjections) {
    const auto with = [](const std::string& keys) {
        return error_after_head("[[projection]]\nfrom = \"E\"\nto = \"E\"\nreceptor = \"ex\"\n" + keys);
    };
    const std::string rest = "weight = \"1 pA\"\ndelay = \"1 ms\"\n";
    EXPECT_EQ(error_after_head("[[projection]]\nfrom = \"F\"\n"),
              "net.toml:8:9: there is no population 'F'; there is E");
    EXPECT_EQ(error_after_head("[[projection]]\nfrom = \"exc\"\n"),
              "net.toml:8:9: there is no population 'exc'; there is E");
    EXPECT_EQ(error_after_head("[[projection]]\nfrom = [\"E\", \"E\"]\nto = \"E\"\n"),
              "net.toml:8:15: 'from' has population 'E' twice");
    EXPECT_EQ(error_after_head("[[projection]]\nfrom = []\n"), "net.toml:8:8: 'from' is an empty list");
    EXPECT_EQ(with(rest), "net.toml:7:1: [[projection]] has no 'rule'");
    EXPECT_EQ(with(rest + "rule = \"all_to_al\"\n"),
              "net.toml:13:9: there is no rule \"all_to_al\"; did you mean 'all_to_all'?");
    EXPECT_EQ(with("rule = \"all_to_all\"\n"), "net.toml:7:1: [[projection]] has no 'weight'");
    EXPECT_EQ(with("rule = \"all_to_all\"\nweight = \"1 pA\"\n"), "net.toml:7:1: [[projection]] has no 'delay'");
    EXPECT_EQ(with("rule = \"all_to_all\"\nweight = \"1 mV\"\ndelay = \"1 ms\"\n"),
              "net.toml:12:11: 'weight' takes a value in pA, not one in mV");
    EXPECT_EQ(with("rule = \"pairwise_bernoulli\"\nprobability = 1.5\n" + rest),
              "net.toml:11:9: projection E -> E: a probability of 1.5 is not between 0 and 1");
    EXPECT_EQ(
        with("rule = \"fixed_indegree\"\nindegree = 11\nmultapses = false\n" + rest),
        "net.toml:11:9: projection E -> E: an in-degree of 11 needs as many sources, there are 10 (no multapses)");
    EXPECT_EQ(with("rule = \"fixed_indegree\"\nindegree = -1\n" + rest), "net.toml:12:12: 'indegree' is -1, below 0");
    EXPECT_EQ(with("rule = \"all_to_all\"\nmultapses = true\n" + rest),
              "net.toml:12:13: rule \"all_to_all\" connects a pair at most once: it has no multapses");
    EXPECT_EQ(with("rule = \"all_to_all\"\nautapses = 1\n" + rest),
              "net.toml:12:12: 'autapses' is true or false, not a number");
    EXPECT_EQ(error_after_head("[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\n" + rest),
              "net.toml:7:1: [[projection]] has no 'receptor': model iaf_psc_exp has ex, in");
    EXPECT_EQ(error_after_head("[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\nreceptor = \"inh\"\n" +
                               rest),
              "net.toml:11:13: model iaf_psc_exp has no receptor 'inh'; did you mean 'in'?");
    EXPECT_EQ(error_after_head(kProjection + "rule = \"all_to_all\"\n" + kProjection + "rule = \"all_to_all\"\n"),
              "net.toml:14:1: there is a projection 'E -> E' already: give each a 'name' of its own");
    EXPECT_EQ(error_after_head("[population.P]\nmodel = \"poisson\"\nsize = 1\nrate = \"1 Hz\"\n[[projection]]\nfrom = "
                               "\"E\"\nto = \"P\"\nrule = \"all_to_all\"\n" +
                               rest),
              "net.toml:13:7: population P only sends: nothing can project to it");
    EXPECT_EQ(with("rule = \"list\"\npairs = [[0, 10]]\n" + rest), "net.toml:12:14: 'target' is 10, above 9");
    EXPECT_EQ(with("rule = \"distance\"\nprofile = \"gaussian\"\nlength = \"1 mm\"\nprobability = 0.5\n" + rest),
              "net.toml:11:9: projection E -> E: a distance needs positions in both populations");
    EXPECT_EQ(with("rule = \"all_to_all\"\nsynapse = \"stdp_\"\n" + rest),
              "net.toml:12:12: there is no synapse model 'stdp_'; did you mean 'stdp'?");
    EXPECT_EQ(with("rule = \"all_to_all\"\nsynapse = { model = \"stdp\", parameters = { tau = \"1 ms\" } }\n" + rest)
                  .substr(0, 56),
              "net.toml:12:44: model stdp has no parameter 'tau'; there");
}

// nest-simulator issue 105: an assertion where a random delay falls below one step.
TEST(NetworkFile, NamesDelayAndStepWhereOneIsTooShort) {
    const auto with_delay = [](const std::string& delay) {
        return error_after_head(
            "[[projection]]\nfrom = \"E\"\nto = \"E\"\nreceptor = \"ex\"\nrule = \"all_to_all\"\n"
            "weight = \"1 pA\"\ndelay = " +
            delay + "\n");
    };
    EXPECT_EQ(with_delay("\"0.04 ms\""),
              "net.toml:13:10: projection E -> E: a delay of 0.04 ms is below one step of 0.1 ms");
    EXPECT_EQ(with_delay("\"10 s\""),
              "net.toml:13:10: projection E -> E: a delay of 10000 ms is above 65534 steps of 0.1 ms");
    EXPECT_EQ(with_delay("{ normal = [\"1.5 ms\", \"0.75 ms\"] }"), "");
    EXPECT_EQ(with_delay("{ uniform = [\"0 ms\", \"0.04 ms\"] }"),
              "net.toml:13:9: projection E -> E: its delay in ms has uniform (0 to 0.04), at least 0.05, at most "
              "6553.400000000001: a draw has probability 0 of lying inside");
    EXPECT_EQ(after_head(kProjection + "rule = \"all_to_all\"\n").notes.size(), 0u);
    NetworkOverrides coarse;
    coarse.step_ms = 0.3;
    EXPECT_EQ(parsed(kHead + kProjection + "rule = \"all_to_all\"\n", coarse).notes,
              (std::vector<std::string>{"a duration of 100 ms is run as 333 steps of 0.3 ms",
                                        "population E: a refractory time of 2 ms is rounded to 7 steps of 0.3 ms",
                                        "projection E -> E: a delay of 1 ms is rounded to 3 steps of 0.3 ms"}));
}

TEST(NetworkFile, ChecksInputs) {
    const auto with = [](const std::string& keys) { return error_after_head("[[input]]\nto = \"E\"\n" + keys); };
    EXPECT_EQ(with("kind = \"gauss\"\n"),
              "net.toml:9:9: there is no input \"gauss\"; there are poisson, dc, ac, steps, noise");
    EXPECT_EQ(with("kind = \"dc\"\n"), "net.toml:7:1: [[input]] has no 'amplitude'");
    EXPECT_EQ(error_after_head("[[input]]\nto = [\"E\", \"E\"]\nkind = \"dc\"\namplitude = \"1 pA\"\n"),
              "net.toml:8:8: 'to' has population 'E' twice");
    EXPECT_EQ(with("kind = \"dc\"\nparameter = \"I\"\n").substr(0, 58),
              "net.toml:10:14: model iaf_psc_exp has no parameter 'I'; th");
    EXPECT_EQ(with("kind = \"dc\"\namplitude = \"1 mV\"\n"),
              "net.toml:10:14: 'amplitude' takes a value in pA, not one in mV");
    EXPECT_EQ(with("kind = \"poisson\"\nrate = \"1 Hz\"\nweight = \"1 pA\"\n"),
              "net.toml:7:1: [[input]] has no 'receptor': model iaf_psc_exp has 2 receptors");
    EXPECT_EQ(with("kind = \"poisson\"\nreceptor = \"ex\"\nrate = \"3 MHz\"\nweight = \"1 pA\"\n"),
              "net.toml:11:9: 'rate' is 3000 per ms, more than 256 in a step of 0.1 ms");
    EXPECT_EQ(with("kind = \"steps\"\ntimes = [\"1 ms\", \"1 ms\"]\namplitudes = [\"1 pA\", \"2 pA\"]\n"),
              "net.toml:10:9: 'times' does not ascend: 1 ms after 1 ms");
    EXPECT_EQ(with("kind = \"steps\"\ntimes = [\"1 ms\"]\namplitudes = []\n"),
              "net.toml:11:14: 'times' has 1 values and 'amplitudes' 0: one each is wanted");
    EXPECT_EQ(with("kind = \"noise\"\ndeviation = \"0 pA - 1 pA\"\n"), "net.toml:10:14: 'deviation' is -1 pA, below 0");
    const Network network = after_head(
        "[[input]]\nto = \"E\"\nkind = \"ac\"\namplitude = \"1 pA\"\nfrequency = \"10 Hz\"\n"
        "offset = \"2 pA\"\nphase = \"pi / 2\"\nstart = \"200 ms\"\n");
    const auto& sine = std::get<SineInput>(network.inputs[0].kind);
    EXPECT_EQ(sine.offset, 2);
    EXPECT_DOUBLE_EQ(sine.frequency_per_ms, 0.01);
    EXPECT_DOUBLE_EQ(sine.phase, M_PI / 2);
    EXPECT_EQ(network.notes, std::vector<std::string>{"input ac -> E starts at 200 ms, after the end of the run"});
}

TEST(NetworkFile, ChecksRecorders) {
    const auto with = [](const std::string& keys) { return error_after_head("[[record]]\n" + keys); };
    EXPECT_EQ(with("name = \"x\"\n"), "net.toml:7:1: [[record]] takes one of 'spikes', 'states' and 'weights'");
    EXPECT_EQ(with("spikes = \"E\"\nneurons = [3, 10]\n"),
              "net.toml:9:15: population E has no neuron 10: its neurons are 0 to 9");
    EXPECT_EQ(with("spikes = \"E\"\nneurons = [-1]\n"),
              "net.toml:9:12: population E has no neuron -1: its neurons are 0 to 9");
    EXPECT_EQ(with("spikes = \"E\"\nneurons = \"5..10\"\n"),
              "net.toml:9:12: population E has no neuron 10: its neurons are 0 to 9");
    EXPECT_EQ(with("spikes = \"E\"\nneurons = \"5-10\"\n"),
              "net.toml:9:12: 'neurons' is a list of numbers or a range such as \"0..99\", not \"5-10\"");
    EXPECT_EQ(with("spikes = \"E\"\nneurons = []\n"),
              "net.toml:9:11: 'neurons' is an empty list; without it all are recorded");
    EXPECT_EQ(with("spikes = \"E\"\nneurons = [2, 2]\n"), "net.toml:9:11: 'neurons' has 2 twice");
    EXPECT_EQ(with("states = \"E\"\nvariables = \"v\"\n"),
              "net.toml:9:14: model iaf_psc_exp has no variable 'v'; there are V, I_ex, I_in, I_syn");
    EXPECT_EQ(with("states = \"E\"\nvariables = \"V\"\ninterval = \"0.25 ms\"\n"),
              "net.toml:10:13: an interval of 0.25 ms is not a whole number of steps of 0.1 ms");
    EXPECT_EQ(with("weights = \"E -> E\"\n"), "net.toml:8:12: there is no projection 'E -> E'");
    EXPECT_EQ(with("spikes = \"E\"\n[[record]]\nspikes = \"all\"\n"),
              "net.toml:9:1: there is a recorder 'spikes of E' already: give each a 'name' of its own");
}

TEST(NetworkFile, TakesModelsOfItsOwn) {
    const std::string model = R"toml([models.leaky]
kind = "neuron"
equations = "dV/dt = (E_L - V) / tau : mV"
threshold = "V > -50*mV"
reset = "V = E_L"
parameters = { tau = "10 ms", E_L = "-65 mV" }
receptors = { syn = "V += w" }
)toml";
    const Network network = parsed(model +
                                   "[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"leaky\"\nsize = 2\n"
                                   "parameters = { E_L = [\"-60 mV\", \"-70 mV\"] }\n");
    const auto& neurons = std::get<NeuronPopulation>(network.populations[0].kind);
    EXPECT_EQ(neurons.model.name(), "leaky");
    EXPECT_EQ(std::get<Values>(neurons.parameters.at("E_L").kind).values, (std::vector<double>{-60, -70}));
    EXPECT_TRUE(error_after_head("[models.poisson]\nkind = \"neuron\"\n")
                    .starts_with("net.toml:7:1: the name 'poisson' is taken"));
    const std::string broken =
        error_after_head("[models.leaky]\nkind = \"neuron\"\nequations = \"dV/dt = -V / tau : mV\"\n");
    EXPECT_TRUE(broken.starts_with("net.toml:9:27: ")) << broken;
}

TEST(Constants, DependOnEachOtherInAnyOrder) {
    const auto with = [](const std::string& constants, const std::string& duration) {
        return "[simulation]\nduration = \"" + duration + "\"\n[constants]\n" + constants +
               "[population.E]\nmodel = \"relay\"\nsize = 1\n";
    };
    EXPECT_EQ(parsed(with("a = \"2 * b\"\nb = \"c + 1 ms\"\nc = \"10 ms\"\n", "a")).duration_ms, 22);
    EXPECT_EQ(parsed(with("x = \"-2**2 + max(3, 7) / 2**-1\"\n", "x * ms")).duration_ms, 10);
    EXPECT_EQ(parsed(with("x = 3\n", "1 ms if x < 2 or not x != 3 else 5 ms")).duration_ms, 1);
    EXPECT_EQ(error_of(with("a = \"b\"\nb = \"a\"\n", "1 ms")), "net.toml:4:6: this value depends on itself");
    EXPECT_EQ(error_of(with("a = \"bb\"\nab = 1\n", "1 ms")), "net.toml:4:6: unknown name 'bb'; did you mean 'ab'?");
    EXPECT_EQ(error_of(with("dt = 1\n", "1 ms")), "net.toml:4:1: the name 'dt' is taken: it is built in");
    EXPECT_EQ(error_of(with("a = \"sqr(2)\"\n", "1 ms")), "net.toml:4:6: unknown function 'sqr'; did you mean 'sqrt'?");
    EXPECT_EQ(error_of(with("a = \"exp(2 ms)\"\n", "1 ms")),
              "net.toml:4:6: 'exp' takes a number without a unit, not one of ms");
    EXPECT_EQ(error_of(with("a = \"max(1)\"\n", "1 ms")), "net.toml:4:6: 'max' takes 2 values, not 1");
    EXPECT_EQ(parsed(with("a = 1\n", "1 ms")).notes, std::vector<std::string>{"nothing uses the constant 'a'"});
}

TEST(Matrix, MakesAProjectionForEachPair) {
    const std::string file = R"toml([simulation]
duration = "1 ms"
[population.A]
model = "iaf_psc_delta"
size = 10
[population.B]
model = "iaf_psc_delta"
size = 20
[[projection]]
from = ["A", "B"]
to = ["A", "B"]
rule = "fixed_total_number"
synapses = "round(p * N_from * N_to) * double"
weight = "w"
delay = "1 ms"
columns = { w = ["1 mV", "-5 mV"] }
rows = { double = [1, 2] }
matrix = { p = [[0.5, 0.25], [0, 0.125]] }
)toml";
    const Network network = parsed(file);
    ASSERT_EQ(network.projections.size(), 3u) << "an entry of no synapses is no projection";
    EXPECT_EQ(network.projections[0].name, "A -> A");
    EXPECT_EQ(network.projections[1].name, "B -> A");
    EXPECT_EQ(network.projections[2].name, "B -> B");
    EXPECT_EQ(std::get<FixedTotal>(network.projections[0].rule).synapses, 50u);
    EXPECT_EQ(std::get<FixedTotal>(network.projections[1].rule).synapses, 50u);
    EXPECT_EQ(std::get<FixedTotal>(network.projections[2].rule).synapses, 100u);
    EXPECT_EQ(constant(network.projections[1].weight), -5);
    const auto replaced = [&](std::string from, const std::string& to) {
        return error_of(std::string(file).replace(file.find(from), from.size(), to));
    };
    EXPECT_EQ(replaced("[0, 0.125]", "[0]"),
              "net.toml:18:30: 'a row of p' is a list of 2 values, one for each population");
    EXPECT_EQ(replaced(", [0, 0.125]", ""), "net.toml:18:16: 'p' is a list of 2 rows, one for each target");
    EXPECT_EQ(replaced("\"w\"", "\"1 mV\""), "net.toml:9:1: nothing in this projection uses the name 'w'");
    EXPECT_EQ(replaced("double = [1, 2]", "p = [1, 2]"), "net.toml:18:12: the name 'p' is given twice");
}

TEST(Overrides, ComeBeforeTheFile) {
    const std::string file = R"toml(variant = "slow"
[simulation]
duration = "t"
[constants]
t = "10 ms"
n = 4
[variants.slow]
constants = { t = "20 ms" }
[variants.fast]
constants = { t = "5 ms" }
[[variants.fast.record]]
spikes = "all"
[population.E]
model = "relay"
size = "round(n * scale)"
[[projection]]
name = "loop"
from = "E"
to = "E"
rule = "all_to_all"
delay = "1 ms"
)toml";
    EXPECT_EQ(parsed(file).duration_ms, 20);
    EXPECT_TRUE(parsed(file).recorders.empty());
    NetworkOverrides overrides;
    overrides.settings = {{"variant", "fast"}};
    EXPECT_EQ(parsed(file, overrides).duration_ms, 5);
    EXPECT_EQ(parsed(file, overrides).recorders.size(), 1u);
    overrides.settings.insert(overrides.settings.end(), {{"constants.t", "7 ms"},
                                                         {"population.E.size", "8"},
                                                         {"projection.loop.delay", "2 ms"},
                                                         {"projection.0.autapses", "false"},
                                                         {"simulation.seed", "9"}});
    const Network network = parsed(file, overrides);
    EXPECT_EQ(network.duration_ms, 7);
    EXPECT_EQ(network.populations[0].size, 8u);
    EXPECT_EQ(constant(network.projections[0].delay_ms), 2);
    EXPECT_FALSE(network.projections[0].autapses);
    EXPECT_EQ(network.seed, 9u);
    NetworkOverrides options;
    options.scale = 2.5;
    options.duration_ms = 3;
    options.step_ms = 0.5;
    options.seed = 1ull << 63;
    options.compat = Compat::brian2;
    const Network changed = parsed(file, options);
    EXPECT_EQ(changed.populations[0].size, 10u);
    EXPECT_EQ(changed.steps(), 6u);
    EXPECT_EQ(changed.seed, 1ull << 63);
    EXPECT_EQ(changed.compat, Compat::brian2);
}

TEST(Overrides, RefuseWhatChangesNothing) {
    const std::string file = kHead + "[constants]\ngain = 3\n[variants.a]\nconstants = { gain = 2 }\n";
    const auto set = [&](const std::string& path, const std::string& value) {
        NetworkOverrides overrides;
        overrides.settings = {{path, value}};
        return error_of(file, overrides);
    };
    EXPECT_EQ(set("constants.gian", "2"), "--set constants.gian: there is no 'gian'; there is gain");
    EXPECT_EQ(set("populaton.E.size", "2"),
              "--set populaton.E.size: there is no 'populaton'; did you mean 'population'?");
    EXPECT_EQ(set("population.E.sise", "2"),
              "--set population.E.sise:1:9: [population.E] has no key 'sise'; did you mean 'size'?");
    EXPECT_EQ(set("population.E.size", "two"), "--set population.E.size:1:10: unknown name 'two'");
    EXPECT_EQ(set("variant", "b"), "--set variant: no variant 'b': there are a");
    NetworkOverrides overrides;
    overrides.scale = 2;
    EXPECT_EQ(error_of(file, overrides), "--scale: nothing in net.toml uses the name 'scale'");
    overrides.scale = NAN;
    EXPECT_EQ(error_of(file, overrides), "--scale is nan: a number above 0 is wanted");
    overrides = {};
    overrides.duration_ms = 0;
    EXPECT_EQ(error_of(file, overrides), "--duration is 0 ms: a time above 0 is wanted");
    overrides.duration_ms = 0.01;
    EXPECT_EQ(error_of(file, overrides), "--duration: a duration of 0.01 ms is less than one step of 0.1 ms");
}

class NumberFiles : public testing::Test {
protected:
    NumberFiles() { std::filesystem::create_directories(folder_); }
    ~NumberFiles() override { std::filesystem::remove_all(folder_); }
    void write(const std::string& name, const std::string& content) const {
        std::ofstream(folder_ / name, std::ios::binary) << content;
    }
    Result<Network> read(const std::string& text) const {
        write("net.toml", "[simulation]\nduration = \"100 ms\"\n" + text);
        return read_network((folder_ / "net.toml").string());
    }
    // Of the message, without the folder.
    std::string error(const std::string& text) const {
        const Result<Network> network = read(text);
        if (network) return "";
        const std::string& message = network.error().message;
        const size_t at = message.find(folder_.string());
        return at == std::string::npos ? message : message.substr(at + folder_.string().size() + 1);
    }

    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("network_files_" + std::to_string(getpid()));
    const std::string spikes_ = "[population.S]\nmodel = \"spike_times\"\nsize = 3\nfile = \"spikes.txt\"\n";
};

TEST_F(NumberFiles, GiveSpikeTimes) {
    write("spikes.txt", "# neuron time\n0 5.5\n2, 1.5 # late\n\n0\t2.5\n");
    const Result<Network> network = read(spikes_);
    ASSERT_TRUE(network) << network.error().message;
    const std::vector<std::vector<double>> expected = {{2.5, 5.5}, {}, {1.5}};
    EXPECT_EQ(std::get<SpikeTimePopulation>(network->populations[0].kind).times_ms, expected);
    write("spikes.txt", "0 5.5\n3 1\n");
    EXPECT_EQ(error(spikes_), "spikes.txt:2: column 1 is 3, not a whole number from 0 to 2");
    write("spikes.txt", "0 5.5\n1 nan\n");
    EXPECT_EQ(error(spikes_), "spikes.txt:2:3: expected a finite number, found 'nan'");
    write("spikes.txt", "0 5.5\n1 2 3\n");
    EXPECT_EQ(error(spikes_), "spikes.txt:2: 3 numbers, expected 2");
    write("spikes.txt", "0 -1\n");
    EXPECT_EQ(error(spikes_), "net.toml:6:9: neuron 0 has a spike at -1 ms, before the run");
    write("spikes.txt", "");
    EXPECT_EQ(error(spikes_), "") << "no spikes are none";
    std::filesystem::remove(folder_ / "spikes.txt");
    EXPECT_EQ(error(spikes_), "net.toml:6:9: " + (folder_ / "spikes.txt").string() + ": No such file or directory");
}

TEST_F(NumberFiles, HoldNumbersBetweenBlanksTabsAndCommasOnly) {
    for (const std::string word : {"1.5.5", "1-2", "0x10", "2ms", "1;5"}) {
        write("spikes.txt", "0 " + word + "\n");
        EXPECT_EQ(error(spikes_), "spikes.txt:1:3: expected a finite number, found '" + word + "'");
    }
    write("spikes.txt", std::string("0 1\n2 \0 5\n", 10));
    EXPECT_EQ(error(spikes_), "spikes.txt:2:3: expected a finite number, found '\\x00'");
    write("spikes.txt", "0 " + std::string(50, 'x') + "\n");
    EXPECT_EQ(error(spikes_), "spikes.txt:1:3: expected a finite number, found '" + std::string(40, 'x') + "'");
    write("spikes.txt",
          "\xef\xbb\xbf"
          "0 5.5\n");
    EXPECT_EQ(error(spikes_), "") << "a mark of the byte order is no number";
}

TEST_F(NumberFiles, MayBeNumPyArrays) {
    // numpy.save of [[0, 5.5], [2, 1.5]], format 1.0.
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    header.resize(117, ' ');
    header += '\n';
    std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + char(118) + char(0) + header;
    for (const double value : {0.0, 5.5, 2.0, 1.5}) bytes.append(reinterpret_cast<const char*>(&value), 8);
    write("spikes.txt", bytes);
    const Result<Network> network = read(spikes_);
    ASSERT_TRUE(network) << network.error().message;
    const std::vector<std::vector<double>> expected = {{5.5}, {}, {1.5}};
    EXPECT_EQ(std::get<SpikeTimePopulation>(network->populations[0].kind).times_ms, expected);
    bytes.pop_back();
    write("spikes.txt", bytes);
    EXPECT_TRUE(error(spikes_).starts_with("spikes.txt: ")) << error(spikes_);
}

TEST_F(NumberFiles, GivePairs) {
    const std::string text =
        "[population.E]\nmodel = \"iaf_psc_delta\"\nsize = 3\n[[projection]]\nfrom = \"E\"\nto = \"E\"\n"
        "rule = \"list\"\nfile = \"pairs.txt\"\n";
    write("pairs.txt", "0 1 0.5 1.5\n2 0 -0.5 2\n");
    const Result<Network> network = read(text);
    ASSERT_TRUE(network) << network.error().message;
    const Projection& projection = network->projections[0];
    EXPECT_EQ(std::get<PairList>(projection.rule).pairs[1].source, 2u);
    EXPECT_EQ(std::get<Values>(projection.weight.kind).values, (std::vector<double>{0.5, -0.5}));
    EXPECT_EQ(std::get<Values>(projection.delay_ms.kind).values, (std::vector<double>{1.5, 2}));
    EXPECT_EQ(error(text + "delay = \"1 ms\"\n"), "net.toml:11:10: 'delay' is given here and in the file of pairs");
    write("pairs.txt", "0 1 0.5 0.01\n");
    EXPECT_EQ(error(text), "pairs.txt:1: a delay of 0.01 ms is below one step of 0.1 ms");
    write("pairs.txt", "0 1\n0 3\n");
    EXPECT_EQ(error(text), "pairs.txt:2: column 2 is 3, not a whole number from 0 to 2");
}

TEST_F(NumberFiles, MayBeMissingAsNetworksMay) {
    EXPECT_EQ(read_network((folder_ / "none.toml").string()).error().message,
              (folder_ / "none.toml").string() + ": No such file or directory");
    EXPECT_FALSE(read_network(folder_.string()));
    write("empty.toml", "");
    EXPECT_EQ(read_network((folder_ / "empty.toml").string()).error().message,
              (folder_ / "empty.toml").string() + ": [simulation] has no 'duration'");
}

}  // namespace network_file_test
}  // namespace riftjit::sim
