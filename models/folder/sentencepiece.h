// SentencePiece's BPE vocabularies: pieces with scores, of which the one with the highest is merged first.
// Source: sentencepiece_model.proto.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/result.h"

namespace riftjit::models::folder {

// Types of tokens in GGUF files, which are SentencePiece's.
inline constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

struct Pieces {
    std::vector<std::string> texts;  // by id; empty: none
    std::vector<float> scores;
    std::vector<int32_t> types;
    bool adds_dummy_prefix = true;
};

// tokenizer.model, filled up to `size` ids.
Result<Pieces> read_sentencepiece(const std::string& file, std::string_view bytes, uint64_t size);

// Scores that merge what `merges` merge, in their order. Refuses merges that no scores express.
Result<Pieces> pieces_of_merges(const std::string& file, std::vector<std::string> texts,
                                std::span<const std::pair<std::string, std::string>> merges,
                                const std::set<std::string>& added);

}  // namespace riftjit::models::folder
