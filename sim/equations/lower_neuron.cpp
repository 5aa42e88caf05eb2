// A neuron model as one column program a step.
#include <algorithm>
#include <cmath>
#include <set>

#include "sim/equations/checked_model.h"
#include "sim/equations/evaluate.h"
#include "sim/equations/integration.h"
#include "sim/equations/program_layout.h"
#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

constexpr double kMostRefractorySteps = UINT16_MAX;

// What the threshold depends on, and through the reset what it depends on right after a spike.
std::set<std::string> names_at_reset(const NeuronModel::Checked& model) {
    std::set<std::string> names;
    if (!model.threshold || model.reset.empty()) return names;
    collect_names(*model.threshold, names);
    std::set<std::string> read = names;
    for (const Statement& statement : model.reset)
        if (read.contains(statement.target)) collect_names(*statement.value, names);
    return names;
}

// With constants, their defaults, and loads in place of `changing` parameters and of states.
Environment environment_of(ValueGraph& graph, const NeuronModel::Checked& model,
                           const std::map<std::string, double>& constants, const std::vector<std::string>& changing,
                           double step_ms) {
    Environment environment{.graph = graph, .step_ms = step_ms, .subexpressions = &model.subexpressions};
    uint32_t column = 0;
    for (const Variable& parameter : model.parameters) {
        const auto constant = constants.find(parameter.name);
        const bool changes = std::ranges::find(changing, parameter.name) != changing.end();
        environment.values[parameter.name] =
            changes ? graph.load(column++)
                    : graph.constant(constant != constants.end() ? constant->second : parameter.value);
    }
    for (const CheckedState& state : model.states) environment.values[state.name] = graph.load(column++);
    return environment;
}

std::string fault_of_reset(const NeuronModel::Checked& model, const std::map<std::string, double>& constants,
                           const std::vector<std::string>& changing) {
    if (!model.threshold || model.reset.empty()) return "";
    ValueGraph graph;
    Environment environment = environment_of(graph, model, constants, changing, 1);
    const std::map<std::string, Value> before = environment.values;
    environment.previous = &before;
    // One that always holds is meant to.
    if (graph.is_true(evaluate(*model.threshold, environment))) return "";
    for (const Statement& statement : model.reset) execute(statement, environment);
    if (!graph.is_true(evaluate(*model.threshold, environment))) return "";
    std::vector<std::string> values;
    for (const std::string& name : names_at_reset(model)) {
        const auto parameter = std::ranges::find(model.parameters, name, &Variable::name);
        const auto number = before.contains(name) ? graph.number(before.at(name)) : std::nullopt;
        if (parameter == model.parameters.end() || !number) continue;
        values.push_back(fmt::format("{} {}{}{}", name, static_cast<double>(*number),
                                     parameter->unit == kNoUnit ? "" : " ",
                                     parameter->unit == kNoUnit ? "" : unit_text(parameter->unit)));
    }
    return fmt::format("the threshold holds right after the reset{}: it would fire in every step",
                       values.empty() ? "" : fmt::format(" ({})", fmt::join(values, ", ")));
}

class NeuronLowering {
public:
    NeuronLowering(const NeuronModel::Checked& model, const PopulationSetup& setup)
        : model_(model), setup_(setup), layout_(graph_, setup.precision) {}

    Result<LoweredProgram> run() {
        RIFTJIT_TRY_VOID(check_names());
        RIFTJIT_TRY_VOID(check_reset());
        RIFTJIT_TRY_VOID(check_event_rates());
        load_parameters();
        for (const CheckedState& state : model_.states)
            values()[state.name] = layout_.load(ColumnRole::state, state.name);
        loaded_ = values();
        RIFTJIT_TRY_VOID(read_refractory());
        const bool is_nest = setup_.compat == Compat::nest;
        if (!is_nest) add_arrivals();
        RIFTJIT_TRY_VOID(advance());
        if (is_nest) add_arrivals();
        fire_and_reset();
        RIFTJIT_TRY_VOID(store());
        Result<LoweredProgram> program = layout_.finish(fires_);
        if (!program) return fail(program.error().kind, "model '{}': {}", model_.name, program.error().message);
        if (program->spec.columns.empty())
            return fail(ErrorKind::Usage,
                        "model '{}': nothing of it changes from step to step, not even a refractory time", model_.name);
        program->method = method_;
        program->note = note_;
        return program;
    }

private:
    std::map<std::string, Value>& values() { return environment_.values; }

    // ---- what comes in ----

    Result<void> check_names() const {
        std::vector<std::string> parameters, receptors;
        for (const Variable& one : model_.parameters) parameters.push_back(one.name);
        for (const CheckedReceptor& one : model_.receptors) receptors.push_back(one.name);
        const auto known = [&](const std::string& name, const std::vector<std::string>& all,
                               std::string_view what) -> Result<void> {
            if (std::ranges::find(all, name) != all.end()) return {};
            return fail(ErrorKind::Usage, "model '{}' has no {} '{}'{}", model_.name, what, name,
                        suggestion(name, all));
        };
        RIFTJIT_TRY_VOID(check_constants(model_, setup_.constants));
        for (const std::string& name : setup_.parameter_columns) RIFTJIT_TRY_VOID(known(name, parameters, "parameter"));
        for (const std::string& name : setup_.unconnected) RIFTJIT_TRY_VOID(known(name, receptors, "receptor"));
        for (const Drive& drive : setup_.drives) {
            if (const auto* poisson = std::get_if<PoissonDrive>(&drive)) {
                RIFTJIT_TRY_VOID(known(poisson->receptor, receptors, "receptor"));
            } else if (const auto* current = std::get_if<CurrentDrive>(&drive)) {
                RIFTJIT_TRY_VOID(known(current->parameter, parameters, "parameter"));
            } else {
                RIFTJIT_TRY_VOID(known(std::get<NoiseDrive>(drive).parameter, parameters, "parameter"));
            }
        }
        return {};
    }

    Result<void> check_reset() const {
        const std::string fault = fault_of_reset(model_, setup_.constants, changing_parameters(setup_));
        return fault.empty() ? Result<void>() : fail(ErrorKind::Usage, "model '{}': {}", model_.name, fault);
    }

    Result<void> check_event_rates() const {
        for (const Variable& parameter : model_.parameters) {
            const auto& columns = setup_.parameter_columns;
            if (!parameter.is_event_rate || std::ranges::find(columns, parameter.name) != columns.end()) continue;
            const auto constant = setup_.constants.find(parameter.name);
            const double value = constant != setup_.constants.end() ? constant->second : parameter.value;
            if (value * setup_.step_ms <= 1 + kStepTolerance) continue;
            return fail(ErrorKind::Usage, "model '{}': '{}' is {} {}, more than one spike in each step of {} ms",
                        model_.name, parameter.name, value, unit_text(parameter.unit), setup_.step_ms);
        }
        return {};
    }

    void load_parameters() {
        for (const Variable& parameter : model_.parameters) {
            const auto constant = setup_.constants.find(parameter.name);
            const bool is_column =
                std::ranges::find(setup_.parameter_columns, parameter.name) != setup_.parameter_columns.end();
            values()[parameter.name] =
                is_column ? layout_.load(ColumnRole::parameter, parameter.name)
                          : graph_.constant(constant != setup_.constants.end() ? constant->second : parameter.value);
        }
        for (const Drive& drive : setup_.drives) {
            if (const auto* current = std::get_if<CurrentDrive>(&drive)) {
                Value amount = layout_.scalar(current->scalar);
                if (!current->column.empty())
                    amount = graph_.multiply(amount, layout_.load(ColumnRole::parameter, current->column));
                add_to(current->parameter, amount);
            } else if (const auto* noise = std::get_if<NoiseDrive>(&drive)) {
                add_to(noise->parameter, graph_.multiply(layout_.scalar(noise->scalar), noise_of(*noise)));
            }
        }
    }
    Value noise_of(const NoiseDrive& noise) {
        const Value drawn = graph_.draw(ColumnOp::normal, noise.draw);
        if (noise.anew.empty()) return drawn;
        const Value is_due = graph_.less(graph_.constant(0), layout_.scalar(noise.anew));
        const Value held = graph_.select(is_due, drawn, layout_.load(ColumnRole::state, noise.scalar));
        layout_.store(ColumnRole::state, noise.scalar, held);
        return held;
    }
    void add_to(const std::string& name, Value amount) { values()[name] = graph_.add(values()[name], amount); }

    // ---- refractory time ----
    //
    // The counter is set to R when the neuron fires and falls by one in each later step. Under NEST's rules the
    // dynamics stand still and arrivals are ignored while it is above 0 at the start of the step: R steps. Under
    // Brian2's the step in which it falls to 0 integrates again, while its arrivals, sent in the step before, are still
    // ignored.

    // As nearest_steps(), for a time that may differ from neuron to neuron: halves, and what columns make of halves
    // that decimals have, to the even number.
    Value nearest_steps_of(Value time) {
        const Value steps = graph_.multiply(time, graph_.constant(1 / (long double)(setup_.step_ms)));
        const Value whole = graph_.function(ColumnOp::floor, steps), half = graph_.constant(0.5L);
        const Value beyond_half = graph_.subtract(graph_.subtract(steps, whole), half);
        const Value unsure =
            graph_.multiply(steps, graph_.constant(setup_.precision == Precision::f64 ? 0x1p-49L : 0x1p-21L));
        const Value is_half = graph_.less_equal(graph_.function(ColumnOp::absolute, beyond_half), unsure);
        const Value halved = graph_.multiply(whole, half), one = graph_.constant(1);
        const Value is_even = graph_.equal(halved, graph_.function(ColumnOp::floor, halved));
        const Value is_below =
            graph_.select(is_half, graph_.select(is_even, one, graph_.constant(0)),
                          graph_.select(graph_.less(beyond_half, graph_.constant(0)), one, graph_.constant(0)));
        return graph_.select(graph_.less(graph_.constant(0), is_below), whole, graph_.add(whole, one));
    }

    Result<void> read_refractory() {
        refractory_steps_ = graph_.constant(0);
        if (model_.refractory) {
            const Value time = evaluate(*model_.refractory, environment_);
            const auto one = graph_.number(time);
            refractory_steps_ = one ? graph_.constant(nearest_steps(static_cast<double>(*one), setup_.step_ms))
                                    : nearest_steps_of(time);
        }
        const auto steps = graph_.number(refractory_steps_);
        if (steps && !(*steps >= 0 && *steps <= kMostRefractorySteps))
            return fail(ErrorKind::Usage, "model '{}': refractory time of {} steps, not between 0 and {}", model_.name,
                        static_cast<double>(*steps), kMostRefractorySteps);
        const Value zero = graph_.constant(0), one = graph_.constant(1);
        find_overwritten();
        if (steps == 0.0L && overwritten_.empty()) return {};
        refractory_steps_ = graph_.extreme(ColumnOp::minimum, refractory_steps_, graph_.constant(kMostRefractorySteps));
        refractory_steps_ = graph_.extreme(ColumnOp::maximum, refractory_steps_, overwritten_.empty() ? zero : one);
        const Value counter = layout_.load(ColumnRole::refractory, "");
        ignores_arrivals_ = graph_.less(zero, counter);
        has_just_fired_ = graph_.equal(counter, refractory_steps_);
        remaining_ = graph_.extreme(ColumnOp::maximum, graph_.subtract(counter, one), zero);
        stands_still_ = setup_.compat == Compat::nest ? ignores_arrivals_ : graph_.less(one, counter);
        return {};
    }

    // Brian2 resets after it delivers: what arrived in the step of the spike, which here is added in the next, is lost
    // to the variables that the reset sets whatever they were.
    void find_overwritten() {
        if (setup_.compat == Compat::nest || !model_.threshold) return;
        Environment symbolic = environment_;
        uint32_t next = 0;
        for (const CheckedState& state : model_.states)
            if (is_received(state.name)) symbolic.values[state.name] = graph_.symbol(next++);
        const std::map<std::string, Value> before = symbolic.values;
        symbolic.previous = &before;
        for (const Statement& statement : model_.reset) execute(statement, symbolic);
        for (const CheckedState& state : model_.states)
            if (is_received(state.name) &&
                (graph_.symbols_in(symbolic.values[state.name]) & graph_.symbols_in(before.at(state.name))) == 0)
                overwritten_.insert(state.name);
    }
    bool is_received(const std::string& state) const {
        return std::ranges::any_of(model_.receptors, [&](const CheckedReceptor& receptor) {
            return std::ranges::find(receptor.statements, state, &Statement::target) != receptor.statements.end();
        });
    }

    // ---- the phases of a step ----

    void add_arrivals() {
        for (const CheckedReceptor& receptor : model_.receptors) {
            const bool is_connected = std::ranges::find(setup_.unconnected, receptor.name) == setup_.unconnected.end();
            Value weight = graph_.constant(0);
            if (is_connected) {
                weight = layout_.load(ColumnRole::arrivals, receptor.name);
                layout_.store(ColumnRole::arrivals, receptor.name, graph_.constant(0));
            }
            for (const Drive& drive : setup_.drives) {
                const auto* poisson = std::get_if<PoissonDrive>(&drive);
                if (poisson == nullptr || poisson->receptor != receptor.name) continue;
                const Value count = graph_.draw(ColumnOp::poisson, poisson->draw, layout_.scalar(poisson->scalar));
                weight = graph_.add(weight, graph_.multiply(graph_.constant(poisson->weight), count));
            }
            receive(receptor, weight);
        }
    }
    void receive(const CheckedReceptor& receptor, Value weight) {
        const std::map<std::string, Value> before = values();
        values()["w"] = weight;
        for (const Statement& statement : receptor.statements) execute(statement, environment_);
        values().erase("w");
        if (const auto w = before.find("w"); w != before.end()) values()["w"] = w->second;  // a state of this name
        for (const CheckedState& state : model_.states) {
            const bool is_overwritten = overwritten_.contains(state.name);
            const Value is_deaf = state.stops_while_refractory ? ignores_arrivals_
                                  : is_overwritten             ? has_just_fired_
                                                               : graph_.truth(false);
            values()[state.name] = graph_.select(is_deaf, before.at(state.name), values()[state.name]);
        }
    }

    Result<void> advance() {
        const Method method = setup_.method == Method::automatic ? model_.method : setup_.method;
        if (!model_.update.empty()) {
            if (setup_.method != Method::automatic)
                return fail(ErrorKind::Usage, "model '{}' has an update of its own: no method can be chosen",
                            model_.name);
            update();
            return {};
        }
        OdeSystem system{.is_refractory = stands_still_, .step_ms = setup_.step_ms};
        std::vector<const CheckedState*> states;
        for (const CheckedState& state : model_.states) {
            if (!state.derivative) continue;
            states.push_back(&state);
            system.states.push_back({state.name, values()[state.name], state.stops_while_refractory});
        }
        if (states.size() > 64)
            return fail(ErrorKind::Unsupported, "model '{}': {} differential equations, of at most 64", model_.name,
                        states.size());
        system.derivatives = [&](const std::vector<Value>& at) {
            Environment there = environment_;
            for (size_t i = 0; i < states.size(); ++i) there.values[states[i]->name] = at[i];
            std::vector<Value> derivatives;
            for (const CheckedState* state : states) derivatives.push_back(evaluate(*state->derivative, there));
            return derivatives;
        };
        auto step = integrate(graph_, system, method);
        if (!step) return fail(step.error().kind, "model '{}': {}", model_.name, step.error().message);
        for (size_t i = 0; i < states.size(); ++i) values()[states[i]->name] = step->states[i];
        method_ = step->method;
        note_ = step->note;
        return {};
    }
    void update() {
        const std::map<std::string, Value> before = values();
        for (const Statement& statement : model_.update) execute(statement, environment_);
        for (const CheckedState& state : model_.states)
            if (state.stops_while_refractory)
                values()[state.name] = graph_.select(stands_still_, before.at(state.name), values()[state.name]);
        note_ = "the model's own update";
    }

    void fire_and_reset() {
        if (!model_.threshold) return;
        environment_.previous = &loaded_;
        fires_ = graph_.both(evaluate(*model_.threshold, environment_), graph_.negation(stands_still_));
        const std::map<std::string, Value> before = values();
        for (const Statement& statement : model_.reset) execute(statement, environment_);
        for (const CheckedState& state : model_.states)
            values()[state.name] = graph_.select(fires_, values()[state.name], before.at(state.name));
        environment_.previous = nullptr;
    }

    Result<void> store() {
        for (const CheckedState& state : model_.states)
            if (values()[state.name] != loaded_.at(state.name))
                layout_.store(ColumnRole::state, state.name, values()[state.name]);
        if (!graph_.is_false(ignores_arrivals_))
            layout_.store(ColumnRole::refractory, "", graph_.select(fires_, refractory_steps_, remaining_));
        for (const std::string& name : setup_.recorded) {
            if (!model_.scope.names.contains(name)) {
                std::vector<std::string> known;
                for (const auto& [one, unit] : model_.scope.names) known.push_back(one);
                return fail(ErrorKind::Usage, "model '{}' has no variable '{}' to record{}", model_.name, name,
                            suggestion(name, known));
            }
            const Expression expression{.operation = Operation::name, .offset = 0, .name = name};
            layout_.store(ColumnRole::recorded, name, evaluate(expression, environment_));
        }
        return {};
    }

    const NeuronModel::Checked& model_;
    const PopulationSetup& setup_;
    ValueGraph graph_;
    ProgramLayout layout_;
    Environment environment_{.graph = graph_, .step_ms = setup_.step_ms, .subexpressions = &model_.subexpressions};
    std::map<std::string, Value> loaded_;  // at the start of the step
    std::set<std::string> overwritten_;    // states that the reset sets whatever they were
    Value refractory_steps_ = 0, remaining_ = 0;
    Value has_just_fired_ = graph_.truth(false), ignores_arrivals_ = graph_.truth(false),
          stands_still_ = graph_.truth(false), fires_ = graph_.truth(false);
    Method method_ = Method::automatic;
    std::string note_;
};

}  // namespace

Result<LoweredProgram> lower(const NeuronModel& model, const PopulationSetup& setup) {
    check(setup.step_ms > 0, "the step is above 0");
    Result<LoweredProgram> program = NeuronLowering(model.checked(), setup).run();
    if (program) return program;
    return std::unexpected(with_culprit(program.error(), model.checked(), setup.constants,
                                        [&](const std::map<std::string, double>& constants) {
                                            PopulationSetup other = setup;
                                            other.constants = constants;
                                            return NeuronLowering(model.checked(), other).run().has_value();
                                        }));
}

std::vector<std::string> changing_parameters(const PopulationSetup& setup) {
    std::vector<std::string> changing = setup.parameter_columns;
    for (const Drive& drive : setup.drives) {
        if (const auto* current = std::get_if<CurrentDrive>(&drive)) changing.push_back(current->parameter);
        if (const auto* noise = std::get_if<NoiseDrive>(&drive)) changing.push_back(noise->parameter);
    }
    return changing;
}

std::vector<std::string> parameters_at_reset(const NeuronModel& model) {
    std::vector<std::string> parameters;
    const std::set<std::string> names = names_at_reset(model.checked());
    for (const Variable& parameter : model.parameters())
        if (names.contains(parameter.name)) parameters.push_back(parameter.name);
    return parameters;
}

std::string reset_fault(const NeuronModel& model, const std::map<std::string, double>& constants,
                        const std::vector<std::string>& changing) {
    return fault_of_reset(model.checked(), constants, changing);
}

std::optional<double> refractory_ms(const NeuronModel& model, const std::map<std::string, double>& constants,
                                    const std::vector<std::string>& changing, double step_ms) {
    const NeuronModel::Checked& checked = model.checked();
    if (!checked.refractory) return std::nullopt;
    ValueGraph graph;
    const Environment environment = environment_of(graph, checked, constants, changing, step_ms);
    const auto number = graph.number(evaluate(*checked.refractory, environment));
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return static_cast<double>(*number);
}

namespace {

bool is_column(const PopulationSetup& setup, const std::string& parameter) {
    return std::ranges::find(setup.parameter_columns, parameter) != setup.parameter_columns.end();
}

// Parameters with one value, as constants.
void set_constants(const NeuronModel::Checked& model, const PopulationSetup& setup, Environment& environment) {
    for (const Variable& parameter : model.parameters) {
        const auto constant = setup.constants.find(parameter.name);
        if (!is_column(setup, parameter.name))
            environment.values[parameter.name] =
                environment.graph.constant(constant != setup.constants.end() ? constant->second : parameter.value);
    }
}

}  // namespace

Result<std::map<std::string, double>> initial_values(const NeuronModel& model, const PopulationSetup& setup) {
    const NeuronModel::Checked& checked = model.checked();
    ValueGraph graph;
    Environment environment{.graph = graph, .step_ms = setup.step_ms};
    set_constants(checked, setup, environment);
    for (uint32_t i = 0; i < setup.parameter_columns.size(); ++i)
        environment.values[setup.parameter_columns[i]] = graph.load(i);
    std::map<std::string, double> values;
    for (const CheckedState& state : checked.states) {
        const auto value = state.initial ? graph.number(evaluate(*state.initial, environment)) : 0.0L;
        if (!value) continue;
        if (!std::isfinite(*value))
            return fail(ErrorKind::Usage, "model '{}': the initial value of '{}' is not finite", checked.name,
                        state.name);
        values[state.name] = static_cast<double>(*value);
    }
    return values;
}

Result<std::optional<LoweredProgram>> initial_program(const NeuronModel& model, const PopulationSetup& setup,
                                                      const std::vector<std::string>& given) {
    const NeuronModel::Checked& checked = model.checked();
    ValueGraph graph;
    ProgramLayout layout(graph, setup.precision);
    Environment environment{.graph = graph, .step_ms = setup.step_ms};
    set_constants(checked, setup, environment);
    for (const std::string& parameter : setup.parameter_columns)
        environment.values[parameter] = layout.load(ColumnRole::parameter, parameter);
    bool is_empty = true;
    for (const CheckedState& state : checked.states) {
        if (!state.initial || std::ranges::find(given, state.name) != given.end()) continue;
        const Value value = evaluate(*state.initial, environment);
        if (graph.number(value)) continue;
        layout.store(ColumnRole::state, state.name, value);
        is_empty = false;
    }
    if (is_empty) return std::nullopt;
    Result<LoweredProgram> program = layout.finish(graph.truth(false));
    if (!program)
        return fail(program.error().kind, "model '{}', initial values: {}", checked.name, program.error().message);
    return std::move(*program);
}

}  // namespace riftjit::sim
