// BPE over characters: spaces are marks (U+2581) or left out, merges are of characters, and a character without a token
// is spelled in bytes.
#include <utf8proc.h>

#include <deque>
#include <string>

#include "host/utf8.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/pretokenizer.h"
#include "models/tokenizer/space_words.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/tokenizer_merges.h"
#include "models/tokenizer/word_cache.h"

namespace riftjit::models {

namespace {

std::string with_space_marks(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        if (c == ' ') {
            result += kSpaceMark;
        } else {
            result += c;
        }
    }
    return result;
}

std::string in_small_letters(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    const char* end = text.data() + text.size();
    for (const char* position = text.data(); position < end;) {
        const CodePoint code_point = decode_code_point(position, end);
        if (code_point.value == kInvalidByte) {
            result += *position;
        } else {
            append_utf8(result,
                        static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point.value))));
        }
        position += code_point.length_bytes;
    }
    return result;
}

bool is_space(std::string_view word) {  // words are all space or have none
    const char32_t value = decode_code_point(word.data(), word.data() + word.size()).value;
    if (value == kInvalidByte) return false;
    return (value >= '\t' && value <= '\r') || value == 0x85 ||
           utf8proc_category(static_cast<utf8proc_int32_t>(value)) == UTF8PROC_CATEGORY_ZS || value == 0x2028 ||
           value == 0x2029;
}

class CharacterEncoder final : public TextEncoder {
public:
    CharacterEncoder(const EncoderSource& source, BpeMerges merges, bool is_lowercase)
        : vocabulary_(source.vocabulary),
          pretokenizer_(source.rule->family),
          unknown_(source.special_ids.unknown),
          merges_(std::move(merges)),
          words_(source.vocabulary),
          drops_spaces_(source.rule->family == SplitFamily::spaced),
          is_lowercase_(is_lowercase) {}

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        size_t total_bytes = 0;
        for (const TextPart& part : parts) total_bytes += part.text.size();
        Run run(*this, total_bytes, result);
        for (const TextPart& part : parts) {
            if (part.token != Vocabulary::kNone) {
                result.ids.push_back(part.token);
            } else {
                RIFTJIT_TRY_VOID(run.add_text(part.text));
            }
        }
        return run.result();
    }

private:
    // One text on its way to ids.
    class Run {
    public:
        Run(const CharacterEncoder& tables, size_t text_bytes, EncodedText& result)
            : tables_(tables), result_(result), cache_(text_bytes), merger_(tables.merges_) {}

        Result<void> add_text(std::string_view raw) {
            const std::string_view text = normalized_.emplace_back(!tables_.drops_spaces_  ? with_space_marks(raw)
                                                                   : tables_.is_lowercase_ ? in_small_letters(raw)
                                                                                           : std::string(raw));
            RIFTJIT_TRY_VOID(tables_.pretokenizer_.split(text, piece_ends_));
            size_t begin = 0;
            for (const size_t end : piece_ends_) {
                const std::string_view piece = text.substr(begin, end - begin);
                begin = end;
                if (!tables_.drops_spaces_) {
                    add_words(piece);
                } else if (!is_space(piece)) {
                    add_word(piece);
                }
            }
            return {};
        }
        Result<void> result() const { return cache_.result(); }

    private:
        void add_words(std::string_view piece) {
            for (size_t begin = 0; begin < piece.size();) {
                const size_t end = tables_.words_.end_of_word(piece, begin);
                add_word(piece.substr(begin, end - begin));
                begin = end;
            }
        }

        void add_word(std::string_view word) {
            cache_.add_word(word, result_.ids, [&] { merge_word(word); });
        }

        void merge_word(std::string_view word) {
            const Vocabulary& vocabulary = tables_.vocabulary_;
            const bool is_line_breaks = word.front() == '\n' && !tables_.drops_spaces_;
            if (is_line_breaks)
                if (const auto id = vocabulary.find_plain(word)) {
                    result_.ids.push_back(*id);
                    return;
                }
            symbols_.clear();
            const char* end = word.data() + word.size();
            for (const char* position = word.data(); position < end;) {
                const size_t length = decode_code_point(position, end).length_bytes;
                add_character({position, length});
                position += length;
            }
            merger_.merge(symbols_);
            result_.ids.insert(result_.ids.end(), symbols_.begin(), symbols_.end());
        }

        void add_character(std::string_view character) {
            const Vocabulary& vocabulary = tables_.vocabulary_;
            if (const auto id = vocabulary.find(character); id && vocabulary.is_text(*id)) {
                symbols_.push_back(*id);
                return;
            }
            for (const char c : character) {
                const auto byte = static_cast<uint8_t>(c);
                if (const int32_t id = vocabulary.byte_token(byte); id != Vocabulary::kNone) {
                    symbols_.push_back(id);
                } else if (tables_.unknown_) {
                    symbols_.push_back(*tables_.unknown_);  // one for the character
                    return;
                } else {
                    result_.left_out.set(byte);
                }
            }
        }

        const CharacterEncoder& tables_;
        EncodedText& result_;
        WordCache cache_;
        BpeMerger merger_;
        std::deque<std::string> normalized_;  // the cache points into them
        std::vector<size_t> piece_ends_;
        std::vector<int32_t> symbols_;
    };

    const Vocabulary& vocabulary_;
    Pretokenizer pretokenizer_;
    std::optional<int32_t> unknown_;
    BpeMerges merges_;
    SpaceWords words_;
    bool drops_spaces_, is_lowercase_;
};

}  // namespace

MadeEncoder make_character_encoder(const EncoderSource& source) {
    RIFTJIT_TRY(merges, read_merges(source.file, source.vocabulary, source.rule->name));
    RIFTJIT_TRY(is_lowercase, source.file.boolean("tokenizer.ggml.normalizer.lowercase"));
    return std::make_unique<const CharacterEncoder>(source, std::move(merges), is_lowercase.value_or(false));
}

}  // namespace riftjit::models
