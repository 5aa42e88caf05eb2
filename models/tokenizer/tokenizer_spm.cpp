// SPM: SentencePiece's BPE. Characters join where the token they make has the highest score; what remains without a
// token is spelled in bytes.
#include <deque>

#include "models/tokenizer/scored_pairs.h"
#include "models/tokenizer/sentence_normalizer.h"
#include "models/tokenizer/space_words.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/unknown_text.h"
#include "models/tokenizer/word_cache.h"

namespace riftjit::models {

namespace {

class SpmEncoder final : public TextEncoder {
public:
    SpmEncoder(const Vocabulary& vocabulary, SentenceNormalizer normalizer, UnknownText unknown,
               const std::vector<float>& scores)
        : vocabulary_(vocabulary),
          normalizer_(std::move(normalizer)),
          unknown_(unknown),
          words_(vocabulary),
          ranks_(ranks_of_scores(scores)) {}

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        size_t total_bytes = 0;
        for (const TextPart& part : parts) total_bytes += part.text.size();
        Run run(*this, total_bytes, result);
        for (const TextPart& part : parts)
            part.token == Vocabulary::kNone ? run.add_text(part.text) : run.add_token(part.token);
        return run.result();
    }

private:
    // One text on its way to ids.
    class Run {
    public:
        Run(const SpmEncoder& tables, size_t text_bytes, EncodedText& result)
            : tables_(tables),
              result_(result),
              cache_(text_bytes),
              pairs_(tables.vocabulary_, tables.ranks_),
              merger_(pairs_) {}

        void add_token(int32_t id) { result_.ids.push_back(id); }

        void add_text(std::string_view text) {
            std::string& normalized = normalized_.emplace_back();
            tables_.normalizer_.append_normalized(text, normalized);
            for (size_t begin = 0; begin < normalized.size();) {
                const size_t end = tables_.words_.end_of_word(normalized, begin);
                const std::string_view word = std::string_view(normalized).substr(begin, end - begin);
                cache_.add_word(word, result_.ids, [&] { merge_word(word); });
                begin = end;
            }
        }
        Result<void> result() const { return cache_.result(); }

    private:
        void merge_word(std::string_view word) {
            word_begin_ = result_.ids.size();
            symbols_.clear();
            const char* end = word.data() + word.size();
            for (const char* position = word.data(); position < end;)
                symbols_.push_back(pairs_.next_symbol(position, end));
            merger_.merge(symbols_);
            for (const int32_t symbol : symbols_) add_symbol(symbol);
        }

        void add_symbol(int32_t symbol) {
            if (symbol < 0) return tables_.unknown_.append(pairs_.text(symbol), word_begin_, result_.ids);
            if (const auto* halves = pairs_.halves(symbol)) {
                const auto [left, right] = *halves;
                add_symbol(left);
                add_symbol(right);
                return;
            }
            result_.ids.push_back(symbol);
        }

        const SpmEncoder& tables_;
        EncodedText& result_;
        WordCache cache_;
        ScoredPairs pairs_;
        PairMerger<ScoredPairs> merger_;
        std::deque<std::string> normalized_;  // the cache points into them
        std::vector<int32_t> symbols_;
        size_t word_begin_ = 0;
    };

    const Vocabulary& vocabulary_;
    SentenceNormalizer normalizer_;
    UnknownText unknown_;
    SpaceWords words_;
    std::vector<uint32_t> ranks_;
};

}  // namespace

MadeEncoder make_spm_encoder(const EncoderSource& source) {
    RIFTJIT_TRY(scores, read_scores(source.file, source.vocabulary));
    RIFTJIT_TRY(normalizer, SentenceNormalizer::read(source.file, InvalidBytes::kept));
    RIFTJIT_TRY(unknown, UnknownText::read(source));
    return std::make_unique<const SpmEncoder>(source.vocabulary, std::move(normalizer), unknown, scores);
}

}  // namespace riftjit::models
