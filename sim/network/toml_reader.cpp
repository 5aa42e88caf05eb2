#include "sim/network/toml_reader.h"

#include <algorithm>

#include "sim/equations/model_file.h"
#include "sim/network/key_scan.h"

namespace riftjit::sim {

namespace {

SourceText place_of(const toml::source_region& region) {
    return {"", region.path ? *region.path : "", region.begin.line, region.begin.column};
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
    const KeyScan keys = scan_keys(text, kMostKeyParts);
    if (keys.long_key) {
        SourceText source{std::string(text), file};
        return fail_at(source, *keys.long_key, "a key of more than {} parts", kMostKeyParts);
    }
    if (keys.parts > kMostKeys)
        return fail(ErrorKind::Format, "{}: {} keys, counting the parts of dotted ones: more than {}", file, keys.parts,
                    kMostKeys);
    const auto holds_value = [](char c) { return c == ',' || c == '=' || c == '[' || c == '{'; };
    if (std::ranges::count_if(text, holds_value) > ptrdiff_t(kMostValues))
        return fail(ErrorKind::Format, "{}: more than {} values; long lists may lie in files that it names", file,
                    kMostValues);
    try {
        return toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        return fail_at(place_of(error.source()), 0, "{}", error.description());
    }
}

SourceText source_of(const toml::node& node) {
    const auto& path = node.source().path;
    return source_text(node, path ? *path : "");
}

SourceText source_of(const toml::key& key) { return place_of(key.source()); }

std::string_view kind_text(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::string:
            return "a string";
        case toml::node_type::integer:
        case toml::node_type::floating_point:
            return "a number";
        case toml::node_type::boolean:
            return "true or false";
        default:
            return "a date or time";
    }
}

const toml::node* TableReader::find(std::string_view key) {
    if (!is_known(key)) known_.emplace_back(key);
    return table_->get(key);
}

Result<const toml::node*> TableReader::need(std::string_view key) {
    if (const toml::node* node = find(key)) return node;
    return missing({std::string(key)}, fmt::format("{} has no '{}'", title_, key));
}

std::unexpected<Error> TableReader::missing(const std::vector<std::string>& keys, std::string_view message) const {
    for (const auto& [key, node] : *table_) {
        if (is_known(key.str())) continue;
        const std::string near = suggestion(key.str(), keys);
        if (!near.empty()) return fail_at(source_of(key), 0, "{} has no key '{}'{}", title_, key.str(), near);
    }
    return fail_in(*table_, "{}", message);
}

bool TableReader::is_known(std::string_view key) const { return std::ranges::find(known_, key) != known_.end(); }

Result<std::string> TableReader::need_string(std::string_view key) {
    RIFTJIT_TRY(node, need(key));
    return string_of(*node, key);
}

Result<std::string> TableReader::string_or(std::string_view key, std::string_view otherwise) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::string(otherwise);
    return string_of(*node, key);
}

Result<std::string> TableReader::name_or(std::string_view key, std::string_view otherwise) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::string(otherwise);
    RIFTJIT_TRY(name, string_of(*node, key));
    if (const std::string fault = name_fault(name); !fault.empty()) return fail_in(*node, "'{}' {}", key, fault);
    return name;
}

Result<bool> TableReader::flag_or(std::string_view key, bool otherwise) {
    const toml::node* node = find(key);
    if (node == nullptr) return otherwise;
    if (const auto* flag = node->as_boolean()) return flag->get();
    return fail_in(*node, "'{}' is true or false, not {}", key, kind_text(*node));
}

Result<std::vector<std::string>> TableReader::need_strings(std::string_view key) {
    RIFTJIT_TRY(node, need(key));
    return strings_of(*node, key);
}

Result<void> TableReader::finish() const {
    for (const auto& [key, node] : *table_) {
        if (is_known(key.str())) continue;
        return fail_at(source_of(key), 0, "{} has no key '{}'{}", title_, key.str(), suggestion(key.str(), known_));
    }
    return {};
}

std::string near_or_all(std::string_view name, const std::vector<std::string>& known) {
    constexpr size_t kFew = 32;
    const std::string near = suggestion(name, known);
    if (!near.empty() || known.empty() || known.size() > kFew) return near;
    return fmt::format("; there {} {}", known.size() == 1 ? "is" : "are", fmt::join(known, ", "));
}

std::string name_fault(std::string_view name) {
    if (!name.empty() && printable(name) == name) return "";
    return "is a text of one line without control characters";
}

Result<std::string> string_of(const toml::node& node, std::string_view what) {
    if (const auto* string = node.as_string()) return string->get();
    return fail_in(node, "'{}' is a string, not {}", what, kind_text(node));
}

Result<std::vector<std::string>> strings_of(const toml::node& node, std::string_view what) {
    std::vector<std::string> strings;
    const toml::array* array = node.as_array();
    if (array == nullptr) {
        RIFTJIT_TRY(one, string_of(node, what));
        strings.push_back(one);
        return strings;
    }
    for (const toml::node& element : *array) {
        RIFTJIT_TRY(one, string_of(element, what));
        strings.push_back(one);
    }
    if (strings.empty()) return fail_in(node, "'{}' is an empty list", what);
    return strings;
}

Result<const toml::table*> table_of(const toml::node& node, std::string_view what) {
    if (const toml::table* table = node.as_table()) return table;
    return fail_in(node, "'{}' is a table, not {}", what, kind_text(node));
}

}  // namespace riftjit::sim
