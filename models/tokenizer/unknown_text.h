// What becomes of text that no token of a SentencePiece vocabulary covers: its bytes, or the unknown token.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/tokenizer/tokenizer_kinds.h"

namespace riftjit::models {

class UnknownText {
public:
    // Byte tokens are there all or none; where there are none, the file must name an unknown token.
    static Result<UnknownText> read(const EncoderSource& source);

    // Appends the ids of one character. Unknown tokens in a row are one, from ids[begin] on: words are looked at
    // alone.
    void append(std::string_view character, size_t begin, std::vector<int32_t>& ids) const {
        if (has_bytes_) {
            for (const char c : character) ids.push_back(vocabulary_->byte_token(static_cast<uint8_t>(c)));
        } else if (ids.size() == begin || ids.back() != unknown_) {
            ids.push_back(unknown_);
        }
    }

private:
    const Vocabulary* vocabulary_ = nullptr;
    bool has_bytes_ = false;
    int32_t unknown_ = Vocabulary::kNone;
};

}  // namespace riftjit::models
