// [[projection]]: one projection, or one for each pair of two lists of populations.
#include <algorithm>
#include <cmath>
#include <set>

#include "sim/network/connection_rows.h"
#include "sim/network/distribution.h"
#include "sim/network/network_reader.h"
#include "sim/network/number_file.h"
#include "sim/network/synapse_checks.h"

namespace riftjit::sim {

namespace {

// Names whose value depends on the pair: [projection.columns] by source, [projection.rows] by target,
// [projection.matrix] by both (one row a target, one column a source).
struct PairNames {
    std::vector<std::pair<std::string, std::vector<Quantity>>> columns, rows;
    std::vector<std::pair<std::string, std::vector<std::vector<Quantity>>>> matrices;

    void bind(Scope& scope, size_t row, size_t column) const {
        for (const auto& [name, values] : columns) scope.set(name, values[column]);
        for (const auto& [name, values] : rows) scope.set(name, values[row]);
        for (const auto& [name, values] : matrices) scope.set(name, values[row][column]);
    }
};

Result<std::vector<Quantity>> quantities_of(const toml::node& node, std::string_view what, size_t count, Scope& scope) {
    const toml::array* array = node.as_array();
    if (array == nullptr || array->size() != count)
        return fail_in(node, "'{}' is a list of {} values, one for each population", what, count);
    std::vector<Quantity> values;
    for (const toml::node& element : *array) {
        RIFTJIT_TRY(value, scope.quantity(element));
        values.push_back(value);
    }
    return values;
}

class ProjectionReader {
public:
    ProjectionReader(NetworkReader& owner, const toml::table& table)
        : owner_(owner), table_(table), reader_(table, "[[projection]]"), scope_(&owner.names) {}

    Result<void> read() {
        RIFTJIT_TRY(sources, populations("from"));
        RIFTJIT_TRY(targets, populations("to"));
        RIFTJIT_TRY(name, reader_.name_or("name", ""));
        RIFTJIT_TRY(names, pair_names(sources.size(), targets.size()));
        for (size_t row = 0; row < targets.size(); ++row) {
            for (size_t column = 0; column < sources.size(); ++column) {
                names.bind(scope_, row, column);
                const Population& source = population(sources[column]);
                const Population& target = population(targets[row]);
                scope_.set("N_from", {double(source.size), kNoUnit});
                scope_.set("N_to", {double(target.size), kNoUnit});
                projection_ = {};
                projection_.place = place(source_of(table_));
                projection_.source = sources[column];
                projection_.target = targets[row];
                const std::string pair = fmt::format("{} -> {}", source.name, target.name);
                const bool is_single = sources.size() * targets.size() == 1;
                projection_.name = name.empty() ? pair : is_single ? name : fmt::format("{}: {}", name, pair);
                RIFTJIT_TRY_VOID(read_pair(column));
                if (row == 0 && column == 0) RIFTJIT_TRY_VOID(reader_.finish());
                RIFTJIT_TRY_VOID(add(is_single));
            }
        }
        for (const std::string& unused : scope_.unused()) {
            if (unused != "N_from" && unused != "N_to")
                return fail_in(table_, "nothing in this projection uses the name '{}'", unused);
        }
        return {};
    }

private:
    const Population& population(uint32_t index) const { return owner_.network.populations[index]; }

    Result<std::vector<uint32_t>> populations(std::string_view key) {
        RIFTJIT_TRY(names, reader_.need_strings(key));
        const toml::node& node = *reader_.find(key);
        std::vector<uint32_t> indices;
        for (size_t i = 0; i < names.size(); ++i) {
            const toml::node& where = node.is_array() ? *node.as_array()->get(i) : node;
            RIFTJIT_TRY(index, owner_.population(where, names[i]));
            if (std::ranges::find(indices, index) != indices.end())
                return fail_in(where, "'{}' has population '{}' twice", key, names[i]);
            indices.push_back(index);
        }
        return indices;
    }

    Result<PairNames> pair_names(size_t sources, size_t targets) {
        PairNames names;
        std::set<std::string> taken = {"N_from", "N_to"};
        const auto each = [&](std::string_view key, auto&& read) -> Result<void> {
            const toml::node* node = reader_.find(key);
            if (node == nullptr) return {};
            RIFTJIT_TRY(table, table_of(*node, key));
            for (const auto& [name, values] : *table) {
                if (!taken.emplace(name.str()).second)
                    return fail_at(source_of(name), 0, "the name '{}' is given twice", name.str());
                RIFTJIT_TRY_VOID(read(std::string(name.str()), values));
            }
            return {};
        };
        const auto list_of = [&](auto& lists, size_t count) {
            return [&lists, count, this](const std::string& name, const toml::node& node) -> Result<void> {
                RIFTJIT_TRY(values, quantities_of(node, name, count, owner_.names));
                lists.emplace_back(name, std::move(values));
                return {};
            };
        };
        RIFTJIT_TRY_VOID(each("columns", list_of(names.columns, sources)));
        RIFTJIT_TRY_VOID(each("rows", list_of(names.rows, targets)));
        RIFTJIT_TRY_VOID(each("matrix", [&](const std::string& name, const toml::node& node) -> Result<void> {
            const toml::array* rows = node.as_array();
            if (rows == nullptr || rows->size() != targets)
                return fail_in(node, "'{}' is a list of {} rows, one for each target", name, targets);
            auto& matrix = names.matrices.emplace_back(name, std::vector<std::vector<Quantity>>{}).second;
            for (const toml::node& row : *rows) {
                RIFTJIT_TRY(values, quantities_of(row, "a row of " + name, sources, owner_.names));
                matrix.push_back(std::move(values));
            }
            return {};
        }));
        return names;
    }

    Result<void> read_pair(size_t column) {
        RIFTJIT_TRY_VOID(read_rule());
        RIFTJIT_TRY_VOID(read_receptor(column));
        RIFTJIT_TRY_VOID(read_weight());
        RIFTJIT_TRY_VOID(read_delay());
        RIFTJIT_TRY_VOID(read_synapse());
        return check_weight();
    }

    // ---- who connects to whom

    Result<void> read_rule() {
        RIFTJIT_TRY(name, reader_.need_string("rule"));
        rule_node_ = reader_.find("rule");
        bool makes_multapses = true;
        Result<ConnectionRule> rule = rule_named(name, makes_multapses);
        if (!rule) return std::unexpected(rule.error());
        projection_.rule = std::move(*rule);
        RIFTJIT_TRY(autapses, reader_.flag_or("autapses", true));
        RIFTJIT_TRY(multapses, reader_.flag_or("multapses", makes_multapses));
        if (multapses && !makes_multapses)
            return fail_in(*reader_.find("multapses"), "rule \"{}\" connects a pair at most once: it has no multapses",
                           name);
        projection_.autapses = autapses;
        projection_.multapses = multapses;
        const ConnectionSetup setup = connection_setup(owner_.network, projection_, 0);
        if (const std::string fault = connection_fault(projection_.rule, setup); !fault.empty())
            return fail_in(*rule_node_, "projection {}: {}", projection_.name, fault);
        return {};
    }
    Result<ConnectionRule> rule_named(const std::string& name, bool& makes_multapses) {
        makes_multapses = name.starts_with("fixed") || name == "list";
        if (name == "one_to_one") return OneToOne{};
        if (name == "all_to_all") return AllToAll{};
        if (name == "pairwise_bernoulli") {
            RIFTJIT_TRY(probability, number("probability", kNoUnit));
            return PairwiseBernoulli{probability};
        }
        if (name == "fixed_indegree") {
            RIFTJIT_TRY(degree, whole("indegree", UINT32_MAX));
            return FixedInDegree{static_cast<uint32_t>(degree)};
        }
        if (name == "fixed_outdegree") {
            RIFTJIT_TRY(degree, whole("outdegree", UINT32_MAX));
            return FixedOutDegree{static_cast<uint32_t>(degree)};
        }
        if (name == "fixed_total_number") {
            RIFTJIT_TRY(synapses, whole("synapses", uint64_t(1) << 53));
            return FixedTotal{synapses};
        }
        if (name == "list") return list_rule();
        if (name == "distance") return distance_rule();
        static const std::vector<std::string> kRules = {"one_to_one",     "all_to_all",      "pairwise_bernoulli",
                                                        "fixed_indegree", "fixed_outdegree", "fixed_total_number",
                                                        "list",           "distance"};
        return fail_in(*rule_node_, "there is no rule \"{}\"{}", name, near_or_all(name, kRules));
    }
    Result<double> number(std::string_view key, Unit unit) {
        RIFTJIT_TRY(node, reader_.need(key));
        return number_in(*node, unit, key, scope_);
    }
    Result<uint64_t> whole(std::string_view key, uint64_t most) {
        RIFTJIT_TRY(node, reader_.need(key));
        return whole_in(*node, 0, most, key, scope_);
    }
    Result<ConnectionRule> distance_rule() {
        DistanceDependent rule{};
        RIFTJIT_TRY(profile, reader_.need_string("profile"));
        using Profile = DistanceDependent::Profile;
        if (profile == "gaussian" || profile == "exponential") {
            rule.profile = profile == "gaussian" ? Profile::gaussian : Profile::exponential;
            RIFTJIT_TRY(length, number("length", kMicrometre));
            rule.length = length;
        } else if (profile == "disc") {
            rule.profile = Profile::disc;
            rule.length = 1;  // plays no part
            RIFTJIT_TRY_VOID(reader_.need("most_distance"));
        } else {
            return fail_in(*reader_.find("profile"),
                           "'profile' is \"gaussian\", \"exponential\" or \"disc\", not \"{}\"", profile);
        }
        RIFTJIT_TRY(probability, number("probability", kNoUnit));
        rule.probability = probability;
        if (reader_.find("most_distance") != nullptr) {
            RIFTJIT_TRY(most, number("most_distance", kMicrometre));
            rule.most_distance = most;
        }
        RIFTJIT_TRY(boundary, reader_.string_or("boundary", "open"));
        if (boundary != "open" && boundary != "periodic")
            return fail_in(*reader_.find("boundary"), "'boundary' is \"open\" or \"periodic\", not \"{}\"", boundary);
        using Boundary = DistanceDependent::Boundary;
        rule.boundary = boundary == "open" ? Boundary::open : Boundary::periodic;
        return rule;
    }
    // pairs = [[source, target], ...], or file = "pairs.txt" with columns source, target[, weight, delay in ms].
    Result<ConnectionRule> list_rule() {
        const toml::node* pairs = reader_.find("pairs");
        const toml::node* file = reader_.find("file");
        if ((pairs == nullptr) == (file == nullptr))
            return reader_.missing({"pairs", "file"}, "rule \"list\" takes either 'pairs' or 'file'");
        PairList list;
        if (file != nullptr) {
            RIFTJIT_TRY_VOID(read_pair_file(*file, list));
            return list;
        }
        const toml::array* array = pairs->as_array();
        if (array == nullptr) return fail_in(*pairs, "'pairs' is a list, not {}", kind_text(*pairs));
        for (const toml::node& element : *array) {
            const toml::array* pair = element.as_array();
            if (pair == nullptr || pair->size() != 2)
                return fail_in(element, "a pair is a list of source and target: [0, 1]");
            RIFTJIT_TRY(source, whole_in(*pair->get(0), 0, population(projection_.source).size - 1, "source", scope_));
            RIFTJIT_TRY(target, whole_in(*pair->get(1), 0, population(projection_.target).size - 1, "target", scope_));
            list.pairs.push_back({static_cast<uint32_t>(source), static_cast<uint32_t>(target)});
        }
        return list;
    }
    Result<void> read_pair_file(const toml::node& file, PairList& list) {
        RIFTJIT_TRY(path, string_of(file, "file"));
        RIFTJIT_TRY(rows, read_number_rows(owner_.resolved(path), {2, 4}, source_of(file)));
        owner_.keep_file(reader_);
        Values weights, delays;
        for (const NumberRows::Row& row : rows) {
            RIFTJIT_TRY(source, row.whole_below(0, population(projection_.source).size));
            RIFTJIT_TRY(target, row.whole_below(1, population(projection_.target).size));
            list.pairs.push_back({source, target});
            if (rows.columns() == 2) continue;
            if (const std::string fault = delay_value_fault(owner_.network, row[3]); !fault.empty())
                return fail(ErrorKind::Format, "{}: {}", row.place(), fault);
            weights.values.push_back(row[2]);
            delays.values.push_back(row[3]);
        }
        if (list.pairs.empty()) return fail_in(file, "{}: it holds no pairs", path);
        if (rows.columns() == 2) return {};
        file_weight_ = {std::move(weights)};
        file_delay_ = {std::move(delays)};
        return {};
    }
    uint64_t list_size() const {
        const auto* list = std::get_if<PairList>(&projection_.rule);
        return list == nullptr ? 0 : list->pairs.size();
    }

    // ---- what they exchange

    Result<void> read_receptor(size_t column) {
        const Population& target = population(projection_.target);
        const toml::node* node = reader_.find("receptor");
        receptor_unit_ = kNoUnit;
        if (std::holds_alternative<RelayPopulation>(target.kind)) {
            if (node != nullptr) return fail_in(*node, "population {} relays: it has no receptors", target.name);
            return {};
        }
        const auto* neurons = std::get_if<NeuronPopulation>(&target.kind);
        if (neurons == nullptr)
            return fail_in(*reader_.find("to"), "population {} only sends: nothing can project to it", target.name);
        const NeuronModel& model = neurons->model;
        if (model.receptors().empty())
            return fail_in(*reader_.find("to"), "model {} of population {} has no receptor", model.name(), target.name);
        if (node == nullptr && model.receptors().size() == 1) {
            projection_.receptor = model.receptors()[0].name;
            receptor_unit_ = model.receptors()[0].unit;
            return {};
        }
        if (node == nullptr) {
            std::vector<std::string> known;
            for (const Variable& receptor : model.receptors()) known.push_back(receptor.name);
            return reader_.missing({"receptor"}, fmt::format("[[projection]] has no 'receptor': model {} has {}",
                                                             model.name(), fmt::join(known, ", ")));
        }
        RIFTJIT_TRY(names, strings_of(*node, "receptor"));
        const size_t columns = reader_.find("from")->is_array() ? reader_.find("from")->as_array()->size() : 1;
        if (names.size() != 1 && names.size() != columns)
            return fail_in(*node, "'receptor' has {} names for {} populations of 'from'", names.size(), columns);
        const std::string& name = names.size() == 1 ? names[0] : names[column];
        RIFTJIT_TRY(receptor, variable_named(model.receptors(), name, "receptor", model.name(), source_of(*node)));
        projection_.receptor = name;
        receptor_unit_ = receptor->unit;
        return {};
    }
    Result<void> read_weight() {
        const toml::node* node = reader_.find("weight");
        const bool is_relay = std::holds_alternative<RelayPopulation>(population(projection_.target).kind);
        projection_.weight = {Constant{1}};
        if (is_relay && node == nullptr) return {};
        if (is_relay)
            return fail_in(*node, "population {} relays: weights play no part", population(projection_.target).name);
        if (node == nullptr && file_weight_) {
            projection_.weight = *file_weight_;
        } else if (node != nullptr && file_weight_) {
            return fail_in(*node, "'weight' is given here and in the file of pairs");
        } else {
            RIFTJIT_TRY(needed, reader_.need("weight"));
            RIFTJIT_TRY(weight, distribution_in(*needed, receptor_unit_, "weight", list_size(), scope_));
            projection_.weight = std::move(weight);
        }
        return {};
    }
    Result<void> read_delay() {
        const toml::node* node = reader_.find("delay");
        if (node != nullptr && file_delay_) return fail_in(*node, "'delay' is given here and in the file of pairs");
        if (file_delay_) {
            node = reader_.find("file");
            projection_.delay_ms = *file_delay_;
        } else {
            RIFTJIT_TRY(needed, reader_.need("delay"));
            node = needed;
            RIFTJIT_TRY(delay, distribution_in(*node, kMillisecond, "delay", list_size(), scope_));
            projection_.delay_ms = std::move(delay);
        }
        if (const std::string fault = delay_fault(owner_.network, projection_); !fault.empty())
            return fail_in(*node, "projection {}: {}", projection_.name, fault);
        const std::string owner = "projection " + projection_.name;
        if (const auto delay = constant_of(projection_.delay_ms)) owner_.note_rounded(owner, "delay", {&*delay, 1});
        if (const auto* delays = std::get_if<Values>(&projection_.delay_ms.kind))
            owner_.note_rounded(owner, "delay", delays->values);
        return {};
    }

    // Once it is known what takes it.
    Result<void> check_weight() {
        const std::string fault = weight_fault(owner_.network, projection_);
        if (fault.empty()) return {};
        const toml::node* node = reader_.find("weight");
        return fail_in(node ? *node : *reader_.find("file"), "projection {}: {}", projection_.name, fault);
    }

    // synapse = "stdp", or { model = "stdp", parameters = { ... } }
    Result<void> read_synapse() {
        const toml::node* node = reader_.find("synapse");
        if (node == nullptr) return {};
        const toml::table* table = node->as_table();
        std::string name;
        const toml::node* parameters = nullptr;
        if (table != nullptr) {
            TableReader reader(*table, "'synapse'");
            RIFTJIT_TRY(model, reader.need_string("model"));
            name = model;
            parameters = reader.find("parameters");
            RIFTJIT_TRY_VOID(reader.finish());
        } else {
            RIFTJIT_TRY(model, string_of(*node, "synapse"));
            name = model;
        }
        if (name == "static") {
            if (parameters != nullptr) return fail_in(*parameters, "a static synapse has no parameters");
            return {};
        }
        if (std::holds_alternative<RelayPopulation>(population(projection_.target).kind))
            return fail_in(*node, "population {} relays: its synapses are static", population(projection_.target).name);
        RIFTJIT_TRY(model, owner_.synapse_model(*node, name));
        SynapseChoice choice{.model = model, .parameters = {}};
        if (parameters != nullptr) RIFTJIT_TRY_VOID(read_parameters(*parameters, choice));
        projection_.synapse = std::move(choice);
        return {};
    }
    Result<void> read_parameters(const toml::node& node, SynapseChoice& choice) {
        RIFTJIT_TRY(table, table_of(node, "parameters"));
        for (const auto& [key, value] : *table) {
            const std::string name(key.str());
            RIFTJIT_TRY(variable, variable_named(choice.model.parameters(), name, "parameter", choice.model.name(),
                                                 source_of(key)));
            RIFTJIT_TRY(number, number_in(value, variable->unit, name, scope_));
            if (const std::string fault = value_fault(*variable, number); !fault.empty())
                return fail_in(value, "'{}' is {}", name, fault);
            choice.parameters.emplace(name, number);
        }
        return {};
    }

    // Pairs of a matrix that have no synapses are left out; a single projection of none is worth a note.
    Result<void> add(bool is_single) {
        const auto is_none = [](const auto& rule) {
            using Rule = std::decay_t<decltype(rule)>;
            if constexpr (requires { rule.degree; }) return rule.degree == 0;
            if constexpr (requires { rule.probability; }) return rule.probability == 0;
            if constexpr (std::is_same_v<Rule, FixedTotal>) return rule.synapses == 0;
            if constexpr (std::is_same_v<Rule, PairList>) return rule.pairs.empty();
            return false;
        };
        if (std::visit(is_none, projection_.rule)) {
            if (!is_single) return {};
            owner_.note(fmt::format("projection {} has no synapses", projection_.name));
        }
        std::vector<Projection>& all = owner_.network.projections;
        if (std::ranges::find(all, projection_.name, &Projection::name) != all.end()) {
            const toml::node* name = reader_.find("name");
            return fail_in(name ? *name : static_cast<const toml::node&>(table_),
                           "there is a projection '{}' already: give each a 'name' of its own", projection_.name);
        }
        all.push_back(std::move(projection_));
        return {};
    }

    static constexpr Unit kMicrometre{.length = 2};

    NetworkReader& owner_;
    const toml::table& table_;
    TableReader reader_;
    Scope scope_;
    Projection projection_{};
    const toml::node* rule_node_ = nullptr;
    Unit receptor_unit_ = kNoUnit;
    std::optional<Distribution> file_weight_, file_delay_;
};

}  // namespace

Result<void> NetworkReader::read_projections(const toml::table& root) {
    RIFTJIT_TRY(tables, tables_of(root, "projection"));
    for (const toml::table* table : tables) RIFTJIT_TRY_VOID(ProjectionReader(*this, *table).read());
    return {};
}

}  // namespace riftjit::sim
