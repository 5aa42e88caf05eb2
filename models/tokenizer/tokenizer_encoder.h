// One text on its way to ids: normalisation, words, merges.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/pretokenizer.h"
#include "models/tokenizer/pretokenizer_rules.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

// What encoding needs of a tokenizer; shared and constant.
struct EncodingTables {
    const Vocabulary& vocabulary;
    const BpeMerges& merges;
    const Pretokenizer& pretokenizer;
    const PretokenizerRule& rule;
};

// The ids of words seen before in this text: they are copied from where they were first written.
class WordCache {
public:
    explicit WordCache(size_t text_bytes);

    struct Entry {
        const char* word;
        uint32_t word_bytes, id_count;
        size_t first_id;  // index into the output
    };
    static constexpr size_t kMaxWordBytes = 64;  // longer ones do not come back
    // Where `word` is, or may be put. It is there if the entry's text says so.
    Entry& entry(std::string_view word);
    static bool holds(const Entry& entry, std::string_view word) {
        return std::string_view(entry.word, entry.word_bytes) == word;
    }

private:
    std::vector<Entry> entries_;
};

class Encoder {
public:
    // text_bytes: about how much text will come.
    Encoder(const EncodingTables& tables, size_t text_bytes);

    // `text` holds no special tokens and must outlive the encoder.
    Result<void> add_text(std::string_view text);
    void add_token(int32_t id) { ids_.push_back(id); }
    const std::bitset<256>& left_out() const { return left_out_; }  // bytes met that have no token
    std::vector<int32_t> take() { return std::move(ids_); }

private:
    void cut_at_numbers(std::string_view text);  // word_ends_, see ByteCut
    Result<void> add_word(std::string_view word);
    void merge_word(std::string_view word);

    const EncodingTables tables_;
    WordCache cache_;
    BpeMerger merger_;
    std::deque<std::string> normalized_;  // the cache points into them
    std::vector<size_t> word_ends_;
    std::vector<int32_t> symbols_, ids_;
    std::string stand_ins_;
    std::bitset<256> left_out_;
};

}  // namespace riftjit::models
