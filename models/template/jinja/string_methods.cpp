// The methods of Python's str.
#include <utf8proc.h>

#include <algorithm>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

namespace {

const Text& text_of(const Value& self) { return self.as<Text>(); }

template <Case to>
Value case_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("a method that changes case");
    return change_case(runtime.budget, text_of(self), to);
}

template <Side side>
Value strip_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value characters = arguments.take("chars", None{});
    arguments.finish("strip");
    if (characters.is<None>()) return strip(runtime.budget, text_of(self), side, std::nullopt);
    if (!characters.is<Text>()) refuse("strip: expected a string, got {}", type_name(characters));
    return strip(runtime.budget, text_of(self), side, characters.as<Text>().view());
}

enum class End : uint8_t { front, back };

// startswith and endswith take a string or a tuple of them.
template <End end>
Value affix_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    constexpr std::string_view name = end == End::front ? "startswith" : "endswith";
    const Value affixes = arguments.require(name, "prefix");
    arguments.finish(name);
    const auto matches = [&](const Value& affix) {
        if (affix.is<Undefined>()) refuse_undefined(affix);
        if (!affix.is<Text>()) refuse("{}: expected a string, got {}", name, type_name(affix));
        runtime.budget.work(1 + affix.as<Text>().size() / 64);
        const std::string_view view = affix.as<Text>().view();
        return end == End::front ? text_of(self).view().starts_with(view) : text_of(self).view().ends_with(view);
    };
    if (!affixes.is<List*>()) return matches(affixes);
    return std::ranges::any_of(affixes.as<List*>()->items, matches);
}

template <End end>
Value split_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value separator = arguments.take("sep", None{});
    const auto max_splits = static_cast<int64_t>(
        std::clamp<Integer>(arguments.take_integer("split", "maxsplit", Integer(-1)), -1, INT64_MAX));
    arguments.finish("split");
    if (separator.is<None>()) {
        if (end == End::back && max_splits >= 0) refuse("rsplit without a separator cannot be limited here");
        return runtime.list(split_at_spaces(runtime.budget, text_of(self), max_splits));
    }
    if (!separator.is<Text>()) refuse("split: expected a string, got {}", type_name(separator));
    const auto function = end == End::front ? split : split_from_right;
    return runtime.list(function(runtime.budget, text_of(self), separator.as<Text>().view(), max_splits));
}

Value splitlines_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("splitlines");
    return runtime.list(split_lines(runtime.budget, text_of(self)));
}

template <End end>
Value partition_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text separator = arguments.require_text("partition", "sep");
    arguments.finish("partition");
    if (separator.empty()) refuse("partition: empty separator");
    const Text& text = text_of(self);
    runtime.budget.work(text.size() / 16);
    const size_t at =
        end == End::front ? find_text(text.view(), separator.view(), 0) : find_last(text.view(), separator.view());
    if (at == std::string_view::npos) {
        if (end == End::front) return runtime.tuple({text, Text(), Text()});
        return runtime.tuple({Text(), Text(), text});
    }
    const auto part = [&](size_t begin, size_t stop) { return slice(runtime.budget, text, begin, stop); };
    return runtime.tuple({part(0, at), part(at, at + separator.size()), part(at + separator.size(), text.size())});
}

Value replace_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text from = arguments.require_text("replace", "old"), to = arguments.require_text("replace", "new");
    const auto count = static_cast<int64_t>(
        std::clamp<Integer>(arguments.take_integer("replace", "count", Integer(-1)), -1, INT64_MAX));
    arguments.finish("replace");
    return replace(runtime.budget, text_of(self), from, to, count);
}

Value join_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value items = arguments.require("join", "iterable");
    arguments.finish("join");
    TextBuilder builder(runtime.budget);
    bool first = true;
    for (const Value& piece : iterate(runtime.budget, items)) {
        if (!piece.is<Text>()) refuse("join: expected strings, got {}", type_name(piece));
        if (!std::exchange(first, false)) builder.append(text_of(self));
        builder.append(piece.as<Text>());
    }
    return builder.build();
}

Value format_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    return format_braces(runtime, text_of(self), arguments);
}

// Index in code points of a match, or −1.
Integer find_index(Runtime& runtime, const Value& self, Arguments& arguments, End end) {
    const Text needle = arguments.require_text("find", "sub");
    const Integer from = arguments.take_integer("find", "start", Integer(0));
    arguments.finish("find");
    const std::string_view view = text_of(self).view();
    if (from < 0 || (from > 0 && end == End::back)) refuse("find: a start of {} is not supported", from);
    runtime.budget.work(view.size() / 16);
    const size_t begin =
        byte_offset(view, static_cast<size_t>(std::min<Integer>(from, static_cast<Integer>(view.size()))));
    const size_t at = end == End::front ? find_text(view, needle.view(), begin) : find_last(view, needle.view());
    return at == std::string_view::npos ? Integer(-1) : static_cast<Integer>(length(view.substr(0, at)));
}

template <End end>
Value find_method_of_text(Runtime& runtime, const Value& self, Arguments& arguments) {
    return find_index(runtime, self, arguments, end);
}

template <End end>
Value index_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Integer index = find_index(runtime, self, arguments, end);
    if (index < 0) refuse("index: substring not found");
    return index;
}

Value count_substring_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text needle = arguments.require_text("count", "sub");
    arguments.finish("count");
    if (needle.empty()) return static_cast<Integer>(length(text_of(self).view()) + 1);
    runtime.budget.work(text_of(self).size() / 16);
    Integer count = 0;
    for (size_t at = 0; (at = find_text(text_of(self).view(), needle.view(), at)) != std::string_view::npos;
         at += needle.size()) {
        ++count;
    }
    return count;
}

template <End end>
Value remove_affix_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text affix = arguments.require_text("removeprefix", "prefix");
    arguments.finish("removeprefix");
    const Text& text = text_of(self);
    const bool present =
        end == End::front ? text.view().starts_with(affix.view()) : text.view().ends_with(affix.view());
    if (!present) return text;
    if (end == End::front) return slice(runtime.budget, text, affix.size(), text.size());
    return slice(runtime.budget, text, 0, text.size() - affix.size());
}

enum class Align : uint8_t { left, right, center };

template <Align align>
Value justify_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Integer width = arguments.take_integer("a method that pads", "width", std::nullopt);
    const Value fill = arguments.take("fillchar", Value::literal(" "));
    arguments.finish("a method that pads");
    if (!fill.is<Text>() || length(fill.as<Text>().view()) != 1) refuse("the fill character must be one character");
    const Text& text = text_of(self);
    const Integer size = static_cast<Integer>(length(text.view()));
    if (width > (1 << 24)) refuse("a width of {} is too large", width);
    const Integer padding = std::max<Integer>(0, width - size);
    // Python's str.center: the odd one goes left only when both the padding and the width are odd.
    const Integer left = align == Align::left    ? 0
                         : align == Align::right ? padding
                                                 : padding / 2 + (padding & width & 1);
    TextBuilder builder(runtime.budget);
    builder.append_repeated(fill.as<Text>(), static_cast<size_t>(left));
    builder.append(text);
    builder.append_repeated(fill.as<Text>(), static_cast<size_t>(padding - left));
    return builder.build();
}

Value zfill_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Integer width = arguments.take_integer("zfill", "width", std::nullopt);
    arguments.finish("zfill");
    if (width > (1 << 24)) refuse("a width of {} is too large", width);
    const Text& text = text_of(self);
    const size_t sign = text.view().starts_with('-') || text.view().starts_with('+') ? 1 : 0;
    TextBuilder builder(runtime.budget);
    builder.append(text, 0, sign);
    const Integer zeros = std::max<Integer>(0, width - static_cast<Integer>(length(text.view())));
    builder.append_repeated(Text("0", Origin::literal), static_cast<size_t>(zeros));
    builder.append(text, sign, text.size());
    return builder.build();
}

bool has_category(uint32_t c, std::initializer_list<utf8proc_category_t> categories) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return std::ranges::find(categories, category) != categories.end();
}
bool is_alpha(uint32_t c) {
    return has_category(c, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM,
                            UTF8PROC_CATEGORY_LO});
}
bool is_decimal(uint32_t c) { return has_category(c, {UTF8PROC_CATEGORY_ND}); }
bool is_numeric(uint32_t c) {
    return has_category(c, {UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NO});
}
bool is_alphanumeric(uint32_t c) { return is_alpha(c) || is_numeric(c); }

template <bool (*holds)(uint32_t)>
Value all_characters_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("a test of characters");
    const std::string_view view = text_of(self).view();
    runtime.budget.work(view.size() / 4);
    for (size_t offset = 0; offset < view.size(); offset += code_point(view, offset).size) {
        if (!holds(code_point(view, offset).value)) return false;
    }
    return !view.empty();
}

// Some cased character, and none of the other case.
template <utf8proc_category_t wanted, utf8proc_category_t other>
Value is_case_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("a test of case");
    const std::string_view view = text_of(self).view();
    runtime.budget.work(view.size() / 4);
    bool found = false;
    for (size_t offset = 0; offset < view.size(); offset += code_point(view, offset).size) {
        const uint32_t c = code_point(view, offset).value;
        if (has_category(c, {other, UTF8PROC_CATEGORY_LT})) return false;
        found |= has_category(c, {wanted});
    }
    return found;
}

}  // namespace

Method find_string_method(std::string_view name) {
    static constexpr std::pair<std::string_view, Method> kMethods[] = {
        {"capitalize", case_method<Case::capitalized>},
        {"casefold", case_method<Case::lower>},
        {"center", justify_method<Align::center>},
        {"count", count_substring_method},
        {"endswith", affix_method<End::back>},
        {"find", find_method_of_text<End::front>},
        {"format", format_method},
        {"index", index_method<End::front>},
        {"isalnum", all_characters_method<is_alphanumeric>},
        {"isalpha", all_characters_method<is_alpha>},
        {"isdecimal", all_characters_method<is_decimal>},
        {"isdigit", all_characters_method<is_decimal>},
        {"islower", is_case_method<UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LU>},
        {"isnumeric", all_characters_method<is_numeric>},
        {"isspace", all_characters_method<is_space>},
        {"isupper", is_case_method<UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL>},
        {"join", join_method},
        {"ljust", justify_method<Align::left>},
        {"lower", case_method<Case::lower>},
        {"lstrip", strip_method<Side::left>},
        {"partition", partition_method<End::front>},
        {"removeprefix", remove_affix_method<End::front>},
        {"removesuffix", remove_affix_method<End::back>},
        {"replace", replace_method},
        {"rfind", find_method_of_text<End::back>},
        {"rindex", index_method<End::back>},
        {"rjust", justify_method<Align::right>},
        {"rpartition", partition_method<End::back>},
        {"rsplit", split_method<End::back>},
        {"rstrip", strip_method<Side::right>},
        {"split", split_method<End::front>},
        {"splitlines", splitlines_method},
        {"startswith", affix_method<End::front>},
        {"strip", strip_method<Side::both>},
        {"swapcase", case_method<Case::swapped>},
        {"title", case_method<Case::title>},
        {"upper", case_method<Case::upper>},
        {"zfill", zfill_method},
    };
    const auto found = std::ranges::find(kMethods, name, &std::pair<std::string_view, Method>::first);
    return found == std::end(kMethods) ? nullptr : found->second;
}

}  // namespace riftjit::models::jinja
