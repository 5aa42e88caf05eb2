#include "sim/equations/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace riftjit::sim {

namespace {

// Longest first.
constexpr std::array<std::string_view, 23> kSymbols = {
    "**", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "+", "-", "*",
    "/",  "(",  ")",  ",",  "<",  ">",  "=",  ":",  "^",  "&", "|"};

constexpr size_t kMaxTokens = 4000;  // what is built from them is walked by recursion

bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Tokenizer {
public:
    explicit Tokenizer(const SourceText& source) : source_(source), text_(source.text) {}

    Result<std::vector<Token>> run() {
        while (at_ < text_.size()) {
            RIFTJIT_TRY_VOID(read_token());
            if (tokens_.size() > kMaxTokens) return fail_at(source_, 0, "more than {} words", kMaxTokens);
        }
        tokens_.push_back({TokenKind::end, "", text_.size()});
        return std::move(tokens_);
    }

private:
    Result<void> read_token() {
        const char c = text_[at_];
        if (c == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (c == '\n' || c == ';') {
            if (depth_ == 0 || c == ';') tokens_.push_back({TokenKind::line_end, "", at_});
            ++at_;
        } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            ++at_;
        } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
            return read_number();
        } else if (is_name_start(c)) {
            size_t end = at_;
            while (end < text_.size() && (is_name_start(text_[end]) || is_digit(text_[end]))) ++end;
            tokens_.push_back({TokenKind::name, text_.substr(at_, end - at_), at_});
            at_ = end;
        } else {
            return read_symbol();
        }
        return {};
    }
    Result<void> read_number() {
        double number = 0;
        const char* begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
        const auto length = static_cast<size_t>(end - begin);
        if (error != std::errc() || !std::isfinite(number))
            return fail_at(source_, at_, "number '{}' is out of range", text_.substr(at_, length));
        tokens_.push_back({TokenKind::number, text_.substr(at_, length), at_, number});
        at_ += length;
        return {};
    }
    Result<void> read_symbol() {
        for (const std::string_view symbol : kSymbols) {
            if (text_.compare(at_, symbol.size(), symbol) != 0) continue;
            depth_ += symbol == "(" ? 1 : symbol == ")" && depth_ > 0 ? -1 : 0;
            tokens_.push_back({TokenKind::symbol, std::string(symbol), at_});
            at_ += symbol.size();
            return {};
        }
        return fail_at(source_, at_, "unexpected character '{}'", text_[at_]);
    }

    const SourceText& source_;
    const std::string& text_;
    size_t at_ = 0;
    int depth_ = 0;  // of parentheses
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(const SourceText& source) { return Tokenizer(source).run(); }

std::string token_text(const Token& token) {
    if (token.kind == TokenKind::end) return "the end";
    if (token.kind == TokenKind::line_end) return "the end of the line";
    return fmt::format("'{}'", token.text);
}

}  // namespace riftjit::sim
