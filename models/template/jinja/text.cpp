#include "models/template/jinja/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

namespace riftjit::models::jinja {

Text::Text(std::string bytes, Origin origin) {
    if (bytes.empty()) return;
    const auto end = static_cast<uint32_t>(bytes.size());
    body_ = std::make_shared<const Body>(Body{std::move(bytes), {{end, origin}}});
}

std::span<const Text::Run> Text::runs() const {
    if (!body_) return {};
    return body_->runs;
}

Origin Text::origin() const {
    const bool any = std::ranges::any_of(runs(), [](const Run& run) { return run.origin == Origin::data; });
    return any ? Origin::data : Origin::literal;
}

void TextBuilder::append(std::string_view bytes, Origin origin) {
    if (bytes.empty()) return;
    budget_->memory(bytes.size());
    body_.bytes += bytes;
    const auto end = static_cast<uint32_t>(body_.bytes.size());
    if (!body_.runs.empty() && body_.runs.back().origin == origin) {
        body_.runs.back().end = end;
    } else {
        budget_->memory(sizeof(Text::Run));
        body_.runs.push_back({end, origin});
    }
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
    const auto runs = text.runs();
    auto run = std::ranges::upper_bound(runs, begin, {}, &Text::Run::end);
    for (; run != runs.end() && begin < end; ++run) {
        const size_t stop = std::min<size_t>(run->end, end);
        append(text.view().substr(begin, stop - begin), run->origin);
        begin = stop;
    }
}

void TextBuilder::append_repeated(const Text& text, size_t count) {
    if (text.size() == 0) return;
    budget_->memory(text.size() * count);  // before any of it is made
    if (text.runs().size() == 1) {
        std::string bytes;
        bytes.reserve(text.size() * count);
        for (size_t i = 0; i < count; ++i) bytes += text.view();
        append(bytes, text.origin());
    } else {
        for (size_t i = 0; i < count; ++i) append(text);
    }
}

Text TextBuilder::build() {
    constexpr uint64_t kTextBytes = 128;  // of one that has hardly any: its body, its run, and what keeps count of it
    Text text;
    if (!body_.bytes.empty()) budget_->memory(kTextBytes);
    if (!body_.bytes.empty()) text.body_ = std::make_shared<const Text::Body>(std::move(body_));
    body_ = {};
    return text;
}

Text slice(Budget& budget, const Text& text, size_t begin, size_t end) {
    if (begin == 0 && end == text.size()) return text;
    TextBuilder builder(budget);
    builder.append(text, begin, end);
    return builder.build();
}

Text join(Budget& budget, const Text& a, const Text& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    TextBuilder builder(budget);
    builder.append(a);
    builder.append(b);
    return builder.build();
}

CodePoint code_point(std::string_view text, size_t offset) {
    const auto first = static_cast<unsigned char>(text[offset]);
    if (first < 0x80) return {first, 1};
    utf8proc_int32_t value;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + offset);
    const auto size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - offset), &value);
    if (size <= 0) return {0xFFFD, 1};
    return {static_cast<uint32_t>(value), static_cast<uint32_t>(size)};
}

size_t length(std::string_view text) {
    size_t count = 0;
    for (size_t offset = 0; offset < text.size(); offset += code_point(text, offset).size) ++count;
    return count;
}

size_t byte_offset(std::string_view text, size_t index) {
    size_t offset = 0;
    for (; index > 0 && offset < text.size(); --index) offset += code_point(text, offset).size;
    return offset;
}

std::vector<size_t> character_offsets(std::string_view text) {
    std::vector<size_t> offsets;
    for (size_t offset = 0; offset < text.size(); offset += code_point(text, offset).size) offsets.push_back(offset);
    offsets.push_back(text.size());
    return offsets;
}

void append_utf8(std::string& out, uint32_t code_point) {
    utf8proc_uint8_t bytes[4];
    const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

bool is_space(uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

namespace {

bool is_line_end(uint32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

size_t previous_character(std::string_view text, size_t end) {
    for (size_t back = std::min<size_t>(4, end); back > 1; --back) {
        if (code_point(text, end - back).size == back) return end - back;
    }
    return end - 1;
}

}  // namespace

Text strip(Budget& budget, const Text& text, Side side, std::optional<std::string_view> characters) {
    const std::string_view view = text.view();
    const auto strips = [&](size_t offset) {
        const CodePoint c = code_point(view, offset);
        if (!characters) return is_space(c.value);
        return find_text(*characters, view.substr(offset, c.size), 0) != std::string_view::npos;
    };
    size_t begin = 0, end = view.size();
    if (side != Side::right) {
        while (begin < end && strips(begin)) begin += code_point(view, begin).size;
    }
    if (side != Side::left) {
        while (end > begin && strips(previous_character(view, end))) end = previous_character(view, end);
    }
    budget.work((view.size() - (end - begin)) * (1 + (characters ? characters->size() / 64 : 0)) / 16);
    return slice(budget, text, begin, end);
}

// std::string_view::find is quadratic in the worst case; glibc's memmem is not.
size_t find_text(std::string_view text, std::string_view needle, size_t from) {
    if (from > text.size() || needle.size() > text.size() - from) return std::string_view::npos;
    if (needle.empty()) return from;
    const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
    if (!found) return std::string_view::npos;
    return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last(std::string_view text, std::string_view needle) {
    if (needle.empty()) return text.size();
    size_t last = std::string_view::npos;
    for (size_t at = find_text(text, needle, 0); at != std::string_view::npos; at = find_text(text, needle, at + 1))
        last = at;
    return last;
}

Text replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count) {
    budget.work(text.size() / 64);
    TextBuilder builder(budget);
    const std::string_view view = text.view();
    size_t begin = 0;
    for (int64_t done = 0; count < 0 || done < count; ++done) {
        // An empty pattern matches before every character and at the end.
        size_t from_offset = begin;
        if (from.empty() && done > 0) {
            if (begin >= view.size()) return builder.build();
            from_offset = begin + code_point(view, begin).size;
        }
        const size_t at = find_text(view, from.view(), from_offset);
        if (at == std::string_view::npos) break;
        builder.append(text, begin, at);
        builder.append(to);
        budget.work(1);
        begin = at + from.size();
    }
    builder.append(text, begin, view.size());
    return builder.build();
}

std::vector<Text> split(Budget& budget, const Text& text, std::string_view separator, int64_t max_splits) {
    if (separator.empty()) refuse("split: empty separator");
    std::vector<Text> parts;
    size_t begin = 0;
    while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
        const size_t at = find_text(text.view(), separator, begin);
        if (at == std::string_view::npos) break;
        parts.push_back(slice(budget, text, begin, at));
        budget.memory(sizeof(Text));
        begin = at + separator.size();
    }
    parts.push_back(slice(budget, text, begin, text.size()));
    return parts;
}

std::vector<Text> split_from_right(Budget& budget, const Text& text, std::string_view separator, int64_t max_splits) {
    if (separator.empty()) refuse("rsplit: empty separator");
    std::vector<Text> parts;
    size_t end = text.size();
    while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
        budget.work(end * (separator.size() / 64 + 1) / 64 + 1);  // rfind compares at every position
        const size_t at = text.view().substr(0, end).rfind(separator);
        if (at == std::string_view::npos) break;
        parts.push_back(slice(budget, text, at + separator.size(), end));
        budget.memory(sizeof(Text));
        end = at;
    }
    parts.push_back(slice(budget, text, 0, end));
    std::ranges::reverse(parts);
    return parts;
}

std::vector<Text> split_at_spaces(Budget& budget, const Text& text, int64_t max_splits) {
    const std::string_view view = text.view();
    budget.work(view.size() / 16);
    std::vector<Text> parts;
    size_t offset = 0;
    const auto skip = [&](bool spaces) {
        while (offset < view.size() && is_space(code_point(view, offset).value) == spaces) {
            offset += code_point(view, offset).size;
        }
    };
    for (skip(true); offset < view.size(); skip(true)) {
        const size_t begin = offset;
        if (max_splits >= 0 && static_cast<int64_t>(parts.size()) == max_splits) {
            parts.push_back(slice(budget, text, begin, view.size()));
            break;
        }
        skip(false);
        parts.push_back(slice(budget, text, begin, offset));
        budget.memory(sizeof(Text));
    }
    return parts;
}

std::vector<Text> split_lines(Budget& budget, const Text& text) {
    const std::string_view view = text.view();
    budget.work(view.size() / 16);
    std::vector<Text> lines;
    size_t begin = 0;
    for (size_t offset = 0; offset < view.size();) {
        const CodePoint c = code_point(view, offset);
        const size_t line_end = offset;
        offset += c.size;
        if (!is_line_end(c.value)) continue;
        if (c.value == '\r' && offset < view.size() && view[offset] == '\n') ++offset;
        lines.push_back(slice(budget, text, begin, line_end));
        budget.memory(sizeof(Text));
        begin = offset;
    }
    if (begin < view.size()) lines.push_back(slice(budget, text, begin, view.size()));
    return lines;
}

namespace {

uint32_t with_case(uint32_t c, Case to, bool starts_word) {
    const auto upper = [&] { return static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))); };
    const auto lower = [&] { return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); };
    switch (to) {
        case Case::lower:
            return lower();
        case Case::upper:
            return upper();
        case Case::swapped:
            return lower() != c ? lower() : upper();
        case Case::title:
        case Case::capitalized:
            return starts_word ? upper() : lower();
    }
    return c;
}

bool is_cased(uint32_t c) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

}  // namespace

Text change_case(Budget& budget, const Text& text, Case to) {
    budget.work(text.size() / 4);  // two look-ups in Unicode's tables for each character
    TextBuilder builder(budget);
    size_t offset = 0;
    bool starts_word = true;
    for (const Text::Run& run : text.runs()) {
        std::string changed;
        for (CodePoint c; offset < run.end; offset += c.size) {
            c = code_point(text.view(), offset);
            if (c.value == 0xFFFD) {
                changed += text.view().substr(offset, c.size);  // keeps bytes that are not UTF-8
            } else if (c.value == 0xDF && to != Case::lower) {
                changed += to == Case::upper || to == Case::swapped ? "SS" : starts_word ? "Ss" : "ß";
            } else {
                append_utf8(changed, with_case(c.value, to, starts_word));
            }
            starts_word = to == Case::title ? !is_cased(c.value) : false;
        }
        builder.append(changed, run.origin);
    }
    return builder.build();
}

}  // namespace riftjit::models::jinja
