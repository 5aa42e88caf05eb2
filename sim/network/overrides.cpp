#include "sim/network/overrides.h"

#include <algorithm>
#include <charconv>

#include "sim/network/toml_reader.h"

namespace riftjit::sim {

namespace {

std::vector<std::string> keys_of(const toml::table& table) {
    std::vector<std::string> keys;
    for (const auto& [key, node] : table) keys.emplace_back(key.str());
    return keys;
}

void merge(toml::table& onto, toml::table& changes) {
    for (auto&& [key, node] : changes) {
        toml::node* const old = onto.get(key);
        if (old != nullptr && old->is_table() && node.is_table()) {
            merge(*old->as_table(), *node.as_table());
        } else {
            node.visit([&, &key = key](auto& value) { onto.insert_or_assign(key, std::move(value)); });
        }
    }
}

// A constant that a variant or setting names has to be there: a new one would change nothing.
Result<void> check_constants(const toml::table& root, const toml::table& changes) {
    const toml::table* changed = changes["constants"].as_table();
    if (changed == nullptr) return {};
    const toml::table* constants = root["constants"].as_table();
    for (const auto& [key, node] : *changed) {
        if (constants != nullptr && constants->contains(key.str())) continue;
        const std::vector<std::string> known = constants ? keys_of(*constants) : std::vector<std::string>{};
        return fail_at(source_of(key), 0, "the variant changes '{}', which is not among [constants]{}", key.str(),
                       near_or_all(key.str(), known));
    }
    return {};
}

// Also of a variant that nobody has chosen.
Result<void> check_variant(const toml::table& root, std::string_view name, const toml::table& variant) {
    static const std::vector<std::string> kKeys = {"name",       "description", "simulation", "constants", "models",
                                                   "population", "projection",  "input",      "record"};
    for (const auto& [key, node] : variant) {
        if (std::ranges::find(kKeys, key.str()) == kKeys.end())
            return fail_at(source_of(key), 0, "[variants.{}] has no key '{}'{}", name, key.str(),
                           suggestion(key.str(), kKeys));
        const toml::node* changed = root.get(key.str());
        if (changed != nullptr && changed->type() != node.type())
            return fail_in(node, "'{}' is {} here, but {} in the network", key.str(), kind_text(node),
                           kind_text(*changed));
    }
    return check_constants(root, variant);
}

Result<void> apply_variant(toml::table& root, const std::string* chosen) {
    const toml::node* named = root.get("variant");
    if (named != nullptr) RIFTJIT_TRY_VOID(string_of(*named, "variant"));
    const std::string name = chosen != nullptr ? *chosen : named != nullptr ? named->as_string()->get() : "";
    if (toml::node* variants = root.get("variants")) {
        RIFTJIT_TRY_VOID(table_of(*variants, "variants"));
        for (const auto& [key, node] : *variants->as_table()) {
            RIFTJIT_TRY(variant, table_of(node, key.str()));
            RIFTJIT_TRY_VOID(check_variant(root, key.str(), *variant));
        }
    }
    if (name.empty()) return {};
    toml::table* variants = root["variants"].as_table();
    toml::table* variant = variants == nullptr ? nullptr : (*variants)[name].as_table();
    if (variant == nullptr) {
        const std::vector<std::string> known = variants == nullptr ? std::vector<std::string>{} : keys_of(*variants);
        const std::string choice =
            known.empty() ? "there are none" : fmt::format("there are {}", fmt::join(known, ", "));
        if (chosen != nullptr) return fail(ErrorKind::Usage, "--set variant: no variant '{}': {}", name, choice);
        return fail_in(*named, "no variant '{}': {}", name, choice);
    }
    toml::table changes = std::move(*variant);
    merge(root, changes);
    return {};
}

std::string toml_string(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter;
    }
    return result + '"';
}

// As a table with the one key "value", whose place is named "--set PATH".
Result<toml::table> value_of(const std::string& path, const std::string& text) {
    const std::string file = "--set " + path;
    if (auto parsed = parse_toml("value = " + text, file); parsed && parsed->size() == 1) return parsed;
    if (std::ranges::any_of(text, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }))
        return fail(ErrorKind::Usage, "{}: a value of one line is wanted", file);
    return parse_toml("value = " + toml_string(text), file);
}

std::vector<std::string> segments_of(const std::string& path) {
    std::vector<std::string> segments(1);
    for (const char letter : path) {
        if (letter == '.') {
            segments.emplace_back();
        } else {
            segments.back() += letter;
        }
    }
    return segments;
}

// The entry of a list by its number or, if it is a table, by its name; null where there is none.
toml::node* entry_of(toml::array& array, const std::string& segment) {
    for (toml::node& element : array) {
        const toml::table* table = element.as_table();
        if (table != nullptr && (*table)["name"].value<std::string>() == segment) return &element;
    }
    size_t index = 0;
    const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
    const bool is_number = error == std::errc() && end == segment.data() + segment.size();
    return is_number && index < array.size() ? array.get(index) : nullptr;
}

Result<void> apply_setting(toml::table& root, const std::string& path, const std::string& text) {
    const std::vector<std::string> segments = segments_of(path);
    const auto missing = [&](const std::string& segment, const std::vector<std::string>& known) {
        return fail(ErrorKind::Usage, "--set {}: there is no '{}'{}", path, segment, near_or_all(segment, known));
    };
    RIFTJIT_TRY(holder, value_of(path, text));
    if (!root.contains("simulation")) root.insert("simulation", toml::table{});
    toml::node* at = &root;
    for (size_t i = 0; i + 1 < segments.size(); ++i) {
        toml::node* next = nullptr;
        if (toml::table* table = at->as_table()) {
            next = table->get(segments[i]);
            if (next == nullptr) return missing(segments[i], keys_of(*table));
        } else if (toml::array* array = at->as_array()) {
            next = entry_of(*array, segments[i]);
        }
        if (next == nullptr) return missing(segments[i], {});
        at = next;
    }
    const std::string& last = segments.back();
    toml::table* table = at->as_table();
    if (table == nullptr)
        return fail(ErrorKind::Usage, "--set {}: '{}' is not a key of a table: lists are set as a whole", path, last);
    const bool must_exist = segments.size() == 1 || segments[0] == "constants";
    if (must_exist && !table->contains(last)) return missing(last, keys_of(*table));
    holder.get("value")->visit(
        [&](auto& value) { table->insert_or_assign(toml::key(last, value.source()), std::move(value)); });
    return {};
}

}  // namespace

namespace {

// Null: not by a setting.
const std::string* variant_of(const Settings& settings) {
    const std::string* variant = nullptr;
    for (const auto& [path, text] : settings)
        if (path == "variant") variant = &text;
    return variant;
}

}  // namespace

std::vector<std::string> other_variants(const toml::table& root, const Settings& settings) {
    const std::string* const set = variant_of(settings);
    const std::string chosen = set != nullptr ? *set : root["variant"].value_or(std::string());
    std::vector<std::string> others;
    if (const toml::table* variants = root["variants"].as_table()) others = keys_of(*variants);
    std::erase(others, chosen);
    return others;
}

Result<void> apply_overrides(toml::table& root, const Settings& settings) {
    RIFTJIT_TRY_VOID(apply_variant(root, variant_of(settings)));
    for (const auto& [path, text] : settings) {
        if (path != "variant") RIFTJIT_TRY_VOID(apply_setting(root, path, text));
    }
    return {};
}

}  // namespace riftjit::sim
