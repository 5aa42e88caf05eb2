// The expressions of each family, as its published tokenizer has them, rewritten where a backtracking engine would need
// quadratic time or a frame per repetition; what was rewritten matches the same text.
#include <string>

#include "host/result.h"
#include "models/tokenizer/pretokenizer_rules.h"

namespace riftjit::models {

namespace {

const std::string kSpaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

// 's, 't, 're … in any case. The long s (U+017F) is an "s" without regard to case.
const std::string kContraction = R"((?:'[sS\x{17F}]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))";

// The parts that Qwen2, Llama 3 and their relatives vary.
struct WordParts {
    std::string contraction = kContraction + "|";
    std::string word = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
    std::string number = R"(\p{N})";
    std::string punctuation = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
    std::string spaces = kSpaces;
};
SplitStage words(const WordParts& parts) {
    return {parts.contraction + parts.word + "|" + parts.number + "|" + parts.punctuation + "|" + parts.spaces};
}

// GPT-2's. A single space character before a word is nobody's match: it is left as a piece.
SplitStage gpt2_words() { return {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))"}; }

// A word is capitals then small letters, so that CamelCase is two (o200k and tekken).
struct CasedParts {
    std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
    std::string ending = kContraction + "?";
    std::string number = R"(\p{N}{1,3})";
    std::string punctuation = R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)";
};
SplitStage cased_words(const CasedParts& parts) {
    const std::string before = R"([^\r\n\p{L}\p{N}]?)";
    return {before + parts.upper + "*" + parts.lower + "+" + parts.ending + "|" + before + parts.upper + "+" +
            parts.lower + "*" + parts.ending + "|" + parts.number + "|" + parts.punctuation + "|" + kSpaces};
}

// DeepSeek V3's last stage, up to what ends it.
SplitStage deepseek_words(const std::string& ending) {
    return {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)" +
            ending};
}

// In kimi-k2 the letters of both cases are without Han; the classes are what remains of all categories.
SplitStage kimi_words() {
    SplitStage stage = cased_words({.upper = R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])",
                                    .lower = R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])",
                                    .punctuation = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"});
    stage.expression.insert(0, R"(\p{sc:Han}+|)");
    return stage;
}

// Runs of up to 512 spaces by powers of two. Where a space other than a line break stands in front, the expression has
// already found that no line break follows in this run: asking again would scan the rest of it for every power.
std::string jais2_spaces() {
    std::string expression = R"((?<![\t\x{B}\x{C} \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F})"
                             R"(\x{205F}\x{3000}])\s*[\r\n]+)";
    for (int count = 512; count >= 4; count /= 2) expression += fmt::format(R"(|\s{{{}}}(?!\S))", count);
    return expression + R"(|\s{1,2}(?!\S)|\s{1})";
}

// [\p{L}\p{M}*( \p{L}\p{M}*)*]+ as one loop that never gives back.
const std::string kExaoneWord = R"([^\r\n\p{L}\p{N}]?\p{L}[\p{L}\p{M}]*+(?: \p{L}[\p{L}\p{M}]*+)*+)";

const std::string kCjk = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+)";
const std::string kCjkAndHangul = R"([\x{0800}-\x{9FA5}\x{AC00}-\x{D7FF}]+)";
const std::string kAfmoeScripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{30FF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF})"
    R"(\x{0E40}-\x{0E7F}\x{0E80}-\x{0EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF})"
    R"(\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
const std::string kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B})"
    R"(\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)" +
    kCjk;
// Cased letters of an older Unicode: all categories but theirs are excluded, then what came later.
const std::string kDeepseekLlmLetters =
    R"(\s?[^\p{Lm}\p{Lo}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}\x{0560}-\x{0588}\x{10C7}-\x{10FF}\x{1C80}-\x{1C88})"
    R"(\x{2D00}-\x{2D2D}\x{A790}-\x{AB68}\x{10570}-\x{105BC}\x{16E40}-\x{1DF1E}]+)";
const std::string kDeepseekLlmPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";

// \d{1,3}(?=(?:\d{3})*\b): whole runs that end at a word's end, cut from the right. Looking ahead from each group would
// be quadratic; the look-behind keeps a run that fails from being tried again from its middle. Word characters are
// those of the published tokenizer's engine, which takes Latin-1's superscripts and fractions for some.
const SplitStage kDigitRunsAtWordEnd = {
    R"((?<!\p{Nd})\p{Nd}++(?![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}]))", MatchCut::threes};
// (?=(\d{3})+(?!\d)): a cut where a multiple of three digits remains.
const SplitStage kCutBeforeThrees = {R"(\p{Nd}++)", MatchCut::before_threes};

}  // namespace

std::vector<SplitStage> split_stages(SplitFamily family) {
    using enum SplitFamily;
    const SplitStage number = {R"(\p{N})"}, three_numbers = {R"(\p{N}{1,3})"}, three_digits = {"[0-9][0-9][0-9]"};
    const SplitStage line_break = {R"([\r\n])"}, cjk = {kCjk}, bloom_words = {R"( ?[^(\s|.,!?…。，、।۔،)]+)"};
    switch (family) {
        case qwen2:
            return {words({})};
        case qwen35:
            return {words(
                {.word = R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)", .punctuation = R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"})};
        case ufakzeka:
            return {words({.contraction = ""})};
        case laguna:
            return {{R"([^\n]+|[\n]+)"}, words({})};
        case seed_coder:
            return {words({.punctuation = R"( ?[^\s\p{L}\p{N}\r\n]+)"})};
        case bailingmoe:
            return {words({.spaces = R"(\s*[\r\n]|\s+(?!\S)|\s+)"})};
        case exaone_moe:
            return {words({.word = kExaoneWord,
                           .punctuation = R"( ?[^\s\p{L}\p{N}]+[\r\n/]?)",
                           .spaces = R"(\s*[\r\n]|\s+(?!\S)|\s+)"})};
        case llama3:
            return {words({.number = R"(\p{N}{1,3})"})};
        case minicpm5:
            return {three_numbers, words({.number = R"(\p{N}+)"})};
        case jais2:
            return {words({.number = R"(\p{N}{1,3})", .spaces = jais2_spaces()})};
        case gpt2:
            return {gpt2_words()};
        case starcoder:
            return {number, gpt2_words()};
        case falcon:
            return {{R"([\p{P}\$\+<=>\^~\|`]+)"}, gpt2_words(), three_digits};
        case standard:
            return {{R"([\p{P}\$\+<=>\^~\|]+)"}, gpt2_words(), {R"(\p{N}+)"}, three_digits};
        case deepseek_v3:
            return {three_numbers, cjk, deepseek_words(R"([\r\n]*|)" + kSpaces)};
        case spark2_5:
            return {three_numbers, cjk, deepseek_words(R"(|[\r\n]|\s+(?!\S)|\s+)"), number};
        case afmoe:
            return {{R"(\p{N}++)", MatchCut::threes}, {kAfmoeScripts}, deepseek_words(R"([\r\n]*|)" + kSpaces)};
        case deepseek_coder:
            return {line_break, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {kCjkAndHangul}, number};
        case deepseek_llm:
            return {line_break,          {kDeepseekLlmLetters}, {kDeepseekLlmPunctuation},
                    {R"((?<!\s)\s+\z)"}, {kCjkAndHangul},       {R"(\p{N}+)"}};
        case tekken:
            return {cased_words({.ending = "", .number = R"(\p{N})"})};
        case gpt_4o:
            return {cased_words({})};
        case tiny_aya:
            return {kDigitRunsAtWordEnd, cased_words({})};
        case youtu:
            return {{kYoutuScripts}, cased_words({.number = R"(\p{N})"})};
        case kimi_k2:
            return {kimi_words()};
        case bloom:
            return {bloom_words};
        case viking:
            return {bloom_words, number};
        case chameleon:
            return {{"<sentinel:[0-9]+>"},       {"IMGIMG[A-I]{1,4}Z"}, {R"([\t\n]|    |  )"}, number,
                    {R"([\p{P}!-/:-@\[-`{-~])"}, gpt2_words()};
        case superbpe:
            return {{R"(\p{N}+)"}, kCutBeforeThrees};
        case lines:
            return {{R"([^\n]+|[\n]+)"}};
        case spaced:
            return {{R"(\S+)"}};
    }
    check_failed("a split family without expressions", std::source_location::current());
}

}  // namespace riftjit::models
