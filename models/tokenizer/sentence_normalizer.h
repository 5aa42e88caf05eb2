// What SentencePiece does to a text before it looks for tokens: replacements, spaces, a space in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/gguf/gguf.h"

namespace riftjit::models {

// tokenizer.ggml.precompiled_charsmap: the length of an array, the array, and replacements that end in NUL. The array
// is a trie over the bytes of what is replaced (Darts-clone's double array: from unit i, byte c leads to i ^ offset(i)
// ^ c, if that unit's label is c; a unit with a value has it in i ^ offset(i)).
class CharacterMap {
public:
    CharacterMap() = default;
    static Result<CharacterMap> read(const Gguf& file);  // empty where the file has none

    bool empty() const { return units_.empty(); }
    // The longest text at the front of `text` that is replaced; length 0 if there is none.
    struct Match {
        size_t length;
        std::string_view replacement;
    };
    Match longest(std::string_view text) const;

private:
    std::vector<uint32_t> units_;
    std::string_view replacements_;  // in the mapping; ends in NUL
};

// What to do with a byte that is part of no character.
enum class InvalidBytes : uint8_t { kept, replaced };  // replaced: by U+FFFD

class SentenceNormalizer {
public:
    // tokenizer.ggml.add_space_prefix (absent: yes), remove_extra_whitespaces (absent: no), precompiled_charsmap.
    static Result<SentenceNormalizer> read(const Gguf& file, InvalidBytes invalid_bytes);

    // `text` is the first of a text, or follows a special token.
    void append_normalized(std::string_view text, std::string& result) const;
    bool adds_space() const { return adds_space_; }

private:
    // What the front of `text` becomes, and its length.
    CharacterMap::Match next(std::string_view text) const;
    void append_marked(std::string_view text, std::string& result) const;

    CharacterMap map_;
    bool adds_space_ = true, joins_spaces_ = false;
    InvalidBytes invalid_bytes_ = InvalidBytes::kept;
};

}  // namespace riftjit::models
