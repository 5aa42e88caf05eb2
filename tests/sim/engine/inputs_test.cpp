// Inputs of described networks against closed forms: rates, variations, variances. Bounds are five standard errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "jit/columns/philox.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/simulation.h"
#include "sim/network/random.h"

namespace riftjit::sim {
namespace inputs_test {

struct Outcome {
    std::vector<Spike> spikes;
    std::vector<double> samples;  // of the last recorder
};
Outcome run(const std::string& text, uint32_t threads = 2) {
    const Result<Network> network = parse_network(text, "net.toml");
    if (!network) throw std::runtime_error(network.error().message);
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(threads);
    auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool).value();
    const auto ran = simulation.run(network->steps());
    if (!ran) throw std::runtime_error(ran.error().message);
    Outcome outcome{simulation.take_spikes(), {}};
    if (!network->recorders.empty()) outcome.samples = simulation.take_samples(network->recorders.size() - 1);
    return outcome;
}
std::string simulation(double duration_ms) { return fmt::format("[simulation]\nduration = \"{} ms\"\n", duration_ms); }

double count_between(const std::vector<Spike>& spikes, double from_ms, double to_ms) {
    return double(std::ranges::count_if(spikes, [&](const Spike& spike) {
        return spike.step * 0.1 >= from_ms - 0.05 && spike.step * 0.1 < to_ms - 0.05;
    }));
}
void expect_count(const std::vector<Spike>& spikes, double from_ms, double to_ms, double expected, double variance) {
    EXPECT_NEAR(count_between(spikes, from_ms, to_ms), expected, 5 * std::sqrt(variance)) << from_ms << " ms";
}

// ---- Poisson processes ----------------------------------------------------------------------------------------------

constexpr int kMany = 2000;
const std::string kAll = "[[record]]\nspikes = \"all\"\n";

// A neuron fires in a step with probability 1 - exp(-rate h), independently: the count is binomial.
void expect_binomial(const std::vector<Spike>& spikes, double from_ms, double to_ms, double rate_hz) {
    const double trials = kMany * (to_ms - from_ms) / 0.1, p = -std::expm1(-rate_hz * 1e-3 * 0.1);
    expect_count(spikes, from_ms, to_ms, trials * p, trials * p * (1 - p));
}

TEST(PoissonSources, FollowRatesThatChange) {
    const std::string path = testing::TempDir() + fmt::format("riftjit-rates-{}.txt", getpid());
    std::ofstream(path) << "# ms Hz\n20 40\n60 0\n80 200\n";
    const std::string head =
        simulation(120) + kAll + fmt::format("[population.P]\nmodel = \"poisson\"\nsize = {}\n", kMany);
    const Outcome lists = run(head + "times = [\"20 ms\", \"60 ms\", \"80 ms\"]\nrates = [\"40 Hz\", 0, \"200 Hz\"]\n");
    EXPECT_EQ(run(head + "file = \"" + path + "\"\n").spikes, lists.spikes);
    std::filesystem::remove(path);
    EXPECT_EQ(count_between(lists.spikes, 0, 20), 0);
    expect_binomial(lists.spikes, 20, 60, 40);
    EXPECT_EQ(count_between(lists.spikes, 60, 80), 0);
    expect_binomial(lists.spikes, 80, 120, 200);
}

// The mean number of events: the sum over steps of the rate at their starts, never below 0.
double sine_events(double from_ms, double to_ms, double level_hz, double amplitude_hz, double frequency_hz) {
    double events = 0;
    for (int step = int(std::lround(from_ms / 0.1)); step < std::lround(to_ms / 0.1); ++step)
        events +=
            1e-4 * std::max(0.0, level_hz + amplitude_hz * std::sin(2 * std::numbers::pi * frequency_hz * step * 1e-4));
    return events;
}

TEST(PoissonSources, FollowASineCutAtZero) {
    for (const double amplitude : {30.0, 100.0}) {  // below and above the mean rate
        const Outcome outcome =
            run(simulation(100) + kAll +
                fmt::format("[population.P]\nmodel = \"poisson\"\nsize = {}\nrate = \"50 Hz\"\namplitude = \"{} Hz\"\n"
                            "frequency = \"20 Hz\"\n",
                            kMany, amplitude));
        for (int quarter = 0; quarter < 8; ++quarter) {  // of the period of 50 ms
            const double from = quarter * 12.5, expected = kMany * sine_events(from, from + 12.5, 50, amplitude, 20);
            // Events per step are below 0.015 in the mean, so that coincidences take less than half of that.
            EXPECT_NEAR(count_between(outcome.spikes, from, from + 12.5), expected,
                        5 * std::sqrt(expected) + 0.0075 * expected + 1e-9)
                << quarter;
        }
        // Over a whole period a sine above 0 adds nothing: the closed form.
        if (amplitude < 50) {
            EXPECT_NEAR(sine_events(0, 50, 50, amplitude, 20), 2.5, 1e-9);
        }
    }
}

// Counts arrivals: the last sample holds those since the start.
const std::string kCounter = R"toml([models.counter]
kind = "neuron"
equations = "n : 1"
receptors = { in = "n += w" }
)toml";

TEST(PoissonInputs, FollowRatesThatChangeAndStop) {
    const Outcome outcome =
        run(simulation(100) + kCounter + fmt::format("[population.C]\nmodel = \"counter\"\nsize = {}\n", kMany) +
            "[[input]]\nkind = \"poisson\"\nto = \"C\"\nweight = 1\ntimes = [\"0 ms\", \"50 ms\"]\n"
            "rates = [\"1 kHz\", \"4 kHz\"]\nstop = \"75 ms\"\n"
            "[[record]]\nstates = \"C\"\nvariables = \"n\"\ninterval = \"25 ms\"\n");
    ASSERT_EQ(outcome.samples.size(), 4u * kMany);
    const double expected[] = {25, 25, 100, 0};  // events in each quarter
    for (int quarter = 0; quarter < 4; ++quarter) {
        double sum = 0, squares = 0;
        for (int i = 0; i < kMany; ++i) {
            const double before = quarter == 0 ? 0 : outcome.samples[size_t(quarter - 1) * kMany + size_t(i)];
            const double events = outcome.samples[size_t(quarter) * kMany + size_t(i)] - before;
            sum += events;
            squares += (events - expected[quarter]) * (events - expected[quarter]);
        }
        EXPECT_NEAR(sum / kMany, expected[quarter], 5 * std::sqrt(expected[quarter] / kMany));
        // The variance of a Poisson number is its mean m; that of the squared deviation m + 2 m^2.
        const double m = expected[quarter];
        EXPECT_NEAR(squares / kMany, m, 5 * std::sqrt((m + 2 * m * m) / kMany));
    }
}

TEST(PoissonInputs, FollowASine) {
    const Outcome outcome =
        run(simulation(50) + kCounter + fmt::format("[population.C]\nmodel = \"counter\"\nsize = {}\n", kMany) +
            "[[input]]\nkind = \"poisson\"\nto = \"C\"\nweight = 1\nrate = \"1 kHz\"\namplitude = \"3 kHz\"\n"
            "frequency = \"20 Hz\"\n[[record]]\nstates = \"C\"\nvariables = \"n\"\ninterval = \"12.5 ms\"\n");
    for (int quarter = 0; quarter < 4; ++quarter) {
        double events = 0;
        for (int i = 0; i < kMany; ++i) {
            events += outcome.samples[size_t(quarter) * kMany + size_t(i)];
            if (quarter > 0) events -= outcome.samples[size_t(quarter - 1) * kMany + size_t(i)];
        }
        const double expected = kMany * sine_events(quarter * 12.5, quarter * 12.5 + 12.5, 1000, 3000, 20);
        EXPECT_NEAR(events, expected, 5 * std::sqrt(expected)) << quarter;
    }
}

// ---- gamma processes ------------------------------------------------------------------------------------------------

TEST(GammaSources, VaryByTheRootOfTheirOrder) {
    constexpr double kCells = 200, kSeconds = 10, kRate = 50;
    for (const int order : {2, 4, 16}) {
        const Outcome outcome =
            run(simulation(kSeconds * 1000) + kAll +
                fmt::format(
                    "[population.G]\nmodel = \"gamma\"\nsize = {}\nparameters = {{ rate = \"{} Hz\", order = {} }}\n",
                    kCells, kRate, order));
        std::vector<double> last(size_t(kCells), -1);
        double n = 0, sum = 0, squares = 0;
        for (const Spike& spike : outcome.spikes) {
            const double at = spike.step * 0.1;
            if (last[spike.id] >= 0) {
                n += 1;
                sum += at - last[spike.id];
                squares += (at - last[spike.id]) * (at - last[spike.id]);
            }
            last[spike.id] = at;
        }
        const double mean = sum / n, cv = std::sqrt(squares / n - mean * mean) / mean, expected = 1 / std::sqrt(order);
        // The estimate's deviation is below cv sqrt((1/2 + cv^2) / n). Intervals that the end cuts are missing, of some
        // 500 in each train: a bias below 1/500. Rounding to steps adds h^2/6 to a variance of (20 ms cv)^2.
        EXPECT_NEAR(
            cv, expected,
            5 * expected * std::sqrt((0.5 + expected * expected) / n) + expected / 500 + 0.01 / 6 / 400 / expected);
        // Counts of a renewal process vary by cv^2 of their mean, and a sixth of a spike from where trains begin.
        const double spikes = kCells * kSeconds * kRate;
        expect_count(outcome.spikes, 0, kSeconds * 1000, spikes, spikes / order + kCells);
        // In equilibrium from the start; counts vary by less than their mean.
        expect_count(outcome.spikes, 0, 10, kCells * 0.01 * kRate, kCells * 0.01 * kRate);
    }
}

TEST(GammaSources, FollowInputsToTheirRate) {
    const Outcome outcome = run(
        simulation(200) + kAll +
        fmt::format("[population.G]\nmodel = \"gamma\"\nsize = {}\nparameters = {{ rate = 0, order = 3 }}\n", kMany) +
        "[[input]]\nkind = \"steps\"\nto = \"G\"\nparameter = \"rate\"\ntimes = [\"50 ms\", \"100 ms\", \"150 ms\"]\n"
        "amplitudes = [\"100 Hz\", \"-5 Hz\", \"40 Hz\"]\n");
    EXPECT_EQ(count_between(outcome.spikes, 0, 50), 0);
    expect_count(outcome.spikes, 50, 100, kMany * 5.0, kMany * 5.0);
    EXPECT_EQ(count_between(outcome.spikes, 100, 150), 0);
    expect_count(outcome.spikes, 150, 200, kMany * 2.0, kMany * 2.0);
}

// ---- currents -------------------------------------------------------------------------------------------------------

// A membrane that never fires: tau 10 ms, R = tau / C = 0.04 GOhm, at rest at 0.
std::string membrane(int size, const std::string& input) {
    return fmt::format(
        "[population.M]\nmodel = \"iaf_psc_delta\"\nsize = {}\nparameters = {{ E_L = 0, V_th = \"1 kV\" }}\n"
        "[[input]]\nto = \"M\"\n{}",
        size, input);
}
constexpr double kTau = 10, kResistance = 0.04;

std::vector<double> potentials(const std::string& input, double duration_ms = 50) {
    return run(simulation(duration_ms) + membrane(1, input) +
               "[[record]]\nstates = \"M\"\nvariables = \"V\"\ninterval = \"0.1 ms\"\n")
        .samples;
}

TEST(Currents, StartAndStop) {
    const std::vector<double> v =
        potentials("kind = \"dc\"\namplitude = \"100 pA\"\nstart = \"10 ms\"\nstop = \"30 ms\"\n");
    for (int n = 0; n < 500; ++n) {  // V at the end of step n
        const double t = (n + 1) * 0.1;
        const double on = std::max(0.0, std::min(t, 30.0) - 10), off = std::max(0.0, t - 30);
        EXPECT_NEAR(v[size_t(n)], 100 * kResistance * -std::expm1(-on / kTau) * std::exp(-off / kTau), 1e-12) << n;
    }
}

TEST(Currents, StepFromLevelToLevel) {
    const std::vector<double> v = potentials(
        "kind = \"steps\"\ntimes = [\"5 ms\", \"20 ms\", \"40 ms\"]\namplitudes = [\"100 pA\", \"-50 pA\", \"0 "
        "pA\"]\n");
    double expected = 0;
    for (int n = 0; n < 500; ++n) {
        const double current = n < 50 ? 0 : n < 200 ? 100 : n < 400 ? -50 : 0;
        expected += (current * kResistance - expected) * -std::expm1(-0.1 / kTau);
        EXPECT_NEAR(v[size_t(n)], expected, 1e-12) << n;
    }
}

// Held over each step, a sine of angle w a step passes x' = a x + (1 - a) u with the gain |1 - a| / |e^(iw) - a|.
TEST(Currents, AlternateWithTheGainOfTheMembrane) {
    const std::vector<double> v =
        potentials("kind = \"ac\"\namplitude = \"200 pA\"\noffset = \"50 pA\"\nfrequency = \"50 Hz\"\n", 400);
    const double a = std::exp(-0.1 / kTau), w = 2 * std::numbers::pi * 0.05 * 0.1;
    const double gain = (1 - a) / std::hypot(std::cos(w) - a, std::sin(w));
    double most = -1e9, least = 1e9;
    for (size_t n = 3600; n < 4000; ++n) most = std::max(most, v[n]), least = std::min(least, v[n]);
    // The start has decayed to e^-36; between samples the sine falls by at most w^2 / 8 of its amplitude.
    EXPECT_NEAR((most - least) / 2, 200 * kResistance * gain, 200 * kResistance * gain * w * w / 8);
    EXPECT_NEAR((most + least) / 2, 50 * kResistance, 200 * kResistance * gain * w * w / 8);
}

// Noise of deviation s that is held for an interval d gives V a variance of (R s)^2 (1 - a) / (1 + a), a = e^(-d/tau),
// at the ends of the intervals: it grows with the interval.
TEST(Noise, VariesThePotentialByItsInterval) {
    constexpr size_t kCells = 400, kSamples = 40;
    for (const double interval : {0.0, 0.1, 1.0, 5.0}) {
        const std::string key = interval == 0 ? "" : fmt::format("interval = \"{} ms\"\n", interval);
        const std::vector<double> v =
            run(simulation(500) +
                membrane(kCells, "kind = \"noise\"\nmean = \"50 pA\"\ndeviation = \"100 pA\"\n" + key) +
                "[[record]]\nstates = \"M\"\nvariables = \"V\"\ninterval = \"10 ms\"\nstart = \"100 ms\"\n")
                .samples;
        ASSERT_EQ(v.size(), kCells * kSamples);
        double squares = 0;
        for (const double one : v) squares += (one - 50 * kResistance) * (one - 50 * kResistance);
        const double a = std::exp(-std::max(interval, 0.1) / kTau);
        const double expected = 100 * kResistance * 100 * kResistance * (1 - a) / (1 + a);
        // Samples 10 ms apart correlate by 1/e, their squares by 1/e^2; the start is still off by e^-20 of the mean.
        const double independent = double(v.size()) * (1 - std::exp(-2)) / (1 + std::exp(-2));
        EXPECT_NEAR(squares / double(v.size()), expected, 5 * expected * std::sqrt(2 / independent) + 1e-8) << interval;
    }
}

TEST(Noise, IsHeldOverItsInterval) {
    const std::vector<double> v =
        potentials("kind = \"noise\"\ndeviation = \"100 pA\"\ninterval = \"1 ms\"\nstart = \"2.5 ms\"\n");
    const double a = std::exp(-0.1 / kTau);
    double before = 0, held = 0;
    int changes = 0;
    for (size_t n = 0; n < 500; ++n) {
        const double current = (v[n] - a * before) / (1 - a) / kResistance;
        before = v[n];
        if (n < 25) {
            EXPECT_EQ(v[n], 0);
        }
        if (n >= 25 && (n - 25) % 10 == 0) {
            changes += std::abs(current - held) > 1e-6;
            held = current;
        }
        if (n >= 25) {
            EXPECT_NEAR(current, held, 1e-8) << n;
        }
    }
    EXPECT_EQ(changes, 48);
}

// Brian2 issue 608: noise and a clamp while refractory. The clamp holds V; the noise is drawn on, and what it drives
// that is not clamped goes on. An independent loop with the numbers of jit/columns/philox.h.
TEST(Noise, GoesOnWhileTheRefractoryPotentialIsClamped) {
    const std::string text =
        simulation(200) +
        "[models.noisy]\nkind = \"neuron\"\nequations = \"\"\"\n"
        "dV/dt = (I - V) / (5 ms) : 1 (unless refractory)\ndx/dt = (I - x) / (20 ms) : 1\n\"\"\"\n"
        "threshold = \"V >= 1\"\nreset = \"V = -0.5\"\nrefractory = \"1.5 ms\"\nparameters = { I = 0.5 }\n"
        "[population.N]\nmodel = \"noisy\"\nsize = 3\n"
        "[[input]]\nkind = \"noise\"\nto = \"N\"\nparameter = \"I\"\ndeviation = 5\n" +
        kAll + "[[record]]\nstates = \"N\"\nvariables = [\"V\", \"x\"]\ninterval = \"0.1 ms\"\n";
    const Outcome outcome = run(text);
    const uint64_t key = random_key(1, Purpose::neuron_program, 0);
    const double a = std::exp(-0.1 / 5), b = std::exp(-0.1 / 20);
    std::vector<Spike> spikes;
    double v[3] = {}, x[3] = {};
    int wait[3] = {};
    for (uint32_t step = 0; step < 2000; ++step) {
        for (uint32_t i = 0; i < 3; ++i) {
            const PhiloxWords words = philox_draw(key, i, 0, step);
            const double u1 = uniform_f64(philox_first(words)), u2 = uniform_f64(philox_second(words));
            const double current = 0.5 + 5 * std::sqrt(-2 * std::log(1 - u1)) * std::cos(2 * std::numbers::pi * u2);
            x[i] = b * x[i] + (1 - b) * current;
            if (wait[i] > 0) {
                --wait[i];
            } else if (v[i] = a * v[i] + (1 - a) * current; v[i] >= 1) {
                v[i] = -0.5;
                wait[i] = 15;
                spikes.push_back({step, i});
            }
            // Roundings of numbers below 20, which decay over at most 200 steps.
            ASSERT_NEAR(outcome.samples[(step * 3 + i) * 2], v[i], 200 * 20 * 0x1p-51) << step;
            ASSERT_NEAR(outcome.samples[(step * 3 + i) * 2 + 1], x[i], 200 * 20 * 0x1p-51) << step;
        }
    }
    EXPECT_EQ(outcome.spikes, spikes);
    EXPECT_GT(spikes.size(), 20u);
}

// ---- initial values -------------------------------------------------------------------------------------------------

const std::string kDrawnRest = R"toml(
[models.m]
kind = "neuron"
equations = """
V : mV
rest = E_L : mV
"""
parameters = { E_L = "-70 mV" }
initial = { V = "E_L" }
[population.N]
model = "m"
size = 3000
parameters = { E_L = { uniform = ["-75 mV", "-65 mV"] } }
[[record]]
states = "N"
variables = ["V", "rest"]
interval = "0.1 ms"
)toml";

TEST(InitialValues, MayDependOnWhatIsDrawnForEachNeuron) {
    const std::vector<double> v = run(simulation(0.1) + kDrawnRest).samples;
    ASSERT_EQ(v.size(), 6000u);
    for (size_t i = 0; i < 3000; ++i) ASSERT_EQ(v[2 * i], v[2 * i + 1]);
    EXPECT_NE(v[0], v[2]);
}

TEST(InitialValues, MayBeDrawnAroundWhatIsDrawn) {
    std::string text = simulation(0.1) + kDrawnRest;
    text.replace(text.find("[[record]]"), 0, "initial = { V = \"E_L + 2*mV*randn()\" }\n");
    const std::vector<double> v = run(text).samples;
    EXPECT_EQ(run(text, 5).samples, v);
    double sum = 0, squares = 0, product = 0;
    for (size_t i = 0; i < 3000; ++i) {
        const double noise = v[2 * i] - v[2 * i + 1];
        sum += noise;
        squares += noise * noise;
        product += noise * (v[2 * i + 1] + 70);
    }
    EXPECT_NEAR(sum / 3000, 0, 5 * 2 / std::sqrt(3000));
    EXPECT_NEAR(squares / 3000, 4, 5 * 4 * std::sqrt(2.0 / 3000));
    EXPECT_NEAR(product / 3000, 0, 5 * 2 * 10 / std::sqrt(12.0) / std::sqrt(3000)) << "independent of E_L";
}

// 1 of 2 logarithms of a normal number is none: said before the run, and for the first neuron of them.
TEST(InitialValues, ThatAreNoNumbersAreRefusedBeforeTheRun) {
    std::string text = simulation(0.1) + kDrawnRest;
    text.replace(text.find("[[record]]"), 0, "initial = { V = \"E_L + mV*log(randn())\" }\n");
    const Result<Network> network = parse_network(text, "net.toml");
    ASSERT_TRUE(network) << network.error().message;
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(2);
    const auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool);
    ASSERT_FALSE(simulation);
    EXPECT_TRUE(simulation.error().message.starts_with("after 0 steps, V of neuron ")) << simulation.error().message;
}

TEST(InitialValues, OfAnExpressionAreCheckedInItsPlace) {
    const auto error = [](const std::string& value) {
        std::string text = simulation(0.1) + kDrawnRest;
        text.replace(text.find("[[record]]"), 0, "initial = { V = \"" + value + "\" }\n");
        const auto network = parse_network(text, "net.toml");
        return network ? "" : network.error().message;
    };
    EXPECT_EQ(error("E_L + randn()"), "net.toml:16:22: unit mismatch: mV + 1");
    EXPECT_EQ(error("E_L + E_M"), "net.toml:16:24: unknown name 'E_M'; did you mean 'E_L'?");
}

TEST(Inputs, AreRefusedWhereTheyCannotBe) {
    const auto error = [](const std::string& keys) {
        const auto network = parse_network(simulation(100) + membrane(1, keys), "net.toml");
        return network ? "" : network.error().message;
    };
    EXPECT_EQ(error("kind = \"noise\"\ndeviation = \"1 pA\"\ninterval = \"0.25 ms\"\n"),
              "net.toml:11:13: an interval of 0.25 ms is not a whole number of steps of 0.1 ms");
    EXPECT_EQ(error("kind = \"noise\"\ndeviation = \"1 pA\"\ninterval = 0\n"),
              "net.toml:11:12: an interval of 0 ms is not a whole number of steps of 0.1 ms");
    const std::string poisson = "kind = \"poisson\"\nweight = \"1 mV\"\n";
    EXPECT_EQ(error(poisson + "rate = \"1 Hz\"\ntimes = [0]\nrates = [0]\n"),
              "net.toml:11:9: 'rate' is given beside rates that change");
    EXPECT_EQ(error(poisson + "times = [0]\nrates = [\"-1 Hz\"]\n"), "net.toml:12:9: a rate of -0.001 per ms, below 0");
    EXPECT_EQ(error(poisson + "rate = \"1 Hz\"\namplitude = \"1 Hz\"\n"), "net.toml:7:1: [[input]] has no 'frequency'");
    EXPECT_EQ(error(poisson + "rate = \"2 MHz\"\namplitude = \"1 MHz\"\nfrequency = \"1 Hz\"\n"),
              "net.toml:11:9: 'rate' is 3000 per ms, more than 256 in a step of 0.1 ms");
    EXPECT_EQ(error(poisson + "times = [\"1 ms\"]\nrates = [0]\nfile = \"x\"\n"),
              "net.toml:13:9: the times are given here and as 'times' and 'rates'");
}

}  // namespace inputs_test
}  // namespace riftjit::sim
