#include "models/tokenizer/tokenizer_kinds.h"

#include <algorithm>
#include <array>

namespace riftjit::models {

namespace {

MadeEncoder make_bpe_encoder(const EncoderSource& source) {
    return source.rule->pieces == PieceForm::stand_ins ? make_byte_level_encoder(source)
                                                       : make_character_encoder(source);
}

constexpr auto kKinds = std::to_array<VocabularyKind>({
    {.model = "gpt2",
     .name = "BPE",
     .text = "byte-level BPE",
     .has_pretokenizer = true,
     .fixed_pretokenizer = {},
     .pieces = PieceForm::stand_ins,
     .begin_token = BeginToken::absent,
     .end_token = EndToken::absent,
     .begins_with_space = false,
     .make = make_bpe_encoder},
    {.model = "llama",
     .name = "SPM",
     .text = "SentencePiece BPE by scores",
     .has_pretokenizer = false,
     .fixed_pretokenizer = {},
     .pieces = PieceForm::spaced,
     .begin_token = BeginToken::added,
     .end_token = EndToken::absent,
     .begins_with_space = true,
     .make = make_spm_encoder},
    {.model = "t5",
     .name = "UGM",
     .text = "SentencePiece unigram",
     .has_pretokenizer = false,
     .fixed_pretokenizer = {},
     .pieces = PieceForm::spaced,
     .begin_token = BeginToken::absent,
     .end_token = EndToken::eos,
     .begins_with_space = true,
     .make = make_ugm_encoder},
    {.model = "bert",
     .name = "WPM",
     .text = "WordPiece",
     .has_pretokenizer = false,
     .fixed_pretokenizer = {},
     .pieces = PieceForm::spaced,
     .begin_token = BeginToken::added,
     .end_token = EndToken::separator,
     .begins_with_space = true,
     .make = make_wpm_encoder},
    {.model = "rwkv",
     .name = "RWKV",
     .text = "longest token over bytes",
     .has_pretokenizer = false,
     .fixed_pretokenizer = {},
     .pieces = PieceForm::escaped,
     .begin_token = BeginToken::absent,
     .end_token = EndToken::absent,
     .begins_with_space = false,
     .make = make_rwkv_encoder},
    {.model = "plamo2",
     .name = "PLaMo 2",
     .text = "unigram over characters with byte fallback",
     .has_pretokenizer = false,
     .fixed_pretokenizer = {},
     .pieces = PieceForm::literal,
     .begin_token = BeginToken::absent,
     .end_token = EndToken::absent,
     .begins_with_space = false,
     .make = make_plamo2_encoder},
    {.model = "gemma4",
     .name = "BPE",
     .text = "BPE over characters with byte fallback",
     .has_pretokenizer = true,
     .fixed_pretokenizer = "gemma4",
     .pieces = PieceForm::spaced,
     .begin_token = BeginToken::always,
     .end_token = EndToken::absent,
     .begins_with_space = false,
     .make = make_bpe_encoder},
    {.model = "whitespace",
     .name = "BPE",
     .text = "BPE over the characters of words between spaces",
     .has_pretokenizer = true,
     .fixed_pretokenizer = "whitespace",
     .pieces = PieceForm::literal,
     .begin_token = BeginToken::absent,
     .end_token = EndToken::absent,
     .begins_with_space = false,
     .make = make_bpe_encoder},
});

}  // namespace

std::span<const VocabularyKind> vocabulary_kinds() { return kKinds; }

const VocabularyKind* find_vocabulary_kind(std::string_view model) {
    const auto found = std::ranges::find(kKinds, model, &VocabularyKind::model);
    return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace riftjit::models
