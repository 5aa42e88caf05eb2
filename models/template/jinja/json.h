// JSON to values and back, as Python's json module writes it.
#pragma once

#include <nlohmann/json.hpp>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

Value from_json(Runtime& runtime, const nlohmann::ordered_json& json, Origin origin);

struct JsonStyle {
    std::optional<std::string> indent;  // none: everything on one line
    std::string item_separator = ", ", key_separator = ": ";
    bool ascii = false;  // escape everything beyond ASCII
    bool sort_keys = false;
};
std::string to_json(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace riftjit::models::jinja
