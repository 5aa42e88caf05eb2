// NumPy .npz: a zip archive of step.npy, id.npy (u32), metadata.npy (JSON in UTF-8, a bytes scalar) and, for each state
// recorder, states/NAME.npy (f64, samples × neurons × variables), for each weight recorder weights/NAME/source.npy and
// target.npy (u32) and values.npy (f64, samples × synapses).
#pragma once

#include "sim/files/recording_source.h"

namespace riftjit::sim {

Result<void> write_npz(const std::string& path, const RecordingSource& source);
// Also archives of others that hold integer arrays step and id, compressed or not (unpacked_limit.h says how far).
Result<Recording> read_npz(const std::string& path, const ReadOptions& options);

}  // namespace riftjit::sim
