// Each refusal of a model, by its whole message.
#include <gtest/gtest.h>

#include "sim/equations/model_file.h"

namespace riftjit::sim {
namespace model_errors_test {

constexpr const char* kFile = "net.toml";

// A leaky neuron; tests spoil one thing each.
NeuronModelSource leaky() {
    NeuronModelSource source{.name = "leaky"};
    source.equations = {"dV/dt = (E_L - V) / tau_m + I / C : mV (unless refractory)\ndI/dt = -I / tau_s : pA", kFile, 3,
                        1};
    source.parameters = {{"tau_m", {"10 ms"}}, {"tau_s", {"2 ms"}},     {"C", {"250 pF"}},  {"E_L", {"-70 mV"}},
                         {"V_th", {"-55 mV"}}, {"V_reset", {"-70 mV"}}, {"t_ref", {"2 ms"}}};
    source.initial = {{"V", {"E_L", kFile, 20, 5}}};
    source.receptors = {{"ex", {"I += w", kFile, 22, 7}}};
    source.threshold = {"V >= V_th", kFile, 9, 14};
    source.reset = {"V = V_reset", kFile, 10, 10};
    source.refractory = {"t_ref", kFile, 11, 15};
    return source;
}
std::string error_of(const NeuronModelSource& source) {
    const Result<NeuronModel> model = NeuronModel::parse(source);
    return model ? "" : model.error().message;
}
std::string equations_error(const std::string& equations) {
    NeuronModelSource source = leaky();
    source.equations.text = equations;
    return error_of(source);
}
template <class Spoil>
std::string error_with(const Spoil& spoil) {
    NeuronModelSource source = leaky();
    spoil(source);
    return error_of(source);
}
std::string expression_error(const std::string& expression) {  // as a threshold, in line 9 from column 14 on
    return error_with([&](NeuronModelSource& source) { source.threshold.text = expression; });
}

TEST(ModelErrors, TheUnspoiltModelIsRight) { EXPECT_EQ(error_of(leaky()), ""); }

TEST(ModelErrors, UnitsOfEquationsMustAgree) {
    const std::string end = "\ndI/dt = -I / tau_s : pA";
    EXPECT_EQ(equations_error("dV/dt = (E_L - V) / tau_m + I : mV" + end), "net.toml:3:27: unit mismatch: mV/ms + pA");
    EXPECT_EQ(equations_error("dV/dt = E_L - V : mV" + end),
              "net.toml:3:13: unit mismatch: dV/dt is mV/ms, its value mV");
    EXPECT_EQ(equations_error("dV/dt = -V / tau_m : mV\ndI/dt = -I / tau_s : pA\nG = I / V : pA"),
              "net.toml:5:7: unit mismatch: G is pA, its value nS");
    EXPECT_EQ(equations_error("dV/dt = 0 : mV\ndI/dt = 0 : pA"), "");  // a plain 0 is of any unit
}

TEST(ModelErrors, UnitsInExpressionsMustAgree) {
    EXPECT_EQ(expression_error("V >= C"), "net.toml:9:16: unit mismatch: mV >= pF");
    EXPECT_EQ(expression_error("V > 3"), "net.toml:9:16: unit mismatch: mV > 1");
    EXPECT_EQ(expression_error("V > 0"), "");
    EXPECT_EQ(expression_error("V > -50 mV"), "");
    EXPECT_EQ(expression_error("V > 0.05*volt"), "");
    EXPECT_EQ(expression_error("exp(V) > 1"),
              "net.toml:9:18: the operand of exp() must be a number without a unit, not mV");
    EXPECT_EQ(expression_error("V**2 > I"), "net.toml:9:19: unit mismatch: mV^2 > pA");
    EXPECT_EQ(expression_error("V**tau_m > V"), "net.toml:9:17: an exponent must be a number without a unit, not ms");
    EXPECT_EQ(expression_error("V**(1/3) > V"),
              "net.toml:9:15: a power of mV needs an exponent written as a whole or half number");
    EXPECT_EQ(expression_error("sqrt(V**2) > V"), "");
    EXPECT_EQ(expression_error("min(V, I) > V"), "net.toml:9:14: unit mismatch: mV and pA");
    EXPECT_EQ(expression_error("(V if I else E_L) > V"), "net.toml:9:20: expected a truth such as 'a < b', found pA");
    EXPECT_EQ(expression_error("where(V > E_L, V, I) > V"), "net.toml:9:14: unit mismatch: mV else pA");
    EXPECT_EQ(expression_error("(V > E_L) + 1 > 2"), "net.toml:9:17: expected a number, found a truth");
    EXPECT_EQ(expression_error("V and I"), "net.toml:9:14: expected a truth such as 'a < b', found mV");
    EXPECT_EQ(expression_error("V - V_th"), "net.toml:9:16: the threshold must be a truth such as 'V >= V_th', not mV");
}

TEST(ModelErrors, UnknownNamesComeWithTheNearestKnownOne) {
    EXPECT_EQ(expression_error("V > V_tg"), "net.toml:9:18: unknown name 'V_tg'; did you mean 'V_th'?");
    EXPECT_EQ(expression_error("V > taum * mV/ms"), "net.toml:9:18: unknown name 'taum'; did you mean 'tau_m'?");
    EXPECT_EQ(expression_error("V > A"), "net.toml:9:18: unknown name 'A'");  // not an ampere
    EXPECT_EQ(expression_error("expm(1) > 1"), "net.toml:9:14: unknown function 'expm'; did you mean 'exp'?");
    EXPECT_EQ(expression_error("min(V) > V"), "net.toml:9:14: min() takes 2 operands, found 1");
    EXPECT_EQ(expression_error("V > previous(V) + E_L"), "");
    EXPECT_EQ(equations_error("dV/dt = previous(V) / tau_m : mV\ndI/dt = 0 : pA"),
              "net.toml:3:9: previous() is for the threshold and the reset");
    EXPECT_EQ(expression_error("previous(V + V) > V"), "net.toml:9:25: previous() takes the name of a variable");
}

TEST(ModelErrors, NamesAreDefinedOnce) {
    EXPECT_EQ(equations_error("dV/dt = 0 : mV\nV = 3 mV : mV\ndI/dt = 0 : pA"), "net.toml:4:1: 'V' is defined twice");
    EXPECT_EQ(equations_error("dC/dt = 0 : pF"), "net.toml:3:1: 'C' is defined twice");
    EXPECT_EQ(equations_error("dV/dt = 0 : mV\ndI/dt = 0 : pA\na = b : 1\nb = a : 1"),
              "net.toml:5:1: 'a' is defined by itself");
    EXPECT_EQ(equations_error("dV/dt = 0 : mV\ndI/dt = 0 : pA\na = 1 : 1 (unless refractory)"),
              "net.toml:5:1: '(unless refractory)' is for states, which 'a' is not");
    EXPECT_EQ(error_with([](NeuronModelSource& source) { source.parameters.push_back({"dt", {"1 ms", kFile, 5, 6}}); }),
              "net.toml:5:6: 'dt' has a meaning of its own and cannot be a variable's name");
    EXPECT_EQ(
        error_with([](NeuronModelSource& source) { source.parameters.push_back({"t m", {"1 ms", kFile, 5, 6}}); }),
        "net.toml:5:6: 't m' cannot be a variable's name");
}

TEST(ModelErrors, StatementsChangeStatesAlone) {
    const auto reset_error = [](const std::string& text) {
        return error_with([&](NeuronModelSource& source) { source.reset.text = text; });
    };
    EXPECT_EQ(reset_error("V = C"), "net.toml:10:14: unit mismatch: V is mV, its value pF");
    EXPECT_EQ(reset_error("V_reset = V"), "net.toml:10:10: 'V_reset' is a parameter, which statements cannot change");
    EXPECT_EQ(reset_error("VV = V_reset"), "net.toml:10:10: 'VV' is not a state");
    EXPECT_EQ(reset_error("x = 2; V = x * V_reset"), "");  // a local variable
    EXPECT_EQ(reset_error("x += 2"), "net.toml:10:10: 'x' is not a state");
    EXPECT_EQ(reset_error("V *= V"), "net.toml:10:15: unit mismatch: the factor of V is 1, its value mV");
    EXPECT_EQ(reset_error("deliver(V)"), "net.toml:10:10: 'deliver()' has no place in a reset");
    EXPECT_EQ(error_with([](NeuronModelSource& source) { source.threshold.text = ""; }),
              "net.toml:10:10: a reset without a threshold");
    EXPECT_EQ(error_with([](NeuronModelSource& source) { source.refractory.text = "V"; }),
              "net.toml:11:15: unit mismatch: the refractory time is ms, its value mV");
    EXPECT_EQ(error_with([](NeuronModelSource& source) { source.update = {"V += E_L", kFile, 12, 11}; }),
              "net.toml:12:11: 'update' replaces dV/dt: declare 'V : mV' without an equation");
    EXPECT_EQ(error_with([](NeuronModelSource& source) { source.initial[0].text.text = "tau_m"; }),
              "net.toml:20:5: unit mismatch: V is mV, its value ms");
    EXPECT_EQ(error_with([](NeuronModelSource& source) { source.initial[0].name = "VV"; }),
              "net.toml:20:5: initial value of 'VV', which is not a state");
}

TEST(ModelErrors, ReceptorsAddMultiplesOfTheWeight) {
    const auto receptor_error = [](const std::string& text) {
        return error_with([&](NeuronModelSource& source) { source.receptors[0].text.text = text; });
    };
    EXPECT_EQ(receptor_error("I = w"), "net.toml:22:7: a receptor adds: expected 'I += ...'");
    EXPECT_EQ(receptor_error("E_L += w"), "net.toml:22:7: a receptor adds to a state, which 'E_L' is not");
    EXPECT_EQ(receptor_error("I += abs(w)"), "net.toml:22:12: expected a multiple of the weight w");
    EXPECT_EQ(receptor_error("I += w * w"), "net.toml:22:14: expected a multiple of the weight w");
    EXPECT_EQ(receptor_error("I += w + 1"), "net.toml:22:14: expected a multiple of the weight w");
    EXPECT_EQ(receptor_error("I += 2 * I"), "net.toml:22:14: expected a multiple of the weight w");
    EXPECT_EQ(receptor_error("I += w; V += w"), "net.toml:22:15: unit mismatch: w is mV here, pA before");
    EXPECT_EQ(receptor_error(" "), "net.toml:22:7: receptor 'ex' does nothing");
    EXPECT_EQ(receptor_error("I -= w / 2"), "");
    EXPECT_EQ(error_with([](NeuronModelSource& source) {
                  source.equations.text += "\nw : pA";
                  source.receptors[0].text.text = "w += w";
              }),
              "net.toml:22:7: in a receptor 'w' is the weight");
}

TEST(ModelErrors, ParametersSayWhichValuesMakeSense) {
    const auto with = [](const std::string& tau) {
        NeuronModelSource source{.name = "m"};
        source.equations = {"dx/dt = -x / tau : 1"};
        source.parameters = {{"tau", {tau, "m.toml", 3, 8}}};
        const auto model = NeuronModel::parse(source);
        return model ? "" : model.error().message;
    };
    EXPECT_EQ(with("10 ms (positive)"), "");
    EXPECT_EQ(with("0 ms (not negative)"), "");
    EXPECT_EQ(with("0 ms (positive)"), "m.toml:3:8: the default of 'tau' is 0 ms: it must be above 0");
    EXPECT_EQ(with("-1 ms (not negative)"), "m.toml:3:8: the default of 'tau' is -1 ms: it must not be below 0");
    EXPECT_EQ(with("10 ms (negative)"), "m.toml:3:14: expected (positive) or (not negative), found '(negative)'");
}

TEST(ModelErrors, TheUnitOfAWeightFollowsFromItsReceptor) {
    NeuronModelSource source = leaky();
    source.receptors = {{"a", {"I += w"}}, {"b", {"V += w / C"}}, {"c", {"I += w * V; V += w * V * tau_m / C"}}};
    const NeuronModel model = NeuronModel::parse(source).value();
    EXPECT_EQ(model.receptors()[0].unit, kPicoampere);
    EXPECT_EQ(unit_text(model.receptors()[1].unit), "pA ms");
    EXPECT_EQ(model.receptors()[2].unit, kNanosiemens);
}

std::string synapse_error(const std::string& equations, const std::string& on_pre, const std::string& on_post = "") {
    SynapseModelSource source{.name = "plastic"};
    source.equations = {equations, kFile, 3, 1};
    source.parameters = {{"tau", {"20 ms"}}};
    source.on_pre = {on_pre, kFile, 7, 1};
    source.on_post = {on_post, kFile, 9, 1};
    const Result<SynapseModel> model = SynapseModel::parse(source);
    if (!model) return model.error().message;
    const Result<SynapsePrograms> programs = lower(*model, {}, 0.1);
    return programs ? "" : programs.error().message;
}

TEST(ModelErrors, SynapsesDeliverOnce) {
    EXPECT_EQ(synapse_error("dx/dt = -x / tau : 1", "x += 1; deliver(w * x)", "x += 1"), "");
    EXPECT_EQ(synapse_error("", "w += 1"),
              "net.toml:7:1: on_pre must deliver once, as 'deliver(w)', found 0 deliveries");
    EXPECT_EQ(synapse_error("", "deliver(w)\ndeliver(w)"),
              "net.toml:7:1: on_pre must deliver once, as 'deliver(w)', found 2 deliveries");
    EXPECT_EQ(synapse_error("", "deliver(elapsed)"), "net.toml:7:9: unit mismatch: deliver() is 1, its value ms");
    EXPECT_EQ(synapse_error("", "deliver(w, w)"), "net.toml:7:1: deliver() takes 1 operand, found 2");
    EXPECT_EQ(synapse_error("", "send(w)"), "net.toml:7:1: 'send()' is not a statement: expected 'deliver(...)'");
    EXPECT_EQ(synapse_error("", "deliver(w)", "deliver(w)"), "net.toml:9:1: only on_pre delivers");
    EXPECT_EQ(synapse_error("", "deliver(w * rand())"), "net.toml:7:1: a synapse cannot draw random numbers");
    EXPECT_EQ(synapse_error("", "elapsed = 1 ms; deliver(w)"), "net.toml:7:1: 'elapsed' cannot be changed");
    EXPECT_EQ(synapse_error("w : 1", "deliver(w)"),
              "net.toml:3:1: 'w' has a meaning of its own and cannot be a variable's name");
    EXPECT_EQ(synapse_error("dx/dt = -x / tau : 1 (unless refractory)", "deliver(w)"),
              "net.toml:3:1: 'x': a synapse has no refractory time");
}

TEST(ModelErrors, SynapsesAreIntegratedExactlyOrNotAtAll) {
    EXPECT_EQ(synapse_error("dx/dt = -x**2 / tau : 1", "deliver(w * x)"),
              "model 'plastic': dx/dt must be linear in x and free of other states");
    EXPECT_EQ(synapse_error("dx/dt = -y / tau : 1\ndy/dt = -y / tau : 1", "deliver(w * x)"),
              "model 'plastic': dx/dt must be linear in x and free of other states");
}

std::string file_error(const std::string& text) {
    const auto model = read_model_table(toml::parse(text, std::string("net.toml")), "net.toml");
    return model ? "" : model.error().message;
}

TEST(ModelFiles, RefusalsNameTheirPlace) {
    const std::string head = "name = \"a\"\nkind = \"neuron\"\n";
    EXPECT_EQ(file_error(head), "");
    EXPECT_EQ(file_error("kind = \"neuron\""), "net.toml:1:1: the model has no 'name'");
    EXPECT_EQ(file_error("name = \"a\"\nkind = \"glia\""),
              "net.toml:2:9: expected kind \"neuron\" or \"synapse\", found \"glia\"");
    EXPECT_EQ(file_error(head + "treshold = \"V\""),
              "net.toml:3:1: unknown key 'treshold' of a model; did you mean 'threshold'?");
    EXPECT_EQ(file_error(head + "reset = 3"), "net.toml:3:9: 'reset' must be a text in quotes");
    EXPECT_EQ(file_error(head + "parameters = 3"), "net.toml:3:14: 'parameters' must be a table");
    EXPECT_EQ(file_error(head + "parameters = {a = true}"), "net.toml:3:19: 'parameters.a' must be a text or a number");
    EXPECT_EQ(file_error(head + "method = \"rk5\""),
              "net.toml:3:11: unknown method 'rk5': expected automatic, exact, exponential_euler, rk4, euler; did you "
              "mean 'rk4'?");
    EXPECT_EQ(file_error("name = \"a\"\nkind = \"synapse\"\nreset = \"V = 0\""),
              "net.toml:3:1: unknown key 'reset' of a model");
}

std::string parsed_file_error(const std::string& text) {
    const auto source = read_model_table(toml::parse(text, std::string("net.toml")), "net.toml").value();
    return NeuronModel::parse(std::get<NeuronModelSource>(source)).error().message;
}

TEST(ModelFiles, PlacesInLongAndShortTextsAreThoseOfTheFile) {
    const std::string head = "name = \"a\"\nkind = \"neuron\"\n";
    EXPECT_EQ(parsed_file_error(head + "equations = \"\"\"\ndV/dt = 0 : mV\nx = y : 1\n\"\"\""),
              "net.toml:5:5: unknown name 'y'");
    EXPECT_EQ(parsed_file_error(head + "equations = \"\"\"dV/dt = 0 : mV\nx = y : 1\"\"\""),
              "net.toml:4:5: unknown name 'y'");
    EXPECT_EQ(parsed_file_error(head + "equations = \"\"\"x = y : 1\"\"\""), "net.toml:3:20: unknown name 'y'");
    EXPECT_EQ(parsed_file_error(head + "equations = 'x = y : 1'"), "net.toml:3:18: unknown name 'y'");
}

TEST(ModelFiles, UnknownBuiltInModelsAreRefusedWithTheNearest) {
    EXPECT_EQ(builtin_neuron_model("iaf_psc_exq").error().message,
              "no neuron model 'iaf_psc_exq' is built in; did you mean 'iaf_psc_exp'?");
    EXPECT_EQ(builtin_synapse_model("sdtp").error().message, "no synapse model 'sdtp' is built in");
}

}  // namespace model_errors_test
}  // namespace riftjit::sim
