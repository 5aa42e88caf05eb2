// GBNF as llama.cpp's grammars/README.md tells it: rules of literals, classes, groups, repetitions and tokens.
#include <algorithm>
#include <map>
#include <optional>

#include "engine/grammar/builder.h"
#include "engine/grammar/grammar.h"
#include "host/utf8.h"

namespace riftjit::engine {

namespace {

constexpr int kMostNesting = 500;  // of groups: each is some calls, here and where they are compiled
constexpr size_t kMostGrammarBytes = size_t(16) << 20;

class GbnfParser {
public:
    using Expression = GrammarBuilder::Expression;

    explicit GbnfParser(std::string_view text) : text_(text) {}

    Result<std::shared_ptr<const Grammar>> parse(std::string_view root);

private:
    struct Use {
        size_t at;  // where it is first called
        uint32_t rule;
        std::string defined_at;
    };

    bool is_at_end() const { return at_ == text_.size(); }
    char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    bool is_at(char byte) const { return !is_at_end() && text_[at_] == byte; }
    std::string place(size_t at);
    std::string found() const;
    template <class... Args>
    std::unexpected<Error> refuse(size_t at, fmt::format_string<Args...> format, Args&&... args) {
        return fail(ErrorKind::Format, "{}: {}", place(at), fmt::format(format, std::forward<Args>(args)...));
    }

    void skip_space(bool with_lines);
    std::string_view name();
    Result<void> rule();
    Result<Expression> alternatives(int depth);
    Result<Expression> sequence(int depth);
    Result<std::optional<Expression>> item(int depth);
    Result<std::optional<Expression>> repeated(Expression of);
    Result<Expression> literal();
    Result<Expression> character_class();
    Result<Expression> token();
    Result<char32_t> character();
    Result<uint32_t> number();
    Use& use_of(std::string_view name, size_t at);

    struct Placed {
        size_t at = 0, line = 1, column = 1;
    };
    std::string_view text_;
    size_t at_ = 0;
    Placed placed_;
    GrammarBuilder builder_;
    std::map<std::string, Use, std::less<>> rules_;
    std::vector<std::string> warnings_;
};

// Lines and columns of characters, from 1. Goes on from where it was: many places of a long text are asked for.
std::string GbnfParser::place(size_t at) {
    if (at < placed_.at) placed_ = {};
    for (; placed_.at < at; ++placed_.at) {
        const char byte = text_[placed_.at];
        if (byte == '\n')
            ++placed_.line, placed_.column = 1;
        else if ((static_cast<uint8_t>(byte) & 0xC0) != 0x80)
            ++placed_.column;
    }
    return fmt::format("{}:{}", placed_.line, placed_.column);
}

std::string GbnfParser::found() const {
    if (is_at_end()) return "the end";
    if (is_at('\n') || is_at('\r')) return "the end of the line";
    const CodePoint next = decode_code_point(text_.data() + at_, text_.data() + text_.size());
    return fmt::format("'{}'", escape_unprintable(text_.substr(at_, next.length_bytes)));
}

void GbnfParser::skip_space(bool with_lines) {
    while (!is_at_end()) {
        const char byte = peek();
        if (byte == '#') {
            while (!is_at_end() && !is_at('\n') && !is_at('\r')) ++at_;
        } else if (byte == ' ' || byte == '\t' || (with_lines && (byte == '\n' || byte == '\r'))) {
            ++at_;
        } else {
            return;
        }
    }
}

bool is_of_name(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

std::string_view GbnfParser::name() {
    const size_t begin = at_;
    while (!is_at_end() && is_of_name(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
}

GbnfParser::Use& GbnfParser::use_of(std::string_view name, size_t at) {
    const auto known = rules_.find(name);
    if (known != rules_.end()) return known->second;
    const uint32_t rule = builder_.declare(fmt::format("{}: rule \"{}\"", place(at), name));
    return rules_.emplace(std::string(name), Use{at, rule, {}}).first->second;
}

Result<char32_t> GbnfParser::character() {
    const size_t begin = at_;
    if (is_at_end()) return refuse(at_, "the text ends within quotation marks or brackets");
    if (!is_at('\\')) {
        const CodePoint next = decode_code_point(text_.data() + at_, text_.data() + text_.size());
        if (next.value == kInvalidByte) return refuse(at_, "byte 0x{:02x} is no UTF-8", static_cast<uint8_t>(peek()));
        at_ += next.length_bytes;
        return next.value;
    }
    ++at_;
    const char kind = peek();
    if (is_at_end()) return refuse(begin, "a lone '\\' at the end");
    ++at_;
    switch (kind) {
        case 'n':
            return U'\n';
        case 'r':
            return U'\r';
        case 't':
            return U'\t';
        case '\\':
        case '"':
        case '[':
        case ']':
        case '-':
            return static_cast<char32_t>(kind);
        case 'x':
        case 'u':
        case 'U': {
            const int digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
            uint32_t value = 0;
            for (int i = 0; i < digits; ++i, ++at_) {
                const char digit = peek();
                const char lower = static_cast<char>(digit | 0x20);
                if (digit >= '0' && digit <= '9')
                    value = value << 4 | static_cast<uint32_t>(digit - '0');
                else if (lower >= 'a' && lower <= 'f')
                    value = value << 4 | static_cast<uint32_t>(lower - 'a' + 10);
                else
                    return refuse(begin, "'\\{}' wants {} hexadecimal digits, found {}", kind, digits, found());
            }
            if (value > 0x10FFFF)
                return refuse(begin, "\\{}{:0{}X} is no character: they end at 10FFFF", kind, value, digits);
            return value;
        }
        default:
            at_ = begin + 1;
            return refuse(begin,
                          "unknown escape of {}: there are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\xXX \\uXXXX "
                          "\\UXXXXXXXX",
                          found());
    }
}

Result<GbnfParser::Expression> GbnfParser::literal() {
    std::string text;
    for (++at_; !is_at('"');) {
        const size_t begin = at_;
        RIFTJIT_TRY(value, character());
        if (value >= 0xD800 && value <= 0xDFFF)
            return refuse(begin, "\\u{:04X} is half a character (a surrogate); write \\UXXXXXXXX", uint32_t(value));
        append_utf8(text, value);
    }
    ++at_;
    return builder_.literal(text);
}

Result<GbnfParser::Expression> GbnfParser::character_class() {
    const size_t begin = at_++;
    const bool is_negated = is_at('^');
    if (is_negated) ++at_;
    std::vector<CharacterRange> ranges;
    while (!is_at(']')) {
        const size_t first_at = at_;
        RIFTJIT_TRY(first, character());
        char32_t last = first;
        if (is_at('-') && peek(1) != ']') {
            ++at_;
            RIFTJIT_TRY(upper, character());
            last = upper;
        }
        if (last < first)
            return refuse(first_at, "a range from U+{:04X} down to U+{:04X} has no character", uint32_t(first),
                          uint32_t(last));
        ranges.push_back({first, last});
    }
    ++at_;
    const Expression made = builder_.characters(is_negated ? complement(std::move(ranges)) : std::move(ranges));
    if (made == builder_.never()) return refuse(begin, "no character is in this class");
    return made;
}

Result<GbnfParser::Expression> GbnfParser::token() {
    const size_t begin = at_;
    Automaton::Token token{.where = place(begin), .text = {}, .id = -1, .is_negated = is_at('!')};
    if (token.is_negated) ++at_;
    if (!is_at('<')) return refuse(at_, "'!' stands before a token, <text> or <[id]>, not before {}", found());
    const size_t close = text_.find('>', at_);
    if (close == std::string_view::npos) return refuse(at_, "'<' without '>'");
    if (peek(1) == '[') {
        at_ += 2;
        RIFTJIT_TRY(id, number());
        if (!text_.substr(at_).starts_with("]>")) return refuse(at_, "expected ']>', found {}", found());
        token.id = id;
        at_ += 2;
    } else {
        token.text = std::string(text_.substr(at_, close + 1 - at_));
        at_ = close + 1;
    }
    return builder_.token(std::move(token));
}

Result<uint32_t> GbnfParser::number() {
    const size_t begin = at_;
    uint64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
        value = value * 10 + static_cast<uint64_t>(peek() - '0');
        if (value >= GrammarBuilder::kUnlimited)
            return refuse(begin, "the number is beyond {}", GrammarBuilder::kUnlimited - 1);
    }
    if (at_ == begin) return refuse(begin, "expected a number, found {}", found());
    return static_cast<uint32_t>(value);
}

Result<std::optional<GbnfParser::Expression>> GbnfParser::item(int depth) {
    if (is_at_end()) return std::nullopt;
    const size_t begin = at_;
    switch (peek()) {
        case '"':
            return literal();
        case '[':
            return character_class();
        case '<':
        case '!':
            return token();
        case '.':
            ++at_;
            return builder_.characters({{0, 0x10FFFF}});
        case '(': {
            if (depth == kMostNesting) return refuse(at_, "groups are nested deeper than {}", kMostNesting);
            ++at_;
            skip_space(true);
            RIFTJIT_TRY(group, alternatives(depth + 1));
            if (!is_at(')')) return refuse(at_, "expected ')' for the '(' at {}, found {}", place(begin), found());
            ++at_;
            return group;
        }
        default:
            if (is_of_name(peek())) {
                const std::string_view called = name();
                return builder_.call(use_of(called, begin).rule);
            }
            return std::nullopt;
    }
}

// What '*', '+', '?' and '{m,n}' make of what stands before them; nullopt: none of these follows.
Result<std::optional<GbnfParser::Expression>> GbnfParser::repeated(Expression of) {
    uint32_t min = 0, max = GrammarBuilder::kUnlimited;
    const size_t begin = at_;
    switch (is_at_end() ? '\0' : peek()) {
        case '*':
            break;
        case '+':
            min = 1;
            break;
        case '?':
            max = 1;
            break;
        case '{': {
            const auto blank = [this] { skip_space(false); };
            ++at_;
            blank();
            RIFTJIT_TRY(least, number());
            min = max = least;
            blank();
            if (is_at(',')) {
                ++at_;
                blank();
                max = GrammarBuilder::kUnlimited;
                if (!is_at('}')) {
                    RIFTJIT_TRY(most, number());
                    max = most;
                    blank();
                }
            }
            if (!is_at('}')) return refuse(at_, "expected '}}' or ',', found {}", found());
            if (max < min) return refuse(begin, "{{{},{}}} repeats at most less often than at least", min, max);
            break;
        }
        default:
            return std::nullopt;
    }
    ++at_;
    return builder_.repeat(of, min, max);
}

Result<GbnfParser::Expression> GbnfParser::sequence(int depth) {
    std::vector<Expression> parts;
    while (true) {
        RIFTJIT_TRY(next, item(depth));
        if (!next) {
            const char byte = peek();
            if (!is_at_end() && (byte == '*' || byte == '+' || byte == '?' || byte == '{'))
                return refuse(at_, "'{}' has nothing before it that it could repeat", byte);
            break;
        }
        Expression made = *next;
        for (skip_space(depth > 0);; skip_space(depth > 0)) {
            RIFTJIT_TRY(more, repeated(made));
            if (!more) break;
            made = *more;
        }
        parts.push_back(made);
        if (builder_.is_too_large())
            return refuse(at_, "the grammar is too large: more than {} parts", GrammarBuilder::kMostParts);
    }
    return builder_.sequence(std::move(parts));
}

Result<GbnfParser::Expression> GbnfParser::alternatives(int depth) {
    std::vector<Expression> made;
    while (true) {
        RIFTJIT_TRY(one, sequence(depth));
        made.push_back(one);
        if (!is_at('|')) break;
        ++at_;
        skip_space(true);
    }
    return builder_.choice(std::move(made));
}

Result<void> GbnfParser::rule() {
    const size_t begin = at_;
    const std::string_view defined = name();
    if (defined.empty()) return refuse(at_, "expected a rule, `name ::= ...`, found {}", found());
    skip_space(false);
    if (!text_.substr(at_).starts_with("::="))
        return refuse(at_, "expected '::=' behind \"{}\", found {}", defined, found());
    at_ += 3;
    skip_space(true);
    Use& use = use_of(defined, begin);
    const uint32_t defining = use.rule;
    const bool is_again = builder_.is_defined(defining);
    if (is_again && warnings_.empty())
        warnings_.push_back(fmt::format("{}: rule \"{}\" is defined again, after {}: of such rules the last ones hold",
                                        place(begin), defined, use.defined_at));
    use.defined_at = place(begin);
    RIFTJIT_TRY(body, alternatives(0));
    builder_.define(defining, body);
    if (!is_at_end() && !is_at('\n') && !is_at('\r'))
        return refuse(at_, "expected the end of the line or more of rule \"{}\", found {}", defined, found());
    skip_space(true);
    return {};
}

Result<std::shared_ptr<const Grammar>> GbnfParser::parse(std::string_view root) {
    if (text_.size() > kMostGrammarBytes)
        return fail(ErrorKind::Unsupported, "1:1: the grammar has {} bytes, more than {}", text_.size(),
                    kMostGrammarBytes);
    skip_space(true);
    while (!is_at_end()) RIFTJIT_TRY_VOID(rule());
    const std::pair<const std::string, Use>* missing = nullptr;
    for (const auto& known : rules_)
        if (!builder_.is_defined(known.second.rule) && (missing == nullptr || known.second.at < missing->second.at))
            missing = &known;
    if (missing != nullptr) return refuse(missing->second.at, "rule \"{}\" is not defined", missing->first);
    const auto start = rules_.find(root);
    if (start == rules_.end()) return refuse(at_, "the grammar has no rule \"{}\"", root);
    RIFTJIT_TRY(automaton, builder_.compile(start->second.rule));
    return std::make_shared<const Grammar>(std::move(automaton), std::move(warnings_));
}

}  // namespace

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view text, std::string_view root) {
    return GbnfParser(text).parse(root);
}

}  // namespace riftjit::engine
