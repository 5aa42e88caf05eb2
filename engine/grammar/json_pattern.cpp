#include <algorithm>

#include "engine/grammar/json_text_grammar.h"
#include "host/utf8.h"

namespace riftjit::engine {

GrammarBuilder::Expression json_characters(GrammarBuilder& builder, std::vector<CharacterRange> ranges) {
    const std::vector<CharacterRange> given = normalised(std::move(ranges));
    std::vector<CharacterRange> outside = complement(given);
    outside.insert(outside.end(), {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}});
    std::vector<GrammarBuilder::Expression> ways{builder.characters(complement(std::move(outside)))};
    for (const auto& [first, last] : given) {
        for (char32_t value = first; value <= std::min<char32_t>(last, 0x7F); ++value) {
            static constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
            const size_t place = kShort.find(static_cast<char>(value));
            if (place != std::string_view::npos)
                ways.push_back(builder.literal(std::string{'\\', kLetters[place]}));
            else if (value < 0x20 || value == 0x7F)
                ways.push_back(builder.literal(fmt::format("\\u{:04x}", uint32_t(value))));
        }
    }
    return builder.choice(std::move(ways));
}

namespace {

const std::vector<CharacterRange> kDigits{{'0', '9'}};
const std::vector<CharacterRange> kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const std::vector<CharacterRange> kSpaces{{'\t', '\r'}, {' ', ' '}};
// What any engine takes for a space.
const std::vector<CharacterRange> kAllSpaces{{'\t', '\r'},     {0x1C, ' '},      {0x85, 0x85},     {0xA0, 0xA0},
                                             {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                                             {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const std::vector<CharacterRange> kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

std::vector<CharacterRange> within_ascii(std::vector<CharacterRange> ranges) {
    std::vector<CharacterRange> outside = complement(std::move(ranges));
    outside.push_back({0x80, 0x10FFFF});
    return complement(std::move(outside));
}

class PatternParser {
public:
    using Expression = GrammarBuilder::Expression;

    PatternParser(GrammarBuilder& builder, std::string_view pattern) : builder_(builder), pattern_(pattern) {}

    Result<Expression> parse() {
        RIFTJIT_TRY(whole, alternatives(0));
        if (at_ < pattern_.size()) return refuse("an unmatched ')'");
        return whole;
    }

private:
    static constexpr int kMostNesting = 100;

    template <class... Args>
    std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
        return fail(ErrorKind::Unsupported, "{}", fmt::format(format, std::forward<Args>(args)...));
    }
    bool is_at(char byte) const { return at_ < pattern_.size() && pattern_[at_] == byte; }
    bool take(std::string_view text) {
        if (!pattern_.substr(at_).starts_with(text)) return false;
        at_ += text.size();
        return true;
    }
    Expression anything() {
        return builder_.repeat(json_characters(builder_, {{0, 0x10FFFF}}), 0, GrammarBuilder::kUnlimited);
    }

    Result<Expression> alternatives(int depth);
    Result<Expression> sequence(int depth);
    Result<Expression> atom(int depth);
    Result<Expression> quantified(Expression of);
    Result<std::vector<CharacterRange>> class_of_characters();
    struct Escape {
        std::vector<CharacterRange> ranges;
        bool is_set = false;  // of several characters, not one
        char letter = 0;      // of a set
    };
    Result<Escape> escape(bool is_in_class);
    Result<char32_t> hexadecimal(size_t digits);
    char32_t character();

    GrammarBuilder& builder_;
    std::string_view pattern_;
    size_t at_ = 0;
};

char32_t PatternParser::character() {
    const CodePoint next = decode_code_point(pattern_.data() + at_, pattern_.data() + pattern_.size());
    at_ += next.length_bytes;
    return next.value == kInvalidByte ? 0xFFFD : next.value;
}

Result<char32_t> PatternParser::hexadecimal(size_t digits) {
    const bool is_braced = digits == 4 && take("{");
    char32_t value = 0;
    size_t count = 0;
    for (; at_ < pattern_.size() && count < (is_braced ? 6 : digits); ++at_, ++count) {
        const char digit = pattern_[at_], lower = static_cast<char>(digit | 0x20);
        if (digit >= '0' && digit <= '9')
            value = value << 4 | static_cast<char32_t>(digit - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | static_cast<char32_t>(lower - 'a' + 10);
        else
            break;
    }
    if (count == 0 || (!is_braced && count != digits) || (is_braced && !take("}")))
        return refuse("an escape without its hexadecimal digits");
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return refuse("an escape that is no character");
    return value;
}

Result<PatternParser::Escape> PatternParser::escape(bool is_in_class) {
    if (at_ == pattern_.size()) return refuse("a lone '\\' at its end");
    const auto one = [](char32_t value) { return Escape{{{value, value}}, false, 0}; };
    const char32_t kind = character();
    switch (kind) {
        case 'd':
            return Escape{kDigits, true, 'd'};
        case 'w':
            return Escape{kWord, true, 'w'};
        case 's':
            return Escape{kSpaces, true, 's'};
        case 'D':
            return Escape{within_ascii(complement(kDigits)), true, 'D'};
        case 'W':
            return Escape{within_ascii(complement(kWord)), true, 'W'};
        case 'S':
            return Escape{complement(kAllSpaces), true, 'S'};
        case 'n':
            return one('\n');
        case 'r':
            return one('\r');
        case 't':
            return one('\t');
        case 'f':
            return one('\f');
        case 'v':
            return one('\v');
        case 'b':
            if (is_in_class) return one('\b');
            return refuse("\\b");
        case '0':
            if (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9') return refuse("an octal escape");
            return one(0);
        case 'x': {
            RIFTJIT_TRY(value, hexadecimal(2));
            return one(value);
        }
        case 'u': {
            RIFTJIT_TRY(value, hexadecimal(4));
            return one(value);
        }
        default: {
            const bool is_letter = (kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z');
            if (is_letter || (kind >= '1' && kind <= '9')) return refuse("\\{}", static_cast<char>(kind));
            return one(kind);
        }
    }
}

Result<std::vector<CharacterRange>> PatternParser::class_of_characters() {
    const bool is_negated = take("^");
    std::vector<CharacterRange> ranges;
    bool is_ascii = false;
    while (!is_at(']')) {
        if (at_ == pattern_.size()) return refuse("'[' without ']'");
        Escape first;
        if (take("\\")) {
            RIFTJIT_TRY(escaped, escape(true));
            first = escaped;
        } else {
            const char32_t value = character();
            first.ranges = {{value, value}};
        }
        if (first.is_set) {
            if (is_negated && first.letter == 'S') return refuse("\\S in a negated class");
            if (is_negated && first.letter == 's') first.ranges = kAllSpaces;
            is_ascii |= is_negated && first.letter != 's';
            ranges.insert(ranges.end(), first.ranges.begin(), first.ranges.end());
            continue;
        }
        CharacterRange range = first.ranges[0];
        if (is_at('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
            ++at_;
            if (take("\\")) {
                RIFTJIT_TRY(escaped, escape(true));
                if (escaped.is_set) return refuse("a range up to a class");
                range.last = escaped.ranges[0].last;
            } else {
                range.last = character();
            }
            if (range.last < range.first) return refuse("a range that ends before it begins");
        }
        ranges.push_back(range);
    }
    ++at_;
    if (is_negated) ranges = complement(std::move(ranges));
    if (is_ascii) ranges = within_ascii(std::move(ranges));
    return ranges;
}

Result<PatternParser::Expression> PatternParser::atom(int depth) {
    if (take("(")) {
        if (depth == kMostNesting) return refuse("groups nested deeper than {}", kMostNesting);
        if (take("?")) {
            if (take("<") && !is_at('=') && !is_at('!')) {
                while (at_ < pattern_.size() && pattern_[at_] != '>') ++at_;
                if (!take(">")) return refuse("a group's name without its end");
            } else if (!take(":")) {
                return refuse("a group that begins with '(?{}'", at_ < pattern_.size() ? pattern_.substr(at_, 1) : "");
            }
        }
        RIFTJIT_TRY(group, alternatives(depth + 1));
        if (!take(")")) return refuse("'(' without ')'");
        return group;
    }
    if (take(".")) return json_characters(builder_, complement(kLineEnds));
    if (take("[")) {
        RIFTJIT_TRY(ranges, class_of_characters());
        return json_characters(builder_, std::move(ranges));
    }
    if (take("\\")) {
        RIFTJIT_TRY(escaped, escape(false));
        return json_characters(builder_, escaped.ranges);
    }
    const char next = pattern_[at_];
    if (next == '^' || next == '$') return refuse("'{}' other than at the ends of its alternatives", next);
    if (next == '*' || next == '+' || next == '?' || next == '{') return refuse("'{}' with nothing before it", next);
    const char32_t value = character();
    return json_characters(builder_, {{value, value}});
}

Result<PatternParser::Expression> PatternParser::quantified(Expression of) {
    uint32_t min = 0, max = GrammarBuilder::kUnlimited;
    if (take("*")) {
    } else if (take("+")) {
        min = 1;
    } else if (take("?")) {
        max = 1;
    } else if (take("{")) {
        const auto number = [this]() -> std::optional<uint32_t> {
            uint64_t value = 0;
            const size_t begin = at_;
            for (; at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_) {
                value = value * 10 + static_cast<uint64_t>(pattern_[at_] - '0');
                if (value >= GrammarBuilder::kUnlimited) return std::nullopt;
            }
            return at_ == begin ? std::nullopt : std::optional(static_cast<uint32_t>(value));
        };
        const auto least = number();
        if (!least) return refuse("'{{' without a number");
        min = max = *least;
        if (take(",")) {
            max = GrammarBuilder::kUnlimited;
            if (!is_at('}')) {
                const auto most = number();
                if (!most) return refuse("'{{' without its second number");
                max = *most;
            }
        }
        if (!take("}")) return refuse("'{{' without '}}'");
        if (max < min) return refuse("'{{{},{}}}'", min, max);
    } else {
        return of;
    }
    take("?");  // fewer or more first: the same texts
    if (is_at('+') || is_at('*') || is_at('?') || is_at('{')) return refuse("a repetition of a repetition");
    return builder_.repeat(of, min, max);
}

// At the ends of an outermost alternative '^' and '$' say that nothing stands beyond it; else anything may.
Result<PatternParser::Expression> PatternParser::sequence(int depth) {
    std::vector<Expression> parts;
    if (depth == 0 && !take("^")) parts.push_back(anything());
    bool is_closed = depth > 0;
    while (at_ < pattern_.size() && !is_at('|') && !is_at(')')) {
        if (depth == 0 && is_at('$') && (at_ + 1 == pattern_.size() || pattern_[at_ + 1] == '|')) {
            ++at_;
            is_closed = true;
            break;
        }
        RIFTJIT_TRY(one, atom(depth));
        RIFTJIT_TRY(many, quantified(one));
        parts.push_back(many);
        if (builder_.is_too_large()) return refuse("more than {} parts", GrammarBuilder::kMostParts);
    }
    if (!is_closed) parts.push_back(anything());
    return builder_.sequence(std::move(parts));
}

Result<PatternParser::Expression> PatternParser::alternatives(int depth) {
    std::vector<Expression> made;
    do {
        RIFTJIT_TRY(one, sequence(depth));
        made.push_back(one);
    } while (take("|"));
    return builder_.choice(std::move(made));
}

}  // namespace

Result<GrammarBuilder::Expression> json_pattern(GrammarBuilder& builder, std::string_view pattern) {
    return PatternParser(builder, pattern).parse();
}

}  // namespace riftjit::engine
