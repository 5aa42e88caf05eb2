// Python's str.format and its % operator, for the conversions that templates use.
#include <algorithm>
#include <charconv>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

namespace {

constexpr int kMaxWidth = 4096;

// [[fill]align][sign][#][0][width][,][.precision][type]
struct FormatSpec {
    std::string fill = " ";
    char align = '\0', sign = '-', type = '\0';
    bool alternate = false, thousands = false;
    int width = 0, precision = -1;
};

class SpecReader {
public:
    explicit SpecReader(std::string_view text) : text_(text) {}

    FormatSpec read() {
        FormatSpec spec;
        read_alignment(spec);
        if (at("+- ")) spec.sign = take();
        spec.alternate = skip('#');
        if (skip('0') && !spec.align) {
            spec.fill = "0";
            spec.align = '=';
        }
        spec.width = read_number();
        spec.thousands = skip(',');
        if (skip('.')) spec.precision = read_number();
        if (position_ < text_.size()) spec.type = take();
        if (position_ < text_.size()) refuse("unknown format '{}'", text_);
        return spec;
    }

private:
    bool at(std::string_view any) const { return position_ < text_.size() && any.contains(text_[position_]); }
    char take() { return text_[position_++]; }
    bool skip(char c) {
        if (position_ >= text_.size() || text_[position_] != c) return false;
        ++position_;
        return true;
    }
    void read_alignment(FormatSpec& spec) {
        if (text_.empty()) return;
        const size_t fill = code_point(text_, 0).size;
        if (fill < text_.size() && std::string_view("<>=^").contains(text_[fill])) {
            spec.fill = text_.substr(0, fill);
            position_ = fill;
        }
        if (at("<>=^")) spec.align = take();
    }
    int read_number() {
        int number = 0;
        while (at("0123456789")) {
            number = number * 10 + (take() - '0');
            if (number > kMaxWidth) refuse("a width or precision above {} in format '{}'", kMaxWidth, text_);
        }
        return number;
    }

    std::string_view text_;
    size_t position_ = 0;
};

std::string pad(std::string text, const FormatSpec& spec, char default_align) {
    const auto size = static_cast<int>(length(text));
    if (size >= spec.width) return text;
    const int padding = spec.width - size;
    const char align = spec.align ? spec.align : default_align;
    const int left = align == '>' ? padding : align == '^' ? padding / 2 : 0;
    const auto fill = [&](int count) {
        std::string result;
        for (int i = 0; i < count; ++i) result += spec.fill;
        return result;
    };
    if (align == '=') {
        const size_t sign = text.starts_with('-') || text.starts_with('+') || text.starts_with(' ') ? 1 : 0;
        return text.substr(0, sign) + fill(padding) + text.substr(sign);
    }
    return fill(left) + text + fill(padding - left);
}

std::string with_thousands(std::string digits) {
    size_t end = digits.find_first_of(".e");
    if (end == std::string::npos) end = digits.size();
    for (size_t i = end; i > 3; i -= 3) digits.insert(i - 3, ",");
    return digits;
}

std::string sign_of(bool negative, char sign) {
    if (negative) return "-";
    return sign == '-' ? "" : std::string(1, sign);
}

std::string format_integer(Integer value, const FormatSpec& spec) {
    const Integer magnitude = value < 0 ? -value : value;
    const std::string sign = sign_of(value < 0, spec.sign);
    switch (spec.type) {
        case '\0':
        case 'd':
        case 'i':
        case 'u': {
            std::string digits = fmt::format("{}", magnitude);
            if (spec.precision > static_cast<int>(digits.size())) digits.insert(0, spec.precision - digits.size(), '0');
            return sign + (spec.thousands ? with_thousands(digits) : digits);
        }
        case 'x':
            return sign + (spec.alternate ? "0x" : "") + fmt::format("{:x}", magnitude);
        case 'X':
            return sign + (spec.alternate ? "0X" : "") + fmt::format("{:X}", magnitude);
        case 'o':
            return sign + (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
        case 'b':
            return sign + (spec.alternate ? "0b" : "") + fmt::format("{:b}", magnitude);
        default:
            refuse("format '{}' does not fit an integer", spec.type);
    }
}

std::string format_number(double value, const FormatSpec& spec) {
    const double magnitude = value < 0 ? -value : value;
    const int precision = spec.precision < 0 ? 6 : spec.precision;
    std::string digits;
    switch (spec.type) {
        case '\0':
            digits = spec.precision < 0 ? format_real(magnitude) : fmt::format("{:.{}g}", magnitude, precision);
            break;
        case 'f':
        case 'F':
            digits = fmt::format("{:.{}f}", magnitude, precision);
            break;
        case 'e':
            digits = fmt::format("{:.{}e}", magnitude, precision);
            break;
        case 'E':
            digits = fmt::format("{:.{}E}", magnitude, precision);
            break;
        case 'g':
            digits = fmt::format("{:.{}g}", magnitude, precision);
            break;
        case '%':
            digits = fmt::format("{:.{}f}%", magnitude * 100, precision);
            break;
        default:
            refuse("format '{}' does not fit a number", spec.type);
    }
    return sign_of(value < 0, spec.sign) + (spec.thousands ? with_thousands(digits) : digits);
}

Text formatted(Budget& budget, const Value& value, const FormatSpec& spec) {
    const bool is_real_type = spec.type && std::string_view("fFeEg%").contains(spec.type);
    std::string text;
    if (value.is<Text>() || value.is<None>() || value.is<List*>() || value.is<Dict*>() ||
        (value.is<bool>() && !spec.type)) {
        if (spec.type && spec.type != 's') refuse("format '{}' does not fit {}", spec.type, type_name(value));
        const Text whole = to_text(budget, value);
        if (spec.width == 0 && spec.precision < 0) return whole;
        const size_t end =
            spec.precision < 0 ? whole.size() : byte_offset(whole.view(), static_cast<size_t>(spec.precision));
        text = pad(std::string(whole.view().substr(0, end)), spec, '<');
    } else if (value.is<Undefined>()) {
        text = pad("", spec, '<');
    } else if (value.integer() && !is_real_type) {
        text = pad(format_integer(*value.integer(), spec), spec, '>');
    } else if (value.number()) {
        text = pad(format_number(*value.number(), spec), spec, '>');
    } else {
        refuse("cannot format {}", type_name(value));
    }
    return Text(std::move(text), origin(budget, value));
}

// The replacement fields of one format string.
class BraceFormatter {
public:
    BraceFormatter(Runtime& runtime, const Text& format, Arguments& arguments)
        : runtime_(runtime), format_(format), arguments_(arguments), builder_(runtime.budget) {}

    Text run() {
        const std::string_view view = format_.view();
        size_t position = 0;
        while (position < view.size()) {
            const size_t brace = std::min(view.find_first_of("{}", position), view.size());
            builder_.append(format_, position, brace);
            position = brace;
            if (position >= view.size()) break;
            const bool doubled = position + 1 < view.size() && view[position + 1] == view[position];
            if (doubled) {
                builder_.append(format_, position, position + 1);
                position += 2;
            } else if (view[position] == '}') {
                refuse("format: a single '}}'");
            } else {
                const size_t end = view.find('}', position);
                if (end == std::string_view::npos) refuse("format: a single '{{'");
                append_field(view.substr(position + 1, end - position - 1));
                position = end + 1;
            }
        }
        return builder_.build();
    }

private:
    // name[.attribute|[index]]…[!conversion][:spec]
    void append_field(std::string_view field) {
        if (field.contains('{')) refuse("format: nested fields are not supported");
        const size_t colon = std::min(field.find(':'), field.size());
        std::string_view name = field.substr(0, colon);
        const std::string_view spec = colon < field.size() ? field.substr(colon + 1) : std::string_view();
        const size_t mark = std::min(name.find('!'), name.size());
        const std::string_view conversion = name.substr(mark);
        Value value = look_up(name.substr(0, mark));
        if (conversion == "!r") {
            value = Text(to_repr(runtime_.budget, value), origin(runtime_.budget, value));
        } else if (conversion == "!s") {
            value = to_text(runtime_.budget, value);
        } else if (!conversion.empty()) {
            refuse("format: unknown conversion '{}'", conversion);
        }
        builder_.append(formatted(runtime_.budget, value, SpecReader(spec).read()));
    }

    Value look_up(std::string_view path) {
        const size_t end = std::min(path.find_first_of(".["), path.size());
        Value value = first(path.substr(0, end));
        path.remove_prefix(end);
        while (!path.empty()) {
            const bool is_index = path[0] == '[';
            const size_t stop = is_index ? path.find(']') : std::min(path.find_first_of(".[", 1), path.size());
            if (stop == std::string_view::npos || stop < 2) refuse("format: malformed field");
            const std::string_view name = path.substr(1, stop - 1);
            value = is_index ? item(runtime_, value, key(name)) : attribute(runtime_, value, name);
            path.remove_prefix(stop + (is_index ? 1 : 0));
        }
        return value;
    }

    static Value key(std::string_view text) {
        if (const auto number = as_number(text)) return static_cast<Integer>(*number);
        return Value::literal(text);
    }

    static std::optional<size_t> as_number(std::string_view text) {
        size_t number;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
        return number;
    }

    Value first(std::string_view name) {
        const auto index = name.empty() ? std::optional(next_++) : as_number(name);
        if (index) {
            if (*index >= arguments_.positional.size()) refuse("format: argument {} is missing", *index);
            return arguments_.positional[*index];
        }
        const auto found = std::ranges::find(arguments_.named, name, &std::pair<std::string, Value>::first);
        if (found == arguments_.named.end()) refuse("format: argument '{}' is missing", name);
        return found->second;
    }

    Runtime& runtime_;
    const Text& format_;
    Arguments& arguments_;
    TextBuilder builder_;
    size_t next_ = 0;
};

// The conversions of one "%" format string.
class PercentFormatter {
public:
    PercentFormatter(Runtime& runtime, const Text& format, const Value& arguments)
        : runtime_(runtime), format_(format), arguments_(arguments), builder_(runtime.budget) {}

    Text run() {
        const std::string_view view = format_.view();
        for (size_t position = 0; position < view.size();) {
            const size_t percent = std::min(view.find('%', position), view.size());
            builder_.append(format_, position, percent);
            position = percent;
            if (position < view.size()) position = append_conversion(position + 1);
        }
        const bool all_used =
            used_ == count() || arguments_.is<Dict*>() || (used_ == 0 && !view.contains('%') && count() == 0);
        if (!all_used) refuse("%: {} values for {} conversions", count(), used_);
        return builder_.build();
    }

private:
    bool is_tuple() const { return arguments_.is<List*>() && arguments_.as<List*>()->kind == List::Kind::tuple; }
    size_t count() const { return is_tuple() ? arguments_.as<List*>()->items.size() : 1; }

    Value next_argument() {
        if (used_ >= count()) refuse("%: not enough values for the format");
        return is_tuple() ? arguments_.as<List*>()->items[used_++] : (++used_, arguments_);
    }

    // %[(name)][flags][width][.precision]type, from after the percent sign; returns where it ends.
    size_t append_conversion(size_t position) {
        const std::string_view view = format_.view();
        std::optional<Value> named;
        if (position < view.size() && view[position] == '(') {
            const size_t end = view.find(')', position);
            if (end == std::string_view::npos || !arguments_.is<Dict*>()) refuse("%: a name needs a dictionary");
            named = item(runtime_, arguments_, Value::literal(view.substr(position + 1, end - position - 1)));
            position = end + 1;
        }
        const size_t type = view.find_first_not_of("0123456789.+- #", position);
        if (type == std::string_view::npos) refuse("%: incomplete format");
        if (view[type] == '%') {
            builder_.append(format_, type, type + 1);
        } else {
            append_value(named ? *named : next_argument(), view.substr(position, type - position), view[type]);
        }
        return type + 1;
    }

    void append_value(const Value& value, std::string_view flags, char type) {
        const bool left = flags.contains('-');
        std::string spec = left ? "<" : type == 's' || type == 'r' ? ">" : "";
        if (flags.contains('+')) spec += '+';
        if (flags.contains('#')) spec += '#';
        const size_t number = std::min(flags.find_first_not_of("+- #0"), flags.size());
        if (!left && flags.substr(0, number).contains('0')) spec += '0';
        spec += flags.substr(number);
        const bool is_text = type == 's' || type == 'r';
        if (!is_text) spec += type == 'i' || type == 'u' ? 'd' : type;
        Value shown = value;
        if (type == 's') shown = to_text(runtime_.budget, value);
        if (type == 'r') shown = Text(to_repr(runtime_.budget, value), origin(runtime_.budget, value));
        const bool truncates = (type == 'd' || type == 'i' || type == 'u') && value.is<double>();
        if (truncates) shown = static_cast<Integer>(value.as<double>());
        builder_.append(formatted(runtime_.budget, shown, SpecReader(spec).read()));
    }

    Runtime& runtime_;
    const Text& format_;
    const Value& arguments_;
    TextBuilder builder_;
    size_t used_ = 0;
};

}  // namespace

Text format_braces(Runtime& runtime, const Text& format, Arguments& arguments) {
    return BraceFormatter(runtime, format, arguments).run();
}

Text format_percent(Runtime& runtime, const Text& format, const Value& arguments) {
    return PercentFormatter(runtime, format, arguments).run();
}

}  // namespace riftjit::models::jinja
