// Where the layouts put things in an HDF5 file: ours, SONATA's spikes and networks, NWB's units. All throw Hdf5Error.
#pragma once

#include "sim/files/hdf5/h5.h"
#include "sim/files/network_file.h"
#include "sim/files/recording_source.h"

namespace riftjit::sim::h5 {

// What a recording says about itself, in the group `group` (our layout: the root; SONATA: /riftjit).
void write_description(hid_t group, const RecordingHeader& header);
void write_summary(hid_t group, const RunSummary& summary);  // into what write_description() left room for
Metadata read_description(hid_t group);

std::unique_ptr<RecordingWriter> create_riftjit(const std::string& path, const RecordingHeader& header);
Recording read_riftjit(hid_t file);

std::unique_ptr<RecordingWriter> create_sonata(const std::string& path, const RecordingHeader& header);
Recording read_sonata(hid_t file, const ReadOptions& options);

void write_sonata_version(hid_t file);
Result<void> write_network(const std::string& path, const NetworkSource& source);

void write_nwb(const std::string& path, const RecordingSource& source);
Recording read_nwb(hid_t file, const ReadOptions& options);

// An error of a part that returns one.
inline void throw_if_failed(const Result<void>& result) {
    if (!result) throw Hdf5Error(result.error().message);
}
template <class T>
T value_or_throw(Result<T> result) {
    if (!result) throw Hdf5Error(result.error().message);
    return std::move(*result);
}

}  // namespace riftjit::sim::h5
