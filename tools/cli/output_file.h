// Files that are written when a long run is over: what would be wrong with them then shows before it.
#pragma once

#include <string>

#include "host/result.h"

namespace riftjit::tools {

// Whether there may be a file of that name: its folder exists, and it is none, or a file that --force allows to
// replace.
Result<void> check_output_file(const std::string& flag, const std::string& path, bool is_forced);
// Whether a file, that beside the one in which it is written at first, can be created.
Result<void> try_to_create(const std::string& flag, const std::string& path);

}  // namespace riftjit::tools
