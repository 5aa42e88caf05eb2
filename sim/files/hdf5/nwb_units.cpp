#include "sim/files/hdf5/nwb_units.h"

#include <algorithm>
#include <random>

#include "host/available_memory.h"
#include "sim/files/recording_times.h"

namespace riftjit::sim::h5 {

namespace {

constexpr size_t kUnitsAtOnce = 1 << 16;
constexpr uint64_t kSpikesAtOnce = 2 << 20;  // regrouped by unit in one pass over all

// Runs over all spikes; what `use` throws passes no frame of the program, which may have been built otherwise.
template <class Use>
void each_spike(const RecordingSource& source, const Use& use) {
    throw_if_failed(source.each_spikes([&](std::span<const Spike> spikes) -> Result<void> {
        for (const Spike& spike : spikes) use(spike);
        return {};
    }));
}

struct PartOfUnits {  // of one population
    const RecordedPopulation* population;
    size_t begin;  // its first unit
    bool is_whole;
};

class Units {
public:
    explicit Units(const RecordingSource& source) {
        const auto& populations = source.metadata().header.populations;
        refuse_if_too_many(populations);
        const std::vector<uint32_t> fired = ids_that_fired(source);
        for (const RecordedPopulation& population : populations) {
            if (population.recorded() == 0) continue;
            parts_.push_back({&population, ids_.size(), population.recorded() == population.size});
            if (parts_.back().is_whole)
                for (uint32_t place = 0; place < population.size; ++place) ids_.push_back(population.first_id + place);
            else
                std::ranges::copy_if(fired, std::back_inserter(ids_), [&](uint32_t id) {
                    return id - population.first_id < population.size && id >= population.first_id;
                });
        }
        ends_.resize(ids_.size());
        each_spike(source, [&](const Spike& spike) { ++ends_[unit_of(spike.id)]; });
        for (size_t unit = 1; unit < ends_.size(); ++unit) ends_[unit] += ends_[unit - 1];
    }

    size_t size() const { return ids_.size(); }
    uint32_t id(size_t unit) const { return ids_[unit]; }
    uint64_t begin(size_t unit) const { return unit == 0 ? 0 : ends_[unit - 1]; }
    uint64_t end(size_t unit) const { return ends_[unit]; }
    size_t unit_of(uint32_t id) const {
        const PartOfUnits& part = part_at(parts_, id, [&](const PartOfUnits& p) { return p.population->first_id; });
        if (part.is_whole) return part.begin + (id - part.population->first_id);
        const auto found = std::lower_bound(ids_.begin() + ptrdiff_t(part.begin), ids_.end(), id);
        check(found != ids_.end() && *found == id, "spikes belong to populations that were recorded");
        return size_t(found - ids_.begin());
    }
    const std::vector<PartOfUnits>& parts() const { return parts_; }
    size_t part_of(size_t unit) const {
        return size_t(&part_at(parts_, unit, [](const PartOfUnits& p) { return p.begin; }) - parts_.data());
    }
    size_t count(const PartOfUnits& part) const {  // of its units
        const auto next = size_t(&part - parts_.data()) + 1;
        return (next == parts_.size() ? ids_.size() : parts_[next].begin) - part.begin;
    }
    const std::string& population_of(size_t unit) const {
        return part_at(parts_, unit, [](const PartOfUnits& p) { return p.begin; }).population->name;
    }

private:
    // The last that begins at or before `place`.
    template <class Place, class Begin>
    static const PartOfUnits& part_at(const std::vector<PartOfUnits>& parts, Place place, const Begin& begin) {
        const auto next = std::ranges::upper_bound(parts, place, {}, begin);
        check(next != parts.begin(), "spikes belong to populations that were recorded");
        return *std::prev(next);
    }

    static void refuse_if_too_many(const std::vector<RecordedPopulation>& populations) {
        uint64_t units = 0;
        for (const RecordedPopulation& population : populations) units += population.recorded();
        const uint64_t bytes = units * (sizeof(uint32_t) + sizeof(uint64_t));
        if (bytes > available_memory())
            throw Hdf5Error(fmt::format("{} units, one per recorded neuron, need {} bytes of memory, {} are available",
                                        units, bytes, available_memory()));
    }

    // Of the populations that were recorded in part; ascending, each once.
    static std::vector<uint32_t> ids_that_fired(const RecordingSource& source) {
        const auto& populations = source.metadata().header.populations;
        const auto is_in_part = [](const RecordedPopulation& p) { return p.recorded() < p.size; };
        if (std::ranges::none_of(populations, is_in_part)) return {};
        std::vector<uint32_t> ids;
        size_t distinct = 0;
        const auto compact = [&] {
            std::ranges::sort(ids);
            ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
            distinct = ids.size();
        };
        each_spike(source, [&](const Spike& spike) {
            ids.push_back(spike.id);
            if (ids.size() >= 2 * distinct + kUnitsAtOnce) compact();
        });
        compact();
        return ids;
    }

    std::vector<PartOfUnits> parts_;
    std::vector<uint32_t> ids_;   // of each unit, ascending
    std::vector<uint64_t> ends_;  // where the spikes of unit i end
};

// NAME, `width` values per unit, filled in parts: value(unit, which of its values).
template <class T, class Value>
Handle write_column(hid_t group, const std::string& name, size_t units, size_t width, const Value& value) {
    Handle column =
        create_dataset<T>(group, name, width == 1 ? std::vector<hsize_t>{units} : std::vector<hsize_t>{units, width});
    std::vector<T> part;
    for (size_t first = 0; first < units; first += kUnitsAtOnce) {
        part.clear();
        for (size_t unit = first; unit < std::min(units, first + kUnitsAtOnce); ++unit)
            for (size_t i = 0; i < width; ++i) part.push_back(value(unit, i));
        write_rows<T>(column, first, part);
    }
    return column;
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
template <class End>
void write_index(hid_t file, hid_t group, const std::string& column, size_t units, const End& end) {
    const Handle index = write_column<uint64_t>(group, column + "_index", units, 1,
                                                [&](size_t unit, size_t) -> uint64_t { return end(unit); });
    mark_type(index, "hdmf-common", "VectorIndex");
    write_attribute(index, "description", "Where the part of each unit ends in " + column);
    write_reference(index, "target", file, "/units/" + column);
}

// The spikes of as many units as fit at a time, each time a pass over all of them.
void write_times(hid_t dataset, const RecordingSource& source, const Units& units) {
    std::vector<double> times_s;
    std::vector<uint64_t> next;
    for (size_t first = 0, last = 0; first < units.size(); first = last) {
        const uint64_t begin = units.begin(first);
        for (last = first + 1; last < units.size() && units.end(last) - begin <= kSpikesAtOnce;) ++last;
        times_s.resize(units.end(last - 1) - begin);
        if (times_s.empty()) continue;
        next.clear();
        for (size_t unit = first; unit < last; ++unit) next.push_back(units.begin(unit) - begin);
        each_spike(source, [&](const Spike& spike) {
            if (spike.id < units.id(first) || spike.id > units.id(last - 1)) return;
            times_s[next[units.unit_of(spike.id) - first]++] = stamp_ms(source.metadata().header, spike.step) * 1e-3;
        });
        write_rows<double>(dataset, begin, times_s);
    }
}

// The windows of its population, for each unit: rates are spikes by their lengths.
void write_observed(hid_t file, hid_t group, const RecordingSource& source, const Units& units) {
    const double step_s = source.metadata().header.step_ms * 1e-3;
    std::vector<RecordedWindow> windows;  // of the populations one after another
    std::vector<size_t> first_windows;    // of each part's population
    std::vector<uint64_t> first_rows;
    uint64_t rows = 0;
    for (const PartOfUnits& part : units.parts()) {
        const auto within = windows_within(*part.population, source.metadata().summary);
        first_windows.push_back(windows.size());
        first_rows.push_back(rows);
        windows.insert(windows.end(), within.begin(), within.end());
        rows += within.size() * units.count(part);
    }
    first_windows.push_back(windows.size());
    first_rows.push_back(rows);
    const auto count_of = [&](size_t part) { return first_windows[part + 1] - first_windows[part]; };
    const Handle observed = write_column<double>(group, "obs_intervals", rows, 2, [&](size_t row, size_t i) {
        const auto part = size_t(std::ranges::upper_bound(first_rows, row) - first_rows.begin()) - 1;
        const RecordedWindow& window = windows[first_windows[part] + (row - first_rows[part]) % count_of(part)];
        return (i == 0 ? window.first_step : window.end_step) * step_s;
    });
    mark_type(observed, "hdmf-common", "VectorData");
    write_attribute(observed, "description", "Start and end of the time recorded, in seconds");
    write_index(file, group, "obs_intervals", units.size(), [&](size_t unit) {
        const size_t part = units.part_of(unit);
        return first_rows[part] + (unit + 1 - units.parts()[part].begin) * count_of(part);
    });
}

void write_populations(hid_t group, const Units& units) {
    const Handle column = create_texts(group, "population", units.size());
    std::vector<const char*> part;
    for (size_t first = 0; first < units.size(); first += part.size()) {
        part.clear();
        for (size_t unit = first; unit < std::min(units.size(), first + kUnitsAtOnce); ++unit)
            part.push_back(units.population_of(unit).c_str());
        write_texts_from(column, first, part);
    }
    mark_type(column, "hdmf-common", "VectorData");
    write_attribute(column, "description", "The population of each neuron");
}

}  // namespace

std::string random_uuid() {
    std::random_device random;
    const auto word = [&] { return uint32_t(random()); };
    return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:08x}{:04x}", word(), word() & 0xFFFF, word() & 0xFFF,
                       (word() & 0x3FFF) | 0x8000, word(), word() & 0xFFFF);
}

void mark_type(hid_t object, const char* space, const char* type) {
    write_attribute(object, "namespace", space);
    write_attribute(object, "neurodata_type", type);
    write_attribute(object, "object_id", random_uuid());
}

void write_units(hid_t file, const RecordingSource& source) {
    const Units units(source);
    const Handle group = create_group(file, "units");
    mark_type(group, "core", "Units");
    write_attribute(group, "description", "Recorded neurons; ids are global, those of /general/notes");
    write_attribute(group, "colnames", std::vector<std::string>{"spike_times", "obs_intervals", "population"});
    mark_type(write_column<int64_t>(group, "id", units.size(), 1, [&](size_t unit, size_t) { return units.id(unit); }),
              "hdmf-common", "ElementIdentifiers");
    const Handle times = create_dataset<double>(group, "spike_times", {source.spikes()});
    write_times(times, source, units);
    mark_type(times, "hdmf-common", "VectorData");
    write_attribute(times, "description", "Spike times in seconds");
    const double step_s = source.metadata().header.step_ms * 1e-3;
    write_attribute<double>(times, "resolution", step_s);
    write_index(file, group, "spike_times", units.size(), [&](size_t unit) { return units.end(unit); });
    write_observed(file, group, source, units);
    write_populations(group, units);
}

}  // namespace riftjit::sim::h5
