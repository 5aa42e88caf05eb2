// [population.NAME]: neurons of a model, Poisson sources, spike times, relays.
#include <algorithm>
#include <cmath>

#include "sim/equations/model_file.h"
#include "sim/equations/parser.h"
#include "sim/network/network_reader.h"
#include "sim/network/number_file.h"
#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

// Of the values that a file writes down; those that are drawn are looked at once they are.
std::string given_value_fault(const Variable& variable, const Distribution& distribution) {
    if (const auto* constant = std::get_if<Constant>(&distribution.kind)) {
        const std::string fault = value_fault(variable, constant->value);
        return fault.empty() ? "" : " is " + fault;
    }
    const auto* list = std::get_if<Values>(&distribution.kind);
    for (size_t neuron = 0; list != nullptr && neuron < list->values.size(); ++neuron) {
        if (const std::string fault = value_fault(variable, list->values[neuron]); !fault.empty())
            return fmt::format(" of neuron {} is {}", neuron, fault);
    }
    return "";
}

class PopulationReader {
public:
    PopulationReader(NetworkReader& owner, const std::string& name, const toml::table& table)
        : owner_(owner), names_(owner.names), reader_(table, fmt::format("[population.{}]", name)) {
        population_.name = name;
        population_.place = place(source_of(table));
    }

    Result<Population> read() {
        RIFTJIT_TRY(model, reader_.need_string("model"));
        if (model == "spike_times") {
            RIFTJIT_TRY_VOID(read_spike_times());
        } else {
            RIFTJIT_TRY(node, reader_.need("size"));
            RIFTJIT_TRY(size, whole_in(*node, 1, UINT32_MAX, "size", names_));
            population_.size = static_cast<uint32_t>(size);
            if (model == "poisson") {
                RIFTJIT_TRY_VOID(read_poisson());
            } else if (model == "relay") {
                population_.kind = RelayPopulation{};
            } else {
                RIFTJIT_TRY_VOID(read_neurons(model));
            }
        }
        RIFTJIT_TRY_VOID(read_positions());
        RIFTJIT_TRY_VOID(reader_.finish());
        return std::move(population_);
    }

private:
    Result<void> read_neurons(const std::string& name) {
        RIFTJIT_TRY(model, owner_.neuron_model(*reader_.find("model"), name));
        NeuronPopulation neurons{.model = model};
        RIFTJIT_TRY_VOID(read_values("parameters", "parameter", model.parameters(), name, neurons.parameters));
        RIFTJIT_TRY_VOID(read_initial(neurons));
        note_refractory(neurons);
        if (const toml::node* method = reader_.find("method")) {
            RIFTJIT_TRY_VOID(string_of(*method, "method"));
            RIFTJIT_TRY(parsed, parse_method(source_of(*method)));
            neurons.method = parsed;
        }
        population_.kind = std::move(neurons);
        return {};
    }
    // One for all, or one for each neuron of a list. What is drawn is rounded as drawn delays are.
    void note_refractory(const NeuronPopulation& neurons) {
        std::map<std::string, double> constants;
        std::vector<std::string> drawn;
        std::vector<std::pair<std::string, const std::vector<double>*>> listed;
        for (const auto& [name, distribution] : neurons.parameters) {
            if (const auto* constant = std::get_if<Constant>(&distribution.kind))
                constants[name] = constant->value;
            else if (const auto* values = std::get_if<Values>(&distribution.kind))
                listed.emplace_back(name, &values->values);
            else
                drawn.push_back(name);
        }
        std::vector<std::string> changing = drawn;
        for (const auto& [name, values] : listed) changing.push_back(name);
        const bool is_shared = refractory_ms(neurons.model, constants, changing, owner_.network.step_ms).has_value();
        std::vector<double> times;
        for (uint32_t neuron = 0; neuron < (is_shared ? 1 : population_.size); ++neuron) {
            for (const auto& [name, values] : listed) constants[name] = (*values)[neuron];
            const auto time = refractory_ms(neurons.model, constants, drawn, owner_.network.step_ms);
            if (!time) return;
            times.push_back(*time);
        }
        std::ranges::sort(times);
        const bool is_one = times.front() == times.back();
        owner_.note_rounded("population " + population_.name, "refractory time",
                            std::span(times).first(is_one ? 1 : times.size()));
    }
    // Values and distributions; or expressions of the model's parameters and random numbers, as in the model itself.
    Result<void> read_initial(NeuronPopulation& neurons) {
        const toml::node* node = reader_.find("initial");
        if (node == nullptr) return {};
        RIFTJIT_TRY(table, table_of(*node, "initial"));
        std::vector<NamedText> expressions;
        for (const auto& [key, value] : *table) {
            const std::string name(key.str());
            RIFTJIT_TRY(variable,
                        variable_named(neurons.model.states(), name, "variable", neurons.model.name(), source_of(key)));
            if (value.is_string() && is_of_model(source_of(value), neurons.model)) {
                expressions.push_back({name, source_of(value)});
                continue;
            }
            RIFTJIT_TRY(distribution, distribution_in(value, variable->unit, name, population_.size, names_));
            neurons.initial.emplace(name, std::move(distribution));
        }
        if (expressions.empty()) return {};
        RIFTJIT_TRY(model, neurons.model.with_initial(expressions));
        neurons.model = std::move(model);
        return {};
    }
    // Whether an expression draws random numbers or names a parameter. Constants of the file of the same name go first.
    bool is_of_model(const SourceText& source, const NeuronModel& model) const {
        const Result<ExpressionPtr> expression = parse_expression(source);
        if (!expression) return false;
        const auto is_own = [&](const Expression& part) {
            if (part.operation == Operation::call) return draws_random_number(part.name);
            return part.operation == Operation::name && !names_.has(part.name) &&
                   std::ranges::find(model.parameters(), part.name, &Variable::name) != model.parameters().end();
        };
        const auto any = [&](const auto& self, const Expression& part) -> bool {
            return is_own(part) || std::ranges::any_of(part.operands, [&](const ExpressionPtr& operand) {
                       return self(self, *operand);
                   });
        };
        return any(any, **expression);
    }
    Result<void> read_values(std::string_view key, std::string_view what, const std::vector<Variable>& variables,
                             const std::string& model, std::map<std::string, Distribution>& values) {
        const toml::node* node = reader_.find(key);
        if (node == nullptr) return {};
        RIFTJIT_TRY(table, table_of(*node, key));
        for (const auto& [name, value] : *table) {
            RIFTJIT_TRY(variable, variable_named(variables, std::string(name.str()), what, model, source_of(name)));
            RIFTJIT_TRY(distribution, distribution_in(value, variable->unit, name.str(), population_.size, names_));
            if (const std::string fault = given_value_fault(*variable, distribution); !fault.empty())
                return fail_in(value, "'{}'{}", name.str(), fault);
            values.emplace(name.str(), std::move(distribution));
        }
        return {};
    }

    Result<void> read_poisson() {
        RIFTJIT_TRY(rate, rate_in(reader_, owner_.directory, names_));
        owner_.keep_file(reader_);
        RIFTJIT_TRY(window, window_in(reader_, names_));
        const std::string what = "population " + population_.name;
        RIFTJIT_TRY_VOID(owner_.check_window(reader_.find("stop"), what, window));
        const toml::node* times = reader_.find("times") ? reader_.find("times") : reader_.find("file");
        if (times != nullptr) RIFTJIT_TRY_VOID(owner_.check_changes(*times, what, rate.times_ms));
        RIFTJIT_TRY_VOID(check_rate(rate));
        population_.kind = PoissonPopulation{std::move(rate), window.start_ms, window.stop_ms};
        return {};
    }

    // A neuron fires once in a step at most: with probability 1 - exp(-rate h), so that it keeps below its rate.
    Result<void> check_rate(const Rate& rate) {
        constexpr double kWorthANote = 0.01;  // of the rate
        const double step = owner_.network.step_ms, most = rate.most_per_ms(), given = most * step;
        const toml::node* node = reader_.find("rate") ? reader_.find("rate") : reader_.find("rates");
        if (given > 1 + kStepTolerance)
            return fail_in(node ? *node : *reader_.find("file"),
                           "{} is {} Hz, more than one spike in each step of {} ms: the most is {} Hz",
                           rate.times_ms.empty() && rate.amplitude_per_ms == 0 ? "'rate'" : "the greatest rate",
                           most * 1e3, step, 1e3 / step);
        const double results = -std::expm1(-given);
        if (given - results > kWorthANote * given)
            owner_.note(
                fmt::format("population {}: of a rate of {} Hz results one of {:.5g} Hz, since a neuron fires "
                            "once in a step of {} ms at most",
                            population_.name, most * 1e3, results / step * 1e3, step));
        return {};
    }

    // times = [["1 ms", "2 ms"], []], one list a neuron; or file = "spikes.txt" and size.
    Result<void> read_spike_times() {
        SpikeTimePopulation spikes;
        const toml::node* times = reader_.find("times");
        const toml::node* file = reader_.find("file");
        if ((times == nullptr) == (file == nullptr))
            return reader_.missing({"times", "file"},
                                   fmt::format("{} takes either 'times' or 'file'", reader_.title()));
        if (times != nullptr) {
            RIFTJIT_TRY_VOID(read_lists(*times, spikes));
            population_.size = static_cast<uint32_t>(spikes.times_ms.size());
        } else {
            RIFTJIT_TRY(node, reader_.need("size"));
            RIFTJIT_TRY(size, whole_in(*node, 1, UINT32_MAX, "size", names_));
            population_.size = static_cast<uint32_t>(size);
            RIFTJIT_TRY_VOID(read_file(*file, spikes));
        }
        for (uint32_t neuron = 0; neuron < population_.size; ++neuron) {
            std::vector<double>& mine = spikes.times_ms[neuron];
            std::sort(mine.begin(), mine.end());
            if (!mine.empty() && mine[0] < 0)
                return fail_in(times ? *times : *file, "neuron {} has a spike at {} ms, before the run", neuron,
                               mine[0]);
        }
        note_rounded(spikes);
        population_.kind = std::move(spikes);
        return {};
    }
    void note_rounded(const SpikeTimePopulation& spikes) {
        std::vector<double> all;
        for (const std::vector<double>& times : spikes.times_ms) all.insert(all.end(), times.begin(), times.end());
        owner_.note_rounded("population " + population_.name, "spike time", all);
    }
    Result<void> read_lists(const toml::node& times, SpikeTimePopulation& spikes) {
        const toml::array* array = times.as_array();
        if (array == nullptr || array->empty() || !array->get(0)->is_array())
            return fail_in(times, "'times' holds one list of times for each neuron: [[\"1 ms\", \"2 ms\"], []]");
        for (const toml::node& list : *array) {
            RIFTJIT_TRY(mine, numbers_in(list, kMillisecond, "times", names_));
            spikes.times_ms.push_back(std::move(mine));
        }
        return {};
    }
    Result<void> read_file(const toml::node& file, SpikeTimePopulation& spikes) {
        RIFTJIT_TRY(path, string_of(file, "file"));
        RIFTJIT_TRY(rows, read_number_rows(owner_.resolved(path), {2}, source_of(file)));
        owner_.keep_file(reader_);
        spikes.times_ms.resize(population_.size);
        for (const NumberRows::Row& row : rows) {
            RIFTJIT_TRY(neuron, row.whole_below(0, population_.size));
            spikes.times_ms[neuron].push_back(row[1]);
        }
        return {};
    }

    // positions = { shape = "grid", extent = ["1 mm", "1 mm"], columns = 10 }
    Result<void> read_positions() {
        const toml::node* node = reader_.find("positions");
        if (node == nullptr) return {};
        RIFTJIT_TRY(table, table_of(*node, "positions"));
        TableReader reader(*table, "'positions'");
        RIFTJIT_TRY(shape, reader.need_string("shape"));
        Layout layout{};
        if (shape == "ring") {
            layout.shape = Layout::Shape::ring;
            RIFTJIT_TRY(node, reader.need("circumference"));
            RIFTJIT_TRY(width, length(*node, "circumference"));
            layout.width = width;
        } else if (shape == "grid" || shape == "uniform") {
            layout.shape = shape == "grid" ? Layout::Shape::grid : Layout::Shape::uniform;
            RIFTJIT_TRY_VOID(read_extent(reader, layout));
        } else {
            return fail_in(*reader.find("shape"), "'shape' is \"grid\", \"ring\" or \"uniform\", not \"{}\"", shape);
        }
        if (shape == "grid") {
            RIFTJIT_TRY(columns, reader.need("columns"));
            RIFTJIT_TRY(count, whole_in(*columns, 1, population_.size, "columns", names_));
            layout.columns = static_cast<uint32_t>(count);
        }
        population_.layout = layout;
        return reader.finish();
    }
    Result<void> read_extent(TableReader& reader, Layout& layout) {
        RIFTJIT_TRY(extent, reader.need("extent"));
        const toml::array* sides = extent->as_array();
        if (sides == nullptr || sides->size() != 2)
            return fail_in(*extent, "'extent' is a list of width and height: [\"1 mm\", \"1 mm\"]");
        RIFTJIT_TRY(width, length(*sides->get(0), "extent"));
        RIFTJIT_TRY(height, length(*sides->get(1), "extent"));
        layout.width = width;
        layout.height = height;
        return {};
    }
    Result<double> length(const toml::node& node, std::string_view what) {
        RIFTJIT_TRY(value, number_in(node, kMicrometre, what, names_));
        if (value > 0) return value;
        return fail_in(node, "'{}' is {} um: a length above 0 is wanted", what, value);
    }

    static constexpr Unit kMicrometre{.length = 2};

    NetworkReader& owner_;
    Scope& names_;
    TableReader reader_;
    Population population_{};
};

}  // namespace

Result<void> NetworkReader::read_populations(const toml::table& root) {
    RIFTJIT_TRY(tables, named_tables_of(root, "population"));
    uint64_t neurons = 0;
    for (const auto& [name, table] : tables) {
        if (const std::string fault = name_fault(name); !fault.empty())
            return fail_in(*table, "the name of a population {}", fault);
        RIFTJIT_TRY(population, PopulationReader(*this, name, *table).read());
        population.first_id = static_cast<uint32_t>(neurons);
        neurons += population.size;
        if (neurons > UINT32_MAX)
            return fail_in(*table, "with population {} there are {} neurons, more than {}", name, neurons, UINT32_MAX);
        network.populations.push_back(std::move(population));
    }
    return {};
}

}  // namespace riftjit::sim
