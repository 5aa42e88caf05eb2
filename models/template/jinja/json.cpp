#include "models/template/jinja/json.h"

#include <algorithm>
#include <cmath>

namespace riftjit::models::jinja {

namespace {

Value from_json_at(Runtime& runtime, const nlohmann::ordered_json& json, Origin origin, uint32_t depth) {
    if (depth > kMaxDataNesting) refuse("JSON nests deeper than {} levels", kMaxDataNesting);
    const auto text = [&](const std::string& bytes) {
        runtime.budget.memory(bytes.size());
        return Value(Text(bytes, origin));
    };
    switch (json.type()) {
        case nlohmann::ordered_json::value_t::boolean:
            return json.get<bool>();
        case nlohmann::ordered_json::value_t::number_integer:
            return static_cast<Integer>(json.get<int64_t>());
        case nlohmann::ordered_json::value_t::number_unsigned:
            return static_cast<Integer>(json.get<uint64_t>());
        case nlohmann::ordered_json::value_t::number_float:
            return json.get<double>();
        case nlohmann::ordered_json::value_t::string:
            return text(json.get_ref<const std::string&>());
        case nlohmann::ordered_json::value_t::array: {
            std::vector<Value> items;
            for (const auto& element : json) items.push_back(from_json_at(runtime, element, origin, depth + 1));
            return runtime.list(std::move(items));
        }
        case nlohmann::ordered_json::value_t::object: {
            Dict* dict = runtime.heap.dict();
            for (const auto& [key, value] : json.items()) {
                runtime.budget.memory(2 * sizeof(Value));
                dict->entries.emplace_back(text(key), from_json_at(runtime, value, origin, depth + 1));
            }
            return dict;
        }
        default:
            return None{};
    }
}

class JsonWriter {
public:
    JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

    void write(const Value& value, uint32_t depth) {
        if (depth > kMaxDataNesting) refuse("tojson: values nest deeper than {} levels", kMaxDataNesting);
        budget_.work(1);
        const size_t before = out_.size();
        if (const auto* list = value.get_if<List*>()) return write_list(**list, depth);
        if (const auto* dict = value.get_if<Dict*>()) return write_dict(**dict, depth);
        if (const auto* text = value.get_if<Text>()) {
            write_string(text->view());
        } else {
            out_ += scalar(value);
        }
        budget_.memory(out_.size() - before);
    }
    std::string take() { return std::move(out_); }

private:
    static std::string scalar(const Value& value) {
        if (value.is<None>()) return "null";
        if (const auto* boolean = value.get_if<bool>()) return *boolean ? "true" : "false";
        if (const auto* integer = value.get_if<Integer>()) return fmt::format("{}", *integer);
        const auto* real = value.get_if<double>();
        if (!real) refuse("tojson: {} has no JSON form", type_name(value));
        if (std::isnan(*real)) return "NaN";
        if (std::isinf(*real)) return *real < 0 ? "-Infinity" : "Infinity";
        return format_real(*real);
    }

    void break_line(uint32_t depth) {
        if (!style_.indent) return;
        out_ += '\n';
        for (uint32_t i = 0; i < depth; ++i) out_ += *style_.indent;
        budget_.memory(1 + depth * style_.indent->size());
    }

    void write_list(const List& list, uint32_t depth) {
        out_ += '[';
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) out_ += style_.item_separator;
            break_line(depth + 1);
            write(list.items[i], depth + 1);
        }
        if (!list.items.empty()) break_line(depth);
        out_ += ']';
    }

    void write_dict(const Dict& dict, uint32_t depth) {
        auto entries = dict.entries;
        budget_.memory(entries.size() * 2 * sizeof(Value));
        if (style_.sort_keys) {
            std::ranges::stable_sort(entries,
                                     [&](const auto& a, const auto& b) { return less(budget_, a.first, b.first); });
        }
        out_ += '{';
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i > 0) out_ += style_.item_separator;
            break_line(depth + 1);
            const Value& key = entries[i].first;
            write_string(key.is<Text>() ? key.as<Text>().view() : std::string_view(scalar(key)));
            out_ += style_.key_separator;
            write(entries[i].second, depth + 1);
        }
        if (!entries.empty()) break_line(depth);
        out_ += '}';
    }

    void write_string(std::string_view text) {
        out_ += '"';
        CodePoint c;
        for (size_t offset = 0; offset < text.size(); offset += c.size) {
            c = code_point(text, offset);
            constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b", kNames = "\"\\nrtfb";
            const size_t index = c.value < 0x80 ? kEscaped.find(static_cast<char>(c.value)) : std::string_view::npos;
            if (index != std::string_view::npos) {
                out_ += '\\';
                out_ += kNames[index];
            } else if (c.value < 0x20 || (style_.ascii && c.value >= 0x80)) {
                write_escape(c.value);
            } else {
                out_ += text.substr(offset, c.size);
            }
        }
        out_ += '"';
    }

    void write_escape(uint32_t c) {
        if (c < 0x10000) {
            out_ += fmt::format("\\u{:04x}", c);
        } else {
            out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF));
        }
    }

    Budget& budget_;
    const JsonStyle& style_;
    std::string out_;
};

}  // namespace

Value from_json(Runtime& runtime, const nlohmann::ordered_json& json, Origin origin) {
    return from_json_at(runtime, json, origin, 0);
}

std::string to_json(Budget& budget, const Value& value, const JsonStyle& style) {
    JsonWriter writer(budget, style);
    writer.write(value, 0);
    return writer.take();
}

}  // namespace riftjit::models::jinja
