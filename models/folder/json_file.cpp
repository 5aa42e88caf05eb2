#include "models/folder/json_file.h"

#include <cmath>
#include <unordered_set>

#include "host/json_text.h"
#include "models/gguf/gguf.h"
#include "models/gguf/gguf_lookalike.h"
#include "models/gguf/gguf_mapping.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models::folder {

namespace {

// nlohmann's parser keeps the last of two values under one key, and says nothing.
class KeyWatch {
public:
    bool operator()(int, Json::parse_event_t event, Json& value) {
        switch (event) {
            case Json::parse_event_t::object_start:
                keys_.emplace_back();
                break;
            case Json::parse_event_t::object_end:
                keys_.pop_back();
                break;
            case Json::parse_event_t::key:
                if (const auto& key = value.get_ref<const std::string&>();
                    !keys_.back().insert(key).second && !doubled_)
                    doubled_ = key;
                break;
            default:
                break;
        }
        return true;
    }
    const std::optional<std::string>& doubled() const { return doubled_; }

private:
    std::vector<std::unordered_set<std::string>> keys_;
    std::optional<std::string> doubled_;
};

}  // namespace

Result<Json> parse_object(std::string_view name, std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        const std::string lookalike = text.starts_with('{') ? "" : describe_lookalike(std::as_bytes(std::span(text)));
        return fail(ErrorKind::Format, "{}: {}{}{}", name, why, lookalike.empty() ? "" : "; ", lookalike);
    };
    if (!is_plain_json(text))
        return refuse(
            fmt::format("not JSON that is read here: it nests deeper than {}, or has a NUL byte", kMostJsonNesting));
    KeyWatch watch;
    Json json;
    try {
        json = Json::parse(text, std::ref(watch));
    } catch (const Json::parse_error& error) {
        return refuse(fmt::format("not JSON: at byte {} of {}", error.byte, text.size()));
    } catch (const Json::exception&) {
        return refuse("not JSON that is read here: a number is too large");
    }
    if (watch.doubled())
        return fail(ErrorKind::Format, "{}: key '{}' stands twice in one object", name, printable(*watch.doubled()));
    if (!json.is_object()) return refuse(fmt::format("holds {}, no object", json.type_name()));
    return json;
}

Result<std::string> read_text(const std::filesystem::path& path, uint64_t most) {
    RIFTJIT_TRY(file, RegularFile::open(path));
    if (file.size_bytes() > most)
        return fail(ErrorKind::Format, "{}: the file has {} bytes; allowed are at most {}", file.name(),
                    file.size_bytes(), most);
    RIFTJIT_TRY(mapping, file.map(0, file.size_bytes()));
    const auto bytes = mapping.bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Json> read_object(const std::filesystem::path& path, uint64_t most) {
    RIFTJIT_TRY(text, read_text(path, most));
    return parse_object(printable_path(path), text);
}

const Json* find(const Json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string shown(const Json& value) {
    if (value.is_array()) return fmt::format("an array of {}", value.size());
    if (value.is_object()) return "an object";
    return printable(value.is_string() ? "\"" + value.get<std::string>() + "\"" : json_text(value));
}

Config::Found Config::find(Names names) const {
    const Json* text = folder::find(root_, "text_config");
    for (const Json* object : {text, &root_}) {
        if (object == nullptr) continue;
        for (const std::string_view name : names)
            if (const Json* value = folder::find(*object, name)) return {name, value};
    }
    return {};
}

std::string Config::place(std::string_view key) const { return fmt::format("{}: key '{}'", file_, key); }

Result<std::optional<uint64_t>> Config::integer(Names names, uint64_t low, uint64_t high) const {
    const Found found = find(names);
    if (!found) return std::nullopt;
    const bool is_integer =
        found.value->is_number_unsigned() || (found.value->is_number_integer() && found.value->get<int64_t>() >= 0);
    if (!is_integer || found.value->get<uint64_t>() < low || found.value->get<uint64_t>() > high)
        return fail(ErrorKind::Format, "{} is {}; allowed are integers from {} to {}", place(found.key),
                    shown(*found.value), low, high);
    return found.value->get<uint64_t>();
}

Result<std::optional<double>> Config::number(Names names) const {
    const Found found = find(names);
    if (!found) return std::nullopt;
    if (!found.value->is_number() || std::abs(found.value->get<double>()) > 1e30)
        return fail(ErrorKind::Format, "{} is {}; allowed are numbers up to 1e30", place(found.key),
                    shown(*found.value));
    return found.value->get<double>();
}

Result<std::optional<bool>> Config::boolean(Names names) const {
    const Found found = find(names);
    if (!found) return std::nullopt;
    if (!found.value->is_boolean())
        return fail(ErrorKind::Format, "{} is {}; allowed are true and false", place(found.key), shown(*found.value));
    return found.value->get<bool>();
}

Result<std::optional<std::string>> Config::string(Names names) const {
    const Found found = find(names);
    if (!found) return std::nullopt;
    if (!found.value->is_string())
        return fail(ErrorKind::Format, "{} is {}; a string is expected", place(found.key), shown(*found.value));
    return found.value->get<std::string>();
}

Result<uint64_t> Config::require_integer(Names names, uint64_t low, uint64_t high) const {
    RIFTJIT_TRY(value, integer(names, low, high));
    if (!value) return fail(ErrorKind::Format, "{}: missing key '{}'", file_, *names.begin());
    return *value;
}

Result<double> Config::require_number(Names names) const {
    RIFTJIT_TRY(value, number(names));
    if (!value) return fail(ErrorKind::Format, "{}: missing key '{}'", file_, *names.begin());
    return *value;
}

}  // namespace riftjit::models::folder
