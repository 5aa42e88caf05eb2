// Keys of a TOML text, counted before it is parsed: each part of a dotted one becomes a table inside the one before,
// which takes a hundred times its text; and what destroys them again goes as deep as they do, without a limit of its
// own.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace riftjit::sim {

struct KeyScan {
    std::optional<size_t> long_key;  // offset of the part in excess of the first key that has more than `most_parts`
    size_t parts = 0;                // of all keys and headers of tables before it
};
// Right as far as the text has no error of syntax, where parsing ends.
KeyScan scan_keys(std::string_view text, size_t most_parts);

}  // namespace riftjit::sim
