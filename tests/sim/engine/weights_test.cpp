// Weights as they are given: in double precision unless single is asked for, and of a sign that their receptor and
// their synapses know.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/simulation.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace weights_test {

class Weights : public RecordingFiles {
protected:
    struct Outcome {
        std::string error;
        uint64_t graph_hash = 0;
        std::vector<uint32_t> arrivals;  // that had come when the target fired, of one in each step
    };
    // A perfect integrator with a threshold of 1 mV; a spike arrives in each step.
    Outcome run(const std::string& projection, Precision precision = Precision::f64) const {
        std::string text = R"([simulation]
duration = "20 ms"
[models.integrator]
kind = "neuron"
equations = "V : mV"
threshold = "V >= 1 * mV"
reset = "V = 0 * mV"
receptors = { psp = "V += w" }
[population.T]
model = "integrator"
size = 1
)";
        text += "[population.S]\nmodel = \"spike_times\"\ntimes = [[";
        for (uint32_t step = 1; step <= 180; ++step) text += fmt::format("\"{} ms\", ", step * 0.1);
        text += "]]\n[[projection]]\nfrom = \"S\"\nto = \"T\"\n" + projection + "[[record]]\nspikes = \"T\"\n";
        const Result<Network> network = parse_network(text, path("net.toml"));
        if (!network) return {network.error().message, 0, {}};
        KernelCache cache(x86::compile, DiskCache::disabled());
        x86::HostKernels kernels(cache);
        auto pool = ThreadPool::create(2);
        auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool, precision);
        if (!simulation) return {simulation.error().message, 0, {}};
        if (const auto ran = simulation->run(network->steps()); !ran) return {ran.error().message, 0, {}};
        Outcome outcome{"", simulation->graph_hash(), {}};
        for (const Spike& spike : simulation->take_spikes()) outcome.arrivals.push_back(spike.step);
        return outcome;
    }
};

// 50 times 0.02 is 1 as sums of doubles go, and as those of 0.02 in single precision it is not.
TEST_F(Weights, CountThePointAtWhichTheySumUpHoweverTheyAreGiven) {
    write_bytes(path("pairs.txt"), "0 0 0.02 0.1\n");
    const std::string all = "rule = \"all_to_all\"\ndelay = \"0.1 ms\"\nweight = ";
    const std::string sources[] = {
        all + "\"0.02 mV\"\n",
        all + "{ normal = [\"0.02 mV\", \"0 mV\"] }\n",
        all + "{ uniform = [\"0.02 mV\", \"0.02 mV\"] }\n",
        "rule = \"list\"\nfile = \"pairs.txt\"\n",
        "rule = \"list\"\npairs = [[0, 0]]\nweight = [\"0.02 mV\"]\ndelay = \"0.1 ms\"\n",
        "rule = \"list\"\npairs = [[0, 0]]\nweight = [\"0.02 mV\"]\ndelay = [\"0.1 ms\"]\nsynapse = { model = "
        "\"tsodyks\", parameters = { U = 1, tau_rec = \"1e-9 ms\" } }\n",
    };
    for (const std::string& source : sources) {
        const Outcome outcome = run(source);
        EXPECT_EQ(outcome.error, "") << source;
        EXPECT_EQ(outcome.arrivals, (std::vector<uint32_t>{50, 100, 150})) << source;
    }
}

TEST_F(Weights, AreRefusedWhereSinglePrecisionCannotHoldThem) {
    write_bytes(path("pairs.txt"), "0 0 1e39 0.1\n");
    const std::string all = "rule = \"all_to_all\"\ndelay = \"0.1 ms\"\nweight = ";
    const std::pair<std::string, std::string> sources[] = {
        {all + "\"1e39 mV\"\n", "its weight is 1e+39 mV"},
        {all + "\"-1e39 mV\"\n", "its weight is -1e+39 mV"},
        {all + "{ normal = [\"1e39 mV\", \"0 mV\"] }\n", "its weight is 1e+39 mV"},
        {all + "{ uniform = [\"0 mV\", \"1e39 mV\"] }\n", "its weight is drawn from 1e+39 mV"},
        {"rule = \"list\"\nfile = \"pairs.txt\"\n", "its weight of pair 0 is 1e+39 mV"},
    };
    for (const auto& [source, what] : sources) {
        EXPECT_EQ(run(source, Precision::f32).error,
                  "projection S -> T: " + what + ": more than single precision holds");
        EXPECT_EQ(run(source).error, "") << source;
    }
    for (const std::string weight : {"\"1e-46 mV\"", "{ uniform = [\"-1e-46 mV\", \"-1e-46 mV\"] }"}) {
        const std::string tiny = run(all + weight + "\n", Precision::f32).error;
        EXPECT_TRUE(tiny.ends_with("1e-46 mV: less than single precision holds: it would be 0")) << tiny;
        EXPECT_EQ(run(all + weight + "\n").error, "");
    }
    EXPECT_EQ(run(all + "\"0 mV\"\n", Precision::f32).error, "");
    const std::string drawn = run(all + "{ lognormal = [\"1e39 mV\", 0] }\n", Precision::f32).error;
    EXPECT_TRUE(drawn.starts_with("projection S -> T: the weight drawn for a synapse from neuron 0 to 0 is ")) << drawn;
    EXPECT_NE(drawn.find(": more than single precision holds"), std::string::npos) << drawn;
}

// A graph is the same however its weights are given, in each precision.
TEST_F(Weights, HaveOneGraphHashHoweverTheyAreGiven) {
    write_bytes(path("pairs.txt"), "0 0 0.02 0.1\n");
    const std::string all = "rule = \"all_to_all\"\ndelay = \"0.1 ms\"\nweight = ";
    const std::string sources[] = {all + "\"0.02 mV\"\n", all + "{ uniform = [\"0.02 mV\", \"0.02 mV\"] }\n",
                                   "rule = \"list\"\nfile = \"pairs.txt\"\n",
                                   "rule = \"list\"\npairs = [[0, 0]]\nweight = [\"0.02 mV\"]\ndelay = \"0.1 ms\"\n"};
    for (const Precision precision : {Precision::f64, Precision::f32}) {
        std::set<uint64_t> hashes;
        std::set<std::vector<uint32_t>> arrivals;
        for (const std::string& source : sources) {
            const Outcome outcome = run(source, precision);
            EXPECT_EQ(outcome.error, "");
            hashes.insert(outcome.graph_hash);
            arrivals.insert(outcome.arrivals);
        }
        EXPECT_EQ(hashes.size(), 1u) << int(precision);
        EXPECT_EQ(arrivals.size(), 1u) << int(precision);
    }
}

// Every way by which a number comes into a network: what single precision makes infinite or 0 is refused by name.
TEST(NumbersOfSinglePrecision, AreRefusedWhereItCannotHoldThem) {
    struct Case {
        std::string tables, value, refusal;  // {}: where the value stands
    };
    const std::string input = "[[input]]\nto = \"E\"\n";
    const std::string dc = input + "kind = \"dc\"\namplitude = ", place = "net.toml:3:1: population E: ";
    const Case cases[] = {
        {"parameters = {{ E_L = \"{} mV\" }}\n", "1e39", "'E_L' is 1e+39 mV"},
        {"parameters = {{ E_L = [\"-70 mV\", \"{} mV\"] }}\n", "1e39", "'E_L' of neuron 1 is 1e+39 mV"},
        {"parameters = {{ I_e = \"{} pA\" }}\n", "1e-50", "'I_e' is 1e-50 pA"},
        {"initial = {{ V = \"{} mV\" }}\n", "-1e39", "the initial value of 'V' is -1e+39 mV"},
        {"initial = {{ V = {{ uniform = [\"{0} mV\", \"{0} mV\"] }} }}\n", "1e39",
         "the initial value of 'V' of neuron 0 is 1e+39 mV"},
        {dc + "\"{} pA\"\n", "1e39", "input dc -> E: its amplitude is 1e+39 pA"},
        {dc + "[\"1 pA\", \"{} pA\"]\n", "1e39", "input dc -> E: its amplitude of neuron 1 is 1e+39 pA"},
        {input + "kind = \"steps\"\ntimes = [\"0 ms\", \"1 ms\"]\namplitudes = [\"1 pA\", \"{} pA\"]\n", "1e-46",
         "input steps -> E: its amplitude is 1e-46 pA"},
        {input + "kind = \"ac\"\nfrequency = \"9 Hz\"\namplitude = \"{} pA\"\n", "1e39",
         "input ac -> E: its amplitude is 1e+39 pA"},
        {input + "kind = \"ac\"\nfrequency = \"9 Hz\"\namplitude = \"1 pA\"\noffset = \"{} pA\"\n", "1e39",
         "input ac -> E: its offset is 1e+39 pA"},
        {input + "kind = \"noise\"\ndeviation = \"{} pA\"\n", "1e39", "input noise -> E: its deviation is 1e+39 pA"},
        {input + "kind = \"noise\"\ndeviation = \"1 pA\"\nmean = \"{} pA\"\n", "1e39",
         "input noise -> E: its mean is 1e+39 pA"},
        {input + "kind = \"poisson\"\nreceptor = \"ex\"\nrate = \"9 Hz\"\nweight = \"{} pA\"\n", "1e39",
         "input poisson -> E: its weight is 1e+39 pA"},
        {input + "kind = \"poisson\"\nreceptor = \"ex\"\nrate = \"9 Hz\"\nweight = \"{} pA\"\n", "-1e-46",
         "input poisson -> E: its weight is -1e-46 pA"},
        {"initial = {{ V = \"E_L + {} * mV * rand()\" }}\n", "1e39",
         "model 'iaf_psc_exp', initial values: a constant is"},
        {"parameters = {{ C_m = \"{} pF\" }}\n", "1e-44",
         "model 'iaf_psc_exp': with 'C_m' of 1e-44 pF a constant is"},  // R is above all
    };
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    const auto error = [&](const std::string& tables, const std::string& value, Precision precision) -> std::string {
        const auto network =
            parse_network("[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"iaf_psc_exp\"\nsize = 2\n" +
                              fmt::format(fmt::runtime(tables), value),
                          "net.toml");
        if (!network) return network.error().message;
        auto pool = ThreadPool::create(1);
        const auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool, precision);
        return simulation ? "" : simulation.error().message;
    };
    for (const Case& one : cases) {
        const bool is_tiny = std::abs(std::stod(one.value)) < 1e-45;
        const std::string fault =
            is_tiny ? "less than single precision holds: it would be 0" : "more than single precision holds";
        EXPECT_EQ(error(one.tables, one.value, Precision::f32),
                  place + one.refusal + (one.refusal.ends_with(" is") ? " " : ": ") + fault);
        EXPECT_EQ(error(one.tables, one.value, Precision::f64), "") << one.tables;
        EXPECT_EQ(error(one.tables, "1", Precision::f32), "") << one.tables;
    }
}

// ---- signs ----------------------------------------------------------------------------------------------------------

std::string sign_error(const std::string& model, const std::string& receptor, const std::string& weight,
                       const std::string& synapse) {
    const std::string text = fmt::format(
        "[simulation]\nduration = \"1 ms\"\n[population.T]\nmodel = \"{}\"\nsize = 50\n[[projection]]\nfrom = "
        "\"T\"\nto = \"T\"\nrule = \"one_to_one\"\nreceptor = \"{}\"\ndelay = \"1 ms\"\nweight = {}\n{}",
        model, receptor, weight, synapse);
    const Result<Network> network = parse_network(text, "net.toml");
    if (!network) return network.error().message;
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(1);
    const auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool);
    return simulation ? "" : simulation.error().message;
}

TEST(WeightsOfPlasticity, HaveTheSignOfTheirBound) {
    const auto error = [](const std::string& model, const std::string& parameters, const std::string& weight) {
        return sign_error("iaf_psc_exp", "ex", weight,
                          fmt::format("synapse = {{ model = \"{}\", parameters = {{ {} }} }}\n", model, parameters));
    };
    const auto refusal = [](const std::string& weight, const std::string& bound) {
        return "net.toml:12:11: projection T -> T: its weight is " + weight + " pA: it must have the sign of " + bound;
    };
    for (const std::string model : {"stdp", "stdp_nn_symm", "stdp_nn_pre_centered", "stdp_nn_restr"}) {
        EXPECT_EQ(error(model, "", "\"-50 pA\""), refusal("-50", "'Wmax', which is 100"));
        EXPECT_EQ(error(model, "Wmax = -100", "\"50 pA\""), refusal("50", "'Wmax', which is -100"));
        EXPECT_EQ(error(model, "Wmax = -100", "\"-50 pA\""), "");
        EXPECT_EQ(error(model, "Wmax = -100", "\"0 pA\""), "");
        EXPECT_TRUE(error(model, "Wmax = 0", "\"0 pA\"").ends_with(": 'Wmax' is 0: it must not be 0"));
    }
    EXPECT_EQ(error("vogels_sprekeler", "", "\"-50 pA\""), refusal("-50", "'Wmax', which is 1"));
    EXPECT_EQ(error("vogels_sprekeler", "Wmax = -100", "\"-50 pA\""), "");
    // Their rules are of weights above 0 alone.
    EXPECT_EQ(error("stdp_triplet", "", "\"-50 pA\""), refusal("-50", "'Wmax', which is 100"));
    EXPECT_EQ(error("stdp_triplet", "Wmax = -100", "\"-50 pA\""), "net.toml:13:59: 'Wmax' is -100: it must be above 0");
    EXPECT_EQ(error("stdp_pl", "", "\"-50 pA\""), refusal("-50", "'w_0', which is 1"));
    EXPECT_EQ(error("tsodyks", "", "\"-50 pA\""), "");
    const std::string drawn = error("stdp", "", "{ normal = [\"50 pA\", \"100 pA\"] }");
    EXPECT_TRUE(
        drawn.ends_with("it must have the sign of 'Wmax', which is 100; 'keep_sign', 'least' and 'most' bound "
                        "what is drawn"))
        << drawn;
    EXPECT_EQ(error("stdp", "", "{ normal = [\"50 pA\", \"100 pA\"], keep_sign = true }"), "");
}

TEST(WeightsOfConductances, AreNotNegative) {
    const std::string why =
        " nS: conductances are not negative (NEST's negative weight is its size, into the inhibitory receptor)";
    const std::string place = "net.toml:12:11: projection T -> T: its weight is ";
    for (const std::string model : {"iaf_cond_exp", "aeif_cond_exp", "hh_cond_exp_traub", "lif_coba"}) {
        for (const std::string receptor : {"ex", "in"}) {
            EXPECT_EQ(sign_error(model, receptor, "\"-50 nS\"", ""), place + "-50" + why);
            EXPECT_EQ(sign_error(model, receptor, "\"50 nS\"", ""), "");
        }
    }
    EXPECT_EQ(sign_error("lif_cuba", "in", "\"-9 mV\"", ""), "") << "no conductance";
    EXPECT_EQ(sign_error("lif_coba", "in", "\"-1 nS\"",
                         "synapse = { model = \"vogels_sprekeler\", parameters = { Wmax "
                         "= -2 } }\n"),
              place + "-1" + why);
    EXPECT_EQ(sign_error("lif_coba", "ex", "{ uniform = [\"-1 nS\", \"1 nS\"] }", ""),
              "net.toml:12:10: projection T -> T: its weight is drawn from -1" + why);
    EXPECT_NE(sign_error("lif_coba", "ex", "{ normal = [\"1 nS\", \"1 nS\"] }", ""), "");
    EXPECT_EQ(sign_error("lif_coba", "ex", "{ normal = [\"1 nS\", \"1 nS\"], least = \"0 nS\" }", ""), "");
    EXPECT_EQ(sign_error("lif_coba", "ex", "\"1 nS\"",
                         "[[input]]\nkind = \"poisson\"\nto = \"T\"\nreceptor = \"in\"\nrate = \"1 kHz\"\nweight = "
                         "\"-2 nS\"\n"),
              "net.toml:18:11: 'weight' is -2" + why);
}

// The weights that are refused are those by which a conductance falls, whichever way a model is written.
TEST(WeightsOfConductances, AreRefusedByWhatTheirModelsMakeOfThem) {
    struct Case {
        std::string receptor, delivers;
        std::string extra;  // tables
        int sign;           // of the weights that are taken; 0: any
    };
    const std::string reversing = "[population.T.parameters]\nk = -1\n";
    const Case cases[] = {
        {"g += w", "w", "", 1},
        {"g += k * w", "w", "", 1},
        {"g += w * (1 - k / 2)", "w", "", 1},
        {"g -= -w", "w", "", 1},
        {"g -= w", "w", "", -1},
        {"g += -w", "w", "", -1},
        {"g += -2 * w", "w", "", -1},
        {"g += w / -2", "w", "", -1},
        {"g += 0 - w", "w", "", -1},
        {"g += -(k * w)", "w", "", -1},
        {"g += (1 - 2) * w", "w", "", -1},
        {"g += w * (k - 3)", "w", "", -1},
        {"g += w - 2 * w", "w", "", -1},
        {"g += w * (3 - k)", "w", "", 1},
        {"g += w", "(1 - 2) * w", "", -1},
        {"g += w", "w - 2 * w", "", -1},
        {"g += w", "w * (u - 3)", "", -1},
        {"g += k * w", "w", reversing, -1},
        {"g -= k * w", "w", reversing, 1},
        {"g += less * w", "w", "", -1},
        {"g += w", "-w", "", -1},
        {"g += w", "-u * w", "", -1},
        {"g += w", "w - 3 * w * s", "", 1},
        {"g -= w", "-w", "", 1},
        {"g += w\nh -= w", "w", "", 0},
        {"h += w", "w", "", 1},
        {"V -= w", "-w", "", 0},
    };
    for (const Case& one : cases) {
        const auto error = [&](const std::string& weight) {
            return sign_error(
                "m", "r", "\"" + weight + (one.receptor.starts_with("V") ? " mV\"" : " nS\""),
                fmt::format("synapse = \"s\"\n[models.m]\nkind = \"neuron\"\nequations = \"\"\"\ndg/dt = -g / (5 * "
                            "ms) : nS\ndh/dt = -h / ms : nS\nV : mV\nless = -2 : 1\n\"\"\"\nparameters = {{ k = 1 "
                            "}}\nreceptors = {{ r = \"\"\"\n{}\n\"\"\" }}\n[models.s]\nkind = \"synapse\"\n"
                            "equations = \"s : 1\"\nparameters = {{ u = 0.5 }}\non_pre = \"\"\"\nx = {}\ndeliver(x)\n"
                            "\"\"\"\n{}",
                            one.receptor, one.delivers, one.extra));
        };
        const std::string refused = ": conductances are not negative";
        const std::string what = one.receptor + " of " + one.delivers + " " + one.extra;
        const std::string above = error("1"), below = error("-1");
        EXPECT_EQ(above.empty(), one.sign >= 0) << what << ": " << above;
        EXPECT_EQ(below.empty(), one.sign <= 0) << what << ": " << below;
        for (const std::string& message : {above, below}) {
            if (!message.empty()) {
                EXPECT_NE(message.find(" nS" + refused), std::string::npos) << what << ": " << message;
            }
        }
    }
    EXPECT_EQ(
        sign_error("lif_coba", "ex", "\"1 nS\"",
                   "synapse = \"s\"\n[models.s]\nkind = \"synapse\"\nequations = \"\"\non_pre = \"deliver(-w)\"\n"),
        "net.toml:12:11: projection T -> T: its weight is 1 nS: conductances are not negative, and the model "
        "reverses the sign of this weight");
}

}  // namespace weights_test
}  // namespace riftjit::sim
