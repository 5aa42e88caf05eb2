// SONATA spikes: /spikes/<population>/{timestamps,node_ids}, ids from 0 within the population, times in ms. What SONATA
// has no place for lies in /riftjit, laid out as in our own files.
#include <algorithm>

#include "sim/files/hdf5/growing_file.h"
#include "sim/files/hdf5/layouts.h"
#include "sim/files/recording_times.h"

namespace riftjit::sim::h5 {

namespace {

constexpr uint32_t kMagic = 0x0A7A;
// Attribute of /spikes: how many spikes of all populations together, in the order of their times, are there for
// certain. After a kill the columns of some populations may reach further than those of others.
constexpr const char* kFlushed = "flushed";

// The enumeration that the format prescribes, with its value for spikes in the order of their times.
void write_sorting_by_time(hid_t group) {
    const Handle type(H5Tenum_create(H5T_NATIVE_UINT8), H5Tclose, "sorting"),
        space(H5Screate(H5S_SCALAR), H5Sclose, "");
    constexpr const char* kNames[] = {"none", "by_id", "by_time"};
    for (uint8_t value = 0; value < 3; ++value) require(H5Tenum_insert(type, kNames[value], &value), "sorting");
    const Handle attribute(H5Acreate2(group, "sorting", type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, "sorting");
    constexpr uint8_t kByTime = 2;
    require(H5Awrite(attribute, type, &kByTime), "sorting");
}

void fill(hid_t file, const RecordingHeader& header) {
    write_sonata_version(file);
    const Handle spikes = create_group(file, "spikes");
    write_attribute<uint64_t>(spikes, kFlushed, 0);
    for (const RecordedPopulation& population : header.populations) {
        const Handle group = create_group(spikes, population.name);
        write_sorting_by_time(group);
        write_attribute(create_growing<double>(group, "timestamps"), "units", "milliseconds");
        create_growing<uint64_t>(group, "node_ids");
    }
    RecordingHeader held = header;
    held.states.clear();
    held.weights.clear();
    write_description(create_group(file, "riftjit"), held);
}

// The groups are the spikes: one row in the two columns of a population each.
class SonataWriter final : public RecordingWriter, private RowGroups {
public:
    SonataWriter(const std::string& path, const RecordingHeader& header)
        : header_(header), file_(path, [&](hid_t file) { fill(file, header); }, this) {
        for (const RecordedPopulation& population : header.populations) {
            const std::string group = "spikes/" + population.name + "/";
            times_.push_back(file_.add_column<double>(group + "timestamps"));
            ids_.push_back(file_.add_column<uint64_t>(group + "node_ids"));
        }
    }

    Result<void> append_spikes(std::span<const Spike> spikes) override {
        const auto& populations = header_.populations;
        for (const Spike& spike : spikes) {
            const auto next = std::ranges::upper_bound(populations, spike.id, {}, &RecordedPopulation::first_id);
            check(next != populations.begin(), "a spike belongs to a population");
            const auto population = size_t(next - populations.begin()) - 1;
            file_.push(times_[population], stamp_ms(header_, spike.step));
            file_.push(ids_[population], uint64_t(spike.id - populations[population].first_id));
            waiting_.push_back(uint32_t(population));
        }
        return file_.flush_when_large();
    }
    Result<void> append_states(size_t, std::span<const double>) override { return {}; }  // lost_in() says so
    Result<void> append_synapses(size_t, std::span<const SynapseEnds>) override { return {}; }
    Result<void> append_weights(size_t, std::span<const double>) override { return {}; }
    Result<void> flush() override { return file_.flush(); }
    Result<void> finish(const RunSummary& summary) override {
        return file_.finish([&](hid_t file) { write_summary(open_group(file, "riftjit"), summary); });
    }

private:
    std::vector<size_t> waiting_rows(unsigned halvings) const override {
        std::vector<size_t> rows(2 * header_.populations.size());
        for (const uint32_t population : std::span(waiting_).first(waiting_.size() >> halvings)) {
            ++rows[times_[population]];
            ++rows[ids_[population]];
        }
        return rows;
    }
    void appended(hid_t file, unsigned halvings) override {
        const size_t spikes = waiting_.size() >> halvings;
        set_attribute<uint64_t>(open_group(file, "spikes"), kFlushed, flushed_ + spikes);
        flushed_ += spikes;
        waiting_.erase(waiting_.begin(), waiting_.begin() + ptrdiff_t(spikes));
    }

    RecordingHeader header_;
    GrowingFile file_;
    std::vector<size_t> times_, ids_;  // columns, per population
    std::vector<uint32_t> waiting_;    // the populations of the spikes that wait
    uint64_t flushed_ = 0;
};

struct PopulationSpikes {
    std::vector<double> times_ms;
    std::vector<uint32_t> ids;
};

// A kill between two columns leaves one longer than the other.
enum class Whole : uint8_t { no, yes };

PopulationSpikes read_population(hid_t spikes, const std::string& name, Whole whole) {
    const Handle group = open_group(spikes, name);
    const Checksums checksums = whole == Whole::yes ? Checksums::compared : Checksums::ignored;
    PopulationSpikes read{read_doubles(group, "timestamps", checksums), read_u32(group, "node_ids", checksums)};
    if (read.times_ms.size() != read.ids.size() && whole == Whole::yes)
        throw Hdf5Error("population " + name + ": columns of different lengths");
    const size_t count = std::min(read.times_ms.size(), read.ids.size());
    read.times_ms.resize(count);
    read.ids.resize(count);
    const Handle times = open_dataset(group, "timestamps");
    const std::string units = has_attribute(times, "units") ? read_text_attribute(times, "units") : "milliseconds";
    if (units == "s" || units == "seconds")
        for (double& time : read.times_ms) time *= 1e3;
    else if (units != "ms" && units != "milliseconds")
        throw Hdf5Error("population " + name + ": times in \"" + units + "\"");
    return read;
}

// Of another program: populations follow one another in the order of their names, each up to its largest id.
std::vector<RecordedPopulation> foreign_populations(const std::vector<std::string>& names,
                                                    const std::vector<PopulationSpikes>& spikes) {
    std::vector<RecordedPopulation> populations;
    uint64_t first_id = 0;
    for (size_t i = 0; i < names.size(); ++i) {
        const uint64_t size = spikes[i].ids.empty() ? 0 : uint64_t(std::ranges::max(spikes[i].ids)) + 1;
        if (first_id + size > UINT32_MAX) throw Hdf5Error("populations of more than 32 bits of neurons");
        populations.push_back({names[i], uint32_t(first_id), uint32_t(size), std::nullopt});
        first_id += size;
    }
    return populations;
}

}  // namespace

void write_sonata_version(hid_t file) {
    write_attribute<uint32_t>(file, "magic", kMagic);
    constexpr uint32_t kVersion[] = {0, 1};
    constexpr hsize_t kExtent = 2;
    const Handle space(H5Screate_simple(1, &kExtent, nullptr), H5Sclose, "version");
    const Handle attribute(H5Acreate2(file, "version", H5T_NATIVE_UINT32, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           "version");
    require(H5Awrite(attribute, H5T_NATIVE_UINT32, kVersion), "version");
}

std::unique_ptr<RecordingWriter> create_sonata(const std::string& path, const RecordingHeader& header) {
    return std::make_unique<SonataWriter>(path, header);
}

Recording read_sonata(hid_t file, const ReadOptions& options) {
    const Handle group = open_group(file, "spikes");
    const std::vector<std::string> names = links(group);
    std::optional<Metadata> own;
    if (has(file, "riftjit")) own = read_description(open_group(file, "riftjit"));
    const Whole whole = own && !own->is_finished ? Whole::no : Whole::yes;
    std::vector<PopulationSpikes> read;
    for (const std::string& name : names) read.push_back(read_population(group, name, whole));
    const double step_ms = own ? own->header.step_ms : options.step_ms;
    const std::string compat = own ? own->header.compat : options.compat;
    auto populations = own ? own->header.populations : foreign_populations(names, read);
    std::vector<Spike> spikes;
    size_t count = 0;
    for (const PopulationSpikes& population : read) count += population.ids.size();
    spikes.reserve(count);
    for (size_t i = 0; i < names.size(); ++i) {
        const auto population = std::ranges::find(populations, names[i], &RecordedPopulation::name);
        if (population == populations.end())
            throw Hdf5Error("population " + names[i] + " is not among those of /riftjit");
        for (size_t k = 0; k < read[i].ids.size(); ++k) {
            if (read[i].ids[k] >= population->size)
                throw Hdf5Error(
                    fmt::format("population {}: node {} of {}", names[i], read[i].ids[k], population->size));
            const uint32_t step = value_or_throw(step_of_stamp(step_ms, compat, read[i].times_ms[k]));
            spikes.push_back({step, population->first_id + read[i].ids[k]});
        }
    }
    if (whole == Whole::no && has_attribute(group, kFlushed)) {
        std::ranges::sort(spikes);
        spikes.resize(std::min<uint64_t>(spikes.size(), read_attribute<uint64_t>(group, kFlushed)));
    }
    return value_or_throw(own ? assemble(std::move(*own), std::move(spikes), {}, {})
                              : assemble_foreign(options, std::move(populations), std::move(spikes), Silent::unknown));
}

}  // namespace riftjit::sim::h5
