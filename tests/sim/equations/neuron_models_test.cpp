// Neuron models against closed forms (linear ones) and scipy's trajectories.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/sim/equations/program_runner.h"

namespace riftjit::sim {
namespace neuron_models_test {

#define TRAJECTORIES
#define SPIKE_TIMES
#include "tests/sim/equations/references.inc"
#undef SPIKE_TIMES
#undef TRAJECTORIES

// An exact step rounds the potential a few times by half a unit in the last place of 70 mV, 2^-47; errors decay by
// e^(-h/tau_m), so that they add up to at most tau_m/h (100, 200 for half steps) of them.
constexpr double kExactBound = 4 * 200 * 0x1p-47;

double potential_of_exponential(double t, double current, double tau_m, double tau_syn, double capacitance) {
    const long double x = t;
    if (tau_m == tau_syn) return static_cast<double>(current / capacitance * x * std::exp(-x / tau_m));
    return static_cast<double>(current / capacitance * (std::exp(-x / tau_m) - std::exp(-x / tau_syn)) /
                               (1.0L / tau_syn - 1.0L / tau_m));
}

TEST(NeuronModels, ExponentialCurrentsAreExactAtAnyStep) {
    for (const double h : {0.1, 0.05}) {
        for (const double tau_syn : {2.0, 0.5, 10.0}) {  // 10: that of the membrane
            const PopulationSetup setup{.step_ms = h, .constants = {{"tau_syn_ex", tau_syn}, {"tau_syn_in", 5}}};
            ProgramRunner cell = neuron("iaf_psc_exp", setup);
            EXPECT_EQ(cell.program().method, Method::exact);
            cell.state("I_ex") = 500;
            cell.state("I_in") = -200;
            for (int n = 1; n * h <= 30; ++n) {
                ASSERT_FALSE(cell.run());
                const double expected = -70 + potential_of_exponential(n * h, 500, 10, tau_syn, 250) +
                                        potential_of_exponential(n * h, -200, 10, 5, 250);
                ASSERT_NEAR(cell.state("V"), expected, kExactBound) << "tau_syn " << tau_syn << ", step " << n;
                ASSERT_NEAR(cell.state("I_ex"), 500 * std::exp(-n * h / tau_syn), 600 * 500 * 0x1p-53);
            }
        }
    }
}

TEST(NeuronModels, AlphaCurrentsPeakAtTheWeightAndAreExact) {
    for (const double tau : {2.0, 10.0}) {
        const PopulationSetup setup{.step_ms = 0.1, .constants = {{"tau_syn_ex", tau}}, .recorded = {"I_syn"}};
        ProgramRunner cell = neuron("iaf_psc_alpha", setup);
        cell(ColumnRole::arrivals, "ex") = 400;
        cell.run();  // arrives at the end of this step
        EXPECT_EQ(cell(ColumnRole::arrivals, "ex"), 0);
        EXPECT_EQ(cell.state("V"), -70);
        for (int n = 1; n <= 300; ++n) {
            ASSERT_FALSE(cell.run());
            const long double t = n * 0.1L, b = 1.0L / tau - 0.1L;
            const long double current = 400 * std::exp(1.0L) / tau * t * std::exp(-t / tau);
            const long double response =  // of the integral over s e^(-s/tau) e^(-(t-s)/tau_m)
                b == 0 ? t * t / 2 * std::exp(-t / 10)
                       : (std::exp(-t / 10) - std::exp(-t / tau)) / (b * b) - t * std::exp(-t / tau) / b;
            ASSERT_NEAR(cell.state("V"), static_cast<double>(-70 + 400 * std::exp(1.0L) / tau / 250 * response),
                        kExactBound)
                << "tau " << tau << ", step " << n;
            ASSERT_NEAR(cell(ColumnRole::recorded, "I_syn"), static_cast<double>(current), 400 * 600 * 0x1p-53);
        }
    }
}

TEST(NeuronModels, DeltaPotentialsDecayAndSettleExactly) {
    const PopulationSetup setup{.step_ms = 0.1, .constants = {{"I_e", 200}}};
    ProgramRunner cell = neuron("iaf_psc_delta", setup);
    cell(ColumnRole::arrivals, "psp") = 3;
    for (int n = 1; n <= 500; ++n) {
        ASSERT_FALSE(cell.run());
        const double t = n * 0.1, since = (n - 1) * 0.1;  // the arrival acts at the end of its step
        ASSERT_NEAR(cell.state("V"), -70 + 8 * -std::expm1(-t / 10) + 3 * std::exp(-since / 10), kExactBound);
    }
}

TEST(NeuronModels, RestIsKeptToTheLastBit) {
    for (const char* name : {"iaf_psc_delta", "iaf_psc_exp", "iaf_psc_alpha", "iaf_cond_exp"}) {
        ProgramRunner cell = neuron(name, {.step_ms = 0.1, .constants = {{"E_L", -65.3}}});
        for (int n = 0; n < 1000; ++n) cell.run();
        EXPECT_EQ(cell.state("V"), -65.3) << name;
    }
}

TEST(NeuronModels, CubaFollowsItsClosedForm) {
    ProgramRunner cell = neuron("lif_cuba", {.step_ms = 0.1});
    EXPECT_EQ(cell.program().method, Method::exact);
    cell.state("g_ex") = 1.62;
    cell.state("g_in") = -9;
    for (int n = 1; n <= 150; ++n) {
        ASSERT_FALSE(cell.run());
        const double t = n * 0.1;
        const auto response = [&](double g, double tau) {
            return g / 20 * (std::exp(-t / 20) - std::exp(-t / tau)) / (1 / tau - 1.0 / 20);
        };
        ASSERT_NEAR(cell.state("V"), -49 - 11 * std::exp(-t / 20) + response(1.62, 5) + response(-9, 10), kExactBound);
    }
}

// Greatest error over rows and states from the start to each row's time, relative to the states' sizes.
template <size_t kColumns, size_t kRows>
double trajectory_error(const std::string& model, const PopulationSetup& setup,
                        const std::map<std::string, double>& start, const std::vector<std::string>& states,
                        const std::array<std::array<double, kColumns>, kRows>& reference) {
    ProgramRunner cell = neuron(model, setup);
    for (const auto& [name, value] : start) cell.state(name) = value;
    double error = 0;
    int step = 0;
    for (const auto& row : reference) {
        for (; step < static_cast<int>(std::round(row[0] / setup.step_ms)); ++step) cell.run();
        for (size_t i = 0; i < states.size(); ++i)
            error = std::max(error, std::fabs(cell.state(states[i]) - row[i + 1]) / (1 + std::fabs(row[i + 1])));
    }
    return error;
}

// A scheme of order p divides its error by 2^p with the step; the next term of the error changes that by O(h).
void expect_order(double error, double error_of_half_steps, int order) {
    EXPECT_GT(error / error_of_half_steps, 0.75 * std::pow(2, order));
    EXPECT_LT(error / error_of_half_steps, 1.35 * std::pow(2, order));
}

template <size_t kColumns, size_t kRows>
void expect_convergence(const std::string& model, Method method, double step_ms, double most_error, int order,
                        std::map<std::string, double> constants, const std::map<std::string, double>& start,
                        const std::vector<std::string>& states,
                        const std::array<std::array<double, kColumns>, kRows>& reference) {
    SCOPED_TRACE(model);
    const auto error = [&](double step) {
        return trajectory_error(model, {.step_ms = step, .method = method, .constants = constants}, start, states,
                                reference);
    };
    const double whole = error(step_ms), half = error(step_ms / 2);
    EXPECT_LT(whole, most_error);
    expect_order(whole, half, order);
}

TEST(NeuronModels, ConductanceNeuronConvergesAsItsSchemeDoes) {
    const std::map<std::string, double> start = {{"g_ex", 20}, {"g_in", 15}};
    const std::vector<std::string> states = {"V", "g_ex", "g_in"};
    // Bounds: (h / tau)^p / (p + 1)! of the fastest conductance for each step of its life, times its effect of 5 mV.
    expect_convergence("iaf_cond_exp", Method::automatic, 0.05, 3e-6, 4, {{"I_e", 100}}, start, states, kIafCondExp);
    expect_convergence("iaf_cond_exp", Method::exponential_euler, 0.0125, 2e-3, 1, {{"I_e", 100}}, start, states,
                       kIafCondExp);
    expect_convergence("iaf_cond_exp", Method::euler, 0.0125, 5e-3, 1, {{"I_e", 100}}, start, states, kIafCondExp);
    expect_convergence("lif_coba", Method::automatic, 0.1, 5e-3, 1, {}, {{"g_ex", 6}, {"g_in", 67}}, states, kLifCoba);
    expect_convergence("lif_coba", Method::rk4, 0.1, 1e-6, 4, {}, {{"g_ex", 6}, {"g_in", 67}}, states, kLifCoba);
}

TEST(NeuronModels, AdaptiveExponentialNeuronConvergesWithTheFourthOrder) {
    expect_convergence("aeif_cond_exp", Method::automatic, 0.05, 1e-5, 4, {{"I_e", 400}},
                       {{"w", 20}, {"g_ex", 30}, {"g_in", 10}}, {"V", "w", "g_ex", "g_in"}, kAeifCondExp);
}

TEST(NeuronModels, HodgkinHuxleyNeuronConvergesThroughItsSpikes) {
    const std::map<std::string, double> start = {{"m", 0.05}, {"h", 0.9}, {"n", 0.1}, {"g_ex", 5}, {"g_in", 2}};
    const std::vector<std::string> states = {"V", "m", "h", "n", "g_ex", "g_in"};
    // The second row is on the way up, at 100 mV/ms, where an error of a step in time is one of 0.5 mV.
    expect_convergence("hh_cond_exp_traub", Method::automatic, 0.005, 0.1, 1, {{"I_e", 500}}, start, states,
                       kHodgkinHuxley);
    expect_convergence("hh_cond_exp_traub", Method::rk4, 0.01, 1e-4, 4, {{"I_e", 500}}, start, states, kHodgkinHuxley);
}

TEST(NeuronModels, IzhikevichNeuronConvergesAsItsSchemeDoes) {
    expect_convergence("izhikevich", Method::automatic, 0.05, 1e-2, 1, {{"I_e", 3.5}}, {}, {"V", "u"}, kIzhikevich);
    expect_convergence("izhikevich", Method::rk4, 0.2, 1e-6, 4, {{"I_e", 3.5}}, {}, {"V", "u"}, kIzhikevich);
}

// One millisecond of the published program (Izhikevich 2003, figure 2), with current 10.
TEST(NeuronModels, IzhikevichHalfStepsAreThoseOfThePaper) {
    ProgramRunner cell = neuron("izhikevich_2003", {.step_ms = 1, .constants = {{"I_e", 10}}});
    double v = -65, u = -13;
    int spikes = 0;
    for (int n = 0; n < 1000; ++n) {
        v = v + 0.5 * (0.04 * v * v + 5 * v + 140 - u + 10);
        v = v + 0.5 * (0.04 * v * v + 5 * v + 140 - u + 10);
        u = u + 0.02 * (0.2 * v - u);
        const bool fires = v >= 30;
        if (fires) v = -65, u = u + 8, ++spikes;
        ASSERT_EQ(cell.run(), fires) << "step " << n;
        // Sums of numbers below 512 mV, a few roundings of 2^-44 each, those of the first half step grown by at most
        // 1 + 0.5 (0.08 * 30 + 5) < 5 in the second. Over many steps the equations amplify them, so every step
        // starts from the same numbers.
        ASSERT_NEAR(cell.state("V"), v, 40 * 0x1p-44);
        ASSERT_NEAR(cell.state("u"), u, 40 * 0x1p-44);
        cell.state("V") = v;
        cell.state("u") = u;
    }
    EXPECT_GT(spikes, 10);
}

TEST(NeuronModels, HodgkinHuxleyNeuronFiresOncePerMaximum) {
    ProgramRunner cell = neuron("hh_cond_exp_traub", {.step_ms = 0.05, .constants = {{"I_e", 500}}});
    double before = -60, last = -60;
    int fired = 0, maxima = 0;
    for (int n = 0; n < 2000; ++n) {
        fired += cell.run() ? 1 : 0;
        const double now = cell.state("V");
        maxima += last > before && last > now && last > -33 ? 1 : 0;
        before = last;
        last = now;
    }
    EXPECT_GT(fired, 3);
    EXPECT_EQ(fired, maxima);
}

// Ends of the steps in which a neuron fires, in ms.
std::vector<double> spike_times(const std::string& model, const PopulationSetup& setup,
                                const std::map<std::string, double>& start, size_t count) {
    ProgramRunner cell = neuron(model, setup);
    for (const auto& [name, value] : start) cell.state(name) = value;
    std::vector<double> times;
    for (int step = 1; times.size() < count && step * setup.step_ms < 1000; ++step)
        if (cell.run()) times.push_back(step * setup.step_ms);
    return times;
}

// Steps of fourth order find a spike at the end of the step in which it falls, and reset there: up to a step late each
// time, which adds up. `slack`: how much later yet, in steps, for what the states do in the time that the spike is
// late.
template <size_t kCount>
void expect_spikes_up_to_a_step_late(const std::string& model, double current, double slack,
                                     const std::array<double, kCount>& reference) {
    for (const double step : {0.01, 0.005}) {
        const std::vector<double> times =
            spike_times(model, {.step_ms = step, .method = Method::rk4, .constants = {{"I_e", current}}}, {}, kCount);
        ASSERT_EQ(times.size(), kCount);
        for (size_t i = 0; i < kCount; ++i) {
            EXPECT_GT(times[i], reference[i] - 0.1 * step) << model << ", spike " << i;
            EXPECT_LT(times[i], reference[i] + (1 + slack) * double(i + 1) * step) << model << ", spike " << i;
        }
    }
}

TEST(NeuronModels, AdaptiveNeuronsFireWhenTheirEquationsSay) {
    // The adaptation has a time constant of 144 ms, against intervals of some 40 ms.
    expect_spikes_up_to_a_step_late("aeif_cond_exp", 900, 0.1, kAeifSpikes);
    // At 30 mV u rises by 0.02 (0.2 * 30 + 10) = 0.3 in a ms. What is left of it after an interval of 45 ms, 0.4,
    // delays the next spike until u, which then falls by 0.02 (13 - 5) = 0.16 in a ms, has made up for it: 0.8 of the
    // lateness.
    expect_spikes_up_to_a_step_late("izhikevich", 10, 0.8, kIzhikevichSpikes);
}

// A peak is seen in the step after the greatest potential, and nothing is reset.
TEST(NeuronModels, HodgkinHuxleyNeuronPeaksWhenItsEquationsSay) {
    const std::map<std::string, double> start = {{"m", 0.05}, {"h", 0.9}, {"n", 0.1}, {"g_ex", 5}, {"g_in", 2}};
    const std::vector<double> times =
        spike_times("hh_cond_exp_traub", {.step_ms = 0.01, .method = Method::rk4, .constants = {{"I_e", 500}}}, start,
                    kHodgkinHuxleyPeaks.size());
    ASSERT_EQ(times.size(), kHodgkinHuxleyPeaks.size());
    for (size_t i = 0; i < times.size(); ++i) {
        EXPECT_GT(times[i], kHodgkinHuxleyPeaks[i] - 1e-4);  // the scheme's own error
        EXPECT_LT(times[i], kHodgkinHuxleyPeaks[i] + 2 * 0.01 + 1e-4);
    }
}

// Forward Euler from the values at the start, written out.
TEST(NeuronModels, IzhikevichNeuronFiresAsForwardEulerDoes) {
    ProgramRunner cell = neuron("izhikevich", {.step_ms = 0.1, .constants = {{"I_e", 10}}});
    double v = -65, u = -13;
    int spikes = 0;
    for (int n = 0; n < 5000; ++n) {
        const double dv = 0.04 * v * v + 5 * v + 140 - u + 10, du = 0.02 * (0.2 * v - u);
        v += 0.1 * dv;
        u += 0.1 * du;
        const bool fires = v >= 30;
        if (fires) v = -65, u += 8, ++spikes;
        ASSERT_EQ(cell.run(), fires) << "step " << n;
        // As for the half steps: a few roundings of numbers below 1024 mV/ms a step, each step from the same numbers.
        ASSERT_NEAR(cell.state("V"), v, 40 * 0x1p-44);
        ASSERT_NEAR(cell.state("u"), u, 40 * 0x1p-44);
        cell.state("V") = v;
        cell.state("u") = u;
    }
    EXPECT_GT(spikes, 10);
}

// From the reset at V_r towards V_inf a membrane takes tau ln((V_inf - V_r) / (V_inf - V_th)) to its threshold; the
// spike falls into the step in which it gets there, and R steps of refractoriness follow.
TEST(NeuronModels, LeakyNeuronsFireWhenTheirClosedFormSays) {
    for (const char* model : {"iaf_psc_delta", "iaf_psc_exp", "iaf_psc_alpha"}) {
        for (const double current : {376.0, 400.0, 1000.0}) {
            const std::vector<double> times =
                spike_times(model, {.step_ms = 0.1, .constants = {{"I_e", current}}}, {}, 8);
            const double rise = current * 0.04;  // V_inf - V_r, of which 15 mV are needed
            const double steps = std::ceil(10 * std::log(rise / (rise - 15)) / 0.1);
            ASSERT_EQ(times.size(), 8u);
            for (size_t i = 0; i < times.size(); ++i)
                EXPECT_EQ(std::lround(times[i] / 0.1), std::lround(steps + double(i) * (steps + 20)))
                    << model << current;
        }
    }
}

TEST(NeuronModels, ADeltaSpikeOfTheAdaptiveNeuronAdaptsIt) {
    ProgramRunner cell = neuron("aeif_cond_exp", {.step_ms = 0.1});
    cell.state("V") = 5;
    cell.state("w") = 10;
    EXPECT_TRUE(cell.run());
    EXPECT_EQ(cell.state("V"), -60);
    EXPECT_GT(cell.state("w"), 90);  // b = 80.5 on top
    EXPECT_LT(cell.state("w"), 91);
}

}  // namespace neuron_models_test
}  // namespace riftjit::sim
