// Reading in a process of its own: libhdf5 crashes on, or never ends with, about one in a thousand damaged files. What
// it does there is an error message here.
#pragma once

#include <functional>

#include "sim/files/recording.h"

namespace riftjit::sim {

// `read` runs in a child; `file_bytes` bounds how long.
Result<Recording> read_in_child(const std::function<Result<Recording>()>& read, uint64_t file_bytes);

}  // namespace riftjit::sim
