#include "models/template/jinja/lexer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace riftjit::models::jinja {

std::string normalize_source(std::string_view source) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (source.starts_with(kByteOrderMark)) source.remove_prefix(kByteOrderMark.size());
    std::string normalized;
    normalized.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            normalized += source[i];
        } else {
            normalized += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        }
    }
    if (normalized.ends_with('\n')) normalized.pop_back();
    return normalized;
}

std::string describe(const Token& token) {
    switch (token.kind) {
        case Token::Kind::data:
            return "text";
        case Token::Kind::block_begin:
            return "'{%'";
        case Token::Kind::block_end:
            return "'%}'";
        case Token::Kind::variable_begin:
            return "'{{'";
        case Token::Kind::variable_end:
            return "'}}'";
        case Token::Kind::string:
            return "a string";
        case Token::Kind::integer:
        case Token::Kind::real:
            return "a number";
        case Token::Kind::end:
            return "the end of the template";
        case Token::Kind::name:
        case Token::Kind::symbol:
            break;
    }
    return fmt::format("'{}'", token.text);
}

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::array<std::string_view, 26> kSymbols = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*",
                                                       "/",  "%",  "~",  "<",  ">",  "=",  ".", ":", "|",
                                                       ",",  ";",  "(",  ")",  "[",  "]",  "{", "}"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_space_at(std::string_view text, size_t offset) { return is_space(code_point(text, offset).value); }

std::string_view without_trailing_space(std::string_view text) {
    Budget unlimited(text.size());
    return text.substr(0, strip(unlimited, Text(std::string(text), Origin::literal), Side::right, {}).size());
}

class Lexer {
public:
    explicit Lexer(std::string_view source) : source_(source) {}

    std::vector<Token> run() {
        while (position_ < source_.size()) lex_text();
        add(Token::Kind::end, source_.size());
        return std::move(tokens_);
    }

private:
    Token& add(Token::Kind kind, size_t offset) {
        return tokens_.emplace_back(Token{kind, static_cast<uint32_t>(offset), {}});
    }
    bool at(std::string_view text) const { return source_.substr(position_).starts_with(text); }
    [[noreturn]] void refuse_here(std::string_view what) const {
        refuse_at(static_cast<uint32_t>(position_), "{}", what);
    }

    // Text up to the next tag, then that tag.
    void lex_text() {
        size_t tag = position_;
        do {
            tag = source_.find('{', tag);
            if (tag == npos || tag + 1 >= source_.size()) break;
            const char kind = source_[tag + 1];
            if (kind == '%' || kind == '{' || kind == '#') {
                lex_tag(tag);
                return;
            }
            ++tag;
        } while (true);
        add_data(source_.substr(position_));
        position_ = source_.size();
    }

    void add_data(std::string_view text) {
        if (!text.empty()) add(Token::Kind::data, position_).text = text;
    }

    // The sign after a tag's opening: '-' strips the text before it, '+' keeps it as it is.
    char sign_at(size_t offset) const {
        const char sign = offset < source_.size() ? source_[offset] : '\0';
        return sign == '-' || sign == '+' ? sign : '\0';
    }

    enum class LstripBlocks : uint8_t { no, yes };

    std::string_view text_before(size_t tag, char sign, LstripBlocks lstrip) const {
        const std::string_view text = source_.substr(position_, tag - position_);
        if (sign == '-') return without_trailing_space(text);
        if (sign == '+' || lstrip == LstripBlocks::no) return text;
        const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
        if (line == 0 && !line_starts_) return text;
        for (size_t i = line; i < text.size(); i += code_point(text, i).size) {
            if (!is_space_at(text, i)) return text;
        }
        return text.substr(0, line);
    }

    void lex_tag(size_t tag) {
        const char kind = source_[tag + 1];
        const char sign = sign_at(tag + 2);
        add_data(text_before(tag, sign, kind == '{' ? LstripBlocks::no : LstripBlocks::yes));
        position_ = tag + (sign ? 3 : 2);
        line_starts_ = false;
        if (kind == '#') return skip_comment(tag);
        if (kind == '%' && lex_raw(tag)) return;
        add(kind == '{' ? Token::Kind::variable_begin : Token::Kind::block_begin, tag);
        lex_code(tag, kind == '{' ? "}}" : "%}");
    }

    void skip_comment(size_t tag) {
        const size_t end = source_.find("#}", position_);
        if (end == npos) refuse_at(static_cast<uint32_t>(tag), "unclosed comment");
        const char sign = end > position_ ? source_[end - 1] : '\0';
        position_ = end;
        finish_tag("#}", sign);
    }

    // Steps over the closing of a tag and the white space that goes with it.
    void finish_tag(std::string_view closing, char sign) {
        position_ += closing.size();
        line_starts_ = false;
        if (sign == '-') {
            while (position_ < source_.size() && is_space_at(source_, position_)) {
                line_starts_ = source_[position_] == '\n';
                position_ += code_point(source_, position_).size;
            }
        } else if (sign != '+' && closing != "}}" && at("\n")) {
            ++position_;
            line_starts_ = true;
        }
    }

    size_t skip_space(size_t offset) const {
        while (offset < source_.size() && is_space_at(source_, offset)) offset += code_point(source_, offset).size;
        return offset;
    }

    // {% raw %} … {% endraw %}
    bool lex_raw(size_t tag) {
        size_t offset = skip_space(position_);
        if (!source_.substr(offset).starts_with("raw")) return false;
        offset = skip_space(offset + 3);
        const bool strips = source_.substr(offset).starts_with("-%}");
        if (!strips && !source_.substr(offset).starts_with("%}")) return false;
        position_ = offset + (strips ? 3 : 2);
        if (strips) position_ = skip_space(position_);
        line_starts_ = strips && source_[position_ - 1] == '\n';
        for (size_t end = source_.find("{%", position_); end != npos; end = source_.find("{%", end + 1)) {
            if (lex_endraw(end)) return true;
        }
        refuse_at(static_cast<uint32_t>(tag), "unclosed raw block");
    }

    bool lex_endraw(size_t tag) {
        const char sign = sign_at(tag + 2);
        size_t offset = skip_space(tag + (sign ? 3 : 2));
        if (!source_.substr(offset).starts_with("endraw")) return false;
        offset = skip_space(offset + 6);
        const char end_sign = sign_at(offset);
        if (end_sign) ++offset;
        if (!source_.substr(offset).starts_with("%}")) return false;
        add_data(text_before(tag, sign, LstripBlocks::yes));
        position_ = offset;
        finish_tag("%}", end_sign);
        return true;
    }

    void lex_code(size_t tag, std::string_view closing) {
        while (true) {
            position_ = skip_space(position_);
            if (position_ >= source_.size()) {
                refuse_at(static_cast<uint32_t>(tag), "unclosed '{}'", source_.substr(tag, 2));
            }
            if (brackets_.empty() && lex_closing(closing)) return;
            lex_token();
        }
    }

    bool lex_closing(std::string_view closing) {
        const char sign = sign_at(position_);
        if (sign == '+' && closing == "}}") return false;
        if (!source_.substr(position_ + (sign ? 1 : 0)).starts_with(closing)) return false;
        add(closing == "}}" ? Token::Kind::variable_end : Token::Kind::block_end, position_);
        if (sign) ++position_;
        finish_tag(closing, sign);
        return true;
    }

    void lex_token() {
        const char c = source_[position_];
        if (is_digit(c)) return lex_number();
        if (c == '\'' || c == '"') return lex_string(c);
        if (is_name_character(position_)) return lex_name();
        for (const std::string_view symbol : kSymbols) {
            if (!at(symbol)) continue;
            balance(symbol);
            add(Token::Kind::symbol, position_).text = symbol;
            position_ += symbol.size();
            return;
        }
        refuse_here(
            fmt::format("unexpected character '{}'", source_.substr(position_, code_point(source_, position_).size)));
    }

    // A closing bracket ends a tag only outside brackets, so that }} may end two dictionaries.
    void balance(std::string_view symbol) {
        switch (symbol[0]) {
            case '(':
                brackets_ += ')';
                break;
            case '[':
                brackets_ += ']';
                break;
            case '{':
                brackets_ += '}';
                break;
            case ')':
            case ']':
            case '}':
                if (brackets_.empty()) refuse_here(fmt::format("unexpected '{}'", symbol));
                if (brackets_.back() != symbol[0]) {
                    refuse_here(fmt::format("unexpected '{}', expected '{}'", symbol, brackets_.back()));
                }
                brackets_.pop_back();
                break;
            default:
                break;
        }
    }

    bool is_name_character(size_t offset) const {
        if (offset >= source_.size()) return false;
        const CodePoint c = code_point(source_, offset);
        if (c.value < 0x80)
            return is_digit(source_[offset]) || c.value == '_' || std::isalpha(static_cast<int>(c.value));
        const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.value));
        return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL;  // letters, marks, digits
    }

    void lex_name() {
        const size_t begin = position_;
        while (is_name_character(position_)) position_ += code_point(source_, position_).size;
        add(Token::Kind::name, begin).text = source_.substr(begin, position_ - begin);
    }

    // Digits, with single underscores between them.
    size_t skip_digits(size_t offset) const {
        while (offset < source_.size() && is_digit(source_[offset])) {
            ++offset;
            if (offset + 1 < source_.size() && source_[offset] == '_' && is_digit(source_[offset + 1])) ++offset;
        }
        return offset;
    }

    void lex_number() {
        const size_t begin = position_;
        if (lex_prefixed_integer()) return;
        size_t end = skip_digits(begin);
        bool is_real = false;
        const auto digit_at = [&](size_t offset) { return offset < source_.size() && is_digit(source_[offset]); };
        const bool follows_dot = begin > 0 && source_[begin - 1] == '.';
        if (!follows_dot && end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
            end = skip_digits(end + 1);
            is_real = true;
        }
        if (!follows_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
            const size_t sign = sign_at(end + 1) ? 1 : 0;
            if (digit_at(end + 1 + sign)) {
                end = skip_digits(end + 1 + sign);
                is_real = true;
            }
        }
        position_ = end;
        std::string digits(source_.substr(begin, end - begin));
        std::erase(digits, '_');
        Token& token = add(is_real ? Token::Kind::real : Token::Kind::integer, begin);
        token.text = digits;
        if (is_real) {
            std::from_chars(digits.data(), digits.data() + digits.size(), token.real);
        } else {
            token.integer = parse_integer(digits, 10, begin);
        }
    }

    bool lex_prefixed_integer() {
        const size_t begin = position_;
        if (source_[begin] != '0' || begin + 2 >= source_.size()) return false;
        const char prefix = static_cast<char>(source_[begin + 1] | 0x20);
        const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
        if (base == 0) return false;
        const auto is_digit_of_base = [&](char c) {
            c = static_cast<char>(c | (c >= 'A' ? 0x20 : 0));
            const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
            return digit < base;
        };
        size_t end = begin + 2;
        while (end < source_.size() && (is_digit_of_base(source_[end]) || source_[end] == '_')) ++end;
        std::string digits(source_.substr(begin + 2, end - begin - 2));
        std::erase(digits, '_');
        if (digits.empty()) return false;
        position_ = end;
        add(Token::Kind::integer, begin).integer = parse_integer(digits, base, begin);
        return true;
    }

    static Integer parse_integer(std::string_view digits, int base, size_t offset) {
        uint64_t value;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        if (error != std::errc())
            refuse_at(static_cast<uint32_t>(offset), "integer too large: {}", digits.substr(0, 40));
        return value;
    }

    void lex_string(char quote) {
        const size_t begin = position_++;
        std::string text;
        while (position_ < source_.size() && source_[position_] != quote) {
            if (source_[position_] == '\\') {
                lex_escape(text);
            } else {
                text += source_[position_++];
            }
        }
        if (position_ >= source_.size()) refuse_at(static_cast<uint32_t>(begin), "unclosed string");
        ++position_;
        add(Token::Kind::string, begin).text = std::move(text);
    }

    // Python's escapes; an unknown one keeps its backslash.
    void lex_escape(std::string& text) {
        const size_t begin = position_++;
        if (position_ >= source_.size()) return;
        const char c = source_[position_++];
        constexpr std::string_view kNames = "\\'\"abfnrtv\n", kValues = "\\'\"\a\b\f\n\r\t\v";
        if (const size_t index = kNames.find(c); index < kValues.size()) {
            text += kValues[index];
        } else if (c == '\n') {
            return;  // a line continued
        } else if (c == 'x' || c == 'u' || c == 'U') {
            append_code_point(text, lex_digits(begin, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16), begin);
        } else if (c >= '0' && c <= '7') {
            --position_;
            size_t count = 0;
            while (count < 3 && position_ + count < source_.size() && source_[position_ + count] >= '0' &&
                   source_[position_ + count] <= '7') {
                ++count;
            }
            append_code_point(text, lex_digits(begin, count, 8), begin);
        } else if (c == 'N') {
            refuse_at(static_cast<uint32_t>(begin), "\\N escapes are not supported");
        } else {
            text += '\\';
            --position_;
        }
    }

    uint32_t lex_digits(size_t begin, size_t count, int base) {
        const std::string_view digits = source_.substr(position_, count);
        uint32_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        if (error != std::errc() || end != digits.data() + count) {
            refuse_at(static_cast<uint32_t>(begin), "truncated escape '{}'", source_.substr(begin, 2));
        }
        position_ += count;
        return value;
    }

    static void append_code_point(std::string& text, uint32_t value, size_t begin) {
        if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
            refuse_at(static_cast<uint32_t>(begin), "U+{:04X} is not a character", value);
        }
        append_utf8(text, value);
    }

    std::string_view source_;
    size_t position_ = 0;
    bool line_starts_ = true;  // nothing but consumed line ends lies between the line's begin and position_
    std::string brackets_;     // those still open, as the characters that close them
    std::vector<Token> tokens_;
};

void check_encoding(std::string_view source) {
    for (size_t offset = 0; offset < source.size();) {
        const CodePoint c = code_point(source, offset);
        if (c.size == 1 && c.value == 0xFFFD) {
            refuse_at(static_cast<uint32_t>(offset), "byte 0x{:02x} is not UTF-8",
                      static_cast<unsigned char>(source[offset]));
        }
        offset += c.size;
    }
}

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
    if (source.size() > kMaxTemplateBytes) {
        refuse_at(kMaxTemplateBytes, "the template has {} bytes, more than the {} allowed", source.size(),
                  kMaxTemplateBytes);
    }
    check_encoding(source);
    return Lexer(source).run();
}

}  // namespace riftjit::models::jinja
