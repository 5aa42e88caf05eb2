// Reading in a process of its own: libhdf5 crashes on, or never ends with, about one in a thousand damaged files. What
// it does there is an error message here.
#pragma once

#include <functional>

#include "sim/files/recording.h"

namespace riftjit::sim {

inline constexpr uint64_t kReadSeconds = 4;  // of the processor, and one more for every 4 MiB of the file

// `read` runs in a child; `file_bytes` bounds how long, and with how much memory.
Result<Recording> read_in_child(const std::function<Result<Recording>()>& read, uint64_t file_bytes);

}  // namespace riftjit::sim
