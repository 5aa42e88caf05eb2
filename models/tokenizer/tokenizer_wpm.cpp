// WPM: BERT's WordPiece. Words of letters, punctuation and ideographs by themselves; each is cut into the longest
// tokens from the left, or is one unknown token. Files write a word's first token with U+2581 in front, the others as
// they are.
#include <utf8proc.h>

#include <algorithm>

#include "host/utf8.h"
#include "models/tokenizer/token_trie.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/tokenizer_wpm_table.h"

namespace riftjit::models {

namespace {

constexpr size_t kMaxWordCharacters = 100;  // a longer word is unknown

utf8proc_category_t category_of(char32_t value) { return utf8proc_category(static_cast<utf8proc_int32_t>(value)); }

bool is_white_space(char32_t value) {
    if (value < 0x80) return value == ' ' || (value >= '\t' && value <= '\r');
    const utf8proc_category_t category = category_of(value);
    return value == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

// What the published tokenizer cleans away: characters that show nothing.
bool is_dropped(char32_t value) {
    if (value == 0 || value == 0xFFFD || value == kInvalidByte) return true;
    if (value == '\t' || value == '\n' || value == '\r') return false;
    const utf8proc_category_t category = category_of(value);
    const bool shows_nothing =
        category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
    return shows_nothing && !is_taken_for_letter(value);
}

bool is_word_of_its_own(char32_t value) {
    if (value < 0x80)
        return (value >= '!' && value <= '/') || (value >= ':' && value <= '@') || (value >= '[' && value <= '`') ||
               (value >= '{' && value <= '~');
    if (value == 0x166D || value == 0x111C9) return true;  // were punctuation once
    const utf8proc_category_t category = category_of(value);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO && !is_taken_for_letter(value);
}

// The published tokenizer's ranges, a slip (0x2B920 for 0x2B820) included.
bool is_ideograph(char32_t value) {
    return (value >= 0x4E00 && value <= 0x9FFF) || (value >= 0x3400 && value <= 0x4DBF) ||
           (value >= 0x20000 && value <= 0x2A6DF) || (value >= 0x2A700 && value <= 0x2B73F) ||
           (value >= 0x2B740 && value <= 0x2B81F) || (value >= 0x2B920 && value <= 0x2CEAF) ||
           (value >= 0xF900 && value <= 0xFAFF) || (value >= 0x2F800 && value <= 0x2FA1F);
}

enum class PiecePlace : uint8_t { front, behind };  // of a word
std::vector<TokenTrie::Entry> word_pieces(const Vocabulary& vocabulary, PiecePlace place) {
    std::vector<TokenTrie::Entry> entries;
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id) {
        std::string_view text = vocabulary.text(id);
        if (!vocabulary.is_plain(id) || text.starts_with(kSpaceMark) != (place == PiecePlace::front)) continue;
        if (place == PiecePlace::front) text.remove_prefix(kSpaceMark.size());
        entries.push_back({text, id});
    }
    return entries;
}

// Code points in canonical order, without accents: a run of marks is sorted before any of them goes.
class AccentStripper {
public:
    void append_stripped(std::vector<char32_t>& text) {
        plain_.clear();
        marks_.clear();
        for (const char32_t value : text) {
            utf8proc_int32_t parts[8];
            int boundary = 0;
            const auto count = utf8proc_decompose_char(
                static_cast<utf8proc_int32_t>(value), parts, std::size(parts),
                static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
            check(count > 0 && count <= static_cast<utf8proc_ssize_t>(std::size(parts)), "a code point decomposes");
            for (utf8proc_ssize_t i = 0; i < count; ++i) add(parts[i]);
        }
        flush_marks();
        text.swap(plain_);
    }

private:
    void add(utf8proc_int32_t value) {
        if (utf8proc_get_property(value)->combining_class != 0) {
            marks_.push_back(value);
            return;
        }
        flush_marks();
        keep(value);
    }
    void flush_marks() {
        std::ranges::stable_sort(marks_, {},
                                 [](utf8proc_int32_t value) { return utf8proc_get_property(value)->combining_class; });
        for (const utf8proc_int32_t mark : marks_) keep(mark);
        marks_.clear();
    }
    void keep(utf8proc_int32_t value) {
        const auto character = static_cast<char32_t>(value);
        const bool is_accent = character == 0x1734 ||  // was one once
                               (utf8proc_category(value) == UTF8PROC_CATEGORY_MN && !is_taken_for_letter(character));
        if (!is_accent) plain_.push_back(character);
    }

    std::vector<char32_t> plain_;
    std::vector<utf8proc_int32_t> marks_;
};

struct WordForm {
    bool is_lowercase, has_no_accents;
};

class WpmEncoder final : public TextEncoder {
public:
    WpmEncoder(const Vocabulary& vocabulary, int32_t unknown, WordForm form)
        : fronts_(word_pieces(vocabulary, PiecePlace::front)),
          behind_(word_pieces(vocabulary, PiecePlace::behind)),
          unknown_(unknown),
          form_(form) {}

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        for (const TextPart& part : parts)
            part.token == Vocabulary::kNone ? add_text(part.text, result.ids) : result.ids.push_back(part.token);
        return {};
    }

private:
    std::vector<char32_t> normalized(std::string_view text) const {
        std::vector<char32_t> result;
        result.reserve(text.size());
        const char* end = text.data() + text.size();
        for (const char* position = text.data(); position < end;) {
            const CodePoint code_point = decode_code_point(position, end);
            position += code_point.length_bytes;
            if (!is_dropped(code_point.value)) append_apart(code_point.value, result);
        }
        if (form_.has_no_accents) AccentStripper().append_stripped(result);
        if (form_.is_lowercase) lower(result);
        return result;
    }

    // Ideographs get spaces around them before anything is decomposed.
    static void append_apart(char32_t value, std::vector<char32_t>& result) {
        const bool is_apart = is_ideograph(value);
        if (is_apart) result.push_back(' ');
        result.push_back(value);
        if (is_apart) result.push_back(' ');
    }

    static void lower(std::vector<char32_t>& text) {
        constexpr char32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;  // the one that becomes two
        std::vector<char32_t> result;
        result.reserve(text.size());
        for (const char32_t value : text) {
            const bool is_two = value == kCapitalIWithDot;
            result.push_back(is_two ? 'i'
                                    : static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value))));
            if (is_two) result.push_back(kDotAbove);
        }
        text.swap(result);
    }

    void add_text(std::string_view text, std::vector<int32_t>& ids) const {
        std::string word;
        size_t characters = 0;
        const auto end_word = [&] {
            if (characters > 0) add_word(word, characters, ids);
            word.clear();
            characters = 0;
        };
        for (const char32_t value : normalized(text)) {
            const bool is_apart = is_word_of_its_own(value);
            if (is_apart || is_white_space(value)) end_word();
            if (is_white_space(value)) continue;
            append_utf8(word, value);
            ++characters;
            if (is_apart) end_word();
        }
        end_word();
    }

    void add_word(std::string_view word, size_t characters, std::vector<int32_t>& ids) const {
        const size_t before = ids.size();
        const TokenTrie* pieces = &fronts_;
        while (!word.empty()) {
            const auto match = characters > kMaxWordCharacters ? TokenTrie::Match() : pieces->longest(word);
            if (match.id < 0) {
                ids.resize(before);
                ids.push_back(unknown_);
                return;
            }
            ids.push_back(match.id);
            word.remove_prefix(match.end);
            pieces = &behind_;
        }
    }

    TokenTrie fronts_, behind_;  // a word's first token, without its mark, and the others
    int32_t unknown_;
    WordForm form_;
};

}  // namespace

MadeEncoder make_wpm_encoder(const EncoderSource& source) {
    RIFTJIT_TRY(is_lowercase, source.file.boolean("tokenizer.ggml.normalizer.lowercase"));
    RIFTJIT_TRY(has_no_accents, source.file.boolean("tokenizer.ggml.normalizer.strip_accents"));
    if (!source.special_ids.unknown)
        return fail(ErrorKind::Format,
                    "{}: tokenizer.ggml.unknown_token_id is not set: a word without tokens would have no id",
                    printable(source.file.path().native()));
    const WordForm form = {is_lowercase.value_or(true), has_no_accents.value_or(is_lowercase.value_or(true))};
    return std::make_unique<const WpmEncoder>(source.vocabulary, *source.special_ids.unknown, form);
}

}  // namespace riftjit::models
