// The interface of libriftjit-hdf5.so, which alone is linked with HDF5: loading that library takes longer than the
// whole start of the program.
#pragma once

#include "sim/files/network_file.h"
#include "sim/files/recording_source.h"

namespace riftjit::sim {

class Hdf5Module {
public:
    virtual ~Hdf5Module() = default;
    // Formats riftjit_h5 and sonata, which grow during the run.
    virtual Result<std::unique_ptr<RecordingWriter>> create(const std::string& path, RecordingFormat format,
                                                            const RecordingHeader& header, Existing existing) const = 0;
    // All three, whole.
    virtual Result<void> write(const std::string& path, RecordingFormat format,
                               const RecordingSource& source) const = 0;
    virtual Result<void> write_network(const std::string& path, const NetworkSource& source) const = 0;
    virtual Result<Recording> read(const std::string& path, const ReadOptions& options) const = 0;
};

Result<const Hdf5Module*> load_hdf5_module();

}  // namespace riftjit::sim
