// Dotted keys of a TOML text, counted before it is parsed: each part becomes a table inside the one before, and what
// destroys them again goes as deep as they do, without a limit of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace riftjit::sim {

// Offset of the part in excess of the first key that has more than `most` parts.
std::optional<size_t> find_long_key(std::string_view text, size_t most);

}  // namespace riftjit::sim
