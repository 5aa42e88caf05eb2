// Filters that make text or numbers of one value.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "host/json_text.h"
#include "models/template/jinja/json.h"

namespace riftjit::models::jinja {

namespace {

template <Case to>
Value case_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("a filter that changes case");
    return change_case(runtime.budget, to_text(runtime.budget, input), to);
}

// Words begin after white space and any of "-({[<", unlike with str.title().
Value title_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("title");
    const Text text = to_text(runtime.budget, input);
    const std::string_view view = text.view();
    TextBuilder builder(runtime.budget);
    const auto separates = [&](size_t offset) {
        const uint32_t c = code_point(view, offset).value;
        return is_space(c) || (c < 0x80 && std::string_view("-({[<").contains(static_cast<char>(c)));
    };
    for (size_t offset = 0; offset < view.size();) {
        size_t end = offset;
        const bool gap = separates(offset);
        while (end < view.size() && separates(end) == gap) end += code_point(view, end).size;
        const Text word = slice(runtime.budget, text, offset, end);
        builder.append(gap ? word : change_case(runtime.budget, word, Case::capitalized));
        offset = end;
    }
    return builder.build();
}

Value trim_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Value characters = arguments.take("chars", None{});
    arguments.finish("trim");
    const Text text = to_text(runtime.budget, input);
    if (characters.is<None>()) return strip(runtime.budget, text, Side::both, std::nullopt);
    if (!characters.is<Text>()) refuse("trim: expected a string, got {}", type_name(characters));
    return strip(runtime.budget, text, Side::both, characters.as<Text>().view());
}

Value replace_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Text from = to_text(runtime.budget, arguments.require("replace", "old"));
    const Text to = to_text(runtime.budget, arguments.require("replace", "new"));
    const Integer count = arguments.take_integer("replace", "count", Integer(-1));
    arguments.finish("replace");
    const auto limit = static_cast<int64_t>(std::clamp<Integer>(count, -1, INT64_MAX));
    return replace(runtime.budget, to_text(runtime.budget, input), from, to, limit);
}

Value string_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("string");
    return to_text(runtime.budget, input);
}

// Without automatic escaping, marking text as safe changes nothing.
Value safe_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("safe");
    return to_text(runtime.budget, input);
}

Value escape_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("escape");
    Text text = to_text(runtime.budget, input);
    constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
        {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}};
    for (const auto& [character, entity] : kEntities) {
        const Text from(std::string(character), Origin::literal), to(std::string(entity), Origin::literal);
        text = replace(runtime.budget, text, from, to, -1);
    }
    return text;
}

Value indent_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Value width = arguments.take("width", Integer(4));
    const bool first = truthy(arguments.take("first", false)), blank = truthy(arguments.take("blank", false));
    arguments.finish("indent");
    if (!width.is<Text>() && !width.integer()) refuse("indent: 'width' must be an integer or a string");
    const Integer count = width.integer().value_or(0);
    if (count > 4096) refuse("indent: a width of {} is too large", count);
    const Text indentation =
        width.is<Text>() ? width.as<Text>()
                         : Text(std::string(static_cast<size_t>(std::max<Integer>(count, 0)), ' '), Origin::literal);
    const Text newline("\n", Origin::literal);
    const auto lines = split_lines(runtime.budget, join(runtime.budget, to_text(runtime.budget, input), newline));
    TextBuilder builder(runtime.budget);
    for (size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) builder.append(newline);
        const bool indents = i == 0 ? first : blank || !lines[i].empty();
        if (indents) builder.append(indentation);
        builder.append(lines[i]);
    }
    return builder.build();
}

Value truncate_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Integer length_limit = arguments.take_integer("truncate", "length", Integer(255));
    const bool kill_words = truthy(arguments.take("killwords", false));
    const Value end_value = arguments.take("end", Value::literal("..."));
    const Integer leeway = arguments.take_integer("truncate", "leeway", Integer(5));
    arguments.finish("truncate");
    const Text text = to_text(runtime.budget, input), end = to_text(runtime.budget, end_value);
    const Integer end_length = static_cast<Integer>(length(end.view()));
    if (length_limit < end_length || leeway < 0) refuse("truncate: length {} with leeway {}", length_limit, leeway);
    if (static_cast<Integer>(length(text.view())) <= length_limit + leeway) return text;
    const Integer kept = length_limit - end_length;
    Text head = slice(runtime.budget, text, 0, byte_offset(text.view(), static_cast<size_t>(kept)));
    if (!kill_words) head = split_from_right(runtime.budget, head, " ", 1).front();
    return join(runtime.budget, head, end);
}

Value center_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Integer width = arguments.take_integer("center", "width", Integer(80));
    arguments.finish("center");
    Arguments method_arguments;
    method_arguments.positional.push_back(width);
    return find_string_method("center")(runtime, to_text(runtime.budget, input), method_arguments);
}

Value wordcount_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("wordcount");
    return static_cast<Integer>(split_at_spaces(runtime.budget, to_text(runtime.budget, input), -1).size());
}

Value format_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Text format = to_text(runtime.budget, input);
    if (arguments.named.empty()) return format_percent(runtime, format, runtime.tuple(arguments.positional));
    Dict* dict = runtime.heap.dict();
    for (auto& [name, value] : arguments.named) dict->set(runtime.budget, Value::literal(name), value);
    return format_percent(runtime, format, dict);
}

Value tojson_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    JsonStyle style;
    style.ascii = truthy(arguments.take("ensure_ascii", false));
    const Value indent = arguments.take("indent", None{}), separators = arguments.take("separators", None{});
    style.sort_keys = truthy(arguments.take("sort_keys", false));
    arguments.finish("tojson");
    if (const auto* text = indent.get_if<Text>()) {
        style.indent = text->view();
    } else if (const auto width = indent.integer()) {
        if (*width > 64) refuse("tojson: an indent of {} is too large", *width);
        style.indent = std::string(static_cast<size_t>(std::max<Integer>(0, *width)), ' ');
    }
    if (style.indent) style.item_separator = ",";
    if (!separators.is<None>()) {
        const auto pair = iterate(runtime.budget, separators);
        if (pair.size() != 2 || !pair[0].is<Text>() || !pair[1].is<Text>())
            refuse("tojson: separators must be two strings");
        style.item_separator = pair[0].as<Text>().view();
        style.key_separator = pair[1].as<Text>().view();
    }
    return Text(to_json(runtime.budget, input, style), origin(runtime.budget, input));
}

// Not jinja2's: engines offer it to templates whose tool calls carry their arguments as a string.
Value from_json_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("from_json");
    const Text text = to_text(runtime.budget, input);
    runtime.budget.memory(text.size() * 8);
    const auto json = parse_json<nlohmann::ordered_json>(text.view());
    if (json.is_discarded()) refuse("from_json: the string is not JSON");
    return from_json(runtime, json, text.origin());
}

std::optional<double> parse_real(std::string_view text) {
    double value;
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Integer> parse_integer(std::string_view text, int base) {
    int64_t value;
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Integer> truncated(double value) {
    if (!std::isfinite(value) || std::abs(value) > 0x1p100) return std::nullopt;
    return static_cast<Integer>(value);
}

Value int_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Value otherwise = arguments.take("default", Integer(0));
    const Integer base = arguments.take_integer("int", "base", Integer(10));
    arguments.finish("int");
    if (base < 2 || base > 36) refuse("int: base {} is outside 2 to 36", base);
    if (const auto integer = input.integer()) return *integer;
    if (const double* real = input.get_if<double>()) {
        const auto whole = truncated(*real);
        return whole ? Value(*whole) : otherwise;
    }
    if (!input.is<Text>()) return otherwise;
    const Text text = strip(runtime.budget, input.as<Text>(), Side::both, std::nullopt);
    runtime.budget.work(text.size() / 4);
    if (const auto integer = parse_integer(text.view(), static_cast<int>(base))) return *integer;
    const auto real = parse_real(text.view());
    const auto whole = real ? truncated(*real) : std::nullopt;
    return whole ? Value(*whole) : otherwise;
}

Value float_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Value otherwise = arguments.take("default", 0.0);
    arguments.finish("float");
    if (const auto number = input.number()) return *number;
    if (!input.is<Text>()) return otherwise;
    const Text text = strip(runtime.budget, input.as<Text>(), Side::both, std::nullopt);
    runtime.budget.work(text.size() / 4);
    const auto real = parse_real(text.view());
    return real ? Value(*real) : otherwise;
}

Value abs_filter(Runtime&, const Value& input, Arguments& arguments) {
    arguments.finish("abs");
    if (const auto integer = input.integer()) return *integer < 0 ? -*integer : *integer;
    if (const double* real = input.get_if<double>()) return std::abs(*real);
    refuse("abs: expected a number, got {}", type_name(input));
}

Value round_filter(Runtime&, const Value& input, Arguments& arguments) {
    const Integer precision = arguments.take_integer("round", "precision", Integer(0));
    const Value method = arguments.take("method", Value::literal("common"));
    arguments.finish("round");
    if (!input.number()) refuse("round: expected a number, got {}", type_name(input));
    if (precision < 0 || precision > 300) refuse("round: a precision of {} is outside 0 to 300", precision);
    const std::string_view name = method.is<Text>() ? method.as<Text>().view() : "";
    if (name == "common") {
        if (const auto integer = input.integer()) return *integer;
        // Printing rounds the exact binary value half to even, as Python's round does.
        return *parse_real(fmt::format("{:.{}f}", *input.number(), static_cast<int>(precision)));
    }
    const double scale = std::pow(10.0, static_cast<double>(precision));
    if (name == "ceil") return std::ceil(*input.number() * scale) / scale;
    if (name == "floor") return std::floor(*input.number() * scale) / scale;
    refuse("round: the method must be common, ceil or floor");
}

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
    static constexpr std::pair<std::string_view, FilterFunction> kFilters[] = {
        {"abs", abs_filter},
        {"capitalize", case_filter<Case::capitalized>},
        {"center", center_filter},
        {"e", escape_filter},
        {"escape", escape_filter},
        {"float", float_filter},
        {"forceescape", escape_filter},
        {"format", format_filter},
        {"from_json", from_json_filter},
        {"fromjson", from_json_filter},
        {"indent", indent_filter},
        {"int", int_filter},
        {"lower", case_filter<Case::lower>},
        {"replace", replace_filter},
        {"round", round_filter},
        {"safe", safe_filter},
        {"string", string_filter},
        {"title", title_filter},
        {"tojson", tojson_filter},
        {"trim", trim_filter},
        {"truncate", truncate_filter},
        {"upper", case_filter<Case::upper>},
        {"wordcount", wordcount_filter},
    };
    const auto found = std::ranges::find(kFilters, name, &std::pair<std::string_view, FilterFunction>::first);
    return found == std::end(kFilters) ? nullptr : found->second;
}

FilterFunction find_filter(std::string_view name) {
    const FilterFunction filter = find_text_filter(name);
    return filter ? filter : find_sequence_filter(name);
}

}  // namespace riftjit::models::jinja
