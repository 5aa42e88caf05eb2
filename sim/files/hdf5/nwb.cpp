// Neurodata Without Borders 2: one unit per recorded neuron, with its spike times in seconds; states as time series.
// What NWB has no place for is JSON in /general/notes.
#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "sim/files/hdf5/layouts.h"
#include "sim/files/recording_times.h"

namespace riftjit::sim::h5 {

namespace {

std::string random_uuid() {
    std::random_device random;
    const auto word = [&] { return uint32_t(random()); };
    return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:08x}{:04x}", word(), word() & 0xFFFF, word() & 0xFFF,
                       (word() & 0x3FFF) | 0x8000, word(), word() & 0xFFFF);
}

std::string utc_now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

void mark_type(hid_t object, const char* space, const char* type) {
    write_attribute(object, "namespace", space);
    write_attribute(object, "neurodata_type", type);
    write_attribute(object, "object_id", random_uuid());
}

void write_root(hid_t file, const Recording& recording) {
    mark_type(file, "core", "NWBFile");
    write_attribute(file, "nwb_version", "2.6.0");
    const std::string now = utc_now();
    const RecordingHeader& header = recording.header;
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
    write_text(general, "notes", to_json_text({header, recording.summary, recording.is_finished}));
    if (header.network_text.empty()) return;
    write_attribute(write_text(general, "source_script", header.network_text), "file_name",
                    header.network_name + ".toml");
}

// Spikes regrouped by neuron: the times of unit i end before index[i].
struct Units {
    std::vector<int64_t> ids;  // global ids
    std::vector<std::string> populations;
    std::vector<double> times_s;
    std::vector<uint64_t> index;
};

Units to_units(const Recording& recording) {
    Units units;
    std::vector<Spike> spikes = recording.spikes;
    std::ranges::stable_sort(spikes, {}, &Spike::id);
    auto spike = spikes.begin();
    for (const RecordedPopulation& population : recording.header.populations) {
        if (population.recorded() == 0) continue;
        for (uint32_t id = population.first_id; id - population.first_id < population.size; ++id) {
            for (; spike != spikes.end() && spike->id == id; ++spike)
                units.times_s.push_back(stamp_ms(recording.header, spike->step) * 1e-3);
            units.ids.push_back(id);
            units.populations.push_back(population.name);
            units.index.push_back(units.times_s.size());
        }
    }
    check(spike == spikes.end(), "spikes belong to populations that were recorded");
    return units;
}

void write_reference(hid_t object, const std::string& name, hid_t file, const std::string& target) {
    hobj_ref_t reference{};
    require(H5Rcreate(&reference, file, target.c_str(), H5R_OBJECT, -1), name);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, name);
    const Handle attribute(H5Acreate2(object, name.c_str(), H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           name);
    require(H5Awrite(attribute, H5T_STD_REF_OBJ, &reference), name);
}

// COLUMN_index: where the part of each unit ends in COLUMN.
void write_index(hid_t group, const std::string& column, const std::vector<uint64_t>& ends, hid_t file) {
    const Handle index = write_dataset<uint64_t>(group, column + "_index", ends, {ends.size()});
    mark_type(index, "hdmf-common", "VectorIndex");
    write_attribute(index, "description", "Where the part of each unit ends in " + column);
    write_reference(index, "target", file, "/units/" + column);
}

// Every unit was observed once, from the start to the end.
void write_observation(hid_t group, const Recording& recording, size_t units, hid_t file) {
    const double end_s = recording.summary.steps * recording.header.step_ms * 1e-3;
    std::vector<double> intervals;
    std::vector<uint64_t> ends;
    for (size_t unit = 0; unit < units; ++unit) {
        intervals.insert(intervals.end(), {0, end_s});
        ends.push_back(unit + 1);
    }
    const Handle data = write_dataset<double>(group, "obs_intervals", intervals, {units, 2});
    mark_type(data, "hdmf-common", "VectorData");
    write_attribute(data, "description", "Start and end of the recording in seconds");
    write_index(group, "obs_intervals", ends, file);
}

void write_units(hid_t file, const Recording& recording) {
    const Units units = to_units(recording);
    const Handle group = create_group(file, "units");
    mark_type(group, "core", "Units");
    write_attribute(group, "description", "Recorded neurons; ids are global, those of /general/notes");
    write_attribute(group, "colnames", std::vector<std::string>{"spike_times", "obs_intervals", "population"});
    const hsize_t count = units.ids.size();
    mark_type(write_dataset<int64_t>(group, "id", units.ids, {count}), "hdmf-common", "ElementIdentifiers");
    const Handle times = write_dataset<double>(group, "spike_times", units.times_s, {units.times_s.size()});
    mark_type(times, "hdmf-common", "VectorData");
    write_attribute(times, "description", "Spike times in seconds");
    write_attribute<double>(times, "resolution", recording.header.step_ms * 1e-3);
    write_index(group, "spike_times", units.index, file);
    write_observation(group, recording, count, file);
    const Handle population = write_texts(group, "population", units.populations);
    mark_type(population, "hdmf-common", "VectorData");
    write_attribute(population, "description", "The population of each neuron");
}

// One series per variable: samples × neurons.
void write_series(hid_t acquisition, const RecordingHeader& header, const RecordedStates& recorder, size_t variable,
                  const std::vector<double>& values) {
    const size_t stride = recorder.variables.size();
    std::vector<double> chosen(values.size() / stride);
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = values[i * stride + variable];
    const Handle group = create_group(acquisition, recorder.name + "_" + recorder.variables[variable]);
    mark_type(group, "core", "TimeSeries");
    write_attribute(group, "description",
                    fmt::format("{} of population {}; columns are the neurons of recorder {} in /general/notes",
                                recorder.variables[variable], recorder.population, recorder.name));
    write_attribute(group, "comments", "no comments");
    const hsize_t neurons = recorder.neurons.size();
    const Handle data = write_dataset<double>(group, "data", chosen, {chosen.size() / neurons, neurons});
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

void write_nwb(const std::string& path, const Recording& recording) {
    Handle file = open_file(path, Access::create);
    write_root(file, recording);
    write_units(file, recording);
    const Handle acquisition = open_group(file, "acquisition");
    for (size_t i = 0; i < recording.states.size(); ++i)
        for (size_t variable = 0; variable < recording.header.states[i].variables.size(); ++variable)
            write_series(acquisition, recording.header, recording.header.states[i], variable, recording.states[i]);
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
            spikes.push_back(
                {value_or_throw(step_of_stamp(step_ms, compat, times_s[next] * 1e3)),
                 own ? ids[unit] : uint32_t(unit)});
    }
    if (!own)
        return value_or_throw(assemble_foreign(options, {{"units", 0, uint32_t(index.size()), {}}}, std::move(spikes),
                                               Silent::recorded));
    std::vector<std::vector<double>> states;
    for (const RecordedStates& recorder : own->header.states) states.push_back(read_states(file, recorder));
    return value_or_throw(assemble(std::move(*own), std::move(spikes), std::move(states)));
}

}  // namespace riftjit::sim::h5
