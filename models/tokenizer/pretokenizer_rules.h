// Which words a vocabulary's pre-tokenizer name (tokenizer.ggml.pre) stands for, and what else it implies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

// Names that cut text alike share a family; its name is that of a well-known member.
enum class SplitFamily : uint8_t {
    qwen2,
    qwen35,
    ufakzeka,
    laguna,
    seed_coder,
    bailingmoe,
    exaone_moe,
    llama3,
    minicpm5,
    jais2,
    gpt2,
    starcoder,
    falcon,
    standard,
    deepseek_v3,
    spark2_5,
    afmoe,
    deepseek_coder,
    deepseek_llm,
    tekken,
    gpt_4o,
    tiny_aya,
    youtu,
    kimi_k2,
    bloom,
    viking,
    chameleon,
    superbpe,
    lines,   // and line breaks
    spaced,  // what whitespace separates
};

enum class Normalization : uint8_t { none, nfc };
enum class WholeWords : uint8_t { merge, take };  // take: a word that is a token skips the merges (ignore_merges)
enum class BeginToken : uint8_t { absent, added, always };  // unless tokenizer.ggml.add_bos_token says otherwise
enum class EndToken : uint8_t { absent, eos, separator };   // unless add_eos_token and add_sep_token say otherwise
// at_numbers: words are cut once more where bytes whose stand-ins are numbers (0-9, and ² ³ ¹ ¼ ½ ¾ for 0xB2, 0xB3,
// 0xB9, 0xBC-0xBE) meet others, inside characters too: the published tokenizer cuts digits out behind its byte level.
enum class ByteCut : uint8_t { none, at_numbers };

struct PretokenizerRule {
    std::string_view name;
    SplitFamily family;
    Normalization normalization = Normalization::none;
    WholeWords whole_words = WholeWords::merge;
    BeginToken begin_token = BeginToken::absent;
    ByteCut byte_cut = ByteCut::none;
    EndToken end_token = EndToken::absent;
    std::string_view stripping_mask = {};     // the token that takes the whitespace in front with it
    PieceForm pieces = PieceForm::stand_ins;  // another: the merges are of characters, not of bytes
};

std::span<const PretokenizerRule> pretokenizer_rules();
const PretokenizerRule* find_pretokenizer_rule(std::string_view name);

// One pass over the pieces that the pass before left: each match becomes a piece, and so does the text between two.
// A match may be cut further, counting from its right end.
enum class MatchCut : uint8_t {
    whole,
    threes,         // 1234567 -> 1 234 567
    before_threes,  // the same cuts, but none in front of an incomplete group: with X before it, X1 234 567
};
struct SplitStage {
    std::string expression;  // PCRE2 syntax, \s and \S meaning Unicode's White_Space
    MatchCut cut = MatchCut::whole;
};
std::vector<SplitStage> split_stages(SplitFamily family);

}  // namespace riftjit::models
