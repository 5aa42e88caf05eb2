// Network files: the tables of a file in the order in which they need each other.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "sim/builtin_files.h"
#include "sim/equations/model_file.h"
#include "sim/files/append_file.h"
#include "sim/network/network_reader.h"
#include "sim/network/overrides.h"
#include "sim/step_times.h"

namespace riftjit::sim {

Result<std::vector<const toml::table*>> tables_of(const toml::table& root, std::string_view key) {
    std::vector<const toml::table*> tables;
    const toml::node* node = root.get(key);
    if (node == nullptr) return tables;
    const toml::array* array = node->as_array();
    if (array == nullptr) return fail_in(*node, "'{}' is a list of tables: [[{}]]", key, key);
    for (const toml::node& element : *array) {
        if (!element.is_table()) return fail_in(element, "'{}' is a list of tables: [[{}]]", key, key);
        tables.push_back(element.as_table());
    }
    return tables;
}

Result<std::vector<std::pair<std::string, const toml::table*>>> named_tables_of(const toml::table& root,
                                                                                std::string_view key) {
    std::vector<std::pair<std::string, const toml::table*>> tables;
    const toml::node* node = root.get(key);
    if (node == nullptr) return tables;
    if (!node->is_table()) return fail_in(*node, "'{}' is a table of tables: [{}.NAME]", key, key);
    for (const auto& [name, element] : *node->as_table()) {
        if (!element.is_table()) return fail_in(element, "'{}' is a table of tables: [{}.NAME]", key, key);
        tables.emplace_back(name.str(), element.as_table());
    }
    std::ranges::stable_sort(tables, {}, [](const auto& named) {
        const auto begin = named.second->source().begin;
        return std::pair(begin.line, begin.column);
    });
    return tables;
}

Result<const Variable*> variable_named(const std::vector<Variable>& variables, const std::string& name,
                                       std::string_view what, std::string_view model, const SourceText& place) {
    const auto found = std::ranges::find(variables, name, &Variable::name);
    if (found != variables.end()) return &*found;
    std::vector<std::string> known;
    for (const Variable& variable : variables) known.push_back(variable.name);
    return fail_at(place, 0, "model {} has no {} '{}'{}", model, what, name, near_or_all(name, known));
}

std::string NetworkReader::resolved(const std::string& path) const {
    return path.starts_with('/') ? path : directory + path;
}

void NetworkReader::keep_file(TableReader& reader) {
    const toml::node* file = reader.find("file");
    if (file != nullptr && file->is_string()) network.files.push_back(resolved(file->as_string()->get()));
}

Result<uint32_t> NetworkReader::population(const toml::node& node, const std::string& name) const {
    const auto found = std::ranges::find(network.populations, name, &Population::name);
    if (found != network.populations.end()) return static_cast<uint32_t>(found - network.populations.begin());
    std::vector<std::string> known;
    for (const Population& population : network.populations) known.push_back(population.name);
    return fail_in(node, "there is no population '{}'{}", name, near_or_all(name, known));
}

void NetworkReader::note_rounded(const std::string& owner, std::string_view kind, std::span<const double> times_ms) {
    const double step = network.step_ms;
    const auto is_rounded = [&](double time) { return !is_start_of_step(time, step); };
    const auto first = std::ranges::find_if(times_ms, is_rounded);
    if (first == times_ms.end()) return;
    const double steps = nearest_steps(*first, step);
    if (times_ms.size() == 1)
        return note(fmt::format("{}: a {} of {} ms is rounded to {} step{} of {} ms", owner, kind, *first, steps,
                                steps == 1 ? "" : "s", step));
    note(fmt::format("{}: {} of {} {}s, such as {} ms, are rounded to steps of {} ms", owner,
                     std::ranges::count_if(times_ms, is_rounded), times_ms.size(), kind, *first, step));
}

void NetworkReader::note_shifted(const std::string& what, std::span<const double> times_ms) {
    const double step = network.step_ms;
    const auto is_shifted = [&](double time) { return std::isfinite(time) && !is_start_of_step(time, step); };
    const auto first = std::ranges::find_if(times_ms, is_shifted);
    if (first == times_ms.end()) return;
    const double from = first_step_from(*first, step) * step;
    if (times_ms.size() == 1)
        return note(fmt::format("{}: {} ms lies between the starts of steps of {} ms: it counts from {} ms on", what,
                                *first, step, from));
    note(fmt::format("{}: {} of {} times lie between the starts of steps of {} ms: {} ms counts from {} ms on", what,
                     std::ranges::count_if(times_ms, is_shifted), times_ms.size(), step, *first, from));
}

Result<void> NetworkReader::check_window(const toml::node* stop, const std::string& what, const Window& window) {
    const double times[] = {window.start_ms, window.stop_ms};
    if (is_closer_than_step(times[0], times[1], network.step_ms))
        return fail_in(*stop, "'stop' is {} ms, less than a step of {} ms after 'start' at {} ms", times[1],
                       network.step_ms, times[0]);
    for (const double time : times) note_shifted(what, {&time, 1});
    return {};
}

Result<void> NetworkReader::check_changes(const toml::node& times, const std::string& what,
                                          const std::vector<double>& times_ms) {
    for (size_t i = 1; i < times_ms.size(); ++i)
        if (is_closer_than_step(times_ms[i - 1], times_ms[i], network.step_ms))
            return fail_in(times, "{} ms is less than a step of {} ms after {} ms", times_ms[i], network.step_ms,
                           times_ms[i - 1]);
    note_shifted(what, times_ms);
    return {};
}

Result<void> NetworkReader::read_models(toml::table& root) {
    RIFTJIT_TRY(tables, named_tables_of(root, "models"));
    for (const auto& [name, unused] : tables) {
        toml::table& table = *root["models"][name].as_table();
        if (const std::string fault = name_fault(name); !fault.empty())
            return fail_in(table, "the name of a model {}", fault);
        if (name == "poisson" || name == "spike_times" || name == "relay" || name == "static")
            return fail_in(table, "the name '{}' is taken: it is built in", name);
        if (const auto given = table["name"].value<std::string>(); given && *given != name)
            return fail_in(*table.get("name"), "the model is called '{}' here and '{}' in its table", *given, name);
        table.insert_or_assign("name", name);
        const auto& file = table.source().path;
        RIFTJIT_TRY(source, read_model_table(table, file ? *file : ""));
        if (const auto* neuron = std::get_if<NeuronModelSource>(&source)) {
            RIFTJIT_TRY(model, NeuronModel::parse(*neuron));
            neuron_models.emplace(name, std::move(model));
        } else {
            RIFTJIT_TRY(model, SynapseModel::parse(std::get<SynapseModelSource>(source)));
            synapse_models.emplace(name, std::move(model));
        }
    }
    return {};
}

namespace {

template <class Model>
std::vector<std::string> known_models(std::vector<std::string> known, const std::map<std::string, Model>& models) {
    for (const auto& [name, model] : models) known.push_back(name);
    return known;
}

}  // namespace

Result<NeuronModel> NetworkReader::neuron_model(const toml::node& node, const std::string& name) {
    if (const auto found = neuron_models.find(name); found != neuron_models.end()) return found->second;
    std::vector<std::string> known = builtin_neuron_model_names();
    if (std::ranges::find(known, name) == known.end()) {
        known = known_models(std::move(known), neuron_models);
        known.insert(known.end(), {"poisson", "spike_times", "relay"});
        return fail_in(node, "there is no neuron model '{}'{}", name, near_or_all(name, known));
    }
    RIFTJIT_TRY(source, builtin_neuron_model(name));
    RIFTJIT_TRY(model, NeuronModel::parse(source));
    return neuron_models.emplace(name, std::move(model)).first->second;
}

Result<SynapseModel> NetworkReader::synapse_model(const toml::node& node, const std::string& name) {
    if (const auto found = synapse_models.find(name); found != synapse_models.end()) return found->second;
    std::vector<std::string> known = builtin_synapse_model_names();
    if (std::ranges::find(known, name) == known.end()) {
        known = known_models(std::move(known), synapse_models);
        known.emplace_back("static");
        return fail_in(node, "there is no synapse model '{}'{}", name, near_or_all(name, known));
    }
    RIFTJIT_TRY(source, builtin_synapse_model(name));
    RIFTJIT_TRY(model, SynapseModel::parse(source));
    return synapse_models.emplace(name, std::move(model)).first->second;
}

namespace {

// [simulation] under the command line's overrides; then the names that are built in.
class SimulationReader {
public:
    SimulationReader(NetworkReader& reader, const NetworkOverrides& overrides)
        : reader_(reader), network_(reader.network), overrides_(overrides) {}

    Result<void> read(const toml::table& root) {
        static const toml::table kEmpty;
        const toml::node* node = root.get("simulation");
        if (node != nullptr) RIFTJIT_TRY_VOID(table_of(*node, "simulation"));
        TableReader simulation(node ? *node->as_table() : kEmpty, "[simulation]");
        RIFTJIT_TRY_VOID(read_compat(simulation));
        RIFTJIT_TRY_VOID(read_seed(simulation));
        RIFTJIT_TRY(step, time(simulation, "step", overrides_.step_ms, "--step", 0.1));
        if (step < kLeastStepMs || step > kMostStepMs) {
            const std::string why =
                fmt::format("a step of {} ms is not between {} and {} ms", step, kLeastStepMs, kMostStepMs);
            if (overrides_.step_ms) return fail(ErrorKind::Usage, "--step: {}", why);
            return fail_in(*simulation.find("step"), "{}", why);
        }
        network_.step_ms = step;
        reader_.names.set("dt", {step, kMillisecond});
        reader_.names.set("pi", {std::numbers::pi, kNoUnit});
        reader_.names.set("min_delay", {network_.compat == Compat::nest ? step : 0, kMillisecond});
        RIFTJIT_TRY_VOID(read_scale(simulation));
        RIFTJIT_TRY_VOID(read_constants(root));
        if (!overrides_.duration_ms && node != nullptr) RIFTJIT_TRY_VOID(simulation.need("duration"));
        if (!overrides_.duration_ms && node == nullptr)
            return fail(ErrorKind::Format, "{}: [simulation] has no 'duration'", file_);
        RIFTJIT_TRY(duration, time(simulation, "duration", overrides_.duration_ms, "--duration", 0));
        network_.duration_ms = duration;
        RIFTJIT_TRY_VOID(check_steps(simulation));
        RIFTJIT_TRY(interval, time(simulation, "interval", std::nullopt, "", 1));
        reader_.record_interval_ms = interval;
        return simulation.finish();
    }
    void set_file(std::string file) { file_ = std::move(file); }

private:
    // A positive time.
    Result<double> time(TableReader& simulation, std::string_view key, std::optional<double> overridden,
                        std::string_view option, double otherwise) {
        const toml::node* node = simulation.find(key);
        if (overridden) {
            if (*overridden > 0 && std::isfinite(*overridden)) return *overridden;
            return fail(ErrorKind::Usage, "{} is {} ms: a time above 0 is wanted", option, *overridden);
        }
        if (node == nullptr) return otherwise;
        RIFTJIT_TRY(value, number_in(*node, kMillisecond, key, reader_.names));
        if (value > 0) return value;
        return fail_in(*node, "'{}' is {} ms: a time above 0 is wanted", key, value);
    }
    Result<void> read_compat(TableReader& simulation) {
        RIFTJIT_TRY(name, simulation.string_or("compat", "nest"));
        if (name != "nest" && name != "brian2")
            return fail_in(*simulation.find("compat"), "'compat' is \"nest\" or \"brian2\", not \"{}\"", name);
        network_.compat = overrides_.compat.value_or(name == "nest" ? Compat::nest : Compat::brian2);
        return {};
    }
    Result<void> read_seed(TableReader& simulation) {
        const toml::node* node = simulation.find("seed");
        if (node != nullptr) {
            const auto* integer = node->as_integer();
            if (integer == nullptr || integer->get() < 0)
                return fail_in(*node, "'seed' is a whole number from 0 on, not {}",
                               integer ? fmt::format("{}", integer->get()) : std::string(kind_text(*node)));
            network_.seed = static_cast<uint64_t>(integer->get());
        }
        network_.seed = overrides_.seed.value_or(network_.seed);
        return {};
    }
    Result<void> read_scale(TableReader& simulation) {
        double scale = 1;
        if (const toml::node* node = simulation.find("scale")) {
            RIFTJIT_TRY(value, number_in(*node, kNoUnit, "scale", reader_.names));
            if (value <= 0) return fail_in(*node, "'scale' is {}: a number above 0 is wanted", value);
            scale = value;
        }
        scale = overrides_.scale.value_or(scale);
        if (!(scale > 0) || !std::isfinite(scale))
            return fail(ErrorKind::Usage, "--scale is {}: a number above 0 is wanted", scale);
        reader_.names.set("scale", {scale, kNoUnit});
        return {};
    }
    Result<void> read_constants(const toml::table& root) {
        const toml::node* node = root.get("constants");
        if (node == nullptr) return {};
        RIFTJIT_TRY(constants, table_of(*node, "constants"));
        RIFTJIT_TRY_VOID(reader_.names.define(*constants));
        return reader_.names.evaluate_all();
    }
    Result<void> check_steps(TableReader& simulation) {
        const double steps = nearest_steps(network_.duration_ms, network_.step_ms);
        const toml::node* node = simulation.find("duration");
        const auto refuse = [&](const std::string& message) -> Result<void> {
            if (overrides_.duration_ms || node == nullptr) return fail(ErrorKind::Usage, "--duration: {}", message);
            return fail_in(*node, "{}", message);
        };
        if (steps < 1)
            return refuse(fmt::format("a duration of {} ms is less than one step of {} ms", network_.duration_ms,
                                      network_.step_ms));
        if (steps > UINT32_MAX)
            return refuse(fmt::format("a duration of {} ms is more than {} steps of {} ms", network_.duration_ms,
                                      UINT32_MAX, network_.step_ms));
        if (!is_start_of_step(network_.duration_ms, network_.step_ms))
            reader_.note(fmt::format("a duration of {} ms is run as {} steps of {} ms", network_.duration_ms,
                                     network_.steps(), network_.step_ms));
        return {};
    }

    NetworkReader& reader_;
    Network& network_;
    const NetworkOverrides& overrides_;
    std::string file_;
};

Result<void> check_top_level(const toml::table& root, Network& network, const std::string& file) {
    TableReader reader(root, "the file");
    for (const std::string_view key :
         {"variant", "variants", "simulation", "constants", "models", "population", "projection", "input", "record"})
        reader.find(key);
    RIFTJIT_TRY(name, reader.name_or("name", file));
    RIFTJIT_TRY_VOID(reader.string_or("description", ""));
    network.name = name;
    return reader.finish();
}

void note_unused(NetworkReader& reader) {
    constexpr size_t kNamed = 8;
    std::vector<std::string> unused = reader.names.unused();
    for (const char* const built_in : {"dt", "pi", "min_delay", "scale"}) std::erase(unused, built_in);
    if (unused.size() > kNamed)
        return reader.note(fmt::format("nothing uses {} constants, such as '{}'", unused.size(), unused[0]));
    for (const std::string& name : unused) reader.note(fmt::format("nothing uses the constant '{}'", name));
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }
std::string stem_of(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.rfind('.'));
}

}  // namespace

uint32_t Network::neurons() const {
    return populations.empty() ? 0 : populations.back().first_id + populations.back().size;
}

uint32_t Network::steps() const { return static_cast<uint32_t>(nearest_steps(duration_ms, step_ms)); }

namespace {

Result<Network> read_tables(toml::table& root, const std::string& text, const std::string& file_name,
                            const NetworkOverrides& overrides) {
    RIFTJIT_TRY_VOID(apply_overrides(root, overrides.settings));
    NetworkReader reader;
    reader.directory = directory_of(file_name);
    reader.network.text = text;
    RIFTJIT_TRY_VOID(check_top_level(root, reader.network, stem_of(file_name)));
    SimulationReader simulation(reader, overrides);
    simulation.set_file(file_name);
    RIFTJIT_TRY_VOID(simulation.read(root));
    RIFTJIT_TRY_VOID(reader.read_models(root));
    RIFTJIT_TRY_VOID(reader.read_populations(root));
    if (reader.network.populations.empty())
        return fail(ErrorKind::Format, "{}: no population: [population.NAME] describes one", file_name);
    RIFTJIT_TRY_VOID(reader.read_projections(root));
    RIFTJIT_TRY_VOID(reader.read_inputs(root));
    RIFTJIT_TRY_VOID(reader.read_recorders(root));
    if (overrides.scale && !reader.names.is_used("scale"))
        return fail(ErrorKind::Usage, "--scale: nothing in {} uses the name 'scale'", file_name);
    note_unused(reader);
    return std::move(reader.network);
}

// Variants that nobody has chosen are read too, as the file has them: a mistake shows when it is made.
Result<void> check_variants(const std::vector<std::string>& names, const std::string& text,
                            const std::string& file_name, const NetworkOverrides& overrides) {
    if (names.size() * text.size() > kMostVariantBytes)
        return fail(ErrorKind::Format, "{}: {} variants of {} bytes each are read: more than {} MiB", file_name,
                    names.size(), text.size(), kMostVariantBytes >> 20);
    for (const std::string& name : names) {
        NetworkOverrides chosen{.settings = {{"variant", name}}};
        chosen.duration_ms = overrides.duration_ms;
        RIFTJIT_TRY(root, parse_toml(text, file_name));  // anew: copies of tables forget their places
        if (const Result<Network> network = read_tables(root, "", file_name, chosen); !network)
            return fail(network.error().kind, "{} (in variant '{}')", network.error().message, name);
    }
    return {};
}

}  // namespace

Result<Network> parse_network(const std::string& text, const std::string& file_name,
                              const NetworkOverrides& overrides) {
    RIFTJIT_TRY(root, parse_toml(text, file_name));
    const std::vector<std::string> others = other_variants(root, overrides.settings);
    RIFTJIT_TRY(network, read_tables(root, text, file_name, overrides));
    RIFTJIT_TRY_VOID(check_variants(others, text, file_name, overrides));
    return std::move(network);
}

Result<Network> read_network(const std::string& path, const NetworkOverrides& overrides) {
    RIFTJIT_TRY(text, read_file(path, kMostNetworkBytes));
    return parse_network(text, path, overrides);
}

const std::vector<std::string>& builtin_network_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        for (const BuiltinFile& file : builtin_files())
            if (file.path.starts_with("networks/")) found.push_back(stem_of(std::string(file.path)));
        return found;
    }();
    return names;
}

Result<std::string> builtin_network_text(const std::string& name) {
    for (const BuiltinFile& file : builtin_files())
        if (file.path == "networks/" + name + ".toml") return std::string(file.text);
    return fail(ErrorKind::Usage, "no network '{}' is built in{}", name, near_or_all(name, builtin_network_names()));
}

}  // namespace riftjit::sim
