#include "server/fields.h"

#include <cmath>

#include "host/json_text.h"
#include "host/utf8.h"

namespace riftjit::server {

namespace {

std::string shown(const Json& value) {
    constexpr size_t kShown = 60;
    if (value.is_object() || value.is_array()) return value.is_array() ? "an array" : "an object";
    std::string text = json_text(value);
    if (text.size() > kShown) text = replace_invalid(text.substr(0, kShown)) + "...";
    return text;
}

}  // namespace

const Json* Fields::find(const char* name) const {
    const auto it = object_->find(name);
    return it == object_->end() || it->is_null() ? nullptr : &*it;
}

void Fields::wrong(const char* name, const std::string& expected, const Json& found) {
    fail({400, fmt::format("\"{}{}\": expected {}, got {}", where_, name, expected, shown(found))});
}

std::optional<int64_t> Fields::integer(const char* name, int64_t low, int64_t high) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const std::string expected = fmt::format("an integer from {} to {}", low, high);
    constexpr double kWhole = 9007199254740992;  // 2^53: doubles beyond skip integers
    std::optional<int64_t> found;
    if (value->is_number_float()) {
        const double number = value->get<double>();
        if (std::trunc(number) == number && std::abs(number) <= kWhole) found = int64_t(number);
    } else if (value->is_number_unsigned()) {
        if (value->get<uint64_t>() <= uint64_t(INT64_MAX)) found = int64_t(value->get<uint64_t>());
    } else if (value->is_number_integer()) {
        found = value->get<int64_t>();
    }
    if (found && *found >= low && *found <= high) return found;
    wrong(name, expected, *value);
    return std::nullopt;
}

std::optional<double> Fields::number(const char* name, double low, double high) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_number()) {
        const double number = value->get<double>();
        if (number >= low && number <= high) return number;
    }
    wrong(name, fmt::format("a number from {} to {}", low, high), *value);
    return std::nullopt;
}

std::optional<bool> Fields::boolean(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    wrong(name, "true or false", *value);
    return std::nullopt;
}

std::optional<std::string> Fields::text(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    wrong(name, "a string", *value);
    return std::nullopt;
}

std::optional<std::vector<std::string>> Fields::texts(const char* name) {
    const Json* value = array(name);
    if (value == nullptr) return std::nullopt;
    std::vector<std::string> texts;
    for (const Json& item : *value) {
        if (!item.is_string()) {
            wrong(name, "an array of strings", item);
            return std::nullopt;
        }
        texts.push_back(item.get<std::string>());
    }
    return texts;
}

std::optional<std::vector<std::string>> Fields::text_or_texts(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return std::vector{value->get<std::string>()};
    if (value->is_array()) return texts(name);
    wrong(name, "a string or an array of strings", *value);
    return std::nullopt;
}

const Json* Fields::object(const char* name) {
    const Json* value = find(name);
    if (value == nullptr || value->is_object()) return value;
    wrong(name, "an object", *value);
    return nullptr;
}

const Json* Fields::array(const char* name) {
    const Json* value = find(name);
    if (value == nullptr || value->is_array()) return value;
    wrong(name, "an array", *value);
    return nullptr;
}

Outcome<Json> parse_body(const std::string& body) {
    auto object = parse_json<Json>(body);
    if (object.is_discarded())
        return refuse(400, "the body is no JSON, nests deeper than {} levels, or has a number beyond a double's range",
                      kMostJsonNesting);
    if (!object.is_object()) return refuse(400, "the body: expected a JSON object, got {}", shown(object));
    return object;
}

}  // namespace riftjit::server
