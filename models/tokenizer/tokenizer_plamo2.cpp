// PLaMo 2: of all ways to cut a text into tokens, the one whose scores add up to most; a character without a token is
// spelled in bytes. Scores are whole ten-thousandths, so that sums are exact.
#include <cmath>

#include "host/utf8.h"
#include "models/tokenizer/scored_pairs.h"
#include "models/tokenizer/token_trie.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/unknown_text.h"

namespace riftjit::models {

namespace {

constexpr double kScale = 1e4;
constexpr double kLeastScore = -20'000'000;       // a token is not used at or below
constexpr int64_t kCharacterScore = -10'000'000;  // of a character that is spelled
constexpr int64_t kWorstScore = -(int64_t{1} << 60);

class Plamo2Encoder final : public TextEncoder {
public:
    Plamo2Encoder(const Vocabulary& vocabulary, UnknownText unknown, const std::vector<float>& scores)
        : unknown_(unknown), trie_(usable_tokens(vocabulary, scores)) {
        scores_.reserve(scores.size());
        for (const float score : scores) scores_.push_back(scaled(score));
    }

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        std::vector<Cut> cuts;
        for (const TextPart& part : parts)
            part.token == Vocabulary::kNone ? add_text(part.text, cuts, result.ids) : result.ids.push_back(part.token);
        return {};
    }

private:
    struct Cut {  // the best way from a place to the end: its sum, its first token, and where that ends
        int64_t score;
        int32_t id;
        size_t end;
    };

    static int64_t scaled(float score) {
        return static_cast<int64_t>(std::round(std::max(static_cast<double>(score) * kScale, kLeastScore)));
    }

    static std::vector<TokenTrie::Entry> usable_tokens(const Vocabulary& vocabulary, const std::vector<float>& scores) {
        std::vector<TokenTrie::Entry> entries;
        entries.reserve(vocabulary.size());
        for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id)
            if (vocabulary.is_text(id) && scaled(scores[id]) > static_cast<int64_t>(kLeastScore))
                entries.push_back({vocabulary.text(id), id});
        return entries;
    }

    void add_text(std::string_view text, std::vector<Cut>& cuts, std::vector<int32_t>& ids) const {
        cuts.assign(text.size() + 1, {kWorstScore, Vocabulary::kNone, 0});
        cuts[text.size()].score = 0;
        mark_characters(text, cuts);
        for (size_t begin = text.size(); begin-- > 0;)
            if (cuts[begin].end > 0) choose(text, begin, cuts);
        for (size_t begin = 0; begin < text.size(); begin = cuts[begin].end) {
            if (cuts[begin].id != Vocabulary::kNone) {
                ids.push_back(cuts[begin].id);
            } else {
                unknown_.append(text.substr(begin, cuts[begin].end - begin), ids.size(), ids);
            }
        }
    }

    // At the beginning of each character, where it ends.
    static void mark_characters(std::string_view text, std::vector<Cut>& cuts) {
        for (size_t begin = 0; begin < text.size(); begin = cuts[begin].end)
            cuts[begin].end = begin + decode_code_point(text.data() + begin, text.data() + text.size()).length_bytes;
    }

    // Longer tokens win over shorter ones of equal sum, and any token over spelling.
    void choose(std::string_view text, size_t begin, std::vector<Cut>& cuts) const {
        Cut best = {cuts[cuts[begin].end].score + kCharacterScore, Vocabulary::kNone, cuts[begin].end};
        trie_.for_each_front(text.substr(begin), [&](int32_t id, size_t size) {
            const Cut& next = cuts[begin + size];
            if (next.score == kWorstScore) return;
            const int64_t score = next.score + scores_[id];
            if (score >= best.score) best = {score, id, begin + size};
        });
        cuts[begin] = best;
    }

    UnknownText unknown_;
    TokenTrie trie_;
    std::vector<int64_t> scores_;
};

}  // namespace

MadeEncoder make_plamo2_encoder(const EncoderSource& source) {
    RIFTJIT_TRY(scores, read_scores(source.file, source.vocabulary));
    RIFTJIT_TRY(unknown, UnknownText::read(source));
    return std::make_unique<const Plamo2Encoder>(source.vocabulary, unknown, scores);
}

}  // namespace riftjit::models
