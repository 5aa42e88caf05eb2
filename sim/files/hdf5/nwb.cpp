// Neurodata Without Borders 2: units with their spike times in seconds; states as time series.
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

// One series per variable: samples × neurons.
void write_series(hid_t acquisition, const RecordingSource& source, size_t index, size_t variable) {
    const RecordingHeader& header = source.metadata().header;
    const RecordedStates& recorder = header.states[index];
    const Handle group = create_group(acquisition, recorder.name + "_" + recorder.variables[variable]);
    mark_type(group, "core", "TimeSeries");
    write_attribute(group, "description",
                    fmt::format("{} of population {}; columns are the neurons of recorder {} in /general/notes",
                                recorder.variables[variable], recorder.population, recorder.name));
    write_attribute(group, "comments", "no comments");
    const Handle data = write_data(group, source, index, variable);
    write_attribute<float>(data, "conversion", 1);
    write_attribute<float>(data, "resolution", -1);
    write_attribute<float>(data, "offset", 0);
    write_attribute(data, "unit", recorder.units[variable]);
    const double interval_s = recorder.interval_steps * header.step_ms * 1e-3;
    const double start_s = (recorder.first_step + 1.0) * header.step_ms * 1e-3;
    const Handle start = write_dataset<double>(group, "starting_time", std::span(&start_s, 1), {});
    write_attribute<float>(start, "rate", float(1 / interval_s));
    write_attribute(start, "unit", "seconds");
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

std::optional<Metadata> read_own_metadata(hid_t file) {
    if (!has(file, "general") || !has(open_group(file, "general"), "notes")) return std::nullopt;
    const auto notes = read_texts(file, "general/notes");
    if (notes.size() != 1 || !notes[0].starts_with("{\"format\":\"riftjit recording\"")) return std::nullopt;
    return value_or_throw(metadata_from_json_text(notes[0]));
}

}  // namespace

void write_nwb(const std::string& path, const RecordingSource& source) {
    Handle file = open_file(path, Access::create);
    write_root(file, source.metadata());
    write_units(file, source);
    const Handle acquisition = open_group(file, "acquisition");
    const auto& states = source.metadata().header.states;
    for (size_t i = 0; i < states.size(); ++i)
        for (size_t variable = 0; variable < states[i].variables.size(); ++variable)
            write_series(acquisition, source, i, variable);
    file.close(path);
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
    return value_or_throw(assemble(std::move(*own), std::move(spikes), std::move(states)));
}

}  // namespace riftjit::sim::h5
