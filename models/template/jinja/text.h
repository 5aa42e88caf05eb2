// Strings that remember which of their bytes came from outside the template.
//
// The rule: template source, bos_token, eos_token and what the interpreter writes itself (numbers, None, separators of
// filters) are literals; messages, tools, documents and further variables are data. Joining, slicing, stripping,
// splitting, replacing and changing case keep the origin of each piece. Where an operation cannot tell (tojson, repr,
// formatting with a width, escaping), its whole result is data as soon as anything that went in was.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/template/jinja/budget.h"

namespace riftjit::models::jinja {

enum class Origin : uint8_t { literal, data };

class Text {
public:
    struct Run {
        uint32_t end;  // one past the last byte
        Origin origin;
    };

    Text() = default;
    Text(std::string bytes, Origin origin);

    std::string_view view() const { return body_ ? std::string_view(body_->bytes) : std::string_view(); }
    size_t size() const { return view().size(); }
    bool empty() const { return view().empty(); }
    std::span<const Run> runs() const;
    Origin origin() const;  // data as soon as one byte is

private:
    friend class TextBuilder;
    struct Body {
        std::string bytes;
        std::vector<Run> runs;  // adjacent ones differ
    };
    std::shared_ptr<const Body> body_;
};

class TextBuilder {
public:
    explicit TextBuilder(Budget& budget) : budget_(&budget) {}

    void append(std::string_view bytes, Origin origin);
    void append(const Text& text) { append(text, 0, text.size()); }
    void append(const Text& text, size_t begin, size_t end);
    void append_repeated(const Text& text, size_t count);
    size_t size() const { return body_.bytes.size(); }
    Text build();  // leaves the builder empty

private:
    Budget* budget_;
    Text::Body body_;
};

Text slice(Budget& budget, const Text& text, size_t begin, size_t end);  // in bytes
Text join(Budget& budget, const Text& a, const Text& b);

// Code points. A byte that is not part of valid UTF-8 counts as one of its own, value U+FFFD.
struct CodePoint {
    uint32_t value;
    uint32_t size;  // in bytes
};
CodePoint code_point(std::string_view text, size_t offset);
size_t length(std::string_view text);                          // in code points
size_t byte_offset(std::string_view text, size_t index);       // of a code point; size() beyond the end
std::vector<size_t> character_offsets(std::string_view text);  // starts of all code points, then size()
void append_utf8(std::string& out, uint32_t code_point);

// As Python's str methods do.
bool is_space(uint32_t code_point);
enum class Side : uint8_t { left, right, both };
Text strip(Budget& budget, const Text& text, Side side, std::optional<std::string_view> characters);
size_t find_text(std::string_view text, std::string_view needle, size_t from);  // linear time; npos if absent
size_t find_last(std::string_view text, std::string_view needle);
Text replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count);
std::vector<Text> split(Budget& budget, const Text& text, std::string_view separator, int64_t max_splits);
std::vector<Text> split_from_right(Budget& budget, const Text& text, std::string_view separator, int64_t max_splits);
std::vector<Text> split_at_spaces(Budget& budget, const Text& text, int64_t max_splits);
std::vector<Text> split_lines(Budget& budget, const Text& text);

enum class Case : uint8_t { lower, upper, title, capitalized, swapped };
Text change_case(Budget& budget, const Text& text, Case to);

}  // namespace riftjit::models::jinja
