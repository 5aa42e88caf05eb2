// Times that no step starts at, rates and resets that steps cannot follow: one rule, said once; or refused.
#include "sim/step_times.h"

#include <gtest/gtest.h>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/simulation.h"

namespace riftjit::sim {
namespace step_times_test {

struct Outcome {
    std::string error;  // the others are empty where there is one
    std::vector<std::string> notes;
    std::vector<Spike> spikes;
    std::vector<double> samples;  // of the last recorder
};
Outcome run(const std::string& text, const NetworkOverrides& overrides = {}) {
    const Result<Network> network = parse_network(text, "net.toml", overrides);
    if (!network) return {.error = network.error().message};
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(1);
    auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool);
    if (!simulation) return {.error = simulation.error().message};
    if (const auto ran = simulation->run(network->steps()); !ran) return {.error = ran.error().message};
    Outcome outcome{"", network->notes, simulation->take_spikes(), {}};
    if (!network->recorders.empty()) outcome.samples = simulation->take_samples(network->recorders.size() - 1);
    return outcome;
}
using Notes = std::vector<std::string>;

// Halves as decimals have them, to the even number: 2k + 1 halves of a step, whatever binary makes of it.
TEST(StepTimes, OfHalvesGoToTheEvenStep) {
    for (const auto& [time, steps] : {std::pair(0.15, 2), {0.25, 2}, {0.35, 4}, {15.95, 160}, {16.05, 160}, {0.05, 0}})
        EXPECT_EQ(nearest_steps(time, 0.1), steps) << time;
    for (const auto& [digits, step] :
         {std::pair(2, 0.1), {3, 0.01}, {3, 0.05}, {4, 0.025}, {1, 0.4}, {0, 2.0}, {2, 0.3}, {2, 0.7}})
        for (uint64_t k = 0; k < 3000; ++k) {
            const double half = std::stod(fmt::format("{:.{}f}", (double(k) + 0.5) * step, digits + 1));
            const double even = double(k % 2 == 0 ? k : k + 1);
            ASSERT_EQ(nearest_steps(half, step), even) << half << " " << step;
            ASSERT_EQ(nearest_steps(-half, step), -even) << half << " " << step;
            ASSERT_EQ(nearest_steps((double(k) + 0.5) * step, step), even) << "what arithmetic makes of it";
            ASSERT_EQ(nearest_steps(half * (1 + 1e-12), step), double(k + 1)) << half;
            ASSERT_EQ(nearest_steps(half * (1 - 1e-12), step), double(k)) << half;
        }
    EXPECT_EQ(nearest_steps(0.1 + 0.2, 0.2), 2);  // 0.30000000000000004
    EXPECT_EQ(nearest_steps(0.00025 * 1000, 0.1), 2);
    EXPECT_EQ(nearest_steps(429496729.45, 0.1), 4294967294);
    EXPECT_EQ(nearest_steps(429496729.55, 0.1), 4294967296);
    EXPECT_EQ(nearest_steps(1e300, 0.1), std::nearbyint(1e300 / 0.1));
    EXPECT_EQ(nearest_steps(1.5e-6, 1e-6), 2);
    EXPECT_EQ(nearest_steps(2.5e6, 1e6), 2);
    EXPECT_EQ(nearest_steps(1e-300, 0.1), 0);
}

TEST(StepTimes, AreWholeStepsWhateverTheirDecimalsLose) {
    EXPECT_EQ(nearest_steps(0.35, 0.1), 4);  // 0.35 / 0.1 is below 3.5
    EXPECT_EQ(nearest_steps(1.05, 0.1), 10);
    EXPECT_EQ(nearest_steps(0.34, 0.1), 3);
    EXPECT_TRUE(std::isnan(nearest_steps(std::nan(""), 0.1)));
    EXPECT_EQ(nearest_steps(kUnlimited, 0.1), kUnlimited);
    EXPECT_EQ(first_step_from(0.3, 0.1), 3u);  // 0.3 / 0.1 is below 3
    EXPECT_EQ(first_step_from(0.31, 0.1), 4u);
    EXPECT_EQ(first_step_from(0.7 + 0.1, 0.1), 8u);
    EXPECT_EQ(first_step_from(kUnlimited, 0.1), UINT32_MAX);
    EXPECT_FALSE(is_closer_than_step(0.1, 0.2, 0.1));
    EXPECT_TRUE(is_closer_than_step(0.1, 0.19, 0.1));
}

// ---- changes and windows --------------------------------------------------------------------------------------------

// An integrator with a step of 0.5 ms, to whose current the input is added: V grows by current times step.
std::string changes(const std::string& input, const std::string& recorder = "") {
    return R"([simulation]
duration = "4 ms"
step = "0.5 ms"
[models.integrator]
kind = "neuron"
equations = "dV/dt = I_e / (1 * pF) : mV"
parameters = { I_e = "0 pA" }
receptors = { psp = "V += w" }
[population.M]
model = "integrator"
size = 1
[[input]]
to = "M"
)" + input +
           "[[record]]\nstates = \"M\"\nvariables = \"V\"\ninterval = \"0.5 ms\"\n" + recorder;
}
std::vector<double> currents(const Outcome& outcome) {  // in each step
    std::vector<double> steps;
    for (size_t i = 0; i < outcome.samples.size(); ++i)
        steps.push_back((outcome.samples[i] - (i == 0 ? 0 : outcome.samples[i - 1])) / 0.5);
    return steps;
}

TEST(Changes, CountFromTheNextStartOfAStepAndSaySo) {
    const std::string dc = "kind = \"dc\"\namplitude = \"2 pA\"\n";
    const std::string between = " the starts of steps of 0.5 ms: ";
    struct Case {
        std::string input;
        std::vector<double> currents;
        Notes notes;
    };
    const Case cases[] = {
        {"kind = \"steps\"\ntimes = [\"0.6 ms\", \"1.1 ms\", \"2.9 ms\"]\namplitudes = [\"1 pA\", \"2 pA\", \"3 "
         "pA\"]\n",
         {0, 0, 1, 2, 2, 2, 3, 3},
         {"input steps -> M: 3 of 3 times lie between" + between + "0.6 ms counts from 1 ms on"}},
        {"kind = \"steps\"\ntimes = [\"0.5 ms\", \"1.4 ms\"]\namplitudes = [\"1 pA\", \"2 pA\"]\n",
         {0, 1, 1, 2, 2, 2, 2, 2},
         {"input steps -> M: 1 of 2 times lie between" + between + "1.4 ms counts from 1.5 ms on"}},
        {dc + "start = \"1.04 ms\"\n",
         {0, 0, 0, 2, 2, 2, 2, 2},
         {"input dc -> M: 1.04 ms lies between" + between + "it counts from 1.5 ms on"}},
        {dc + "start = \"0.5 ms\"\nstop = \"1.06 ms\"\n",
         {0, 2, 2, 0, 0, 0, 0, 0},
         {"input dc -> M: 1.06 ms lies between" + between + "it counts from 1.5 ms on"}},
        {dc + "start = \"1 ms\"\nstop = \"2 ms\"\n", {0, 0, 2, 2, 0, 0, 0, 0}, {}},
    };
    for (const Case& one : cases) {
        const Outcome outcome = run(changes(one.input));
        EXPECT_EQ(outcome.error, "") << one.input;
        EXPECT_EQ(currents(outcome), one.currents) << one.input;
        EXPECT_EQ(outcome.notes, one.notes) << one.input;
    }
}

TEST(Changes, CloserThanAStepAreRefused) {
    const std::string poisson = "kind = \"poisson\"\nreceptor = \"psp\"\nweight = \"1 mV\"\n";
    const std::string window = "net.toml:17:8: 'stop' is 1.06 ms, less than a step of 0.5 ms after 'start' at 1.04 ms";
    const std::pair<std::string, std::string> inputs[] = {
        {"kind = \"steps\"\ntimes = [\"0.6 ms\", \"1.1 ms\", \"1.2 ms\"]\namplitudes = [\"1 pA\", \"2 pA\", \"3 "
         "pA\"]\n",
         "net.toml:15:9: 1.2 ms is less than a step of 0.5 ms after 1.1 ms"},
        {poisson + "times = [\"0 ms\", \"0.4 ms\"]\nrates = [\"1 Hz\", \"2 Hz\"]\n",
         "net.toml:17:9: 0.4 ms is less than a step of 0.5 ms after 0 ms"},
        {"kind = \"dc\"\namplitude = \"1 pA\"\nstart = \"1.04 ms\"\nstop = \"1.06 ms\"\n", window},
        {"kind = \"ac\"\namplitude = \"1 pA\"\nfrequency = \"1 Hz\"\nstart = \"1.04 ms\"\nstop = \"1.06 ms\"\n",
         window},
        {"kind = \"noise\"\ndeviation = \"1 pA\"\nstart = \"1.04 ms\"\nstop = \"1.06 ms\"\n", window},
        {poisson + "rate = \"1 Hz\"\nstart = \"1.04 ms\"\nstop = \"1.06 ms\"\n", window},
        {"kind = \"dc\"\namplitude = \"1 pA\"\n[[record]]\nspikes = \"all\"\nstart = \"1.04 ms\"\nstop = \"1.06 ms\"\n",
         window},
    };
    const auto without_place = [](const std::string& message) { return message.substr(message.find(": ")); };
    for (const auto& [input, error] : inputs)
        EXPECT_EQ(without_place(run(changes(input)).error), without_place(error)) << input;
    const std::string source = "[simulation]\nduration = \"4 ms\"\n[population.P]\nmodel = \"poisson\"\nsize = 1\n";
    EXPECT_EQ(run(source + "rate = \"1 Hz\"\nstart = \"1.04 ms\"\nstop = \"1.06 ms\"\n").error,
              "net.toml:8:9: 'stop' is 1.06 ms, less than a step of 0.1 ms after 'start' at 1.04 ms");
    EXPECT_EQ(run(source + "times = [\"1.1 ms\", \"1.19 ms\"]\nrates = [\"1 Hz\", \"2 Hz\"]\n").error,
              "net.toml:6:9: 1.19 ms is less than a step of 0.1 ms after 1.1 ms");
}

// ---- rounded times --------------------------------------------------------------------------------------------------

// The steps between two spikes of a neuron that its drive would let fire in every step: t_ref and one more.
TEST(RefractoryTimes, AreRoundedAsDelaysAreAndSaySo) {
    const auto neurons = [](const std::string& t_ref) {
        return "[simulation]\nduration = \"48 ms\"\n[population.E]\nmodel = \"iaf_psc_delta\"\nsize = 2\nparameters = "
               "{ "
               "I_e = \"1e6 pA\", t_ref = " +
               t_ref + " }\n[[record]]\nspikes = \"E\"\n";
    };
    // The same delay from one neuron to another.
    const auto delayed = [](const std::string& delay) {
        return "[simulation]\nduration = \"48 ms\"\n[population.S]\nmodel = \"spike_times\"\ntimes = [[\"1 ms\"]]\n"
               "[population.R]\nmodel = \"relay\"\nsize = 1\n[[projection]]\nfrom = \"S\"\nto = \"R\"\nrule = "
               "\"one_to_one\"\ndelay = \"" +
               delay + "\"\n[[record]]\nspikes = \"R\"\n";
    };
    const std::string rounded = " ms is rounded to ";
    for (const auto& [time, steps] : {std::pair<std::string, uint32_t>{"0.15", 2},
                                      {"0.25", 2},
                                      {"0.35", 4},
                                      {"0.45", 4},
                                      {"1.05", 10},
                                      {"1.04", 10},
                                      {"1.15", 12},
                                      {"1.06", 11},
                                      {"15.95", 160},
                                      {"16.05", 160}}) {
        const std::string quoted = "\"" + time + " ms\"";
        const std::string end = fmt::format("{}{} steps of 0.1 ms", time + rounded, steps);
        const Outcome constant = run(neurons(quoted)), listed = run(neurons("[" + quoted + ", " + quoted + "]")),
                      delay = run(delayed(time + " ms"));
        EXPECT_EQ(constant.notes, Notes{"population E: a refractory time of " + end});
        EXPECT_EQ(listed.notes, constant.notes);
        EXPECT_EQ(delay.notes, Notes{"projection S -> R: a delay of " + end});
        ASSERT_GT(constant.spikes.size(), 2u) << constant.error;
        EXPECT_EQ(constant.spikes[2].step - constant.spikes[0].step, steps + 1) << time;
        EXPECT_EQ(listed.spikes, constant.spikes) << time;
        ASSERT_EQ(delay.spikes.size(), 1u) << delay.error;
        EXPECT_EQ(delay.spikes[0].step, 9 + steps) << time;
    }
    EXPECT_EQ(run(neurons("\"0.04 ms\"")).notes,
              Notes{"population E: a refractory time of 0.04 ms is rounded to 0 steps of 0.1 ms"});
    EXPECT_EQ(run(neurons("[\"1 ms\", \"1.05 ms\"]")).notes,
              Notes{"population E: 1 of 2 refractory times, such as 1.05 ms, are rounded to steps of 0.1 ms"});
    EXPECT_EQ(run(neurons("\"2 ms\"")).notes, Notes{});
    NetworkOverrides coarse;
    coarse.step_ms = 0.8;
    EXPECT_EQ(run(neurons("\"2 ms\""), coarse).notes,
              Notes{"population E: a refractory time of 2 ms is rounded to 2 steps of 0.8 ms"});
}

TEST(Delays, OfAListSayHowManyAreRounded) {
    EXPECT_EQ(run("[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"iaf_psc_delta\"\nsize = 2\n"
                  "[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"list\"\npairs = [[0, 1], [1, 0]]\nweight = 0\n"
                  "delay = [\"1.05 ms\", \"1 ms\"]\n")
                  .notes,
              Notes{"projection E -> E: 1 of 2 delays, such as 1.05 ms, are rounded to steps of 0.1 ms"});
}

// ---- rates ----------------------------------------------------------------------------------------------------------

TEST(RatesOfSources, ThatStepsCutShortAreSaidOrRefused) {
    const auto source = [](const std::string& rate) {
        return "[simulation]\nduration = \"4 s\"\n[population.P]\nmodel = \"poisson\"\nsize = 20\n" + rate +
               "[[record]]\nspikes = \"P\"\n";
    };
    const auto note = [](const std::string& rate, const std::string& results) {
        return Notes{"population P: of a rate of " + rate + " Hz results one of " + results +
                     " Hz, since a neuron fires once in a step of 0.1 ms at most"};
    };
    const Outcome fast = run(source("rate = \"10 kHz\"\n"));
    EXPECT_EQ(fast.notes, note("10000", "6321.2"));
    EXPECT_NEAR(double(fast.spikes.size()) / 20 / 4, 6321.2, 5 * std::sqrt(10'000 * 0.6321 * 0.3679 / 80));
    EXPECT_EQ(run(source("rate = \"250 Hz\"\n")).notes, note("250", "246.9"));
    EXPECT_EQ(run(source("rate = \"100 Hz\"\n")).notes, Notes{});
    EXPECT_EQ(run(source("times = [\"0 s\", \"1 s\"]\nrates = [\"10 Hz\", \"2 kHz\"]\n")).notes,
              note("2000", "1812.7"));
    const std::string beyond = " Hz, more than one spike in each step of 0.1 ms: the most is 10000 Hz";
    EXPECT_EQ(run(source("rate = \"100 kHz\"\n")).error, "net.toml:6:9: 'rate' is 100000" + beyond);
    EXPECT_EQ(run(source("times = [\"0 s\", \"1 s\"]\nrates = [\"10 Hz\", \"11 kHz\"]\n")).error,
              "net.toml:7:9: the greatest rate is 11000" + beyond);
    EXPECT_EQ(run(source("rate = \"9 kHz\"\namplitude = \"2 kHz\"\nfrequency = \"1 Hz\"\n")).error,
              "net.toml:6:9: the greatest rate is 11000" + beyond);
    const auto gamma = [](const std::string& rate) {
        return "[simulation]\nduration = \"1 ms\"\n[population.G]\nmodel = \"gamma\"\nsize = 2\nparameters = { rate "
               "= " +
               rate + " }\n";
    };
    EXPECT_EQ(run(gamma("\"10 kHz\"")).error, "");
    EXPECT_EQ(
        run(gamma("\"11 kHz\"")).error,
        "net.toml:3:1: population G: model 'gamma': 'rate' is 11 1/ms, more than one spike in each step of 0.1 ms");
    EXPECT_NE(run(gamma("[\"1 kHz\", \"11 kHz\"]")).error, "");
    EXPECT_NE(
        run("[simulation]\nduration = \"1 s\"\nstep = \"200 ms\"\n[population.G]\nmodel = \"gamma\"\nsize = 2\n").error,
        "")
        << "the default of 10 Hz";
}

// Of sources that fire once in a step at most, what inputs add to their rate.
TEST(Rates, ThatInputsRaiseAboveOneSpikeAStepAreRefused) {
    struct Case {
        std::string rate, inputs;
        double at_ms, refused;  // per ms; 0: it is taken
    };
    const auto input = [](const std::string& kind, const std::string& keys) {
        return fmt::format("[[input]]\nkind = \"{}\"\nname = \"{}\"\nto = \"G\"\nparameter = \"rate\"\n{}\n", kind,
                           keys.size(), keys);
    };
    const std::string early = "start = \"0.5 ms\"\nstop = \"1 ms\"\n", late = "start = \"1 ms\"\n";
    const Case cases[] = {
        {"\"9 kHz\"", input("dc", "amplitude = \"1 kHz\""), 0, 0},
        {"\"9 kHz\"", input("dc", "amplitude = \"2 kHz\""), 0, 11},
        {"\"9 kHz\"", input("dc", "amplitude = \"-2 kHz\""), 0, 0},
        {"\"1 kHz\"", input("dc", "amplitude = \"20 kHz\"\n" + early), 0.5, 21},
        {"\"1 kHz\"", input("dc", early + "amplitude = \"8 kHz\"") + input("dc", late + "amplitude = \"7 kHz\""), 0, 0},
        {"\"1 kHz\"", input("dc", early + "amplitude = \"8 kHz\"") + input("dc", "amplitude = \"7 kHz\""), 0.5, 16},
        {"\"1 kHz\"", input("steps", "times = [\"0 ms\", \"1 ms\"]\namplitudes = [\"1 kHz\", \"10 kHz\"]"), 1, 11},
        {"\"1 kHz\"", input("steps", "times = [\"0 ms\", \"1 ms\"]\namplitudes = [\"1 kHz\", \"9 kHz\"]"), 0, 0},
        {"\"1 kHz\"", input("ac", "amplitude = \"-10 kHz\"\nfrequency = \"100 Hz\""), 0, 11},
        {"\"1 kHz\"", input("noise", "mean = \"10 kHz\"\ndeviation = \"1 Hz\""), 0, 11},
        {"[\"8 kHz\", \"1 kHz\"]", input("dc", "amplitude = [\"1 kHz\", \"8 kHz\"]"), 0, 0},
        {"[\"8 kHz\", \"1 kHz\"]", input("dc", "amplitude = [\"3 kHz\", \"8 kHz\"]"), 0, 11},
    };
    for (const Case& one : cases) {
        const std::string error = run("[simulation]\nduration = \"2 ms\"\n[population.G]\nmodel = \"gamma\"\nsize = "
                                      "2\nparameters = { rate = " +
                                      one.rate + " }\n" + one.inputs)
                                      .error;
        const std::string refusal = fmt::format(
            "net.toml:3:1: population G: with its inputs at {} ms model 'gamma': 'rate' is {} 1/ms, more than "
            "one spike in each step of 0.1 ms",
            one.at_ms, one.refused);
        EXPECT_EQ(error, one.refused == 0 ? "" : refusal) << one.inputs;
    }
}

// ---- resets ---------------------------------------------------------------------------------------------------------

TEST(Resets, ThatLeaveTheThresholdTrueAreRefused) {
    const auto error = [](const std::string& model, const std::string& parameters) {
        return run("[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"" + model +
                   "\"\nsize = 3\nparameters = { " + parameters + " }\n")
            .error;
    };
    const auto refusal = [](const std::string& model, const std::string& values) {
        return "net.toml:3:1: population E: model '" + model + "': the threshold holds right after the reset (" +
               values + "): it would fire in every step";
    };
    for (const std::string model : {"iaf_psc_delta", "iaf_psc_exp", "iaf_psc_alpha", "iaf_cond_exp"}) {
        EXPECT_EQ(error(model, "V_reset = \"-50 mV\""), refusal(model, "V_reset -50 mV, V_th -55 mV"));
        EXPECT_EQ(error(model, "V_reset = \"-55 mV\""), refusal(model, "V_reset -55 mV, V_th -55 mV"));
        EXPECT_EQ(error(model, "V_reset = \"-55.1 mV\""), "");
    }
    EXPECT_EQ(error("aeif_cond_exp", "V_peak = \"-60 mV\""), refusal("aeif_cond_exp", "V_peak -60 mV, V_reset -60 mV"));
    EXPECT_EQ(error("aeif_cond_exp", "V_reset = \"-46 mV\""), "") << "above V_th: it bursts";
    EXPECT_EQ(error("izhikevich", "c = \"40 mV\""), refusal("izhikevich", "V_th 30 mV, c 40 mV"));
    EXPECT_EQ(error("lif_coba", "V_reset = \"-49 mV\""), refusal("lif_coba", "V_reset -49 mV, V_th -50 mV"));
    EXPECT_EQ(error("lif_coba", "V_reset = \"-50 mV\""), "") << "fires above its threshold, not at it";
    const auto own = [&](const std::string& threshold, const std::string& reset) {
        return run("[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"own\"\nsize = 1\n[models.own]\nkind = "
                   "\"neuron\"\nequations = \"dV/dt = -V / (10 * ms) : mV\"\nthreshold = \"" +
                   threshold + "\"\nreset = \"" + reset + "\"\n")
            .error;
    };
    EXPECT_EQ(
        own("V >= 1 * mV", "V = 2 * mV"),
        "net.toml:3:1: population E: model 'own': the threshold holds right after the reset: it would fire in every "
        "step");
    EXPECT_EQ(own("V >= 1 * mV", "V -= 2 * mV"), "") << "depends on the state";
    EXPECT_EQ(own("rand() < 0.5", "V = 2 * mV"), "");
    EXPECT_EQ(own("1 > 0", "V = 2 * mV"), "") << "meant to";
    const std::string drawn = error("iaf_psc_exp", "V_reset = { uniform = [\"-54 mV\", \"-50 mV\"] }");
    EXPECT_TRUE(drawn.starts_with("net.toml:3:1: population E: 'V_reset' of neuron ")) << drawn;
    const std::string resets = "V_reset = [\"-60 mV\", \"-60 mV\", \"-53 mV\"], ";
    EXPECT_EQ(error("iaf_psc_exp", resets + "V_th = [\"-55 mV\", \"-55 mV\", \"-52 mV\"]"), "");
    EXPECT_EQ(
        error("iaf_psc_exp", resets + "V_th = [\"-55 mV\", \"-55 mV\", \"-54 mV\"]"),
        "net.toml:3:1: population E: neuron 2: the threshold holds right after the reset (V_reset -53 mV, V_th -54 "
        "mV): it would fire in every step");
}

}  // namespace step_times_test
}  // namespace riftjit::sim
