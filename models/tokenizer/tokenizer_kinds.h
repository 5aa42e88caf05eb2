// The kinds of vocabularies (tokenizer.ggml.model): each turns text into ids in its own way.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/gguf/gguf.h"
#include "models/tokenizer/pretokenizer_rules.h"
#include "models/tokenizer/tokenizer_special_ids.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

// A text is a row of tokens that were cut out of it and of what stands between them, which is never empty.
struct TextPart {
    std::string_view text;
    int32_t token = Vocabulary::kNone;  // kNone: text
};

struct EncodedText {
    std::vector<int32_t> ids;
    std::bitset<256> left_out;  // bytes met that have no token
};

class TextEncoder {
public:
    virtual ~TextEncoder() = default;
    // Appends the ids of all parts.
    virtual Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const = 0;
};

// What an encoder is made of. The file and the vocabulary outlive it.
struct EncoderSource {
    const Gguf& file;
    const Vocabulary& vocabulary;
    const SpecialIds& special_ids;
    const PretokenizerRule* rule;  // of byte-pair vocabularies
};
using MadeEncoder = Result<std::unique_ptr<const TextEncoder>>;

struct VocabularyKind {
    std::string_view model;               // tokenizer.ggml.model
    std::string_view name;                // as people say: SPM
    std::string_view text;                // what it is, for lists
    bool has_pretokenizer;                // tokenizer.ggml.pre says how text is split into words
    std::string_view fixed_pretokenizer;  // the file need not name it
    PieceForm pieces;
    BeginToken begin_token;  // without a pre-tokenizer
    EndToken end_token;
    bool begins_with_space;  // the first word has a space in front that the text has not
    MadeEncoder (*make)(const EncoderSource&);
};
std::span<const VocabularyKind> vocabulary_kinds();
const VocabularyKind* find_vocabulary_kind(std::string_view model);

MadeEncoder make_byte_level_encoder(const EncoderSource& source);
MadeEncoder make_character_encoder(const EncoderSource& source);
MadeEncoder make_spm_encoder(const EncoderSource& source);
MadeEncoder make_ugm_encoder(const EncoderSource& source);
MadeEncoder make_wpm_encoder(const EncoderSource& source);
MadeEncoder make_rwkv_encoder(const EncoderSource& source);
MadeEncoder make_plamo2_encoder(const EncoderSource& source);

}  // namespace riftjit::models
