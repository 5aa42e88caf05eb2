#include "jit/rdna/text/parse_line.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace riftjit::rdna {
namespace {

constexpr std::array<std::string_view, 13> kFlagNames = {
    "clamp", "glc", "slc", "dlc", "gds", "lds", "tfe", "offen", "idxen", "row_mirror", "row_half_mirror", "nv", "done"};

constexpr std::array<std::string_view, 32> kValueNames = {
    "offset",   "offset0",   "offset1",   "th",        "scope",     "dst_sel",      "dst_unused", "src0_sel",
    "src1_sel", "op_sel",    "neg_lo",    "neg_hi",    "op_sel_hi", "quad_perm",    "row_shl",    "row_shr",
    "row_ror",  "row_share", "row_mask",  "row_xmask", "bank_mask", "bound_ctrl",   "fi",         "dpp8",
    "mul",      "div",       "index_key", "byte_sel",  "format",    "row_newbcast", "row_bcast",  "wave_shl"};

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_flag(std::string_view word) {
    if (std::ranges::find(kFlagNames, word) != kFlagNames.end()) return true;
    return word.starts_with("no") && std::ranges::find(kFlagNames, word.substr(2)) != kFlagNames.end();
}

std::string_view leading_word(std::string_view text) {
    const auto end = std::ranges::find_if_not(text, is_word);
    return text.substr(0, static_cast<size_t>(end - text.begin()));
}

bool starts_modifier(std::string_view text) {
    const std::string_view word = leading_word(text);
    if (word.size() < text.size() && text[word.size()] == ':')
        return std::ranges::find(kValueNames, word) != kValueNames.end();
    return is_flag(word) && (word.size() == text.size() || is_blank(text[word.size()]));
}

// Brackets, quotes and bars that are open at a point of the text.
class Nesting {
public:
    void pass(char c) {
        if (c == '"') in_quotes_ = !in_quotes_;
        if (in_quotes_) return;
        if (c == '[' || c == '(' || c == '{') ++depth_;
        if (c == ']' || c == ')' || c == '}') --depth_, is_broken_ |= depth_ < 0;
        if (c == '|') in_bars_ = !in_bars_;
    }
    bool is_open() const { return depth_ > 0 || in_quotes_; }
    bool is_balanced() const { return depth_ == 0 && !in_quotes_ && !is_broken_; }

private:
    int depth_ = 0;
    bool in_quotes_ = false, in_bars_ = false, is_broken_ = false;
};

LinePiece trimmed(std::string_view text, size_t column) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1), ++column;
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return {text, column};
}

// Takes the modifiers off the end of an operand: each starts at a blank outside brackets.
void take_modifiers(LinePiece& operand, std::vector<LineModifier>& modifiers) {
    std::vector<LinePiece> words;
    Nesting nesting;
    size_t start = 0;
    const std::string_view text = operand.text;
    for (size_t i = 0; i <= text.size(); ++i) {
        const bool is_end = i == text.size();
        if (!is_end) nesting.pass(text[i]);
        if (!is_end && (!is_blank(text[i]) || nesting.is_open() || !starts_modifier(trim(text.substr(i))))) continue;
        words.push_back(trimmed(text.substr(start, i - start), operand.column + start));
        start = i;
    }
    size_t first_modifier = 0;
    if (!words.empty() && !starts_modifier(words[0].text)) operand = words[0], first_modifier = 1;
    if (first_modifier == 0) operand.text = "";
    for (size_t i = first_modifier; i < words.size(); ++i) {
        const size_t colon = words[i].text.find(':');
        const std::string_view value = colon == std::string_view::npos ? "" : words[i].text.substr(colon + 1);
        modifiers.push_back({words[i].text.substr(0, colon), trim(value), words[i].column});
    }
}

}  // namespace

std::string_view trim(std::string_view text) { return trimmed(text, 1).text; }

std::vector<LinePiece> split_outside_brackets(std::string_view text, size_t first_column, char separator) {
    std::vector<LinePiece> pieces;
    Nesting nesting;
    size_t start = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) nesting.pass(text[i]);
        if (i < text.size() && (text[i] != separator || nesting.is_open())) continue;
        pieces.push_back(trimmed(text.substr(start, i - start), first_column + start));
        start = i + 1;
    }
    return pieces;
}

std::vector<std::string_view> list_items(std::string_view text) {
    std::vector<std::string_view> items;
    text = trim(text);
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return items;
    for (const LinePiece& piece : split_outside_brackets(text.substr(1, text.size() - 2), 1, ','))
        items.push_back(piece.text);
    return items;
}

Result<ParsedLine> split_line(std::string_view line, size_t first_column) {
    ParsedLine parsed;
    const LinePiece whole = trimmed(line, first_column);
    const auto blank = std::ranges::find_if(whole.text, is_blank);
    const auto length = static_cast<size_t>(blank - whole.text.begin());
    for (const char c : whole.text.substr(0, length))
        parsed.mnemonic += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    parsed.operand_text = trimmed(whole.text.substr(length), whole.column + length);
    Nesting nesting;
    for (const char c : whole.text) nesting.pass(c);
    if (!nesting.is_balanced()) return fail(ErrorKind::Usage, "{}: brackets or quotes do not match", parsed.mnemonic);
    if (parsed.operand_text.text.empty()) return parsed;
    for (LinePiece piece : split_outside_brackets(parsed.operand_text.text, parsed.operand_text.column, ',')) {
        const bool was_empty = piece.text.empty();
        take_modifiers(piece, parsed.modifiers);
        if (was_empty)
            return fail(ErrorKind::Usage, "{}: operand {} (column {}) is empty", parsed.mnemonic,
                        parsed.operands.size() + 1, piece.column);
        if (!piece.text.empty()) parsed.operands.push_back(piece);
    }
    return parsed;
}

}  // namespace riftjit::rdna
