// Cuts text into the words that byte-level BPE works on, one by one and alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/tokenizer/pretokenizer_rules.h"

namespace riftjit::models {

enum class SplitEngine : uint8_t {
    fastest,      // a hand-written scanner where there is one
    expressions,  // always the family's expressions
};

class Pretokenizer {
public:
    explicit Pretokenizer(SplitFamily family, SplitEngine engine = SplitEngine::fastest);

    // Replaces `ends` by the offset behind each word; together the words are the text. An invalid byte is one code
    // point of no particular class. Fails only when the expression engine gives up (more than 2^32 steps).
    Result<void> split(std::string_view text, std::vector<size_t>& ends) const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace riftjit::models
