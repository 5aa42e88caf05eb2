#include "sim/engine/network_blueprint.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "host/available_memory.h"
#include "sim/engine/recorders.h"
#include "sim/network/distribution.h"
#include "sim/network/precision.h"
#include "sim/network/random.h"
#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

// What the inputs of one population come to: drives of its program, and the values of their scalars and columns.
struct Drives {
    std::vector<Drive> drives;
    std::map<std::string, Waveform> scalars;
    std::map<std::string, Distribution> columns;
    uint32_t draws = 0;
};

// The mean number of events per step.
Waveform wave_of(const Rate& rate, const Network& network, Waveform wave) {
    wave.level = rate.level_per_ms * network.step_ms;
    for (size_t i = 0; i < rate.times_ms.size(); ++i)
        wave.levels.emplace_back(first_step_from(rate.times_ms[i], network.step_ms),
                                 rate.levels_per_ms[i] * network.step_ms);
    wave.amplitude = rate.amplitude_per_ms * network.step_ms;
    wave.angle_per_step = 2 * std::numbers::pi * rate.frequency_per_ms * network.step_ms;
    wave.phase = rate.phase;
    wave.least = 0;
    return wave;
}

void add_poisson(Drives& drives, const Network& network, const PoissonInput& input, const std::string& name,
                 const Waveform& wave) {
    drives.drives.push_back(PoissonDrive{input.receptor, name, input.weight, drives.draws++});
    drives.scalars[name] = wave_of(input.rate, network, wave);
}

void add_current(Drives& drives, const CurrentInput& input, const std::string& name, Waveform wave) {
    const std::optional<double> amplitude = constant_of(input.amplitude);
    wave.level = amplitude.value_or(1);
    if (!amplitude) drives.columns[name] = input.amplitude;
    drives.drives.push_back(CurrentDrive{input.parameter, name, amplitude ? "" : name});
    drives.scalars[name] = wave;
}

void add_steps(Drives& drives, const Network& network, const StepInput& input, const std::string& name, Waveform wave) {
    for (size_t i = 0; i < input.times_ms.size(); ++i)
        wave.levels.emplace_back(first_step_from(input.times_ms[i], network.step_ms), input.amplitudes[i]);
    // No level before the first, also where there is none.
    if (wave.levels.empty()) wave.levels.emplace_back(0, 0);
    drives.drives.push_back(CurrentDrive{input.parameter, name, ""});
    drives.scalars[name] = wave;
}

void add_sine(Drives& drives, const Network& network, const SineInput& input, const std::string& name, Waveform wave) {
    wave.level = input.offset;
    wave.amplitude = input.amplitude;
    wave.angle_per_step = 2 * std::numbers::pi * input.frequency_per_ms * network.step_ms;
    wave.phase = input.phase;
    drives.drives.push_back(CurrentDrive{input.parameter, name, ""});
    drives.scalars[name] = wave;
}

void add_noise(Drives& drives, const Network& network, const NoiseInput& input, const std::string& name,
               const Waveform& wave) {
    const std::string mean = name + ".mean", anew = name + ".anew";
    drives.scalars[name] = drives.scalars[mean] = wave;
    drives.scalars[name].level = input.deviation;
    drives.scalars[mean].level = input.mean;
    const auto steps = static_cast<uint32_t>(std::max(1.0, std::round(input.interval_ms / network.step_ms)));
    if (steps > 1) {
        drives.scalars[anew] = wave;
        drives.scalars[anew].level = 1;
        drives.scalars[anew].every_steps = steps;
    }
    drives.drives.push_back(NoiseDrive{input.parameter, name, drives.draws++, steps > 1 ? anew : ""});
    drives.drives.push_back(CurrentDrive{input.parameter, mean, ""});
}

std::string drive_name(size_t input) { return fmt::format("input.{}", input); }

Result<Drives> drives_of(const Network& network, uint32_t population) {
    Drives drives;
    for (size_t i = 0; i < network.inputs.size(); ++i) {
        const Input& input = network.inputs[i];
        if (input.target != population) continue;
        if (!std::holds_alternative<NeuronPopulation>(network.populations[population].kind)) {
            return fail(ErrorKind::Unsupported, "input {}: population {} takes no input", input.name,
                        network.populations[population].name);
        }
        const std::string name = drive_name(i);
        const StepWindow window = step_window(input.start_ms, input.stop_ms, network.step_ms);
        const Waveform wave{.begin_step = window.begin, .end_step = window.end};
        if (const auto* poisson = std::get_if<PoissonInput>(&input.kind)) {
            const double mean = poisson->rate.most_per_ms() * network.step_ms;
            if (!(mean >= 0 && mean <= kMostPoissonMean)) {
                return fail(ErrorKind::Unsupported, "input {}: {} arrivals per step in the mean: 0 to {} can be drawn",
                            input.name, mean, kMostPoissonMean);
            }
            add_poisson(drives, network, *poisson, name, wave);
        } else if (const auto* current = std::get_if<CurrentInput>(&input.kind)) {
            add_current(drives, *current, name, wave);
        } else if (const auto* steps = std::get_if<StepInput>(&input.kind)) {
            add_steps(drives, network, *steps, name, wave);
        } else if (const auto* sine = std::get_if<SineInput>(&input.kind)) {
            add_sine(drives, network, *sine, name, wave);
        } else {
            add_noise(drives, network, std::get<NoiseInput>(input.kind), name, wave);
        }
    }
    return drives;
}

// What the state recorders of a population want. A state's own column need not hold what the user calls by its name, so
// all are asked of the program.
std::vector<std::string> recorded_variables(const Network& network, uint32_t population) {
    std::vector<std::string> variables;
    for (const Recorder& recorder : network.recorders) {
        const auto* states = std::get_if<StateRecorder>(&recorder.kind);
        if (!states || recorder.population != population) continue;
        for (const std::string& variable : states->variables)
            if (std::find(variables.begin(), variables.end(), variable) == variables.end())
                variables.push_back(variable);
    }
    return variables;
}

std::vector<std::string> unconnected_receptors(const Network& network, uint32_t population, const NeuronModel& model) {
    std::vector<std::string> receptors;
    for (const Variable& receptor : model.receptors()) {
        const auto reaches = [&](const Projection& projection) {
            return projection.target == population && projection.receptor == receptor.name;
        };
        if (std::none_of(network.projections.begin(), network.projections.end(), reaches))
            receptors.push_back(receptor.name);
    }
    return receptors;
}

ColumnStart start_of(const Distribution& distribution, uint64_t key) {
    if (const std::optional<double> value = constant_of(distribution)) return {*value, {}};
    return {0, [distribution, key](uint32_t element) { return draw(distribution, key, element, element); }};
}

// The distributions behind the columns of a lowered program.
Result<std::vector<ColumnStart>> starts_of(const Network& network, uint32_t index, const NeuronPopulation& neurons,
                                           const PopulationSetup& setup, const Drives& drives,
                                           const LoweredProgram& program) {
    RIFTJIT_TRY(initial, initial_values(neurons.model, setup));
    std::vector<ColumnStart> starts;
    for (const ColumnBinding& binding : program.columns) {
        const uint64_t key = neuron_value_key(network.seed, index, binding.name);
        ColumnStart start;
        if (binding.role == ColumnRole::state) {
            start.value = initial.contains(binding.name) ? initial.at(binding.name) : 0;
            const auto chosen = neurons.initial.find(binding.name);
            if (chosen != neurons.initial.end()) start = start_of(chosen->second, key);
        } else if (binding.role == ColumnRole::parameter) {
            const auto drive = drives.columns.find(binding.name);
            start = start_of(drive != drives.columns.end() ? drive->second : neurons.parameters.at(binding.name), key);
        }
        starts.push_back(std::move(start));
    }
    return starts;
}

// The program that makes starts of single neurons, if there are any that depend on what differs between them.
Result<std::optional<InitialProgram>> initial_of(const Network& network, uint32_t index,
                                                 const NeuronPopulation& neurons, const PopulationSetup& setup) {
    std::vector<std::string> given;
    for (const auto& [name, distribution] : neurons.initial) given.push_back(name);
    RIFTJIT_TRY(program, initial_program(neurons.model, setup, given));
    if (!program) return std::nullopt;
    InitialProgram initial{.program = std::move(*program)};
    for (const ColumnBinding& binding : initial.program.columns) {
        const bool is_read = binding.role == ColumnRole::parameter;
        initial.start.push_back(
            is_read ? start_of(neurons.parameters.at(binding.name), neuron_value_key(network.seed, index, binding.name))
                    : ColumnStart{});
    }
    initial.key = neuron_value_key(network.seed, index, "initial values");  // no variable has a blank in its name
    return initial;
}

std::unexpected<Error> failed_at(const std::string& place, std::string_view what, const Error& error) {
    return fail(error.kind, "{}{}{}: {}", place, place.empty() ? "" : ": ", what, error.message);
}

// What one value of a parameter may not be, none among those of single neurons may: the least, the greatest and 0 stand
// for all of them.
Result<void> check_values(const NeuronModel& model, const PopulationSetup& setup, const std::string& name,
                          const ColumnStart& start, uint32_t size) {
    const auto value_of = [&](uint32_t neuron) { return start.each ? start.each(neuron) : start.value; };
    uint32_t least = 0, greatest = 0, zero = 0;
    double least_value = value_of(0), greatest_value = least_value;
    for (uint32_t neuron = 1; neuron < size; ++neuron) {
        const double value = value_of(neuron);
        if (value < least_value) least = neuron, least_value = value;
        if (value > greatest_value) greatest = neuron, greatest_value = value;
        if (value == 0) zero = neuron;
    }
    PopulationSetup one = setup;
    std::erase(one.parameter_columns, name);
    const auto& parameters = model.parameters();
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const Variable& candidate) { return candidate.name == name; });
    for (const uint32_t neuron : {least, greatest, zero}) {
        if (const std::string fault = value_fault(*parameter, value_of(neuron)); !fault.empty())
            return fail(ErrorKind::Usage, "'{}' of neuron {} is {}", name, neuron, fault);
        one.constants[name] = value_of(neuron);
        if (const Result<LoweredProgram> program = lower(model, one); !program)
            return fail(program.error().kind, "'{}' of neuron {} is {}: {}", name, neuron,
                        with_unit(value_of(neuron), parameter->unit), program.error().message);
    }
    return {};
}

// What a parameter comes to at most with its inputs, of which noise counts by its mean.
struct Greatest {
    double value = -kUnlimited;
    uint32_t step = 0;
};
Greatest greatest_value(const Drives& drives, const std::string& parameter, const ColumnStart& own,
                        const std::function<ColumnStart(const std::string& column)>& start_of_column, uint32_t size) {
    struct Part {
        Waveform wave;
        double amplitude;
        ColumnStart factor;
    };
    std::vector<Part> parts;
    std::set<uint32_t> steps;  // at which something begins
    bool is_each = bool(own.each);
    for (const Drive& drive : drives.drives) {
        const auto* current = std::get_if<CurrentDrive>(&drive);
        if (current == nullptr || current->parameter != parameter) continue;
        Part& part = parts.emplace_back(drives.scalars.at(current->scalar), 0, ColumnStart{1, {}});
        part.amplitude = std::abs(std::exchange(part.wave.amplitude, 0));
        if (!current->column.empty()) part.factor = start_of_column(current->column);
        is_each |= bool(part.factor.each);
        steps.insert({0, part.wave.begin_step, part.wave.end_step});
        for (const auto& [step, level] : part.wave.levels) steps.insert(std::max(step, part.wave.begin_step));
    }
    Greatest greatest;
    const auto value_of = [](const ColumnStart& start, uint32_t neuron) {
        return start.each ? start.each(neuron) : start.value;
    };
    for (uint32_t neuron = 0; neuron < (is_each ? size : 1); ++neuron) {
        const double base = value_of(own, neuron);
        for (Part& part : parts)
            if (part.factor.each) part.factor.value = part.factor.each(neuron);
        for (const uint32_t step : steps) {
            double value = base;
            for (const Part& part : parts) {
                const bool is_on = step >= part.wave.begin_step && step < part.wave.end_step;
                value += part.wave.at(step) * part.factor.value + (is_on ? part.amplitude : 0);
            }
            if (value > greatest.value) greatest = {value, step};
        }
    }
    return greatest;
}

// Where a reset and its threshold depend on several parameters of single neurons, each neuron's are looked at together.
Result<void> check_resets(const Network& network, uint32_t index, const NeuronPopulation& neurons,
                          const PopulationSetup& setup) {
    std::vector<std::pair<std::string, ColumnStart>> columns;
    for (const std::string& name : parameters_at_reset(neurons.model))
        if (std::ranges::find(setup.parameter_columns, name) != setup.parameter_columns.end())
            columns.emplace_back(name,
                                 start_of(neurons.parameters.at(name), neuron_value_key(network.seed, index, name)));
    if (columns.size() < 2) return {};  // check_values() knows
    std::vector<std::string> changing = changing_parameters(setup);
    for (const auto& column : columns) std::erase(changing, column.first);
    std::map<std::string, double> constants = setup.constants;
    for (uint32_t neuron = 0; neuron < network.populations[index].size; ++neuron) {
        for (const auto& [name, start] : columns) constants[name] = start.each(neuron);
        if (const std::string fault = reset_fault(neurons.model, constants, changing); !fault.empty())
            return fail(ErrorKind::Usage, "neuron {}: {}", neuron, fault);
    }
    return {};
}

// Refused before the values of single neurons are looked at, which takes long where there are too many to hold.
Result<void> check_state_fits(const LoweredProgram& program, const Population& population) {
    uint64_t bytes = 0;
    for (const ColumnType type : program.spec.columns) bytes += uint64_t(population.size) * column_bytes(type);
    const uint64_t available = available_memory();
    if (available == 0 || bytes <= available) return {};
    return fail(ErrorKind::OutOfMemory, "{} neurons take {} bytes of memory for their states, {} are available",
                population.size, bytes, available);
}

class BlueprintMaker {
public:
    BlueprintMaker(const Network& network, x86::HostKernels& kernels, Isa isa, Precision precision)
        : network_(network), kernels_(kernels), isa_(isa), precision_(precision) {}

    Result<Blueprint> make();

private:
    Result<ProgramPopulation> neurons(uint32_t index, const NeuronPopulation& neurons);
    Result<void> check_event_rates(uint32_t index, const NeuronPopulation& neurons, const PopulationSetup& setup,
                                   const Drives& drives) const;
    Result<void> check_fits(const std::string& what, Unit unit, const ColumnStart& start, uint32_t size) const;
    Result<void> check_given_fits(uint32_t index, const NeuronPopulation& neurons) const;
    Result<void> check_start_fits(uint32_t index, const NeuronPopulation& neurons, const LoweredProgram& program,
                                  const std::vector<ColumnStart>& starts) const;
    ProgramPopulation poisson(uint32_t index, const PoissonPopulation& poisson) const;
    Result<TimedPopulation> timed(const SpikeTimePopulation& times) const;
    Result<BlueprintPopulation> population(uint32_t index);
    Result<BlueprintProjection> projection(uint32_t index);
    Result<PlasticRule> rule(const SynapseChoice& synapse) const;
    Result<void> fetch(Blueprint& blueprint);

    const Network& network_;
    x86::HostKernels& kernels_;
    Isa isa_;
    Precision precision_;
};

// Inputs may raise the rate of a source beyond what it is held to without them.
Result<void> BlueprintMaker::check_event_rates(uint32_t index, const NeuronPopulation& neurons,
                                               const PopulationSetup& setup, const Drives& drives) const {
    for (const Variable& parameter : neurons.model.parameters()) {
        if (!parameter.is_event_rate) continue;
        const auto start = [&](const Distribution& distribution, const std::string& name) {
            return start_of(distribution, neuron_value_key(network_.seed, index, name));
        };
        const auto given = neurons.parameters.find(parameter.name);
        const Greatest most = greatest_value(
            drives, parameter.name,
            given == neurons.parameters.end() ? ColumnStart{parameter.value, {}} : start(given->second, given->first),
            [&](const std::string& column) { return start(drives.columns.at(column), column); },
            network_.populations[index].size);
        if (!(most.value > 0)) continue;  // it has no inputs, or they leave nothing
        PopulationSetup one = setup;
        std::erase(one.parameter_columns, parameter.name);
        std::erase_if(one.drives, [&](const Drive& drive) {
            const auto* current = std::get_if<CurrentDrive>(&drive);
            const auto* noise = std::get_if<NoiseDrive>(&drive);
            return (current != nullptr && current->parameter == parameter.name) ||
                   (noise != nullptr && noise->parameter == parameter.name);
        });
        one.constants[parameter.name] = most.value;
        if (const Result<LoweredProgram> program = lower(neurons.model, one); !program)
            return fail(program.error().kind, "with its inputs at {} ms {}", most.step * network_.step_ms,
                        program.error().message);
    }
    return {};
}

Result<void> BlueprintMaker::check_fits(const std::string& what, Unit unit, const ColumnStart& start,
                                        uint32_t size) const {
    if (precision_ == Precision::f64) return {};
    for (uint32_t neuron = 0; neuron < (start.each ? size : 1); ++neuron) {
        const double value = start.each ? start.each(neuron) : start.value;
        const std::string_view fault = precision_fault(precision_, value);
        if (fault.empty()) continue;
        return fail(ErrorKind::Usage, "{}{} is {}: {}", what, start.each ? fmt::format(" of neuron {}", neuron) : "",
                    with_unit(value, unit), fault);
    }
    return {};
}

// Parameters and inputs.
Result<void> BlueprintMaker::check_given_fits(uint32_t index, const NeuronPopulation& neurons) const {
    for (const Variable& parameter : neurons.model.parameters()) {
        const auto given = neurons.parameters.find(parameter.name);
        if (given == neurons.parameters.end()) continue;
        const uint64_t key = neuron_value_key(network_.seed, index, parameter.name);
        RIFTJIT_TRY_VOID(check_fits(fmt::format("'{}'", parameter.name), parameter.unit, start_of(given->second, key),
                                    network_.populations[index].size));
    }
    for (size_t i = 0; i < network_.inputs.size(); ++i) {
        const Input& input = network_.inputs[i];
        if (input.target != index) continue;
        const auto check = [&](std::string_view what, const std::vector<Variable>& variables, const std::string& name,
                               const ColumnStart& start) {
            const auto variable = std::ranges::find(variables, name, &Variable::name);
            return check_fits(fmt::format("input {}: its {}", input.name, what),
                              variable == variables.end() ? kNoUnit : variable->unit, start,
                              network_.populations[index].size);
        };
        const auto& parameters = neurons.model.parameters();
        if (const auto* poisson = std::get_if<PoissonInput>(&input.kind)) {
            RIFTJIT_TRY_VOID(check("weight", neurons.model.receptors(), poisson->receptor, {poisson->weight, {}}));
        } else if (const auto* current = std::get_if<CurrentInput>(&input.kind)) {
            const uint64_t key = neuron_value_key(network_.seed, index, drive_name(i));
            RIFTJIT_TRY_VOID(check("amplitude", parameters, current->parameter, start_of(current->amplitude, key)));
        } else if (const auto* steps = std::get_if<StepInput>(&input.kind)) {
            for (const double amplitude : steps->amplitudes)
                RIFTJIT_TRY_VOID(check("amplitude", parameters, steps->parameter, {amplitude, {}}));
        } else if (const auto* sine = std::get_if<SineInput>(&input.kind)) {
            RIFTJIT_TRY_VOID(check("amplitude", parameters, sine->parameter, {sine->amplitude, {}}));
            RIFTJIT_TRY_VOID(check("offset", parameters, sine->parameter, {sine->offset, {}}));
        } else if (const auto* noise = std::get_if<NoiseInput>(&input.kind)) {
            RIFTJIT_TRY_VOID(check("mean", parameters, noise->parameter, {noise->mean, {}}));
            RIFTJIT_TRY_VOID(check("deviation", parameters, noise->parameter, {noise->deviation, {}}));
        }
    }
    return {};
}

Result<void> BlueprintMaker::check_start_fits(uint32_t index, const NeuronPopulation& neurons,
                                              const LoweredProgram& program,
                                              const std::vector<ColumnStart>& starts) const {
    const uint32_t size = network_.populations[index].size;
    for (size_t column = 0; column < starts.size(); ++column) {
        const auto& states = neurons.model.states();
        const auto state = std::ranges::find(states, program.columns[column].name, &Variable::name);
        if (program.columns[column].role != ColumnRole::state || state == states.end()) continue;
        RIFTJIT_TRY_VOID(
            check_fits(fmt::format("the initial value of '{}'", state->name), state->unit, starts[column], size));
    }
    return {};
}

Result<ProgramPopulation> BlueprintMaker::neurons(uint32_t index, const NeuronPopulation& neurons) {
    RIFTJIT_TRY(drives, drives_of(network_, index));
    PopulationSetup setup{.step_ms = network_.step_ms,
                          .compat = network_.compat,
                          .method = neurons.method,
                          .precision = precision_,
                          .drives = drives.drives,
                          .recorded = recorded_variables(network_, index),
                          .unconnected = unconnected_receptors(network_, index, neurons.model)};
    for (const auto& [name, distribution] : neurons.parameters) {
        if (const std::optional<double> value = constant_of(distribution)) {
            setup.constants[name] = *value;
        } else {
            setup.parameter_columns.push_back(name);
        }
    }
    ProgramPopulation result;
    RIFTJIT_TRY_VOID(check_given_fits(index, neurons));
    RIFTJIT_TRY(program, lower(neurons.model, setup));
    RIFTJIT_TRY_VOID(check_state_fits(program, network_.populations[index]));
    for (const std::string& name : setup.parameter_columns) {
        const ColumnStart start = start_of(neurons.parameters.at(name), neuron_value_key(network_.seed, index, name));
        RIFTJIT_TRY_VOID(check_values(neurons.model, setup, name, start, network_.populations[index].size));
    }
    RIFTJIT_TRY_VOID(check_resets(network_, index, neurons, setup));
    RIFTJIT_TRY_VOID(check_event_rates(index, neurons, setup, drives));
    RIFTJIT_TRY(starts, starts_of(network_, index, neurons, setup, drives, program));
    RIFTJIT_TRY_VOID(check_start_fits(index, neurons, program, starts));
    RIFTJIT_TRY(initial, initial_of(network_, index, neurons, setup));
    result.initial = std::move(initial);
    for (const std::string& scalar : program.scalars) {
        check(drives.scalars.contains(scalar), "every scalar of a program is an input's");
        result.scalars.push_back(drives.scalars.at(scalar));
    }
    result.program = std::move(program);
    result.start = std::move(starts);
    result.key = random_key(network_.seed, Purpose::neuron_program, index);
    return result;
}

// Fires where a uniform number falls below 1 - exp(-rate h).
ProgramPopulation BlueprintMaker::poisson(uint32_t index, const PoissonPopulation& poisson) const {
    const StepWindow window = step_window(poisson.start_ms, poisson.stop_ms, network_.step_ms);
    ProgramPopulation result;
    // A kernel has at least one column: the least there is, a byte that says that the neuron takes part.
    result.program.spec = {Precision::f64,
                           1,
                           {ColumnType::u8},
                           {{ColumnOp::scalar, 0, 0, 0, 0, 0},
                            {ColumnOp::load, 0, 0, 0, 0, 0},
                            {ColumnOp::multiply, 0, 1, 0, 0, 0},
                            {ColumnOp::uniform, 0, 0, 0, 0, 0},
                            {ColumnOp::less, 3, 2, 0, 0, 0},
                            {ColumnOp::fire, 4, 0, 0, 0, 0}}};
    result.program.columns = {{ColumnRole::parameter, "takes part"}};
    result.start = {{1, {}}};
    result.program.scalars = {"probability"};
    result.program.method = Method::automatic;
    result.program.note = "Poisson process, one draw per step";
    result.scalars = {wave_of(poisson.rate, network_, {.begin_step = window.begin, .end_step = window.end})};
    result.scalars[0].gives = Waveform::Gives::probability;
    result.key = random_key(network_.seed, Purpose::neuron_program, index);
    return result;
}

Result<TimedPopulation> BlueprintMaker::timed(const SpikeTimePopulation& times) const {
    TimedPopulation result;
    const double first = network_.compat == Compat::nest ? 1 : 0;  // the stamp of step 0
    for (uint32_t element = 0; element < times.times_ms.size(); ++element) {
        const size_t element_begin = result.spikes.size();
        for (const double time : times.times_ms[element]) {
            const double step = nearest_steps(time, network_.step_ms) - first;
            if (!(step >= 0)) {
                return fail(ErrorKind::Usage, "a spike of neuron {} at {} ms: the first step gives spikes at {} ms",
                            element, time, first * network_.step_ms);
            }
            if (step >= UINT32_MAX) {
                return fail(ErrorKind::Usage, "a spike of neuron {} at {} ms, after more than {} steps", element, time,
                            UINT32_MAX);
            }
            const std::pair spike(static_cast<uint32_t>(step), element);
            if (element_begin < result.spikes.size() && result.spikes.back() == spike) {
                return fail(ErrorKind::Usage, "two spikes of neuron {} in the step of {} ms", element,
                            (step + first) * network_.step_ms);
            }
            result.spikes.push_back(spike);
        }
    }
    std::sort(result.spikes.begin(), result.spikes.end());
    return result;
}

Result<BlueprintPopulation> BlueprintMaker::population(uint32_t index) {
    const Population& population = network_.populations[index];
    BlueprintPopulation result{population.name, population.size, population.first_id, RelayedPopulation{}};
    if (const auto* cells = std::get_if<NeuronPopulation>(&population.kind)) {
        Result<ProgramPopulation> program = neurons(index, *cells);
        if (!program) return failed_at(population.place, "population " + population.name, program.error());
        result.kind = std::move(*program);
    } else if (const auto* process = std::get_if<PoissonPopulation>(&population.kind)) {
        result.kind = poisson(index, *process);
    } else if (const auto* times = std::get_if<SpikeTimePopulation>(&population.kind)) {
        Result<TimedPopulation> spikes = timed(*times);
        if (!spikes) return failed_at(population.place, "population " + population.name, spikes.error());
        result.kind = std::move(*spikes);
    }
    return result;
}

Result<PlasticRule> BlueprintMaker::rule(const SynapseChoice& synapse) const {
    RIFTJIT_TRY(programs, lower(synapse.model, synapse.parameters, network_.step_ms));
    PlasticRule rule{std::move(programs.on_pre), std::move(programs.on_post)};
    rule.has_post_events = synapse.model.has_post_events();
    RIFTJIT_TRY(start, initial_values(synapse.model, synapse.parameters));
    for (const auto& [state, value] : start) rule.start.emplace_back(state, value);
    return rule;
}

Result<BlueprintProjection> BlueprintMaker::projection(uint32_t index) {
    const Projection& projection = network_.projections[index];
    RIFTJIT_TRY(builder, ProjectionBuilder::create(network_, index, precision_));
    BlueprintProjection result;
    result.name = projection.name;
    result.source = projection.source;
    result.target = projection.target;
    result.receptor = projection.receptor;
    result.shared_weight = builder.shared_weight();
    result.weights = weight_range(network_, projection);
    result.weight_unit = weight_unit(network_, projection);
    result.expected_synapses = builder.expected_synapses();
    result.likely_delays = builder.likely_delays();
    using DrawnBy = BlueprintProjection::DrawnBy;
    if (std::holds_alternative<FixedInDegree>(projection.rule)) result.drawn_by = DrawnBy::target;
    result.generate = [builder = std::move(builder)](Slice sources, Slice targets,
                                                     const ProjectionBuilder::Receive& receive) {
        builder.generate(sources, targets, receive);
    };
    if (projection.synapse) {
        Result<PlasticRule> plastic = rule(*projection.synapse);
        if (!plastic) return failed_at(projection.place, "projection " + projection.name, plastic.error());
        result.rule = std::move(*plastic);
    }
    return result;
}

Result<void> BlueprintMaker::fetch(Blueprint& blueprint) {
    const auto for_each_program = [&](const auto& use) -> Result<void> {
        for (BlueprintPopulation& population : blueprint.populations) {
            auto* program = std::get_if<ProgramPopulation>(&population.kind);
            if (program == nullptr) continue;
            RIFTJIT_TRY_VOID(use(program->program, program->kernel));
            if (program->initial) RIFTJIT_TRY_VOID(use(program->initial->program, program->initial->kernel));
        }
        for (BlueprintProjection& projection : blueprint.projections) {
            if (!projection.rule) continue;
            RIFTJIT_TRY_VOID(use(projection.rule->on_pre, projection.rule->pre_kernel));
            if (projection.rule->has_post_events)
                RIFTJIT_TRY_VOID(use(projection.rule->on_post, projection.rule->post_kernel));
        }
        return {};
    };
    const auto get = [&](const LoweredProgram& program, KernelFunction& function) -> Result<void> {
        RIFTJIT_TRY(kernel, kernels_.get(program.spec, isa_));
        function = kernel;
        return {};
    };
    RIFTJIT_TRY_VOID(for_each_program(get));
    return kernels_.seal();
}

Result<Blueprint> BlueprintMaker::make() {
    Blueprint blueprint;
    blueprint.step_ms = network_.step_ms;
    blueprint.compat = network_.compat;
    blueprint.precision = precision_;
    blueprint.seed = network_.seed;
    blueprint.recorders = network_.recorders;
    for (uint32_t i = 0; i < network_.populations.size(); ++i) {
        RIFTJIT_TRY(made, population(i));
        blueprint.populations.push_back(std::move(made));
    }
    for (uint32_t i = 0; i < network_.projections.size(); ++i) {
        RIFTJIT_TRY(made, projection(i));
        blueprint.projections.push_back(std::move(made));
    }
    RIFTJIT_TRY_VOID(fetch(blueprint));
    return blueprint;
}

}  // namespace

Result<Blueprint> make_blueprint(const Network& network, x86::HostKernels& kernels, Isa isa, Precision precision) {
    return BlueprintMaker(network, kernels, isa, precision).make();
}

}  // namespace riftjit::sim
