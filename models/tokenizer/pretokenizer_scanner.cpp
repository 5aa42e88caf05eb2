#include "models/tokenizer/pretokenizer_scanner.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>

#include "host/utf8.h"

namespace riftjit::models {

namespace {

enum class CharClass : uint8_t { end, other, letter, mark, number, space, line_break };

CharClass classify_beyond_ascii(char32_t value) {
    if (value == kInvalidByte) return CharClass::other;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
            return CharClass::letter;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
            return CharClass::mark;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
            return CharClass::number;
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return CharClass::space;
        default:
            return value == 0x85 ? CharClass::space : CharClass::other;  // U+0085 is a control, yet white space
    }
}

constexpr std::array<CharClass, 128> kAsciiClasses = [] {
    std::array<CharClass, 128> classes{};
    for (size_t c = 0; c < 128; ++c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        classes[c] = is_letter                         ? CharClass::letter
                     : c >= '0' && c <= '9'            ? CharClass::number
                     : c == '\r' || c == '\n'          ? CharClass::line_break
                     : c == ' ' || (c >= 9 && c <= 12) ? CharClass::space
                                                       : CharClass::other;
    }
    return classes;
}();

enum class Marks : uint8_t { other, letters };  // how combining marks count
enum class Contractions : uint8_t { lower, any_case };

// Reads one text from left to right. Positions are byte pointers; everything is bounded by end_.
template <Marks marks>
class Reader {
public:
    explicit Reader(std::string_view text) : end_(text.data() + text.size()) {}

    struct Char {
        CharClass char_class;
        const char* next;
    };
    Char at(const char* position) const {
        if (position >= end_) return {CharClass::end, position};
        const auto byte = static_cast<unsigned char>(*position);
        if (byte < 0x80) return {kAsciiClasses[byte], position + 1};
        const CodePoint code_point = decode_multibyte(position, end_);
        CharClass char_class = classify_beyond_ascii(code_point.value);
        if (char_class == CharClass::mark) char_class = marks == Marks::letters ? CharClass::letter : CharClass::other;
        return {char_class, position + code_point.length_bytes};
    }
    const char* skip(CharClass char_class, const char* position) const {
        for (Char c = at(position); c.char_class == char_class; c = at(position)) position = c.next;
        return position;
    }
    const char* skip_up_to(size_t count, CharClass char_class, const char* position) const {
        for (; count > 0; --count) {
            const Char c = at(position);
            if (c.char_class != char_class) break;
            position = c.next;
        }
        return position;
    }
    const char* skip_line_breaks(const char* position) const {
        while (position < end_ && (*position == '\r' || *position == '\n')) ++position;
        return position;
    }

    struct SpaceRun {
        const char* end;
        const char* last;              // start of the last character
        const char* after_line_break;  // behind the last line break; null: none
    };
    SpaceRun space_run(const char* position) const {
        SpaceRun run = {position, position, nullptr};
        for (;;) {
            const Char c = at(run.end);
            if (c.char_class != CharClass::space && c.char_class != CharClass::line_break) return run;
            run.last = run.end;
            run.end = c.next;
            if (c.char_class == CharClass::line_break) run.after_line_break = c.next;
        }
    }

    // Behind 's, 't, 're, 've, 'm, 'll or 'd at `position`; null: none there.
    template <Contractions contractions>
    const char* contraction(const char* position) const {
        if (*position != '\'' || end_ - position < 2) return nullptr;
        const char first = fold<contractions>(position[1]);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') return position + 2;
        if (end_ - position < 3) return nullptr;
        const char second = fold<contractions>(position[2]);
        if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
            return position + 3;
        const bool is_long_s = position[1] == '\xC5' && position[2] == '\xBF';  // U+017F folds to s
        return contractions == Contractions::any_case && is_long_s ? position + 3 : nullptr;
    }

private:
    template <Contractions contractions>
    static char fold(char c) {
        return contractions == Contractions::any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }

    const char* const end_;
};

// [^\r\n\p{L}\p{N}]?\p{L}+ from `position`, whose character is `first`; null: no match.
template <Marks marks>
const char* scan_word(const Reader<marks>& reader, const char* position, typename Reader<marks>::Char first) {
    const char* letters = position;
    if (first.char_class == CharClass::other || first.char_class == CharClass::space) letters = first.next;
    const char* end = reader.skip(CharClass::letter, letters);
    return end == letters ? nullptr : end;
}

// The words of Qwen2 and Llama 3: contractions | words | numbers | punctuation and line breaks | spaces.
template <Marks marks, size_t max_numbers>
void scan_words(std::string_view text, std::vector<size_t>& ends) {
    const Reader<marks> reader(text);
    const char* const text_end = text.data() + text.size();
    for (const char* position = text.data(); position < text_end;) {
        const auto first = reader.at(position);
        const char* end = nullptr;
        if (*position == '\'') end = reader.template contraction<Contractions::any_case>(position);
        if (end == nullptr) end = scan_word(reader, position, first);
        if (end == nullptr && first.char_class == CharClass::number)
            end = reader.skip_up_to(max_numbers, CharClass::number, position);
        if (end == nullptr) {
            const char* punctuation = *position == ' ' ? first.next : position;
            end = reader.skip(CharClass::other, punctuation);
            end = end == punctuation ? nullptr : reader.skip_line_breaks(end);
        }
        if (end == nullptr) {
            const auto run = reader.space_run(position);
            const bool keeps_last = run.end < text_end && run.last > position;  // one space stays for the next word
            end = run.after_line_break != nullptr ? run.after_line_break : keeps_last ? run.last : run.end;
        }
        ends.push_back(end - text.data());
        position = end;
    }
}

enum class Numbers : uint8_t {
    runs,  // with the space before them
    alone  // each a word, isolated before all else: text ends in front of it
};

// GPT-2's words: contractions | words | numbers | punctuation, each with one space in front | spaces.
template <Numbers numbers>
void scan_gpt2_words(std::string_view text, std::vector<size_t>& ends) {
    const Reader<Marks::other> reader(text);
    const char* const text_end = text.data() + text.size();
    for (const char* position = text.data(); position < text_end;) {
        const auto first = reader.at(position);
        const char* end = reader.template contraction<Contractions::lower>(position);
        const auto body = *position == ' ' ? reader.at(first.next) : first;
        const bool is_body = body.char_class == CharClass::letter || body.char_class == CharClass::other ||
                             (body.char_class == CharClass::number && numbers == Numbers::runs);
        if (end == nullptr && first.char_class == CharClass::number && numbers == Numbers::alone) {
            end = first.next;
        } else if (end == nullptr && is_body) {
            end = reader.skip(body.char_class, body.next);
        } else if (end == nullptr) {
            const auto run = reader.space_run(position);
            const bool text_ends = run.end == text_end ||
                                   (numbers == Numbers::alone && reader.at(run.end).char_class == CharClass::number);
            end = !text_ends && run.last > position ? run.last : run.end;
        }
        ends.push_back(end - text.data());
        position = end;
    }
}

}  // namespace

WordScanner find_scanner(SplitFamily family) {
    switch (family) {
        case SplitFamily::qwen2:
            return scan_words<Marks::other, 1>;
        case SplitFamily::qwen35:
            return scan_words<Marks::letters, 1>;
        case SplitFamily::llama3:
            return scan_words<Marks::other, 3>;
        case SplitFamily::gpt2:
            return scan_gpt2_words<Numbers::runs>;
        case SplitFamily::starcoder:
            return scan_gpt2_words<Numbers::alone>;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::models
