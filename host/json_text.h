// JSON read with what nlohmann's parser lets pass refused, and the one way in which it is written.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace riftjit {

// Deeper values would overflow the stack where they are copied or written: each level is a call.
inline constexpr uint32_t kMostJsonNesting = 1000;

// Whether the text nests no deeper than that and has no NUL byte, at which the parser takes it to end.
constexpr bool is_plain_json(std::string_view text) {
    uint32_t depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char byte = text[i];
        if (byte == '\0') return false;
        if (is_string) {
            if (byte == '\\') ++i;
            is_string = byte != '"';
            continue;
        }
        is_string = byte == '"';
        if ((byte == '[' || byte == '{') && ++depth > kMostJsonNesting) return false;
        if ((byte == ']' || byte == '}') && depth > 0) --depth;
    }
    return true;
}

// The value, or one that is_discarded(): not JSON, or not plain.
template <class Json>
Json parse_json(std::string_view text) {
    return is_plain_json(text) ? Json::parse(text, nullptr, /*allow_exceptions=*/false)
                               : Json(nlohmann::detail::value_t::discarded);
}

// Names of files and texts in them need not be UTF-8: what is none becomes U+FFFD, where dump() would throw. Indented
// by so many spaces; below 0: one line.
template <class Json>
std::string json_text(const Json& value, int indent = -1) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace riftjit
