// UGM: SentencePiece's unigram model. Of all ways to cut a word into tokens, the one whose scores add up to most.
#include <deque>
#include <limits>

#include "host/utf8.h"
#include "models/tokenizer/scored_pairs.h"
#include "models/tokenizer/sentence_normalizer.h"
#include "models/tokenizer/space_words.h"
#include "models/tokenizer/token_trie.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/unknown_text.h"
#include "models/tokenizer/word_cache.h"

namespace riftjit::models {

namespace {

constexpr double kUnknownPenalty = 10;  // below the lowest score of a normal token

std::vector<TokenTrie::Entry> text_tokens(const Vocabulary& vocabulary) {
    std::vector<TokenTrie::Entry> entries;
    entries.reserve(vocabulary.size());
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id)
        if (vocabulary.is_text(id)) entries.push_back({vocabulary.text(id), id});
    return entries;
}

class UgmEncoder final : public TextEncoder {
public:
    UgmEncoder(const Vocabulary& vocabulary, SentenceNormalizer normalizer, UnknownText unknown,
               std::vector<float> scores)
        : normalizer_(std::move(normalizer)),
          unknown_(unknown),
          words_(vocabulary),
          trie_(text_tokens(vocabulary)),
          scores_(std::move(scores)) {
        double lowest = std::numeric_limits<float>::max();
        for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id)
            if (vocabulary.type(id) == TokenType::normal) lowest = std::min<double>(lowest, scores_[id]);
        unknown_score_ = lowest - kUnknownPenalty;
    }

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        size_t total_bytes = 0;
        for (const TextPart& part : parts) total_bytes += part.text.size();
        Run run(*this, total_bytes, result);
        for (const TextPart& part : parts)
            part.token == Vocabulary::kNone ? run.add_text(part.text) : result.ids.push_back(part.token);
        return run.result();
    }

private:
    // One text on its way to ids.
    class Run {
    public:
        Run(const UgmEncoder& tables, size_t text_bytes, EncodedText& result)
            : tables_(tables), result_(result), cache_(text_bytes) {}

        void add_text(std::string_view text) {
            std::string& normalized = normalized_.emplace_back();
            tables_.normalizer_.append_normalized(text, normalized);
            for (size_t begin = 0; begin < normalized.size();) {
                const size_t end = tables_.words_.end_of_word(normalized, begin);
                const std::string_view word = std::string_view(normalized).substr(begin, end - begin);
                cache_.add_word(word, result_.ids, [&] { cut_word(word); });
                begin = end;
            }
        }
        Result<void> result() const { return cache_.result(); }

    private:
        struct Cut {  // the best way to get to a place: its sum, its last token, and where that begins
            double score;
            int32_t id;
            size_t begin;
        };

        void cut_word(std::string_view word) {
            cuts_.assign(word.size() + 1, {-std::numeric_limits<double>::infinity(), Vocabulary::kNone, 0});
            cuts_[0].score = 0;
            for (size_t begin = 0; begin < word.size();) {
                const CodePoint character = decode_code_point(word.data() + begin, word.data() + word.size());
                try_tokens(word, begin, character.length_bytes);
                begin += character.length_bytes;
            }
            collect(word);
        }

        void try_tokens(std::string_view word, size_t begin, size_t character_bytes) {
            bool is_covered = false;
            tables_.trie_.for_each_front(word.substr(begin), [&](int32_t id, size_t size) {
                improve(begin + size, begin, id, tables_.scores_[id]);
                is_covered |= size == character_bytes;
            });
            if (!is_covered) improve(begin + character_bytes, begin, Vocabulary::kNone, tables_.unknown_score_);
        }

        void improve(size_t end, size_t begin, int32_t id, double score) {
            score += cuts_[begin].score;
            if (score > cuts_[end].score) cuts_[end] = {score, id, begin};
        }

        void collect(std::string_view word) {
            pieces_.clear();
            for (size_t end = word.size(); end > 0; end = cuts_[end].begin) pieces_.push_back(end);
            const size_t first_id = result_.ids.size();
            for (size_t i = pieces_.size(); i-- > 0;) {
                const auto& [score, id, begin] = cuts_[pieces_[i]];
                if (id != Vocabulary::kNone) {
                    result_.ids.push_back(id);
                } else {
                    tables_.unknown_.append(word.substr(begin, pieces_[i] - begin), first_id, result_.ids);
                }
            }
        }

        const UgmEncoder& tables_;
        EncodedText& result_;
        WordCache cache_;
        std::deque<std::string> normalized_;  // the cache points into them
        std::vector<Cut> cuts_;
        std::vector<size_t> pieces_;
    };

    SentenceNormalizer normalizer_;
    UnknownText unknown_;
    SpaceWords words_;
    TokenTrie trie_;
    std::vector<float> scores_;
    double unknown_score_ = 0;
};

}  // namespace

MadeEncoder make_ugm_encoder(const EncoderSource& source) {
    RIFTJIT_TRY(scores, read_scores(source.file, source.vocabulary));
    RIFTJIT_TRY(normalizer, SentenceNormalizer::read(source.file, InvalidBytes::replaced));
    RIFTJIT_TRY(unknown, UnknownText::read(source));
    return std::make_unique<const UgmEncoder>(source.vocabulary, std::move(normalizer), unknown, std::move(scores));
}

}  // namespace riftjit::models
