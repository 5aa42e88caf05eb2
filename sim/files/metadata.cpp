#include "sim/files/metadata.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "host/json_text.h"
#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kMetadataVersion = 1;

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

// Everything that is read names its field, and what it should be.
[[noreturn]] void refuse_field(std::string_view key, std::string_view wanted, const Json& found) {
    constexpr size_t kMostShown = 40;
    const std::string shown = found.is_primitive() && !found.is_string() ? found.dump() : found.type_name();
    throw std::runtime_error(fmt::format("\"{}\" is {}, not {}", key, shown.substr(0, kMostShown), wanted));
}

const Json& field(const Json& json, const char* key) {
    if (!json.is_object()) throw std::runtime_error(fmt::format("where \"{}\" should stand is no object", key));
    const auto found = json.find(key);
    if (found == json.end()) throw std::runtime_error(fmt::format("\"{}\" is missing", key));
    return *found;
}

// Unlike get<uint32_t>(), which wraps.
template <class Integer>
Integer integer(std::string_view key, const Json& json) {
    if (!json.is_number_unsigned()) refuse_field(key, "a whole number from 0 on", json);
    const uint64_t value = json.get<uint64_t>();
    if (value > std::numeric_limits<Integer>::max())
        refuse_field(key, fmt::format("at most {}", std::numeric_limits<Integer>::max()), json);
    return static_cast<Integer>(value);
}
template <class Integer>
Integer integer(const Json& json, const char* key) {
    return integer<Integer>(key, field(json, key));
}

double number(const Json& json, const char* key) {
    const Json& value = field(json, key);
    if (!value.is_number()) refuse_field(key, "a number", value);
    return value.get<double>();
}

const std::string& text(std::string_view key, const Json& json) {
    if (!json.is_string()) refuse_field(key, "a text", json);
    return json.get_ref<const std::string&>();
}
const std::string& text(const Json& json, const char* key) { return text(key, field(json, key)); }

bool flag(const Json& json, const char* key) {
    const Json& value = field(json, key);
    if (!value.is_boolean()) refuse_field(key, "true or false", value);
    return value.get<bool>();
}

const Json& list(const Json& json, const char* key) {
    const Json& value = field(json, key);
    if (!value.is_array()) refuse_field(key, "a list", value);
    return value;
}
// Files of earlier versions have none.
const Json& list_if_any(const Json& json, const char* key) {
    static const Json kNone = Json::array();
    return json.is_object() && !json.contains(key) ? kNone : list(json, key);
}

std::vector<std::string> texts(const Json& json, const char* key) {
    std::vector<std::string> all;
    for (const Json& one : list(json, key)) all.push_back(text(key, one));
    return all;
}

uint64_t from_hex(const Json& json, const char* key) {
    const std::string& digits = text(json, key);
    uint64_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc{} || rest != digits.data() + digits.size())
        throw std::runtime_error(fmt::format("\"{}\" is no hexadecimal number", key));
    return value;
}

Json to_json(const RecordedPopulation& population) {
    Json json = {{"name", population.name}, {"first_id", population.first_id}, {"size", population.size}};
    if (population.recorded_neurons) json["recorded_neurons"] = *population.recorded_neurons;
    for (const RecordedWindow& window : population.windows)
        json["windows"].push_back({{"first_step", window.first_step}, {"end_step", window.end_step}});
    return json;
}

RecordedPopulation population_from(const Json& json) {
    RecordedPopulation population{text(json, "name"), integer<uint32_t>(json, "first_id"),
                                  integer<uint32_t>(json, "size"), std::nullopt};
    if (json.contains("recorded_neurons")) population.recorded_neurons = integer<uint32_t>(json, "recorded_neurons");
    for (const Json& window : list_if_any(json, "windows"))
        population.windows.push_back({integer<uint32_t>(window, "first_step"), integer<uint32_t>(window, "end_step")});
    return population;
}

Json to_json(const RecordedStates& states) {
    return {{"name", states.name},
            {"population", states.population},
            {"variables", states.variables},
            {"units", states.units},
            {"neurons", states.neurons},
            {"interval_steps", states.interval_steps},
            {"first_step", states.first_step}};
}

RecordedStates states_from(const Json& json) {
    RecordedStates states;
    states.name = text(json, "name");
    states.population = text(json, "population");
    states.variables = texts(json, "variables");
    states.units = texts(json, "units");
    for (const Json& neuron : list(json, "neurons")) states.neurons.push_back(integer<uint32_t>("neurons", neuron));
    states.interval_steps = integer<uint32_t>(json, "interval_steps");
    states.first_step = integer<uint32_t>(json, "first_step");
    return states;
}

Json to_json(const RecordedWeights& weights) {
    return {{"name", weights.name},
            {"projection", weights.projection},
            {"source", weights.source},
            {"target", weights.target},
            {"unit", weights.unit},
            {"synapses", weights.synapses},
            {"interval_steps", weights.interval_steps},
            {"first_step", weights.first_step}};
}

RecordedWeights weights_from(const Json& json) {
    return {text(json, "name"),
            text(json, "projection"),
            text(json, "source"),
            text(json, "target"),
            text(json, "unit"),
            integer<uint64_t>(json, "synapses"),
            integer<uint32_t>(json, "interval_steps"),
            integer<uint32_t>(json, "first_step")};
}

Metadata metadata_from(const Json& json) {
    if (text(json, "format") != "riftjit recording") throw std::runtime_error("not a recording of riftjit");
    if (const auto version = integer<uint32_t>(json, "version"); version != kMetadataVersion)
        throw std::runtime_error(fmt::format("\"version\" is {}; {} alone is known", version, kMetadataVersion));
    Metadata metadata;
    RecordingHeader& header = metadata.header;
    header.step_ms = number(json, "step_ms");
    if (!field(json, "seed").is_null()) header.seed = integer<uint64_t>(json, "seed");
    header.network_name = text(json, "network_name");
    header.network_text = text(json, "network_text");
    header.command_line = text(json, "command_line");
    header.program_version = text(json, "program_version");
    header.compat = text(json, "compat");
    for (const Json& population : list(json, "populations")) header.populations.push_back(population_from(population));
    for (const Json& states : list(json, "states")) header.states.push_back(states_from(states));
    for (const Json& weights : list_if_any(json, "weights")) header.weights.push_back(weights_from(weights));
    metadata.summary = {integer<uint32_t>(json, "steps"), integer<uint64_t>(json, "spikes"),
                        from_hex(json, "spikes_hash"), from_hex(json, "graph_hash")};
    metadata.is_finished = flag(json, "finished");
    return metadata;
}

// Names become names of groups and arrays.
Result<void> take_name(std::string_view kind, const std::string& name, std::set<std::string>& names) {
    const auto is_refused = [](char c) { return c == '/' || uint8_t(c) < ' '; };
    if (name.empty() || name == "." || std::ranges::any_of(name, is_refused))
        return fail(ErrorKind::Format, "{} \"{}\": recordings take no name that is empty or \".\", or holds \"/\"",
                    kind, name);
    if (!names.insert(name).second) return fail(ErrorKind::Format, "{} \"{}\" stands twice", kind, name);
    return {};
}

Result<void> check_populations(const RecordingHeader& header) {
    std::set<std::string> names;
    uint64_t next_id = 0;
    for (const RecordedPopulation& population : header.populations) {
        RIFTJIT_TRY_VOID(take_name("population", population.name, names));
        if (population.first_id < next_id || uint64_t(population.first_id) + population.size > uint64_t(1) << 32)
            return fail(ErrorKind::Format, "population {}: its ids from {} overlap others or leave 32 bits",
                        population.name, population.first_id);
        if (population.recorded() > population.size)
            return fail(ErrorKind::Format, "population {}: {} recorded neurons of {}", population.name,
                        population.recorded(), population.size);
        next_id = uint64_t(population.first_id) + population.size;
        uint32_t last = 0;
        for (const RecordedWindow& window : population.windows) {
            if (window.first_step < last || window.end_step < window.first_step)
                return fail(ErrorKind::Format, "population {}: a recorded window from step {} to {}, after step {}",
                            population.name, window.first_step, window.end_step, last);
            last = window.end_step;
        }
    }
    return {};
}

const RecordedPopulation* find_population(const RecordingHeader& header, const std::string& name) {
    const auto found = std::ranges::find(header.populations, name, &RecordedPopulation::name);
    return found == header.populations.end() ? nullptr : &*found;
}

Result<void> check_states(const RecordingHeader& header, std::set<std::string>& names) {
    for (const RecordedStates& states : header.states) {
        RIFTJIT_TRY_VOID(take_name("recorder", states.name, names));
        if (states.variables.empty() || states.variables.size() != states.units.size() || states.neurons.empty() ||
            states.interval_steps == 0)
            return fail(ErrorKind::Format, "recorder {}: {} variables, {} units, {} neurons every {} steps",
                        states.name, states.variables.size(), states.units.size(), states.neurons.size(),
                        states.interval_steps);
        const RecordedPopulation* const population = find_population(header, states.population);
        if (population == nullptr)
            return fail(ErrorKind::Format, "recorder {}: no population {}", states.name, states.population);
        for (const uint32_t neuron : states.neurons)
            if (neuron < population->first_id || neuron - population->first_id >= population->size)
                return fail(ErrorKind::Format, "recorder {}: neuron {} is not in population {}", states.name, neuron,
                            states.population);
    }
    return {};
}

Result<void> check_weights(const RecordingHeader& header, std::set<std::string>& names) {
    for (const RecordedWeights& weights : header.weights) {
        RIFTJIT_TRY_VOID(take_name("recorder", weights.name, names));
        if (weights.synapses == 0 || weights.interval_steps == 0)
            return fail(ErrorKind::Format, "recorder {}: {} synapses every {} steps", weights.name, weights.synapses,
                        weights.interval_steps);
        for (const std::string& population : {weights.source, weights.target})
            if (find_population(header, population) == nullptr)
                return fail(ErrorKind::Format, "recorder {}: no population {}", weights.name, population);
    }
    return {};
}

// Of a run that was killed before its synapses were all there.
void drop_weights_without_synapses(RecordingHeader& header, std::vector<WeightSamples>& weights) {
    for (size_t i = header.weights.size(); i-- > 0;) {
        if (i < weights.size() && weights[i].synapses.size() >= header.weights[i].synapses) continue;
        header.weights.erase(header.weights.begin() + ptrdiff_t(i));
        if (i < weights.size()) weights.erase(weights.begin() + ptrdiff_t(i));
    }
}

Result<void> check_weight_samples(const RecordingHeader& header, const std::vector<WeightSamples>& weights) {
    if (weights.size() != header.weights.size())
        return fail(ErrorKind::Format, "weights of {} recorders, {} are declared", weights.size(),
                    header.weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
        const RecordedWeights& recorder = header.weights[i];
        if (weights[i].synapses.size() != recorder.synapses || weights[i].values.size() % recorder.synapses != 0)
            return fail(ErrorKind::Format, "recorder {}: {} synapses and {} weights, {} synapses are declared",
                        recorder.name, weights[i].synapses.size(), weights[i].values.size(), recorder.synapses);
        RIFTJIT_TRY_VOID(check_synapse_ends(header, i, weights[i].synapses));
    }
    return {};
}

Result<void> check_samples(const RecordingHeader& header, const std::vector<std::vector<double>>& states) {
    if (states.size() != header.states.size())
        return fail(ErrorKind::Format, "states of {} recorders, {} are declared", states.size(), header.states.size());
    for (size_t i = 0; i < states.size(); ++i)
        if (states[i].size() % header.states[i].sample_values() != 0)
            return fail(ErrorKind::Format, "recorder {}: {} values are no whole samples of {}", header.states[i].name,
                        states[i].size(), header.states[i].sample_values());
    return {};
}

void count_those_that_fired(std::vector<RecordedPopulation>& populations, std::span<const Spike> spikes) {
    std::vector<uint32_t> ids(spikes.size());
    std::ranges::transform(spikes, ids.begin(), &Spike::id);
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (RecordedPopulation& population : populations) {
        const auto first = std::ranges::lower_bound(ids, population.first_id);
        const auto end = std::partition_point(first, ids.end(),
                                              [&](uint32_t id) { return id - population.first_id < population.size; });
        population.recorded_neurons = uint32_t(end - first);
    }
}

}  // namespace

// Binary search: populations are few, ids ascend only within a step.
Result<void> check_ids(const RecordingHeader& header, std::span<const Spike> spikes) {
    const auto& populations = header.populations;
    for (const Spike& spike : spikes) {
        const auto next = std::ranges::upper_bound(populations, spike.id, {}, &RecordedPopulation::first_id);
        if (next == populations.begin() || spike.id - std::prev(next)->first_id >= std::prev(next)->size)
            return fail(ErrorKind::Format, "a spike of neuron {}, which no population has", spike.id);
    }
    return {};
}

Result<void> check_synapse_ends(const RecordingHeader& header, size_t recorder, std::span<const SynapseEnds> synapses) {
    const RecordedWeights& weights = header.weights[recorder];
    const RecordedPopulation* const source = find_population(header, weights.source);
    const RecordedPopulation* const target = find_population(header, weights.target);
    const auto has = [](const RecordedPopulation& population, uint32_t id) {
        return id >= population.first_id && id - population.first_id < population.size;
    };
    for (const SynapseEnds& synapse : synapses)
        if (!has(*source, synapse.source) || !has(*target, synapse.target))
            return fail(ErrorKind::Format, "recorder {}: a synapse from neuron {} to {}, which are not in {} and {}",
                        weights.name, synapse.source, synapse.target, weights.source, weights.target);
    return {};
}

uint64_t hash_spikes(std::span<const Spike> spikes, uint64_t hash) {
    constexpr uint64_t kPrime = 1099511628211u;
    for (const Spike& spike : spikes) hash = (((hash ^ spike.step) * kPrime) ^ spike.id) * kPrime;
    return hash;
}

Result<void> check_header(const RecordingHeader& header) {
    if (!(header.step_ms >= kLeastStepMs && header.step_ms <= kMostStepMs))
        return fail(ErrorKind::Format, "its step_ms is {}, not between {} and {}", header.step_ms, kLeastStepMs,
                    kMostStepMs);
    if (header.compat != "nest" && header.compat != "brian2")
        return fail(ErrorKind::Format, "compat \"{}\" is neither nest nor brian2", header.compat);
    RIFTJIT_TRY_VOID(check_populations(header));
    std::set<std::string> recorders;
    RIFTJIT_TRY_VOID(check_states(header, recorders));
    return check_weights(header, recorders);
}

std::vector<RecordedWindow> windows_within(const RecordedPopulation& population, const RunSummary& summary) {
    if (population.windows.empty()) return {{0, summary.steps}};
    std::vector<RecordedWindow> windows;
    for (const RecordedWindow& window : population.windows)
        windows.push_back({std::min(window.first_step, summary.steps), std::min(window.end_step, summary.steps)});
    return windows;
}

namespace {

// Once it is known where the run ended.
void end_windows(std::vector<RecordedPopulation>& populations, const RunSummary& summary) {
    for (RecordedPopulation& population : populations)
        if (!population.windows.empty()) population.windows = windows_within(population, summary);
}

}  // namespace

std::string to_json_text(const Metadata& metadata) {
    RecordingHeader header = metadata.header;
    if (metadata.is_finished) end_windows(header.populations, metadata.summary);
    Json populations = Json::array(), states = Json::array(), weights = Json::array();
    for (const RecordedPopulation& population : header.populations) populations.push_back(to_json(population));
    for (const RecordedStates& recorder : header.states) states.push_back(to_json(recorder));
    for (const RecordedWeights& recorder : header.weights) weights.push_back(to_json(recorder));
    const Json json = {{"format", "riftjit recording"},
                       {"version", kMetadataVersion},
                       {"program_version", header.program_version},
                       {"command_line", header.command_line},
                       {"network_name", header.network_name},
                       {"seed", header.seed ? Json(*header.seed) : Json(nullptr)},
                       {"step_ms", header.step_ms},
                       {"compat", header.compat},
                       {"finished", metadata.is_finished},
                       {"steps", metadata.summary.steps},
                       {"spikes", metadata.summary.spikes},
                       {"spikes_hash", hex(metadata.summary.spikes_hash)},
                       {"graph_hash", hex(metadata.summary.graph_hash)},
                       {"populations", std::move(populations)},
                       {"states", std::move(states)},
                       {"weights", std::move(weights)},
                       {"network_text", header.network_text}};
    return json_text(json);
}

namespace {

// How many values it may hold: a parsed one takes ten times its text.
size_t values_in_json(std::string_view text) {
    size_t values = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') is_quoted = !is_quoted;
        if (is_quoted && text[i] == '\\') ++i;
        values += !is_quoted && (text[i] == ',' || text[i] == '[' || text[i] == '{');
    }
    return values;
}

}  // namespace

Result<Metadata> metadata_from_json_text(std::string_view text) {
    if (values_in_json(text) > kMostMetadataValues)
        return fail(ErrorKind::Unsupported, "its metadata: more than {} values", kMostMetadataValues);
    if (!is_plain_json(text))
        return fail(ErrorKind::Format, "its metadata: nested deeper than {} levels, or with a NUL byte",
                    kMostJsonNesting);
    try {
        Metadata metadata = metadata_from(Json::parse(text));
        RIFTJIT_TRY_VOID(check_header(metadata.header));
        return metadata;
    } catch (const std::exception& error) {
        const std::string_view what = error.what();  // of JSON: with all that was read, the network's text, in the end
        return fail(ErrorKind::Format, "its metadata: {}", what.substr(0, what.find("; last read: ")));
    }
}

Result<void> check_summary(const Metadata& metadata, uint64_t spikes, uint32_t last_step,
                           std::span<const uint64_t> state_samples, std::span<const uint64_t> weight_samples) {
    const RunSummary& summary = metadata.summary;
    if (summary.spikes < spikes)
        return fail(ErrorKind::Format, "its \"spikes\" is {}, but {} are there", summary.spikes, spikes);
    // Of other programs the last step may be 2^32 - 1, whose end no count holds.
    if (spikes != 0 && last_step >= summary.steps && summary.steps != UINT32_MAX)
        return fail(ErrorKind::Format, "its \"steps\" is {}, but a spike is of step {}", summary.steps, last_step);
    const auto check_samples = [&](const auto& recorder, uint64_t samples) -> Result<void> {
        if (samples == 0) return {};
        uint64_t last = 0;
        if (!__builtin_mul_overflow(samples - 1, uint64_t(recorder.interval_steps), &last) && last < summary.steps)
            return {};
        return fail(ErrorKind::Format, "recorder {}: {} samples, more than the {} \"steps\" of the run have",
                    recorder.name, samples, summary.steps);
    };
    for (size_t i = 0; i < state_samples.size(); ++i)
        RIFTJIT_TRY_VOID(check_samples(metadata.header.states[i], state_samples[i]));
    for (size_t i = 0; i < weight_samples.size(); ++i)
        RIFTJIT_TRY_VOID(check_samples(metadata.header.weights[i], weight_samples[i]));
    return {};
}

Result<Recording> assemble(Metadata metadata, std::vector<Spike> spikes, std::vector<std::vector<double>> states,
                           std::vector<WeightSamples> weights) {
    if (!metadata.is_finished) drop_weights_without_synapses(metadata.header, weights);
    RIFTJIT_TRY_VOID(check_header(metadata.header));
    RIFTJIT_TRY_VOID(check_weight_samples(metadata.header, weights));
    RIFTJIT_TRY_VOID(check_samples(metadata.header, states));
    if (!std::ranges::is_sorted(spikes)) std::ranges::sort(spikes);
    RIFTJIT_TRY_VOID(check_ids(metadata.header, spikes));
    for (RecordedPopulation& population : metadata.header.populations)
        if (population.recorded_neurons == population.size) population.recorded_neurons.reset();
    RunSummary& summary = metadata.summary;
    const uint64_t hash = hash_spikes(spikes);
    if (!metadata.is_finished) {
        const uint32_t steps = spikes.empty() ? 0 : spikes.back().step + 1;
        summary = {std::max(summary.steps, steps), spikes.size(), hash, summary.graph_hash};
    } else {
        std::vector<uint64_t> state_samples, weight_samples;
        for (size_t i = 0; i < states.size(); ++i)
            state_samples.push_back(states[i].size() / metadata.header.states[i].sample_values());
        for (size_t i = 0; i < weights.size(); ++i)
            weight_samples.push_back(weights[i].values.size() / metadata.header.weights[i].synapses);
        RIFTJIT_TRY_VOID(check_summary(metadata, spikes.size(), spikes.empty() ? 0 : spikes.back().step, state_samples,
                                       weight_samples));
        if (summary.spikes_hash != hash)
            return fail(ErrorKind::Format, "its spikes have the hash {:016x}, the run's had {:016x}", hash,
                        summary.spikes_hash);
    }
    end_windows(metadata.header.populations, summary);
    return Recording{std::move(metadata.header), std::move(spikes), std::move(states),
                     std::move(weights),         summary,           metadata.is_finished};
}

Result<Recording> assemble_foreign(const ReadOptions& options, std::vector<RecordedPopulation> populations,
                                   std::vector<Spike> spikes, Silent silent) {
    std::ranges::sort(spikes);
    if (silent == Silent::unknown) count_those_that_fired(populations, spikes);
    Metadata metadata;
    metadata.header.step_ms = options.step_ms;
    metadata.header.compat = options.compat;
    metadata.header.populations = std::move(populations);
    // The last step may be 2^32 − 1, whose end no count of 32 bits holds.
    const uint64_t steps = spikes.empty() ? 0 : uint64_t(spikes.back().step) + 1;
    metadata.summary = {uint32_t(std::min<uint64_t>(steps, UINT32_MAX)), spikes.size(), hash_spikes(spikes), 0};
    metadata.is_finished = true;
    return assemble(std::move(metadata), std::move(spikes), {}, {});
}

}  // namespace riftjit::sim
