#include "models/tokenizer/scored_pairs.h"

#include <bit>
#include <cmath>

#include "host/utf8.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr int32_t kFirstCharacter = -2;  // -1 is no token

// Characters without a token count downwards; behind all of Unicode come the bytes that are part of no character.
int32_t symbol_of_character(char32_t value) { return kFirstCharacter - static_cast<int32_t>(value); }
int32_t symbol_of_byte(uint8_t byte) { return symbol_of_character(kInvalidByte) - byte; }

}  // namespace

Result<std::vector<float>> read_scores(const Gguf& file, const Vocabulary& vocabulary) {
    RIFTJIT_TRY(values, file.numbers(kScoresKey));
    if (!values)
        return fail(ErrorKind::Format, "{}: missing key {}: this kind of vocabulary needs the scores of its tokens",
                    printable(file.path().native()), kScoresKey);
    const GgufEntry& entry = *file.find(kScoresKey);
    if (values->size() < vocabulary.size())
        return fail(ErrorKind::Format, "{} has {} entries for {} tokens", file.place_of(entry), values->size(),
                    vocabulary.size());
    std::vector<float> scores(vocabulary.size());
    for (size_t id = 0; id < scores.size(); ++id) {
        scores[id] = static_cast<float>((*values)[id]);
        if (!std::isfinite(scores[id]))
            return fail(ErrorKind::Format, "{}: the score of token {} is {}; allowed are finite numbers",
                        file.place_of(entry), id, scores[id]);
    }
    return scores;
}

std::vector<uint32_t> ranks_of_scores(const std::vector<float>& scores) {
    std::vector<uint32_t> ranks(scores.size());
    for (size_t id = 0; id < scores.size(); ++id) {
        const auto bits = std::bit_cast<uint32_t>(scores[id] + 0.0f);  // -0 is 0
        const bool is_negative = bits >> 31;
        ranks[id] = is_negative ? bits : ~bits & 0x7FFFFFFF;  // IEEE numbers of one sign are ordered as their bits
    }
    return ranks;
}

int32_t ScoredPairs::next_symbol(const char*& position, const char* end) const {
    const CodePoint code_point = decode_code_point(position, end);
    const std::string_view text(position, code_point.length_bytes);
    position += code_point.length_bytes;
    if (code_point.value == kInvalidByte) return symbol_of_byte(static_cast<uint8_t>(text.front()));
    const auto id = vocabulary_.find(text);
    return id && vocabulary_.is_text(*id) ? *id : symbol_of_character(code_point.value);
}

void ScoredPairs::append_text(std::string& text, int32_t symbol) const {
    if (symbol >= 0) {
        text += vocabulary_.text(symbol);
    } else if (symbol > symbol_of_character(kInvalidByte)) {
        append_utf8(text, static_cast<char32_t>(kFirstCharacter - symbol));
    } else {
        text += static_cast<char>(symbol_of_byte(0) - symbol);
    }
}

std::string_view ScoredPairs::text(int32_t symbol) const {
    if (symbol >= 0) return vocabulary_.text(symbol);
    character_.clear();
    append_text(character_, symbol);
    return character_;
}

BpeMerges::Merge ScoredPairs::find(int32_t left, int32_t right) const {
    joined_.clear();
    append_text(joined_, left);
    append_text(joined_, right);
    const auto id = vocabulary_.find(joined_);
    if (!id || !vocabulary_.is_text(*id)) return {BpeMerges::kNoRank, 0};
    if (vocabulary_.type(*id) == TokenType::unused) halves_[*id] = {left, right};
    return {ranks_[*id], *id};
}

const std::pair<int32_t, int32_t>* ScoredPairs::halves(int32_t id) const {
    if (vocabulary_.type(id) != TokenType::unused) return nullptr;
    const auto found = halves_.find(id);
    return found == halves_.end() ? nullptr : &found->second;
}

}  // namespace riftjit::models
