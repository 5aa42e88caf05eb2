// Byte-level BPE: normalisation, words, merges over bytes.
#include <deque>
#include <string>

#include "models/tokenizer/bpe.h"
#include "models/tokenizer/pretokenizer.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/tokenizer_merges.h"
#include "models/tokenizer/tokenizer_nfc.h"
#include "models/tokenizer/word_cache.h"

namespace riftjit::models {

namespace {

bool stands_for_number(char c) {
    const auto byte = static_cast<uint8_t>(c);
    return (byte >= '0' && byte <= '9') || byte == 0xB2 || byte == 0xB3 || byte == 0xB9 ||
           (byte >= 0xBC && byte <= 0xBE);
}

class ByteLevelEncoder final : public TextEncoder {
public:
    ByteLevelEncoder(const Vocabulary& vocabulary, const PretokenizerRule& rule, BpeMerges merges)
        : vocabulary_(vocabulary), rule_(rule), pretokenizer_(rule.family), merges_(std::move(merges)) {}

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        size_t total_bytes = 0;
        for (const TextPart& part : parts) total_bytes += part.text.size();
        result.ids.reserve(result.ids.size() + total_bytes / 3);
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
        Run(const ByteLevelEncoder& tables, size_t text_bytes, EncodedText& result)
            : tables_(tables), result_(result), cache_(text_bytes), merger_(tables.merges_) {}

        Result<void> add_text(std::string_view text) {
            if (tables_.rule_.normalization == Normalization::nfc) text = to_nfc(text, normalized_.emplace_back());
            RIFTJIT_TRY_VOID(tables_.pretokenizer_.split(text, word_ends_));
            if (tables_.rule_.byte_cut == ByteCut::at_numbers) cut_at_numbers(text);
            size_t begin = 0;
            for (const size_t end : word_ends_) {
                const std::string_view word = text.substr(begin, end - begin);
                cache_.add_word(word, result_.ids, [&] { merge_word(word); });
                begin = end;
            }
            return {};
        }
        Result<void> result() const { return cache_.result(); }

    private:
        void cut_at_numbers(std::string_view text) {  // word_ends_, see ByteCut
            std::vector<size_t> ends;
            size_t begin = 0;
            for (const size_t end : word_ends_) {
                for (size_t i = begin + 1; i < end; ++i)
                    if (stands_for_number(text[i - 1]) != stands_for_number(text[i])) ends.push_back(i);
                ends.push_back(end);
                begin = end;
            }
            word_ends_.swap(ends);
        }

        void merge_word(std::string_view word) {
            if (tables_.rule_.whole_words == WholeWords::take) {
                stand_ins_.clear();
                for (const char c : word) append_stand_in(stand_ins_, static_cast<uint8_t>(c));
                if (const auto id = tables_.vocabulary_.find_plain(stand_ins_)) {
                    result_.ids.push_back(*id);
                    return;
                }
            }
            symbols_.clear();
            for (const char c : word) {
                const auto byte = static_cast<uint8_t>(c);
                const int32_t id = tables_.vocabulary_.byte_token(byte);
                if (id == Vocabulary::kNone) {
                    result_.left_out.set(byte);  // before the merges: its neighbours may become one token
                } else {
                    symbols_.push_back(id);
                }
            }
            merger_.merge(symbols_);
            result_.ids.insert(result_.ids.end(), symbols_.begin(), symbols_.end());
        }

        const ByteLevelEncoder& tables_;
        EncodedText& result_;
        WordCache cache_;
        BpeMerger merger_;
        std::deque<std::string> normalized_;  // the cache points into them
        std::vector<size_t> word_ends_;
        std::vector<int32_t> symbols_;
        std::string stand_ins_;
    };

    const Vocabulary& vocabulary_;
    const PretokenizerRule& rule_;
    Pretokenizer pretokenizer_;
    BpeMerges merges_;
};

}  // namespace

MadeEncoder make_byte_level_encoder(const EncoderSource& source) {
    RIFTJIT_TRY(merges, read_merges(source.file, source.vocabulary, source.rule->name));
    return std::make_unique<const ByteLevelEncoder>(source.vocabulary, *source.rule, std::move(merges));
}

}  // namespace riftjit::models
