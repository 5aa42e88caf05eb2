// Neurodata Without Borders 2: units with their spike times in seconds; states and weights as time series, with a table
// of the synapses.
// What NWB has no place for is JSON in /general/notes.
#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>

#include "sim/files/hdf5/nwb_units.h"
#include "sim/files/recording_times.h"

namespace riftjit::sim::h5 {

namespace {

std::string utc_now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

void write_root(hid_t file, const Metadata& metadata) {
    mark_type(file, "core", "NWBFile");
    write_attribute(file, "nwb_version", "2.6.0");
    const std::string now = utc_now();
    const RecordingHeader& header = metadata.header;
    write_texts(file, "file_create_date", {now});
    write_text(file, "identifier", random_uuid());
    write_text(file, "session_description", "Simulation of the spiking network " + header.network_name);
    write_text(file, "session_start_time", now);
    write_text(file, "timestamps_reference_time", now);
    for (const char* const name : {"acquisition", "analysis", "processing"}) create_group(file, name);
    const Handle stimulus = create_group(file, "stimulus"), general = create_group(file, "general");
    for (const char* const name : {"presentation", "templates"}) create_group(stimulus, name);
    write_text(general, "experiment_description",
               fmt::format("riftjit {}: {}", header.program_version, header.command_line));
    write_text(general, "notes", to_json_text(metadata));
    if (header.network_text.empty()) return;
    write_attribute(write_text(general, "source_script", header.network_text), "file_name",
                    header.network_name + ".toml");
}

// A variable of a recorder, one sample of all neurons after another.
Handle write_data(hid_t group, const RecordingSource& source, size_t recorder, size_t variable) {
    const RecordedStates& states = source.metadata().header.states[recorder];
    const size_t stride = states.variables.size(), neurons = states.neurons.size();
    Handle data = create_dataset<double>(group, "data", {source.values(recorder) / states.sample_values(), neurons});
    std::vector<double> chosen;
    hsize_t sample = 0;
    throw_if_failed(source.each_values(recorder, [&](std::span<const double> values) {
        chosen.resize(values.size() / stride);
        for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = values[i * stride + variable];
        const auto written = no_throw(states.name, [&] { write_rows<double>(data, sample, chosen); });
        sample += chosen.size() / neurons;
        return written;
    }));
    return data;
}

// What says when the samples of `data` were taken, and in which unit.
template <class Recorder>
void describe_series(hid_t group, const RecordingHeader& header, const Recorder& recorder, const std::string& text,
                     hid_t data, const std::string& unit) {
    mark_type(group, "core", "TimeSeries");
    write_attribute(group, "description", text);
    write_attribute(group, "comments", "no comments");
    write_attribute<float>(data, "conversion", 1);
    write_attribute<float>(data, "resolution", -1);
    write_attribute<float>(data, "offset", 0);
    write_attribute(data, "unit", unit);
    const double interval_s = recorder.interval_steps * header.step_ms * 1e-3;
    const double start_s = (recorder.first_step + 1.0) * header.step_ms * 1e-3;
    const Handle start = write_dataset<double>(group, "starting_time", std::span(&start_s, 1), {});
    write_attribute<float>(start, "rate", float(1 / interval_s));
    write_attribute(start, "unit", "seconds");
}

// One series per variable: samples × neurons.
void write_series(hid_t acquisition, const RecordingSource& source, size_t index, size_t variable) {
    const RecordingHeader& header = source.metadata().header;
    const RecordedStates& recorder = header.states[index];
    const Handle group = create_group(acquisition, recorder.name + "_" + recorder.variables[variable]);
    const Handle data = write_data(group, source, index, variable);
    describe_series(group, header, recorder,
                    fmt::format("{} of population {}; columns are the neurons of recorder {} in /general/notes",
                                recorder.variables[variable], recorder.population, recorder.name),
                    data, recorder.units[variable]);
}

std::string synapse_table(const RecordedWeights& recorder) { return recorder.name + "_synapses"; }
std::string weight_series(const RecordedWeights& recorder) { return recorder.name + "_w"; }

// A row per synapse: ids of its neurons. Not beside the series: Neo takes all of /acquisition for series.
void write_synapses(hid_t analysis, const RecordingSource& source, size_t index) {
    const RecordedWeights& recorder = source.metadata().header.weights[index];
    const Handle table = create_group(analysis, synapse_table(recorder));
    mark_type(table, "hdmf-common", "DynamicTable");
    write_attribute(table, "description",
                    fmt::format("Synapses of projection {}: the columns of {}; ids are global", recorder.projection,
                                weight_series(recorder)));
    write_attribute(table, "colnames", std::vector<std::string>{"source", "target"});
    const Handle rows = create_dataset<int64_t>(table, "id", {recorder.synapses}),
                 sources = create_dataset<uint32_t>(table, "source", {recorder.synapses}),
                 targets = create_dataset<uint32_t>(table, "target", {recorder.synapses});
    std::vector<int64_t> row;
    std::vector<uint32_t> from, to;
    hsize_t first = 0;
    throw_if_failed(source.each_synapse(index, [&](std::span<const SynapseEnds> synapses) {
        row.clear(), from.clear(), to.clear();
        for (const SynapseEnds& synapse : synapses) {
            row.push_back(int64_t(first + row.size()));
            from.push_back(synapse.source);
            to.push_back(synapse.target);
        }
        const auto written = no_throw(recorder.name, [&] {
            write_rows<int64_t>(rows, first, row);
            write_rows<uint32_t>(sources, first, from);
            write_rows<uint32_t>(targets, first, to);
        });
        first += row.size();
        return written;
    }));
    mark_type(rows, "hdmf-common", "ElementIdentifiers");
    for (const auto& [column, text] : {std::pair<hid_t, const char*>(sources, "The neuron that sends"),
                                       std::pair<hid_t, const char*>(targets, "The neuron that receives")}) {
        mark_type(column, "hdmf-common", "VectorData");
        write_attribute(column, "description", text);
    }
}

// Samples × synapses.
void write_weights(hid_t acquisition, const RecordingSource& source, size_t index) {
    const RecordingHeader& header = source.metadata().header;
    const RecordedWeights& recorder = header.weights[index];
    const Handle group = create_group(acquisition, weight_series(recorder));
    const Handle data =
        create_dataset<double>(group, "data", {source.weights(index) / recorder.synapses, recorder.synapses});
    hsize_t sample = 0;
    throw_if_failed(source.each_weights(index, [&](std::span<const double> values) {
        const auto written = no_throw(recorder.name, [&] { write_rows<double>(data, sample, values); });
        sample += values.size() / recorder.synapses;
        return written;
    }));
    describe_series(group, header, recorder,
                    fmt::format("Weights of projection {}; columns are the rows of {}", recorder.projection,
                                synapse_table(recorder)),
                    data, recorder.unit);
}

std::vector<double> read_states(hid_t file, const RecordedStates& recorder) {
    const size_t stride = recorder.variables.size();
    std::vector<double> values;
    for (size_t variable = 0; variable < stride; ++variable) {
        const std::string name = "acquisition/" + recorder.name + "_" + recorder.variables[variable] + "/data";
        const auto extents = extents_of(open_dataset(file, name));
        const std::vector<double> series = read_doubles(file, name);
        if (variable == 0) values.resize(series.size() * stride);
        if (extents.size() != 2 || extents[1] != recorder.neurons.size() || series.size() * stride != values.size())
            throw Hdf5Error(name + ": not samples × neurons, as many as in other series");
        for (size_t i = 0; i < series.size(); ++i) values[i * stride + variable] = series[i];
    }
    return values;
}

WeightSamples read_weights(hid_t file, const RecordedWeights& recorder) {
    const std::string table = "analysis/" + synapse_table(recorder);
    const auto sources = read_u32(file, table + "/source"), targets = read_u32(file, table + "/target");
    if (sources.size() != targets.size()) throw Hdf5Error(table + ": columns of different lengths");
    WeightSamples weights;
    for (size_t i = 0; i < sources.size(); ++i) weights.synapses.push_back({sources[i], targets[i]});
    weights.values = read_doubles(file, "acquisition/" + weight_series(recorder) + "/data");
    return weights;
}

std::optional<Metadata> read_own_metadata(hid_t file) {
    if (!has(file, "general") || !has(open_group(file, "general"), "notes")) return std::nullopt;
    const auto notes = read_texts(file, "general/notes");
    if (notes.size() != 1 || !notes[0].starts_with("{\"format\":\"riftjit recording\"")) return std::nullopt;
    return value_or_throw(metadata_from_json_text(notes[0]));
}

void write_recorders(hid_t file, const RecordingSource& source) {
    const Handle acquisition = open_group(file, "acquisition");
    const auto& states = source.metadata().header.states;
    for (size_t i = 0; i < states.size(); ++i)
        for (size_t variable = 0; variable < states[i].variables.size(); ++variable)
            write_series(acquisition, source, i, variable);
    const Handle analysis = open_group(file, "analysis");
    for (size_t i = 0; i < source.metadata().header.weights.size(); ++i) {
        write_synapses(analysis, source, i);
        write_weights(acquisition, source, i);
    }
}

}  // namespace

void write_nwb(const std::string& path, const RecordingSource& source) {
    Handle file = open_file(path, Access::create);
    write_root(file, source.metadata());
    write_units(file, source);
    write_recorders(file, source);
    file.close();
}

Recording read_nwb(hid_t file, const ReadOptions& options) {
    auto own = read_own_metadata(file);
    if (!has(file, "units")) throw Hdf5Error("an NWB file without /units");
    const auto times_s = read_doubles(file, "units/spike_times");
    const auto index = read_u32(file, "units/spike_times_index");
    const double step_ms = own ? own->header.step_ms : options.step_ms;
    const std::string compat = own ? own->header.compat : options.compat;
    // Of another program: ids are whatever its author gave; units count from 0.
    const auto ids = own ? read_u32(file, "units/id") : std::vector<uint32_t>();
    if (own && ids.size() != index.size()) throw Hdf5Error("units: columns of different lengths");
    std::vector<Spike> spikes;
    spikes.reserve(times_s.size());
    size_t next = 0;
    for (size_t unit = 0; unit < index.size(); ++unit) {
        if (index[unit] < next || index[unit] > times_s.size())
            throw Hdf5Error(fmt::format("units/spike_times_index: unit {} ends at {}", unit, index[unit]));
        for (; next < index[unit]; ++next)
            spikes.push_back({value_or_throw(step_of_stamp(step_ms, compat, times_s[next] * 1e3)),
                              own ? ids[unit] : uint32_t(unit)});
    }
    if (!own)
        return value_or_throw(
            assemble_foreign(options, {{"units", 0, uint32_t(index.size()), {}}}, std::move(spikes), Silent::recorded));
    std::vector<std::vector<double>> states;
    for (const RecordedStates& recorder : own->header.states) states.push_back(read_states(file, recorder));
    std::vector<WeightSamples> weights;
    for (const RecordedWeights& recorder : own->header.weights) weights.push_back(read_weights(file, recorder));
    return value_or_throw(assemble(std::move(*own), std::move(spikes), std::move(states), std::move(weights)));
}

}  // namespace riftjit::sim::h5
