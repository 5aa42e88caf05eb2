// Neuron and synapse models written as equations: parsed, checked for units, and lowered to column programs
// (jit/columns/column_program.h). Built-in models are written in the same language (share/sim/models/*.toml).
//
// Numbers are held in the base units of units.h; a text such as "10 ms" or "8 Hz" is converted when it is read.
// Grammar: parser.h. Names in expressions: the model's own, then "dt" (the step), "pi", and units with a prefix or
// written out (mV, nS, Hz, volt). Functions: abs ceil clip cos exp expm1 exprel floor int log max min poisson pow rand
// randn sign sin sqrt tanh where; previous(x), in threshold and reset: x at the start of the step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/result.h"
#include "jit/columns/column_program.h"
#include "sim/equations/units.h"

namespace riftjit::sim {

enum class Compat : uint8_t { nest, brian2 };  // order within a step, refractory time: docs/SIMULATOR.md
enum class Method : uint8_t { automatic, exact, exponential_euler, rk4, euler };

struct NeuronModelSource {
    std::string name;
    std::string description;            // one line, for lists and --explain
    SourceText equations;               // "dV/dt = (E_L - V) / tau_m : mV (unless refractory)", "x = expression : unit"
    std::vector<NamedText> parameters;  // "tau_m" = "10 ms (positive)": defaults, which also fix the units
    std::vector<NamedText> initial;     // of state variables, from parameters and random numbers; 0 where absent
    std::vector<NamedText> receptors;   // "ex" = "I_ex += w"; w: the sum of the weights that arrive, linear
    SourceText threshold, reset, refractory;  // "V >= V_th"; statements; a time ("t_ref")
    SourceText update;                        // statements in place of integration (a scheme of its own)
    Method method = Method::automatic;
};
// "w" is the synapse's weight, a number without a unit that counts in the unit of the receptor; "elapsed" the time
// since the synapse's last event; "coincident", in on_pre, 1 where a spike of the target acts at the same time and has
// been dealt with, else 0. Both events bring the states to the present first.
struct SynapseModelSource {
    std::string name;
    std::string description;
    SourceText equations;  // variables of a synapse; derivatives are integrated exactly between events
    std::vector<NamedText> parameters, initial;
    SourceText on_pre, on_post;  // statements; "deliver(expression)", once in on_pre, sends
};

// Of which values a parameter makes sense: "10 ms (positive)", "2 ms (not negative)".
enum class Domain : uint8_t { any, positive, not_negative };

struct Variable {
    std::string name;
    Unit unit;
    double value;  // parameter: its default; state: its initial value where that is a number
    Domain domain = Domain::any;
    // "100 (sign of w)", of a synapse: it is never 0, and weights have its sign, or are 0.
    bool has_sign_of_weight = false;
    // "10 Hz (not negative, at most one a step)", of a neuron: it cannot fire more often than once in a step.
    bool is_event_rate = false;
};
// What is wrong with a value of a parameter: "-1 ms: it must be above 0"; empty where it is one of its domain.
std::string value_fault(const Variable& parameter, double value);

class NeuronModel {
public:
    static Result<NeuronModel> parse(const NeuronModelSource& source);
    // The same model with other initial values of some states.
    Result<NeuronModel> with_initial(const std::vector<NamedText>& initial) const;

    const std::string& name() const;
    const std::string& description() const;
    const std::vector<Variable>& parameters() const;
    const std::vector<Variable>& states() const;
    const std::vector<Variable>& receptors() const;  // unit of the weight; value unused
    const std::vector<Variable>& derived() const;    // subexpressions, may be recorded; value unused

    struct Checked;  // parsed and typed, private to sim/equations
    const Checked& checked() const;

private:
    std::shared_ptr<const Checked> checked_;
};

// What a weight above 0 does to the conductance (of unit nS) that a receptor adds to: 1 it grows, -1 it falls, 0 there
// is none, or some grow and some fall. constants: of parameters, else their defaults.
int conductance_sign(const NeuronModel& model, std::string_view receptor,
                     const std::map<std::string, double>& constants);

class SynapseModel {
public:
    static Result<SynapseModel> parse(const SynapseModelSource& source);

    const std::string& name() const;
    const std::string& description() const;
    const std::vector<Variable>& parameters() const;
    const std::vector<Variable>& states() const;  // with their initial values; "w" is not among them
    bool has_post_events() const;

    struct Checked;
    const Checked& checked() const;

private:
    std::shared_ptr<const Checked> checked_;
};

// Of what a synapse with a weight above 0 delivers.
int delivered_sign(const SynapseModel& model, const std::map<std::string, double>& constants);

// ---- lowering -------------------------------------------------------------------------------------------------------

// What a column or a scalar of a program holds. `name`: variable, receptor or input.
enum class ColumnRole : uint8_t {
    state,       // f64 (f32 in Precision::f32), read and written
    parameter,   // f64 (f32 in Precision::f32): one value per neuron, read
    arrivals,    // f64, of receptor `name`: sum of weights that arrive in this step; the program leaves it zero
    refractory,  // u16: steps left; 0 at the start. `name` is empty
    recorded,    // f64: value of variable `name` at the end of the step (after the reset), written
    event_time,  // f64, synapse programs: ms since the synapse's last event (or since the start), read
    coincident,  // f64, synapse programs: 1 where a spike of the target acts in the step of the source's, else 0; read
    weight,      // f64, synapse programs: read and written
    delivered,   // f64, synapse programs: what on_pre sends, written
};
struct ColumnBinding {
    ColumnRole role;
    std::string name;
    auto operator<=>(const ColumnBinding&) const = default;
};

inline constexpr uint32_t kFirstModelDraw = 1u << 16;  // draws of the model's own rand() and randn() start here

// Input that the neurons' own program draws or adds.
struct PoissonDrive {  // each neuron its own train: weight * Poisson(mean) arrives at `receptor` in every step
    std::string receptor;
    std::string scalar;  // run-time scalar: mean arrivals per step (0 switches it off)
    double weight;
    uint32_t draw;  // number of the random draw, unique in the population, below kFirstModelDraw
};
struct CurrentDrive {  // added to parameter `parameter` (a current or what the model calls so) for the step
    std::string parameter;
    std::string scalar;  // run-time scalar: amount
    std::string column;  // or one value per neuron (parameter column of this name) times the scalar; may be empty
};
struct NoiseDrive {  // white noise: amplitude * normal, added to `parameter`
    std::string parameter, scalar;
    uint32_t draw;
    // Run-time scalar: drawn anew in steps where it is above 0, and held in between by a state column that is called as
    // `scalar`. Empty: in each step.
    std::string anew = {};
};
using Drive = std::variant<PoissonDrive, CurrentDrive, NoiseDrive>;

struct PopulationSetup {
    double step_ms;
    Compat compat = Compat::nest;
    Method method = Method::automatic;
    Precision precision = Precision::f64;
    std::map<std::string, double> constants;     // parameters with one value (defaults otherwise)
    std::vector<std::string> parameter_columns;  // parameters with one value per neuron
    std::vector<Drive> drives;
    std::vector<std::string> recorded;     // states or derived variables
    std::vector<std::string> unconnected;  // receptors that no projection reaches: they get no arrivals column
};
struct LoweredProgram {
    ColumnProgramSpec spec;
    std::vector<ColumnBinding> columns;  // of spec.columns; a column that the program does not touch is left out
    std::vector<std::string> scalars;    // of spec.scalars, likewise
    Method method;                       // the one in force; automatic where there is nothing to integrate
    std::string note;                    // "exact (linear, propagators)", "exponential Euler: ..." for --explain
};
// Order within a step. Compat::nest: integrate with the inputs of the start of the step, arrivals, threshold, reset; a
// refractory time of R steps gives intervals of at least R + 1. Compat::brian2: arrivals (those due at the end of the
// step before), integrate, threshold, reset; intervals of at least R. A neuron that is refractory does not fire.
// Variables "(unless refractory)" ignore arrivals and stand still, at what the reset gave them.
Result<LoweredProgram> lower(const NeuronModel& model, const PopulationSetup& setup);

// Values of the states at the start that are the same for all neurons.
Result<std::map<std::string, double>> initial_values(const NeuronModel& model, const PopulationSetup& setup);
// What makes the others, from parameter columns and random draws: a program of parameters that are read and states that
// are written. None where there are no others but those `given` elsewhere.
Result<std::optional<LoweredProgram>> initial_program(const NeuronModel& model, const PopulationSetup& setup,
                                                      const std::vector<std::string>& given);

// Parameters without one value for all neurons and steps: columns, and those that inputs are added to.
std::vector<std::string> changing_parameters(const PopulationSetup& setup);
// What a model with these constants (defaults otherwise) does right after a spike: "the threshold holds right after the
// reset (...)", so that it would fire in every step; empty where it does not, or where that depends on states or on
// `changing` parameters.
std::string reset_fault(const NeuronModel& model, const std::map<std::string, double>& constants,
                        const std::vector<std::string>& changing);
std::vector<std::string> parameters_at_reset(const NeuronModel& model);  // those that reset_fault() looks at
// The refractory time in ms where it is one number, before it is rounded to steps as delays are (step_times.h).
std::optional<double> refractory_ms(const NeuronModel& model, const std::map<std::string, double>& constants,
                                    const std::vector<std::string>& changing, double step_ms);

struct SynapsePrograms {
    LoweredProgram on_pre, on_post;  // columns: state, weight, event_time, coincident and delivered (on_pre)
};
// on_post has no steps where the model has no post events.
Result<SynapsePrograms> lower(const SynapseModel& model, const std::map<std::string, double>& constants,
                              double step_ms);
// Values of the states at the start, from constants.
Result<std::map<std::string, double>> initial_values(const SynapseModel& model,
                                                     const std::map<std::string, double>& constants);

}  // namespace riftjit::sim
