// Reading in a process of its own: libhdf5 crashes on, or never ends with, about one in a thousand damaged files. What
// it does there is an error message here.
#pragma once

#include <functional>

#include "sim/files/recording.h"
#include "sim/files/unpacked_limit.h"

namespace riftjit::sim {

inline constexpr uint64_t kReadSeconds = 4;  // of the processor, and one more for every 4 MiB of the file

// Beyond what the process has already: spikes, and on their way to them columns and a copy, take three times what may
// be unpacked at most; a sound file leaves half of that.
inline uint64_t most_reading_bytes(uint64_t file_bytes) { return 3 * most_unpacked_bytes(file_bytes); }

// `read` runs in a child; `file_bytes` bounds how long, and with how much memory.
Result<Recording> read_in_child(const std::function<Result<Recording>()>& read, uint64_t file_bytes);

}  // namespace riftjit::sim
