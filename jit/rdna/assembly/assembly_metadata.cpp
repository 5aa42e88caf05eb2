#include "jit/rdna/assembly/assembly_metadata.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace riftjit::rdna {
namespace {

constexpr std::string_view kTrue[] = {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"};
constexpr std::string_view kFalse[] = {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"};

using Data = decltype(MetadataValue::data);

std::optional<Data> integer_of(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    struct Radix {
        std::string_view prefix;
        int base;
    };
    constexpr Radix kRadices[] = {{"0x", 16}, {"0X", 16}, {"0b", 2}, {"0B", 2}, {"0o", 8}, {"0", 8}, {"", 10}};
    const auto* const radix = std::ranges::find_if(
        kRadices, [&](const Radix& one) { return text.starts_with(one.prefix) && text.size() > one.prefix.size(); });
    if (radix == std::end(kRadices)) return std::nullopt;
    text.remove_prefix(radix->prefix.size());
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix->base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (!is_negative || value == 0) return value;
    if (value > uint64_t{1} << 63) return std::nullopt;
    return static_cast<int64_t>(0 - value);
}

std::optional<Data> float_of(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Data> truth_of(std::string_view text) {
    if (std::ranges::find(kTrue, text) != std::end(kTrue)) return true;
    if (std::ranges::find(kFalse, text) != std::end(kFalse)) return false;
    return std::nullopt;
}

// What LLVM takes a scalar without quotes and tag for; nothing at all is an empty array to it.
Data data_of_plain(std::string_view text) {
    if (text.empty()) return MetadataValue::Array{};
    for (const auto reading : {integer_of, float_of, truth_of})
        if (std::optional<Data> data = reading(text)) return std::move(*data);
    return std::string(text);
}

class Event {
public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { yaml_event_delete(&event_); }
    yaml_event_t* operator->() { return &event_; }
    yaml_event_t* get() { return &event_; }

private:
    yaml_event_t event_{};
};

std::string_view text_of(const yaml_char_t* text) {
    return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

class YamlReader {
public:
    YamlReader(std::string_view text, size_t first_line, std::string_view file_name)
        : first_line_(first_line), file_name_(file_name) {
        check(yaml_parser_initialize(&parser_) != 0, "memory for a YAML parser");
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    }
    YamlReader(const YamlReader&) = delete;
    YamlReader& operator=(const YamlReader&) = delete;
    ~YamlReader() { yaml_parser_delete(&parser_); }

    // The only document.
    Result<MetadataValue> read() {
        MetadataValue root;
        bool has_document = false;
        while (true) {
            Event event;
            RIFTJIT_TRY_VOID(next(event));
            if (event->type == YAML_STREAM_END_EVENT) break;
            if (event->type != YAML_DOCUMENT_START_EVENT) continue;
            if (has_document) return error(event->start_mark, "a second document");
            has_document = true;
            Event first;
            RIFTJIT_TRY_VOID(next(first));
            RIFTJIT_TRY(value, value_of(first, 1));
            root = std::move(value);
        }
        if (!has_document) return fail(ErrorKind::Format, "{}:{}:1: metadata: empty", file_name_, first_line_);
        return root;
    }

private:
    std::unexpected<Error> error(const yaml_mark_t& mark, std::string_view what) const {
        return fail(ErrorKind::Format, "{}:{}:{}: metadata: {}", file_name_, first_line_ + mark.line, mark.column + 1,
                    what);
    }

    Result<void> next(Event& event) {
        if (yaml_parser_parse(&parser_, event.get()) != 0) return {};
        if (parser_.error == YAML_MEMORY_ERROR) return fail(ErrorKind::OutOfMemory, "{}: metadata", file_name_);
        // The reader of characters knows no lines, only what it stumbled over.
        const bool has_mark = parser_.error != YAML_READER_ERROR;
        const std::string context = has_mark && parser_.context ? fmt::format(" {} (line {})", parser_.context,
                                                                              first_line_ + parser_.context_mark.line)
                                                                : "";
        return error(has_mark ? parser_.problem_mark : parser_.mark, parser_.problem + context);
    }

    Result<MetadataValue> value_of(Event& event, int depth) {
        if (depth > kMaxMetadataDepth)
            return error(event->start_mark, fmt::format("nested more than {} deep", kMaxMetadataDepth));
        switch (event->type) {
            case YAML_SCALAR_EVENT:
                return scalar(event);
            case YAML_SEQUENCE_START_EVENT:
                RIFTJIT_TRY_VOID(check_collection(event, text_of(event->data.sequence_start.anchor),
                                                  text_of(event->data.sequence_start.tag), YAML_SEQ_TAG));
                return sequence(event, depth);
            case YAML_MAPPING_START_EVENT:
                RIFTJIT_TRY_VOID(check_collection(event, text_of(event->data.mapping_start.anchor),
                                                  text_of(event->data.mapping_start.tag), YAML_MAP_TAG));
                return mapping(event, depth);
            default:
                return error(event->start_mark, "an alias is not read");
        }
    }

    Result<void> check_collection(Event& event, std::string_view anchor, std::string_view tag,
                                  std::string_view own) const {
        if (!anchor.empty()) return error(event->start_mark, "an anchor is not read");
        if (!tag.empty() && tag != own) return error(event->start_mark, fmt::format("the tag {} is not known", tag));
        return {};
    }

    MetadataValue placed(const yaml_mark_t& mark, Data data) const {
        return {std::move(data), first_line_ + mark.line, mark.column + 1};
    }

    Result<MetadataValue> sequence(Event& start, int depth) {
        MetadataValue::Array items;
        while (true) {
            Event event;
            RIFTJIT_TRY_VOID(next(event));
            if (event->type == YAML_SEQUENCE_END_EVENT) return placed(start->start_mark, std::move(items));
            RIFTJIT_TRY(item, value_of(event, depth + 1));
            items.push_back(std::move(item));
        }
    }

    Result<MetadataValue> mapping(Event& start, int depth) {
        MetadataValue::Map members;
        while (true) {
            Event key, value;
            RIFTJIT_TRY_VOID(next(key));
            if (key->type == YAML_MAPPING_END_EVENT) return placed(start->start_mark, std::move(members));
            if (key->type != YAML_SCALAR_EVENT) return error(key->start_mark, "a key that is no string");
            std::string name(reinterpret_cast<const char*>(key->data.scalar.value), key->data.scalar.length);
            if (std::ranges::find(members, name, &MetadataMember::key) != members.end())
                return error(key->start_mark, fmt::format("a second value of {}", name));
            RIFTJIT_TRY_VOID(next(value));
            RIFTJIT_TRY(member, value_of(value, depth + 1));
            members.push_back({std::move(name), std::move(member)});
        }
    }

    Result<MetadataValue> scalar(Event& event) const {
        const auto& scalar = event->data.scalar;
        const std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const std::string_view tag = text_of(scalar.tag);
        const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (scalar.anchor) return error(event->start_mark, "an anchor is not read");
        if (is_plain && (text.find(';') != text.npos || text.find("//") != text.npos))
            return error(event->start_mark, fmt::format("'{}' needs quotes: a comment could begin inside it", text));
        if (tag.empty() && is_plain) {
            MetadataValue value = placed(event->start_mark, data_of_plain(text));
            value.plain = text;
            return value;
        }
        std::optional<Data> data;
        if (tag.empty() || tag == "!" || tag == "!str" || tag == YAML_STR_TAG) data = text;
        if (tag == "!int" || tag == YAML_INT_TAG) data = integer_of(text);
        if (tag == "!float" || tag == YAML_FLOAT_TAG) data = float_of(text);
        if (tag == "!bool" || tag == YAML_BOOL_TAG) data = truth_of(text);
        if (tag == "!nil" || tag == YAML_NULL_TAG) data = std::monostate();
        if (!data) return error(event->start_mark, fmt::format("'{}' is not read as {}", text, tag));
        return placed(event->start_mark, std::move(*data));
    }

    size_t first_line_;
    std::string_view file_name_;
    yaml_parser_t parser_{};
};

// Blanks in place of what assembly takes for comments: from a ; or // after a blank, outside quotes, to the line's end.
std::string without_comments(std::string_view text) {
    std::string kept(text);
    char quote = 0;
    for (size_t i = 0; i < kept.size(); ++i) {
        const char c = kept[i];
        const bool begins_word = i == 0 || kept[i - 1] == ' ' || kept[i - 1] == '\t' || kept[i - 1] == '\n';
        const bool may_quote = begins_word || kept[i - 1] == '[' || kept[i - 1] == '{' || kept[i - 1] == ',';
        if (quote != 0) {
            if (quote == '"' && c == '\\') {
                ++i;
                continue;
            }
            if (quote == '\'' && kept.compare(i, 2, "''") == 0)
                ++i;
            else if (c == quote)
                quote = 0;
        } else if ((c == '"' || c == '\'') && may_quote) {
            quote = c;
        } else if (begins_word && (c == ';' || c == '#' || kept.compare(i, 2, "//") == 0)) {
            for (; i < kept.size() && kept[i] != '\n'; ++i) kept[i] = ' ';
        }
    }
    return kept;
}

std::string in_quotes(std::string_view text) {
    const auto is_safe = [](char c) {
        return static_cast<unsigned char>(c) >= ' ' && c != '\x7F' && c != '\'' && c != '"' && c != '\\' && c != ';' &&
               c != '/' && c != '#';
    };
    if (std::ranges::all_of(text, is_safe)) return fmt::format("'{}'", text);
    std::string escaped = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            escaped += {'\\', c};
        else if (static_cast<unsigned char>(c) < ' ' || c == '\x7F')
            escaped += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
        else
            escaped += c;
    }
    return escaped + '"';
}

std::string key_text(std::string_view key) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    };
    return !key.empty() && std::ranges::all_of(key, is_plain) ? std::string(key) : in_quotes(key);
}

struct FormatValue {
    size_t indent;

    std::string operator()(std::monostate) const { return " !nil ''\n"; }
    std::string operator()(bool flag) const { return flag ? " true\n" : " false\n"; }
    std::string operator()(double number) const { return fmt::format(" !float {}\n", number); }
    std::string operator()(uint64_t number) const { return fmt::format(" {}\n", number); }
    std::string operator()(int64_t number) const { return fmt::format(" {}\n", number); }
    // LLVM does not look at quotes: what it would take for another kind of value needs the tag.
    std::string operator()(const std::string& text) const {
        const bool is_string = std::holds_alternative<std::string>(data_of_plain(text));
        return fmt::format(" {}{}\n", is_string ? "" : "!str ", in_quotes(text));
    }
    std::string operator()(const MetadataValue::Array& items) const {
        if (items.empty()) return " []\n";
        std::string text = "\n";
        for (const MetadataValue& item : items) {
            // Of an item that is itself several lines, the first begins behind the dash.
            const bool is_scalar = !item.get<MetadataValue::Array>() && !item.get<MetadataValue::Map>();
            std::string lines = std::visit(FormatValue{indent + 2}, item.data);
            const bool is_block = !is_scalar && lines.starts_with('\n');
            text += std::string(indent, ' ') + "-" + (is_block ? " " + lines.substr(indent + 3) : lines);
        }
        return text;
    }
    std::string operator()(const MetadataValue::Map& members) const {
        if (members.empty()) return " {}\n";
        std::string text = "\n";
        for (const MetadataMember& member : members)
            text += std::string(indent, ' ') + key_text(member.key) + ":" +
                    std::visit(FormatValue{indent + 2}, member.value.data);
        return text;
    }
};

}  // namespace

std::string format_metadata(const Metadata& metadata) {
    return "---" + std::visit(FormatValue{0}, to_value(metadata).data) + "...\n";
}

Result<Metadata> parse_metadata(std::string_view text, size_t first_line, std::string_view file_name) {
    const std::string yaml = without_comments(text);
    RIFTJIT_TRY(root, YamlReader(yaml, first_line, file_name).read());
    return metadata_from_value(root, file_name);
}

}  // namespace riftjit::rdna
