// [[input]]: what neurons receive from outside.
#include <algorithm>
#include <cmath>

#include "jit/columns/column_program.h"
#include "sim/network/network_reader.h"
#include "sim/network/synapse_checks.h"

namespace riftjit::sim {

namespace {

class InputReader {
public:
    InputReader(NetworkReader& owner, const toml::table& table)
        : owner_(owner), table_(table), reader_(table, "[[input]]"), scope_(&owner.names) {}

    // One input for each population of `to`; names of [input.rows] have one value for each.
    Result<void> read() {
        RIFTJIT_TRY(names, reader_.need_strings("to"));
        const toml::node& to = *reader_.find("to");
        RIFTJIT_TRY(rows, read_rows(names.size()));
        for (size_t row = 0; row < names.size(); ++row) {
            for (const auto& [name, values] : rows) scope_.set(name, values[row]);
            const toml::node& where = to.is_array() ? *to.as_array()->get(row) : to;
            RIFTJIT_TRY(target, owner_.population(where, names[row]));
            if (std::ranges::count(names, names[row]) > 1)
                return fail_in(where, "'to' has population '{}' twice", names[row]);
            RIFTJIT_TRY(input, read_one(where, target));
            if (row == 0) RIFTJIT_TRY_VOID(reader_.finish());
            owner_.network.inputs.push_back(std::move(input));
        }
        if (const std::vector<std::string> unused = scope_.unused(); !unused.empty())
            return fail_in(table_, "nothing in this input uses the name '{}'", unused[0]);
        return {};
    }

private:
    using NamedLists = std::vector<std::pair<std::string, std::vector<Quantity>>>;
    Result<NamedLists> read_rows(size_t count) {
        NamedLists lists;
        const toml::node* node = reader_.find("rows");
        if (node == nullptr) return lists;
        RIFTJIT_TRY(table, table_of(*node, "rows"));
        for (const auto& [name, values] : *table) {
            const toml::array* array = values.as_array();
            if (array == nullptr || array->size() != count)
                return fail_in(values, "'{}' is a list of {} values, one for each population", name.str(), count);
            auto& list = lists.emplace_back(name.str(), std::vector<Quantity>{}).second;
            for (const toml::node& element : *array) {
                RIFTJIT_TRY(value, owner_.names.quantity(element));
                list.push_back(value);
            }
        }
        return lists;
    }

    Result<Input> read_one(const toml::node& where, uint32_t target) {
        const Population& population = owner_.network.populations[target];
        neurons_ = std::get_if<NeuronPopulation>(&population.kind);
        if (neurons_ == nullptr) return fail_in(where, "population {} has no neurons that take input", population.name);
        size_ = population.size;
        RIFTJIT_TRY(kind, reader_.need_string("kind"));
        RIFTJIT_TRY(name, reader_.name_or("name", kind));
        RIFTJIT_TRY(window, window_in(reader_, scope_));
        Input input{.name = fmt::format("{} -> {}", name, population.name), .target = target, .kind = {}};
        input.start_ms = window.start_ms;
        input.stop_ms = window.stop_ms;
        RIFTJIT_TRY_VOID(owner_.check_window(reader_.find("stop"), "input " + input.name, window));
        if (window.start_ms >= owner_.network.duration_ms)
            owner_.note(fmt::format("input {} starts at {} ms, after the end of the run", input.name, window.start_ms));
        RIFTJIT_TRY_VOID(read_kind(kind, input));
        return input;
    }
    Result<void> read_kind(const std::string& kind, Input& input) {
        if (kind == "poisson") return read_poisson(input);
        static const std::vector<std::string> kKinds = {"poisson", "dc", "ac", "steps", "noise"};
        if (std::ranges::find(kKinds, kind) == kKinds.end())
            return fail_in(*reader_.find("kind"), "there is no input \"{}\"; there are {}", kind,
                           fmt::join(kKinds, ", "));
        RIFTJIT_TRY_VOID(read_parameter());
        if (kind == "dc") return read_current(input);
        if (kind == "ac") return read_sine(input);
        return kind == "steps" ? read_steps(input) : read_noise(input);
    }

    Result<void> read_poisson(Input& input) {
        const NeuronModel& model = neurons_->model;
        PoissonInput poisson{};
        const toml::node* receptor = reader_.find("receptor");
        if (receptor == nullptr && model.receptors().size() != 1)
            return reader_.missing({"receptor"}, fmt::format("[[input]] has no 'receptor': model {} has {} receptors",
                                                             model.name(), model.receptors().size()));
        if (receptor != nullptr) {
            RIFTJIT_TRY(name, string_of(*receptor, "receptor"));
            poisson.receptor = name;
        } else {
            poisson.receptor = model.receptors()[0].name;
        }
        const SourceText place = source_of(receptor ? *receptor : static_cast<const toml::node&>(table_));
        RIFTJIT_TRY(variable, variable_named(model.receptors(), poisson.receptor, "receptor", model.name(), place));
        RIFTJIT_TRY(weight, need_number("weight", variable->unit));
        const WeightRange range = weight_range(*neurons_, poisson.receptor);
        if (const std::string fault = weight_fault(range, weight, unit_text(variable->unit), Precision::f64);
            !fault.empty())
            return fail_in(*reader_.find("weight"), "'weight' is {}", fault);
        RIFTJIT_TRY(rate, rate_in(reader_, owner_.directory, scope_));
        owner_.keep_file(reader_);
        RIFTJIT_TRY_VOID(check_changes(input, rate.times_ms));
        if (rate.most_per_ms() * owner_.network.step_ms > kMostPoissonMean) {
            const toml::node* node = reader_.find("rate") ? reader_.find("rate") : &table_;
            return fail_in(*node, "'rate' is {} per ms, more than {} in a step of {} ms", rate.most_per_ms(),
                           kMostPoissonMean, owner_.network.step_ms);
        }
        poisson.weight = weight;
        poisson.rate = std::move(rate);
        input.kind = std::move(poisson);
        return {};
    }
    // The parameter of the model that the input is added to.
    Result<void> read_parameter() {
        const toml::node* node = reader_.find("parameter");
        RIFTJIT_TRY(name, reader_.string_or("parameter", "I_e"));
        RIFTJIT_TRY(variable, variable_named(neurons_->model.parameters(), name, "parameter", neurons_->model.name(),
                                             source_of(node ? *node : static_cast<const toml::node&>(table_))));
        parameter_ = name;
        unit_ = variable->unit;
        return {};
    }
    Result<void> read_current(Input& input) {
        RIFTJIT_TRY(node, reader_.need("amplitude"));
        RIFTJIT_TRY(amplitude, distribution_in(*node, unit_, "amplitude", size_, scope_));
        input.kind = CurrentInput{parameter_, std::move(amplitude)};
        return {};
    }
    Result<void> read_sine(Input& input) {
        SineInput sine{.parameter = parameter_};
        RIFTJIT_TRY(amplitude, need_number("amplitude", unit_));
        RIFTJIT_TRY(frequency, need_number("frequency", kPerMillisecond));
        RIFTJIT_TRY(offset, number_or("offset", unit_));
        RIFTJIT_TRY(phase, number_or("phase", kNoUnit));
        if (frequency < 0) return fail_in(*reader_.find("frequency"), "'frequency' is {} per ms, below 0", frequency);
        sine.amplitude = amplitude;
        sine.frequency_per_ms = frequency;
        sine.offset = offset;
        sine.phase = phase;
        input.kind = std::move(sine);
        return {};
    }
    Result<void> read_steps(Input& input) {
        StepInput steps{.parameter = parameter_};
        RIFTJIT_TRY(profile, profile_in(reader_, {"amplitudes", unit_, 1}, owner_.directory, scope_));
        owner_.keep_file(reader_);
        steps.times_ms = std::move(profile.times_ms);
        RIFTJIT_TRY_VOID(check_changes(input, steps.times_ms));
        steps.amplitudes = std::move(profile.values);
        input.kind = std::move(steps);
        return {};
    }
    Result<void> read_noise(Input& input) {
        RIFTJIT_TRY(mean, number_or("mean", unit_));
        RIFTJIT_TRY(deviation, need_number("deviation", unit_));
        if (deviation < 0)
            return fail_in(*reader_.find("deviation"), "'deviation' is {}, below 0", with_unit(deviation, unit_));
        RIFTJIT_TRY(interval, number_or("interval", kMillisecond));
        const double steps = interval / owner_.network.step_ms;
        if (const toml::node* node = reader_.find("interval");
            node != nullptr && (steps < 0.5 || std::abs(steps - std::round(steps)) > 1e-6 || steps > UINT32_MAX))
            return fail_in(*node, "an interval of {} ms is not a whole number of steps of {} ms", interval,
                           owner_.network.step_ms);
        input.kind = NoiseInput{parameter_, mean, deviation, interval};
        return {};
    }

    Result<void> check_changes(const Input& input, const std::vector<double>& times_ms) {
        if (times_ms.empty()) return {};
        const toml::node* times = reader_.find("times");
        return owner_.check_changes(times ? *times : *reader_.find("file"), "input " + input.name, times_ms);
    }

    Result<double> need_number(std::string_view key, Unit unit) {
        RIFTJIT_TRY(node, reader_.need(key));
        return number_in(*node, unit, key, scope_);
    }
    Result<double> number_or(std::string_view key, Unit unit) {
        const toml::node* node = reader_.find(key);
        if (node == nullptr) return 0.0;
        return number_in(*node, unit, key, scope_);
    }

    NetworkReader& owner_;
    const toml::table& table_;
    TableReader reader_;
    Scope scope_;
    const NeuronPopulation* neurons_ = nullptr;
    uint32_t size_ = 0;
    std::string parameter_;
    Unit unit_{};
};

}  // namespace

Result<void> NetworkReader::read_inputs(const toml::table& root) {
    RIFTJIT_TRY(tables, tables_of(root, "input"));
    for (const toml::table* table : tables) RIFTJIT_TRY_VOID(InputReader(*this, *table).read());
    return {};
}

}  // namespace riftjit::sim
