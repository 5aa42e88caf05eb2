// Finds the tokens that are cut out of a text before it is split into words: control, unknown and user-defined ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

class SpecialTexts {
public:
    // A longer token is never found in a text; the caller warns.
    static constexpr size_t kMaxBytes = 256;

    // Which tokens take the whitespace beside them with them. Files do not say so: published tokenizers do.
    struct Strips {
        std::vector<int32_t> before, after;  // ascending
    };
    explicit SpecialTexts(const Vocabulary& vocabulary, const Strips& strips = {});

    struct Match {
        size_t begin, end;
        int32_t id;
    };
    // From left to right, at each place the longest; as published tokenizers do. Without parse_special only the
    // user-defined tokens are found. One pass: nothing happens at a byte that begins no token.
    void find(std::string_view text, ParseSpecial parse_special, std::vector<Match>& matches) const;

private:
    void add(std::string_view text, int32_t id, TokenType type);
    int32_t child(int32_t node, uint8_t byte) const;
    // The longest token at the front of `text`: its id in match.id, kNone if there is none.
    Match longest(std::string_view text, ParseSpecial parse_special) const;
    // The same match with the whitespace that goes with it, not before `first`.
    Match widened(Match match, std::string_view text, size_t first) const;

    struct Node {
        int32_t first_child = -1, next_sibling = -1;
        int32_t id = Vocabulary::kNone;  // of the token that ends here
        uint8_t byte = 0;
        bool only_when_parsed = false;  // control or unknown
    };
    std::vector<Node> nodes_;
    std::array<int32_t, 256> roots_;  // by first byte; -1: none
    Strips strips_;
};

}  // namespace riftjit::models
