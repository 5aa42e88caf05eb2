// Our own layout, in full in docs/SIMULATOR.md.
#include "host/bytes.h"
#include "sim/files/hdf5/growing_file.h"
#include "sim/files/hdf5/layouts.h"

namespace riftjit::sim::h5 {

namespace {

constexpr const char* kFormat = "riftjit recording";
constexpr uint32_t kVersion = 1;

void write_populations(hid_t group, const std::vector<RecordedPopulation>& populations) {
    const Handle parent = create_group(group, "populations");
    std::vector<std::string> names;
    std::vector<uint32_t> first_ids, sizes, recorded, window_populations, first_steps, end_steps;
    for (const RecordedPopulation& population : populations) {
        names.push_back(population.name);
        first_ids.push_back(population.first_id);
        sizes.push_back(population.size);
        recorded.push_back(population.recorded());
        for (const RecordedWindow& window : population.windows) {
            window_populations.push_back(static_cast<uint32_t>(names.size() - 1));
            first_steps.push_back(window.first_step);
            end_steps.push_back(window.end_step);
        }
    }
    write_texts(parent, "name", names);
    write_dataset<uint32_t>(parent, "first_id", first_ids, {names.size()});
    write_dataset<uint32_t>(parent, "size", sizes, {names.size()});
    write_dataset<uint32_t>(parent, "recorded_neurons", recorded, {names.size()});
    if (first_steps.empty()) return;
    const Handle windows = create_group(parent, "windows");
    write_dataset<uint32_t>(windows, "population", window_populations, {first_steps.size()});
    write_dataset<uint32_t>(windows, "first_step", first_steps, {first_steps.size()});
    write_dataset<uint32_t>(windows, "end_step", end_steps, {first_steps.size()});
}

// Where the run ended before they would.
void end_windows(hid_t group, uint32_t steps) {
    const Handle parent = open_group(group, "populations");
    if (!has(parent, "windows")) return;
    for (const char* const name : {"windows/first_step", "windows/end_step"}) {
        std::vector<uint32_t> ends = read_u32(parent, name, Checksums::ignored);
        for (uint32_t& end : ends) end = std::min(end, steps);
        write_rows<uint32_t>(open_dataset(parent, name), 0, ends);
    }
}

std::vector<RecordedPopulation> read_populations(hid_t group) {
    const Handle parent = open_group(group, "populations");
    const auto names = read_texts(parent, "name");
    const auto first_ids = read_u32(parent, "first_id"), sizes = read_u32(parent, "size"),
               recorded = read_u32(parent, "recorded_neurons");
    if (first_ids.size() != names.size() || sizes.size() != names.size() || recorded.size() != names.size())
        throw Hdf5Error("populations: columns of different lengths");
    std::vector<RecordedPopulation> populations;
    for (size_t i = 0; i < names.size(); ++i) populations.push_back({names[i], first_ids[i], sizes[i], recorded[i]});
    if (!has(parent, "windows")) return populations;  // of an earlier version
    const Handle windows = open_group(parent, "windows");
    const auto owners = read_u32(windows, "population"), first = read_u32(windows, "first_step"),
               end = read_u32(windows, "end_step");
    if (first.size() != owners.size() || end.size() != owners.size())
        throw Hdf5Error("populations/windows: columns of different lengths");
    for (size_t i = 0; i < owners.size(); ++i) {
        if (owners[i] >= populations.size())
            throw Hdf5Error(fmt::format("populations/windows: population {} of {}", owners[i], populations.size()));
        populations[owners[i]].windows.push_back({first[i], end[i]});
    }
    return populations;
}

void write_states_header(hid_t states, const RecordedStates& recorder, uint32_t index) {
    const Handle group = create_group(states, recorder.name);
    write_attribute<uint32_t>(group, "index", index);
    write_attribute(group, "population", recorder.population);
    write_attribute<uint32_t>(group, "interval_steps", recorder.interval_steps);
    write_attribute<uint32_t>(group, "first_step", recorder.first_step);
    write_texts(group, "variables", recorder.variables);
    write_texts(group, "units", recorder.units);
    write_dataset<uint32_t>(group, "neurons", recorder.neurons, {recorder.neurons.size()});
    create_growing<double>(group, "values", {recorder.neurons.size(), recorder.variables.size()});
}

RecordedStates read_states_header(hid_t states, const std::string& name) {
    const Handle group = open_group(states, name);
    return {name,
            read_text_attribute(group, "population"),
            read_texts(group, "variables"),
            read_texts(group, "units"),
            read_u32(group, "neurons"),
            read_attribute<uint32_t>(group, "interval_steps"),
            read_attribute<uint32_t>(group, "first_step")};
}

void write_weights_header(hid_t weights, const RecordedWeights& recorder, uint32_t index) {
    const Handle group = create_group(weights, recorder.name);
    write_attribute<uint32_t>(group, "index", index);
    write_attribute(group, "projection", recorder.projection);
    write_attribute(group, "source_population", recorder.source);
    write_attribute(group, "target_population", recorder.target);
    write_attribute(group, "unit", recorder.unit);
    write_attribute<uint32_t>(group, "interval_steps", recorder.interval_steps);
    write_attribute<uint32_t>(group, "first_step", recorder.first_step);
    create_growing<uint32_t>(group, "source");
    create_growing<uint32_t>(group, "target");
    create_growing<double>(group, "values", {recorder.synapses});
}

RecordedWeights read_weights_header(hid_t weights, const std::string& name) {
    const Handle group = open_group(weights, name);
    const auto extents = extents_of(open_dataset(group, "values"));
    if (extents.size() != 2) throw Hdf5Error("weights/" + name + "/values: not samples × synapses");
    return {name,
            read_text_attribute(group, "projection"),
            read_text_attribute(group, "source_population"),
            read_text_attribute(group, "target_population"),
            read_text_attribute(group, "unit"),
            extents[1],
            read_attribute<uint32_t>(group, "interval_steps"),
            read_attribute<uint32_t>(group, "first_step")};
}

// Members of /states or /weights in the order of the recorders.
std::vector<std::string> recorder_names(hid_t recorders) {
    const std::vector<std::string> found = links(recorders);
    std::vector<std::string> names(found.size());
    for (const std::string& name : found) {
        const auto index = read_attribute<uint32_t>(open_group(recorders, name), "index");
        if (index >= names.size() || !names[index].empty()) throw Hdf5Error("two recorders of one index");
        names[index] = name;
    }
    return names;
}

WeightSamples read_weights(hid_t file, const RecordedWeights& recorder, Checksums checksums) {
    const std::string group = "weights/" + recorder.name + "/";
    const auto sources = read_u32(file, group + "source", checksums),
               targets = read_u32(file, group + "target", checksums);
    WeightSamples weights;
    for (size_t i = 0; i < std::min(sources.size(), targets.size()); ++i)
        weights.synapses.push_back({sources[i], targets[i]});
    weights.values = read_doubles(file, group + "values", checksums);
    return weights;
}

class RiftjitWriter final : public RecordingWriter {
public:
    RiftjitWriter(const std::string& path, const RecordingHeader& header)
        : file_(path, [&](hid_t file) { fill(file, header); }),
          step_(file_.add_column<uint32_t>("spikes/step")),
          id_(file_.add_column<uint32_t>("spikes/id")) {
        for (const RecordedStates& recorder : header.states)
            states_.push_back(file_.add_column<double>("states/" + recorder.name + "/values",
                                                       {recorder.neurons.size(), recorder.variables.size()}));
        for (const RecordedWeights& recorder : header.weights) {
            const std::string group = "weights/" + recorder.name + "/";
            weights_.push_back({file_.add_column<uint32_t>(group + "source"),
                                file_.add_column<uint32_t>(group + "target"),
                                file_.add_column<double>(group + "values", {recorder.synapses})});
        }
    }

    Result<void> append_spikes(std::span<const Spike> spikes) override {
        for (const Spike& spike : spikes) {
            file_.push(step_, spike.step);
            file_.push(id_, spike.id);
        }
        return file_.flush_when_large();
    }
    Result<void> append_states(size_t recorder, std::span<const double> values) override {
        file_.push_bytes(states_[recorder], bytes_of(values));
        return file_.flush_when_large();
    }
    Result<void> append_synapses(size_t recorder, std::span<const SynapseEnds> synapses) override {
        for (const SynapseEnds& synapse : synapses) {
            file_.push(weights_[recorder].source, synapse.source);
            file_.push(weights_[recorder].target, synapse.target);
        }
        return file_.flush_when_large();
    }
    Result<void> append_weights(size_t recorder, std::span<const double> values) override {
        file_.push_bytes(weights_[recorder].values, bytes_of(values));
        return file_.flush_when_large();
    }
    Result<void> flush() override { return file_.flush(); }
    Result<void> finish(const RunSummary& summary) override {
        return file_.finish([&](hid_t file) { write_summary(file, summary); });
    }

private:
    static void fill(hid_t file, const RecordingHeader& header) {
        write_description(file, header);
        const Handle spikes = create_group(file, "spikes");
        create_growing<uint32_t>(spikes, "step");
        create_growing<uint32_t>(spikes, "id");
    }

    struct WeightColumns {
        size_t source, target, values;
    };

    GrowingFile file_;
    size_t step_, id_;
    std::vector<size_t> states_;
    std::vector<WeightColumns> weights_;
};

}  // namespace

void write_description(hid_t group, const RecordingHeader& header) {
    write_attribute(group, "format", kFormat);
    write_attribute<uint32_t>(group, "version", kVersion);
    write_attribute(group, "program_version", header.program_version);
    write_attribute(group, "command_line", header.command_line);
    write_attribute(group, "network_name", header.network_name);
    write_attribute(group, "compat", header.compat);
    write_attribute<double>(group, "step_ms", header.step_ms);
    if (header.seed) write_attribute<uint64_t>(group, "seed", *header.seed);
    write_attribute<uint8_t>(group, "finished", 0);
    write_attribute<uint32_t>(group, "steps", 0);
    for (const char* const name : {"spikes", "spikes_hash", "graph_hash"}) write_attribute<uint64_t>(group, name, 0);
    write_text(group, "network_text", header.network_text);
    write_populations(group, header.populations);
    const Handle states = create_group(group, "states");
    for (uint32_t i = 0; i < header.states.size(); ++i) write_states_header(states, header.states[i], i);
    if (header.weights.empty()) return;
    const Handle weights = create_group(group, "weights");
    for (uint32_t i = 0; i < header.weights.size(); ++i) write_weights_header(weights, header.weights[i], i);
}

void write_summary(hid_t group, const RunSummary& summary) {
    set_attribute<uint32_t>(group, "steps", summary.steps);
    set_attribute<uint64_t>(group, "spikes", summary.spikes);
    set_attribute<uint64_t>(group, "spikes_hash", summary.spikes_hash);
    set_attribute<uint64_t>(group, "graph_hash", summary.graph_hash);
    end_windows(group, summary.steps);
    set_attribute<uint8_t>(group, "finished", 1);
}

Metadata read_description(hid_t group) {
    if (read_text_attribute(group, "format") != kFormat) throw Hdf5Error("its format is not \"riftjit recording\"");
    if (const auto version = read_attribute<uint32_t>(group, "version"); version != kVersion)
        throw Hdf5Error(fmt::format("version {} is not known, only {}", version, kVersion));
    const auto texts = read_texts(group, "network_text");
    Metadata metadata;
    std::optional<uint64_t> seed;
    if (has_attribute(group, "seed")) seed = read_attribute<uint64_t>(group, "seed");
    metadata.header = {read_attribute<double>(group, "step_ms"),
                       seed,
                       read_text_attribute(group, "network_name"),
                       texts.empty() ? "" : texts.front(),
                       read_text_attribute(group, "command_line"),
                       read_text_attribute(group, "program_version"),
                       read_text_attribute(group, "compat"),
                       read_populations(group),
                       {},
                       {}};
    const Handle states = open_group(group, "states");
    for (const std::string& name : recorder_names(states))
        metadata.header.states.push_back(read_states_header(states, name));
    if (has(group, "weights")) {
        const Handle weights = open_group(group, "weights");
        for (const std::string& name : recorder_names(weights))
            metadata.header.weights.push_back(read_weights_header(weights, name));
    }
    metadata.summary = {read_attribute<uint32_t>(group, "steps"), read_attribute<uint64_t>(group, "spikes"),
                        read_attribute<uint64_t>(group, "spikes_hash"), read_attribute<uint64_t>(group, "graph_hash")};
    metadata.is_finished = read_attribute<uint8_t>(group, "finished") != 0;
    throw_if_failed(check_header(metadata.header));
    return metadata;
}

std::unique_ptr<RecordingWriter> create_riftjit(const std::string& path, const RecordingHeader& header) {
    return std::make_unique<RiftjitWriter>(path, header);
}

Recording read_riftjit(hid_t file) {
    Metadata metadata = read_description(file);
    const Checksums checksums = metadata.is_finished ? Checksums::compared : Checksums::ignored;
    auto steps = read_u32(file, "spikes/step", checksums), ids = read_u32(file, "spikes/id", checksums);
    // A kill between the two columns leaves one longer than the other.
    const size_t count = metadata.is_finished ? std::max(steps.size(), ids.size()) : std::min(steps.size(), ids.size());
    if (count > std::min(steps.size(), ids.size())) throw Hdf5Error("spikes: columns of different lengths");
    std::vector<Spike> spikes(count);
    for (size_t i = 0; i < count; ++i) spikes[i] = {steps[i], ids[i]};
    std::vector<std::vector<double>> states;
    for (const RecordedStates& recorder : metadata.header.states) {
        const std::string name = "states/" + recorder.name + "/values";
        const auto extents = extents_of(open_dataset(file, name));
        if (extents.size() != 3 || extents[1] != recorder.neurons.size() || extents[2] != recorder.variables.size())
            throw Hdf5Error(name + ": not samples × neurons × variables");
        states.push_back(read_doubles(file, name, checksums));
    }
    std::vector<WeightSamples> weights;
    for (const RecordedWeights& recorder : metadata.header.weights)
        weights.push_back(read_weights(file, recorder, checksums));
    return value_or_throw(assemble(std::move(metadata), std::move(spikes), std::move(states), std::move(weights)));
}

}  // namespace riftjit::sim::h5
