// What was measured on this machine, as text beside the directory of entries, so that the cache's own commands never
// meet it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/result.h"

namespace riftjit {

// nullopt where there is none, none that may be trusted as an entry is, or one larger than any that is kept.
std::optional<std::string> load_kept(std::string_view directory_flag, const std::string& file_name);
// Written whole or not at all: readers may look at any time.
Result<void> keep(std::string_view directory_flag, const std::string& file_name, std::string_view text);

}  // namespace riftjit
