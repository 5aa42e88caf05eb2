// [[record]]: spikes, states, weights.
#include <algorithm>
#include <cmath>

#include "sim/network/network_reader.h"

namespace riftjit::sim {

namespace {

class RecorderReader {
public:
    RecorderReader(NetworkReader& owner, const toml::table& table)
        : owner_(owner), table_(table), reader_(table, "[[record]]") {}

    Result<void> read() {
        const toml::node* kinds[] = {reader_.find("spikes"), reader_.find("states"), reader_.find("weights")};
        if (std::ranges::count(kinds, nullptr) != 2)
            return reader_.missing({"spikes", "states", "weights"},
                                   "[[record]] takes one of 'spikes', 'states' and 'weights'");
        RIFTJIT_TRY(name, reader_.name_or("name", ""));
        name_ = name;
        RIFTJIT_TRY(window, window_in(reader_, owner_.names));
        window_ = window;
        RIFTJIT_TRY_VOID(
            owner_.check_window(reader_.find("stop"), name.empty() ? "a recorder" : "recorder " + name, window));
        if (kinds[0] != nullptr) RIFTJIT_TRY_VOID(read_spikes(*kinds[0]));
        if (kinds[1] != nullptr) RIFTJIT_TRY_VOID(read_states(*kinds[1]));
        if (kinds[2] != nullptr) RIFTJIT_TRY_VOID(read_weights(*kinds[2]));
        return reader_.finish();
    }

private:
    const Population& population(uint32_t index) const { return owner_.network.populations[index]; }

    Result<void> add(uint32_t population_index, std::string_view what, const std::string& of, auto kind) {
        std::string name = name_.empty() ? fmt::format("{} of {}", what, of) : name_;
        if (!name_.empty() && is_many_) name = fmt::format("{}: {}", name_, of);
        std::vector<Recorder>& all = owner_.network.recorders;
        if (std::ranges::find(all, name, &Recorder::name) != all.end())
            return fail_in(table_, "there is a recorder '{}' already: give each a 'name' of its own", name);
        all.push_back({std::move(name), population_index, std::move(kind), window_.start_ms, window_.stop_ms});
        return {};
    }
    Result<std::vector<uint32_t>> neurons(const Population& population) {
        const toml::node* node = reader_.find("neurons");
        if (node == nullptr) return std::vector<uint32_t>{};
        return neurons_in(*node, population.size, population.name);
    }

    // spikes = "all", a population or a list of them
    Result<void> read_spikes(const toml::node& node) {
        RIFTJIT_TRY(names, strings_of(node, "spikes"));
        const bool is_all = names.size() == 1 && names[0] == "all";
        if (is_all) {
            names.clear();
            for (const Population& one : owner_.network.populations) names.push_back(one.name);
        }
        is_many_ = names.size() > 1;
        for (const std::string& name : names) {
            RIFTJIT_TRY(index, owner_.population(node, name));
            RIFTJIT_TRY(chosen, neurons(population(index)));
            RIFTJIT_TRY_VOID(add(index, "spikes", name, SpikeRecorder{std::move(chosen)}));
        }
        return {};
    }
    Result<void> read_states(const toml::node& node) {
        RIFTJIT_TRY(name, string_of(node, "states"));
        RIFTJIT_TRY(index, owner_.population(node, name));
        const auto* neuron_population = std::get_if<NeuronPopulation>(&population(index).kind);
        if (neuron_population == nullptr) return fail_in(node, "population {} has no states", name);
        const NeuronModel& model = neuron_population->model;
        RIFTJIT_TRY(variables, reader_.need_strings("variables"));
        std::vector<Variable> known = model.states();
        known.insert(known.end(), model.derived().begin(), model.derived().end());
        const toml::node& list = *reader_.find("variables");
        for (size_t i = 0; i < variables.size(); ++i) {
            const toml::node& where = list.is_array() ? *list.as_array()->get(i) : list;
            RIFTJIT_TRY_VOID(variable_named(known, variables[i], "variable", model.name(), source_of(where)));
            if (std::ranges::count(variables, variables[i]) > 1)
                return fail_in(where, "'variables' has '{}' twice", variables[i]);
        }
        RIFTJIT_TRY(chosen, neurons(population(index)));
        RIFTJIT_TRY(interval_ms, interval());
        return add(index, "states", name, StateRecorder{variables, std::move(chosen), interval_ms});
    }
    Result<void> read_weights(const toml::node& node) {
        RIFTJIT_TRY(name, string_of(node, "weights"));
        const std::vector<Projection>& projections = owner_.network.projections;
        const auto found = std::ranges::find(projections, name, &Projection::name);
        if (found == projections.end()) {
            std::vector<std::string> known;
            for (const Projection& projection : projections) known.push_back(projection.name);
            return fail_in(node, "there is no projection '{}'{}", name, near_or_all(name, known));
        }
        if (!found->synapse) return fail_in(node, "the weights of projection {} are static and do not change", name);
        RIFTJIT_TRY(interval_ms, interval());
        const auto index = static_cast<uint32_t>(found - projections.begin());
        return add(found->source, "weights", name, WeightRecorder{index, interval_ms});
    }
    // A whole number of steps.
    Result<double> interval() {
        const toml::node* node = reader_.find("interval");
        const double step = owner_.network.step_ms;
        double interval = owner_.record_interval_ms;
        if (node != nullptr) {
            RIFTJIT_TRY(value, number_in(*node, kMillisecond, "interval", owner_.names));
            interval = value;
        }
        const toml::node& where = node ? *node : static_cast<const toml::node&>(table_);
        const double steps = std::round(interval / step);
        if (steps < 1 || std::abs(interval / step - steps) > 1e-6 || steps > UINT32_MAX)
            return fail_in(where, "an interval of {} ms is not a whole number of steps of {} ms", interval, step);
        return interval;
    }

    NetworkReader& owner_;
    const toml::table& table_;
    TableReader reader_;
    std::string name_;
    Window window_;
    bool is_many_ = false;  // one table, several recorders
};

}  // namespace

Result<void> NetworkReader::read_recorders(const toml::table& root) {
    RIFTJIT_TRY(tables, tables_of(root, "record"));
    for (const toml::table* table : tables) RIFTJIT_TRY_VOID(RecorderReader(*this, *table).read());
    return {};
}

}  // namespace riftjit::sim
