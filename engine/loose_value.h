// A value as language models write it: JSON, and what comes of it with Python's literals, bare keys, keyword arguments
// or strings between markers.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace riftjit::engine {

enum class Scan : uint8_t { complete, incomplete, bad };  // incomplete: more text may complete it

struct LooseValue {
    Scan scan = Scan::bad;
    size_t length = 0;  // of the text read, when complete
    nlohmann::ordered_json value;
};

// Reads the value that `text` begins with. JSON, or beside it: single quotes or `<|"|>` around strings, names without
// quotes as keys, line ends within strings, True, False, None, a comma behind the last element; and `(a=1, b='x')` as
// an object. Values nest 64 deep at most.
LooseValue read_loose_value(std::string_view text);

bool is_loose_name(char c);  // of a key without quotes, a number, the name of a tool: letters, digits, _ - .

}  // namespace riftjit::engine
