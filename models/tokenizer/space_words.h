// Cuts text whose spaces are marks (U+2581) into words that no token reaches across, so that each can be looked at
// alone.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

class SpaceWords {
public:
    explicit SpaceWords(const Vocabulary& vocabulary);
    // Where the word that begins at `begin` ends: in front of a space mark that follows something else.
    size_t end_of_word(std::string_view text, size_t begin) const;

private:
    std::bitset<256> joining_;  // bytes that stand in front of a space mark within a token
};

}  // namespace riftjit::models
