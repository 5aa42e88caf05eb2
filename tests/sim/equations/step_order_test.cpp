// What happens in which order within a step, refractory times, inputs: docs/SIMULATOR.md.
#include <gtest/gtest.h>

#include <cmath>

#include "jit/columns/philox.h"
#include "tests/sim/equations/program_runner.h"

namespace riftjit::sim {
namespace step_order_test {

// Steps between spikes of a neuron driven so hard that it fires whenever it may.
int interval(const std::string& model, Compat compat, double t_ref, double step_ms = 0.1) {
    ProgramRunner cell =
        neuron(model, {.step_ms = step_ms, .compat = compat, .constants = {{"t_ref", t_ref}, {"I_e", 1e6}}});
    std::vector<int> fired;
    for (int n = 0; fired.size() < 3 && n < 200000; ++n)
        if (cell.run(static_cast<uint64_t>(n))) fired.push_back(n);
    EXPECT_EQ(fired.at(2) - fired.at(1), fired.at(1) - fired.at(0));
    return fired.at(1) - fired.at(0);
}

// BindsNET issue 137, PyNN issue 651: off by one against Brian.
TEST(StepOrder, RefractoryTimesOfRStepsGiveRPlusOneUnderNestAndRUnderBrian2) {
    for (const char* model : {"iaf_psc_delta", "iaf_psc_exp", "iaf_psc_alpha", "iaf_cond_exp", "lif_coba"}) {
        for (const int steps : {1, 2, 20}) {
            EXPECT_EQ(interval(model, Compat::nest, steps * 0.1), steps + 1) << model;
            EXPECT_EQ(interval(model, Compat::brian2, steps * 0.1), steps) << model;
        }
        EXPECT_EQ(interval(model, Compat::nest, 0), 1) << model;
        EXPECT_EQ(interval(model, Compat::brian2, 0), 1) << model;
    }
    EXPECT_EQ(interval("iaf_psc_exp", Compat::nest, 0.3, 0.1), 4);  // 0.3 / 0.1 is not 3 in binary
    EXPECT_EQ(interval("iaf_psc_exp", Compat::nest, 2, 1.0 / 64), 129);
    EXPECT_EQ(interval("iaf_psc_exp", Compat::nest, 6553.5), 65536);
}

TEST(StepOrder, RefractoryTimesMayDifferFromNeuronToNeuron) {
    for (const Compat compat : {Compat::nest, Compat::brian2}) {
        const PopulationSetup setup{
            .step_ms = 0.1, .compat = compat, .constants = {{"I_e", 1e6}}, .parameter_columns = {"t_ref"}};
        ProgramRunner cell = neuron("iaf_psc_exp", setup);
        for (const int steps : {0, 1, 7}) {
            cell(ColumnRole::parameter, "t_ref") = steps * 0.1;
            while (!cell.run()) {
            }
            int interval = 1;
            while (!cell.run()) ++interval;
            EXPECT_EQ(interval, compat == Compat::nest ? steps + 1 : std::max(steps, 1));
        }
    }
}

TEST(StepOrder, DeltaArrivalsActInTheirStepAndCurrentsOneLaterUnderNest) {
    ProgramRunner delta = neuron("iaf_psc_delta", {.step_ms = 0.1}), current = neuron("iaf_psc_exp", {.step_ms = 0.1});
    delta(ColumnRole::arrivals, "psp") = 15;
    EXPECT_TRUE(delta.run());  // at the threshold: >=
    EXPECT_EQ(delta.state("V"), -70);
    current(ColumnRole::arrivals, "ex") = 1e6;
    EXPECT_FALSE(current.run());
    EXPECT_EQ(current.state("I_ex"), 1e6);  // not yet decayed
    EXPECT_TRUE(current.run());
}

TEST(StepOrder, ArrivalsComeFirstUnderBrian2) {
    const PopulationSetup setup{.step_ms = 0.1, .compat = Compat::brian2};
    ProgramRunner current = neuron("iaf_psc_exp", setup);
    current(ColumnRole::arrivals, "ex") = 1e6;
    EXPECT_TRUE(current.run());
    EXPECT_NEAR(current.state("I_ex"), 1e6 * std::exp(-0.05), 1e-9);
    ProgramRunner delta = neuron("iaf_psc_delta", setup);
    delta(ColumnRole::arrivals, "psp") = 15;
    EXPECT_FALSE(delta.run());  // decays below the threshold before the test
    EXPECT_NEAR(delta.state("V"), -70 + 15 * std::exp(-0.01), 1e-12);
}

// Steps after the spike in which a delta arrival is lost, and in which the potential stands still.
struct RefractorySteps {
    std::vector<int> deaf, still;
    bool operator==(const RefractorySteps&) const = default;
};
RefractorySteps refractory_steps(Compat compat) {
    RefractorySteps found;
    for (int probe = 1; probe <= 6; ++probe) {
        // Rests above its reset, so that it moves as soon as it may; never fires by itself.
        const PopulationSetup setup{.step_ms = 0.1, .compat = compat, .constants = {{"t_ref", 0.3}, {"E_L", -60}}};
        ProgramRunner cell = neuron("iaf_psc_delta", setup), twin = neuron("iaf_psc_delta", setup);
        for (ProgramRunner* one : {&cell, &twin}) {
            one->state("V") = -40;
            EXPECT_TRUE(one->run());
            for (int n = 1; n < probe; ++n) one->run();
        }
        const double before = twin.state("V");
        cell(ColumnRole::arrivals, "psp") = 1;
        cell.run();
        twin.run();
        if (cell.state("V") == twin.state("V")) found.deaf.push_back(probe);
        if (twin.state("V") == before) found.still.push_back(probe);
    }
    return found;
}

TEST(StepOrder, WhatIsRefractoryStandsStillAndIsDeaf) {
    EXPECT_EQ(refractory_steps(Compat::nest), (RefractorySteps{{1, 2, 3}, {1, 2, 3}}));
    // The third step integrates again; what arrives in it was sent in the second.
    EXPECT_EQ(refractory_steps(Compat::brian2), (RefractorySteps{{1, 2, 3}, {1, 2}}));
}

TEST(StepOrder, CurrentsGoOnWhileRefractory) {
    ProgramRunner cell = neuron("iaf_psc_exp", {.step_ms = 0.1});
    cell.state("V") = -40;
    cell.state("I_ex") = 100;
    ASSERT_TRUE(cell.run());
    cell(ColumnRole::arrivals, "ex") = 50;
    cell.run();
    EXPECT_EQ(cell.state("V"), -70);
    EXPECT_NEAR(cell.state("I_ex"), 100 * std::exp(-0.1) + 50, 1e-12);
}

TEST(StepOrder, WhatDependsOnAStoppedVariableSeesItStandStill) {  // x' = V / tau while V stands at its reset
    NeuronModelSource source{.name = "follower"};
    source.equations = {"dV/dt = -V / (10 ms) : mV (unless refractory)\ndx/dt = (V - x) / (5 ms) : mV"};
    source.threshold = {"V >= 10 mV"};
    source.reset = {"V = 8 mV"};
    source.refractory = {"1 ms"};
    const NeuronModel model = value_or_fail(NeuronModel::parse(source));
    ProgramRunner cell = neuron(model, {.step_ms = 0.1});
    EXPECT_EQ(cell.program().method, Method::exact);
    cell.state("V") = 20;
    ASSERT_TRUE(cell.run());
    cell.state("x") = 0;
    for (int n = 1; n <= 10; ++n) {
        cell.run();
        EXPECT_EQ(cell.state("V"), 8);
        EXPECT_NEAR(cell.state("x"), 8 * -std::expm1(-n * 0.1 / 5), 10 * 8 * 0x1p-53);
    }
    cell.run();
    EXPECT_NEAR(cell.state("V"), 8 * std::exp(-0.01), 8 * 0x1p-52);
}

// A neuron in Brian2: potentials before each step's synapses, and the steps in which it fired.
struct Brian2Case {
    std::string name;
    std::vector<double> potentials;
    std::vector<int> fired;
};
const std::vector<Brian2Case> kBrian2Cases = {
#include "tests/sim/equations/brian2.inc"
};

void expect_brian2(const Brian2Case& reference, ProgramRunner cell, const std::string& receptor,
                   const std::map<int, double>& kicks, double reset) {
    SCOPED_TRACE(reference.name);
    std::vector<int> fired;
    for (int n = 0; n < static_cast<int>(reference.potentials.size()); ++n) {
        // Sent without delay in the step before.
        const auto kick = kicks.find(n - 1);
        cell(ColumnRole::arrivals, receptor) = kick == kicks.end() ? 0 : kick->second;
        const bool fires = cell.run();
        if (fires) fired.push_back(n);
        // Brian2 resets after the synapses. Roundings as in kExactBound of the models' tests.
        ASSERT_NEAR(cell.state("V"), fires ? reset : reference.potentials[n], 4 * 100 * 0x1p-47) << "step " << n;
    }
    EXPECT_EQ(fired, reference.fired);
}

TEST(StepOrder, IsThatOfBrian2) {
    std::map<int, double> kicks = {{2, 10}, {40, 30}, {41, 2}};
    for (int step = 3; step < 30; ++step) kicks[step] = 0.5;
    NeuronModelSource source{.name = "delta"};
    source.parameters = {{"t_ref", {"0 ms"}}};
    source.initial = {{"V", {"-60 mV"}}};
    source.receptors = {{"psp", {"V += w"}}};
    source.threshold = {"V > -55 mV"};
    source.reset = {"V = -70 mV"};
    source.refractory = {"t_ref"};
    const auto delta = [&](const std::string& flag, double t_ref) {
        source.equations = {"dV/dt = (-60 mV - V) / (10 ms) : mV " + flag};
        return neuron(value_or_fail(NeuronModel::parse(source)),
                      {.step_ms = 0.1, .compat = Compat::brian2, .constants = {{"t_ref", t_ref}}});
    };
    ASSERT_EQ(kBrian2Cases.size(), 4u);
    expect_brian2(kBrian2Cases[0], delta("", 0), "psp", kicks, -70);
    expect_brian2(kBrian2Cases[1], delta("(unless refractory)", 0.1), "psp", kicks, -70);
    expect_brian2(kBrian2Cases[2], delta("(unless refractory)", 0.3), "psp", kicks, -70);
    const std::map<int, double> conductances = {{2, 300}, {20, 100}, {30, 50}};
    expect_brian2(kBrian2Cases[3],
                  neuron("lif_coba", {.step_ms = 0.1, .compat = Compat::brian2, .constants = {{"t_ref", 0.5}}}), "ex",
                  conductances, -60);
}

TEST(Drives, CurrentsAddToTheirParameter) {
    const PopulationSetup setup{.step_ms = 0.1,
                                .constants = {{"I_e", 50}},
                                .drives = {CurrentDrive{"I_e", "step", ""}, CurrentDrive{"I_e", "ramp", "ramp_of"}}};
    ProgramRunner cell = neuron("iaf_psc_exp", setup),
                  constant = neuron("iaf_psc_exp", {.step_ms = 0.1, .constants = {{"I_e", 400}}});
    EXPECT_EQ(cell.program().method, Method::exact);
    cell.scalar("step") = 200;
    cell.scalar("ramp") = 3;
    cell(ColumnRole::parameter, "ramp_of") = 50;
    for (int n = 0; n < 300; ++n) {
        ASSERT_EQ(cell.run(), constant.run());
        ASSERT_NEAR(cell.state("V"), constant.state("V"), 400 * 0x1p-47);
    }
}

TEST(Drives, PoissonTrainsArriveAtTheirReceptor) {
    const PopulationSetup setup{.step_ms = 0.1, .drives = {PoissonDrive{"ex", "mean", 2.5, 7}}, .unconnected = {"ex"}};
    ProgramRunner cell = neuron("iaf_psc_exp", setup);
    cell.scalar("mean") = 0.8;
    cell.id = 42;
    double total = 0;
    for (uint64_t step = 0; step < 2000; ++step) {
        cell.state("I_ex") = 0;
        cell.run(step);
        const double count = cell.state("I_ex") / 2.5;
        ASSERT_EQ(count, std::floor(count));
        const double u = uniform_f64(philox_first(philox_draw(12345, 42, 7, step)));
        ASSERT_EQ(count == 0, u < std::exp(-0.8)) << "the draw is that of the key, the neuron, the number and the step";
        total += count;
    }
    EXPECT_NEAR(total / 2000, 0.8, 5 * std::sqrt(0.8 / 2000));  // five standard errors
    for (const ColumnBinding& column : cell.program().columns)
        EXPECT_FALSE(column.role == ColumnRole::arrivals && column.name == "ex");
}

TEST(Drives, NoiseIsDrawnAnewEachStepAndGoesOnWhileRefractory) {
    NeuronModelSource source{.name = "noisy"};
    source.equations = {"dV/dt = -V / (10 ms) : mV (unless refractory)\ndx/dt = I / (1 ms) : 1"};
    source.parameters = {{"I", {"0"}}};
    source.threshold = {"V > 1 mV"};
    source.refractory = {"100 ms"};
    const NeuronModel model = value_or_fail(NeuronModel::parse(source));
    ProgramRunner cell = neuron(model, {.step_ms = 1, .drives = {NoiseDrive{"I", "sigma", 3}}});
    cell.scalar("sigma") = 2;
    cell.state("V") = 5;
    double sum = 0, squares = 0, before = 0;
    for (uint64_t step = 0; step < 2000; ++step) {
        cell.run(step);
        const double kick = cell.state("x") - before;
        before = cell.state("x");
        sum += kick;
        squares += kick * kick;
    }
    EXPECT_NEAR(sum / 2000, 0, 5 * 2 / std::sqrt(2000));
    EXPECT_NEAR(squares / 2000, 4, 5 * 4 * std::sqrt(2.0 / 2000));
}

TEST(Drives, OwnRandomNumbersDifferFromCallToCall) {
    NeuronModelSource source{.name = "dice"};
    source.equations = {"a : 1\nb : 1"};
    source.update = {"a = rand(); b = rand()"};
    ProgramRunner cell = neuron(value_or_fail(NeuronModel::parse(source)), {.step_ms = 1});
    cell.run(3);
    EXPECT_NE(cell.state("a"), cell.state("b"));
    const double a = cell.state("a");
    cell.run(3);
    EXPECT_EQ(cell.state("a"), a);
    cell.run(4);
    EXPECT_NE(cell.state("a"), a);
}

TEST(Lowering, KeepsOnlyTheColumnsThatAreTouched) {
    const LoweredProgram program = value_or_fail(
        lower(neuron_model("iaf_psc_delta"), {.step_ms = 0.1, .recorded = {"V"}, .unconnected = {"psp"}}));
    EXPECT_EQ(program.columns,
              (std::vector<ColumnBinding>{
                  {ColumnRole::state, "V"}, {ColumnRole::refractory, ""}, {ColumnRole::recorded, "V"}}));
    EXPECT_EQ(program.spec.columns, (std::vector{ColumnType::f64, ColumnType::u16, ColumnType::f64}));
    EXPECT_EQ(column_bytes(program.spec), 8 + 8 + 2 + 2 + 8u);
    const LoweredProgram single =
        value_or_fail(lower(neuron_model("iaf_psc_delta"), {.step_ms = 0.1, .precision = Precision::f32}));
    EXPECT_EQ(single.spec.columns, (std::vector{ColumnType::f32, ColumnType::u16, ColumnType::f64}));
}

TEST(Lowering, RecordsWhatIsDerived) {
    ProgramRunner cell = neuron("iaf_psc_exp", {.step_ms = 0.1, .recorded = {"I_syn", "tau_m"}});
    cell.state("I_ex") = 100;
    cell.state("I_in") = -30;
    cell.run();
    EXPECT_EQ(cell(ColumnRole::recorded, "I_syn"), cell.state("I_ex") + cell.state("I_in"));
    EXPECT_EQ(cell(ColumnRole::recorded, "tau_m"), 10);
}

std::string note(const std::string& model, Method method = Method::automatic, std::vector<std::string> columns = {}) {
    const auto program = lower(neuron_model(model), {.step_ms = 0.1, .method = method, .parameter_columns = columns});
    return program ? program->note : program.error().message;
}

TEST(Lowering, SaysWhichSchemeIsInForceAndWhy) {
    EXPECT_EQ(note("iaf_psc_exp"), "exact: linear with constant coefficients (matrix exponential)");
    EXPECT_EQ(note("iaf_psc_exp", Method::automatic, {"E_L", "I_e"}),
              "exact: linear with constant coefficients (matrix exponential)");
    EXPECT_EQ(note("iaf_psc_exp", Method::automatic, {"tau_m"}),
              "exponential Euler, order h: dV/dt is not linear with constant coefficients");
    EXPECT_EQ(note("lif_coba"), "exponential Euler, order h: as asked");
    EXPECT_EQ(note("izhikevich"), "forward Euler, order h: as asked");
    EXPECT_EQ(note("iaf_cond_exp"), "Runge-Kutta, order h^4: as asked");
    EXPECT_EQ(note("izhikevich_2003"), "the model's own update");
    EXPECT_EQ(note("izhikevich", Method::exact),
              "model 'izhikevich': no exact integration: dV/dt is not linear with constant coefficients");
    EXPECT_EQ(note("izhikevich", Method::exponential_euler),
              "model 'izhikevich': no exponential Euler integration: dV/dt is not linear in V");
    EXPECT_EQ(note("izhikevich_2003", Method::rk4),
              "model 'izhikevich_2003' has an update of its own: no method can be chosen");
    NeuronModelSource source{.name = "quadratic", .equations = {"dV/dt = V**2 / (1 mV*ms) : mV"}};
    EXPECT_EQ(value_or_fail(lower(value_or_fail(NeuronModel::parse(source)), {.step_ms = 0.1})).note,
              "Runge-Kutta, order h^4: dV/dt is not linear in V");
}

std::string setup_error(PopulationSetup setup) {
    setup.step_ms = 0.1;
    const auto program = lower(neuron_model("iaf_psc_exp"), setup);
    return program ? "" : program.error().message;
}

TEST(Lowering, RefusesWhatTheModelDoesNotHave) {
    EXPECT_EQ(setup_error({.constants = {{"tau", 3}}}), "model 'iaf_psc_exp' has no parameter 'tau'");
    EXPECT_EQ(setup_error({.constants = {{"tau_n", 3}}}),
              "model 'iaf_psc_exp' has no parameter 'tau_n'; did you mean 'tau_m'?");
    EXPECT_EQ(setup_error({.parameter_columns = {"C"}}), "model 'iaf_psc_exp' has no parameter 'C'");
    EXPECT_EQ(setup_error({.drives = {PoissonDrive{"exx", "p", 1, 0}}}),
              "model 'iaf_psc_exp' has no receptor 'exx'; did you mean 'ex'?");
    EXPECT_EQ(setup_error({.drives = {CurrentDrive{"I", "p", ""}}}), "model 'iaf_psc_exp' has no parameter 'I'");
    EXPECT_EQ(setup_error({.recorded = {"I_sin"}}),
              "model 'iaf_psc_exp' has no variable 'I_sin' to record; did you mean 'I_in'?");
    EXPECT_EQ(setup_error({.constants = {{"t_ref", 7000}}}),
              "model 'iaf_psc_exp': refractory time of 70000 steps, not between 0 and 65535");
    EXPECT_EQ(setup_error({.constants = {{"t_ref", -1}}}),
              "model 'iaf_psc_exp': 't_ref' is -1 ms: it must not be below 0");
    EXPECT_EQ(setup_error({.constants = {{"tau_m", 0}}}), "model 'iaf_psc_exp': 'tau_m' is 0 ms: it must be above 0");
    EXPECT_EQ(setup_error({.constants = {{"E_L", NAN}}}), "model 'iaf_psc_exp': 'E_L' is nan mV: it must be finite");
}

TEST(Lowering, RefusesModelsInWhichNothingChanges) {
    for (const NeuronModelSource& source :
         {NeuronModelSource{.name = "none"}, NeuronModelSource{.name = "none", .equations = {"V : mV"}},
          NeuronModelSource{.name = "none", .threshold = {"rand() < 0.1"}}}) {
        const auto program = lower(value_or_fail(NeuronModel::parse(source)), {.step_ms = 0.1});
        ASSERT_FALSE(program);
        EXPECT_EQ(program.error().message,
                  "model 'none': nothing of it changes from step to step, not even a refractory time");
    }
}

TEST(Lowering, SinglePrecisionKeepsToItsRounding) {
    ProgramRunner twice = neuron("iaf_psc_exp", {.step_ms = 0.1}),
                  single = neuron("iaf_psc_exp", {.step_ms = 0.1, .precision = Precision::f32});
    twice.state("I_ex") = single.state("I_ex") = 500;
    for (int n = 0; n < 200; ++n) {
        twice.run();
        single.run();
        // Half a unit in the last place of 70 mV, 2^-18, a few times, over tau_m/h steps.
        ASSERT_NEAR(single.state("V"), twice.state("V"), 4 * 100 * 0x1p-18);
    }
    EXPECT_NE(single.state("V"), twice.state("V"));
}

}  // namespace step_order_test
}  // namespace riftjit::sim
