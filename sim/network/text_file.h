// Files that are read as a whole.
#pragma once

#include <string>

#include "host/result.h"

namespace riftjit::sim {

// Refuses what is no regular file: a pipe or a device may have no end.
Result<std::string> read_regular_file(const std::string& path);

}  // namespace riftjit::sim
