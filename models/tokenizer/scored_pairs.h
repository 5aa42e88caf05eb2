// Which neighbours of a SentencePiece vocabulary join: those whose texts together are a token, by its score.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/result.h"
#include "models/gguf/gguf.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

// tokenizer.ggml.scores: one for each token, or more. Each is a number.
Result<std::vector<float>> read_scores(const Gguf& file, const Vocabulary& vocabulary);

// Ascending as the score falls, and never BpeMerges::kNoRank.
std::vector<uint32_t> ranks_of_scores(const std::vector<float>& scores);

// A symbol is a token, or (negative) a character without one: it may be part of a token all the same. Pairs are found
// by their texts: a table of all would take longer to fill than most texts to encode.
class ScoredPairs {
public:
    ScoredPairs(const Vocabulary& vocabulary, const std::vector<uint32_t>& ranks)
        : vocabulary_(vocabulary), ranks_(ranks) {}

    // The symbol of the character at `position`, and moves on. An invalid byte is a character.
    int32_t next_symbol(const char*& position, const char* end) const;
    std::string_view text(int32_t symbol) const;  // until the next call

    BpeMerges::Merge find(int32_t left, int32_t right) const;

    // The two symbols that an unused token was last found to be made of: such tokens help to merge others, and are
    // taken apart again where they remain. Null: it was met whole.
    const std::pair<int32_t, int32_t>* halves(int32_t id) const;

private:
    void append_text(std::string& text, int32_t symbol) const;

    const Vocabulary& vocabulary_;
    const std::vector<uint32_t>& ranks_;
    mutable std::string joined_, character_;
    mutable std::unordered_map<int32_t, std::pair<int32_t, int32_t>> halves_;
};

}  // namespace riftjit::models
