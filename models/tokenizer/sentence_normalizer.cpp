#include "models/tokenizer/sentence_normalizer.h"

#include <cstring>

#include "host/utf8.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kMapKey = "tokenizer.ggml.precompiled_charsmap";
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// ---- a unit of the double array ----

uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }  // no byte where the unit is a value
bool has_value(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & ~(1u << 31); }

}  // namespace

Result<CharacterMap> CharacterMap::read(const Gguf& file) {
    CharacterMap map;
    const GgufEntry* entry = file.find(kMapKey);
    if (entry == nullptr) return map;
    const auto* array = std::get_if<GgufArray>(&entry->value);
    if (array == nullptr || (array->element_type != GgufType::i8 && array->element_type != GgufType::u8))
        return fail(ErrorKind::Format, "{} is {}; expected array of u8 or i8", file.place_of(*entry),
                    array == nullptr ? std::string(type_name(entry->type))
                                     : fmt::format("array of {}", type_name(array->element_type)));
    const auto damaged = [&](std::string_view why) {
        return fail(ErrorKind::Format, "{} with {} bytes {}", file.place_of(*entry), array->bytes.size(), why);
    };
    const std::string_view bytes(reinterpret_cast<const char*>(array->bytes.data()), array->bytes.size());
    uint32_t units_bytes = 0;
    if (bytes.size() < sizeof units_bytes) return damaged("has no room for the length of its array");
    std::memcpy(&units_bytes, bytes.data(), sizeof units_bytes);
    if (units_bytes % sizeof(uint32_t) != 0 || units_bytes == 0 || units_bytes >= bytes.size() - sizeof units_bytes)
        return damaged(
            fmt::format("gives its array a length of {} bytes; allowed are multiples of 4 that leave room for "
                        "replacements",
                        units_bytes));
    if (bytes.back() != '\0') return damaged("does not end in NUL, as its last replacement must");
    map.units_.resize(units_bytes / sizeof(uint32_t));
    std::memcpy(map.units_.data(), bytes.data() + sizeof units_bytes, units_bytes);
    map.replacements_ = bytes.substr(sizeof units_bytes + units_bytes);
    for (size_t i = 0; i < map.units_.size(); ++i) {
        const uint32_t unit = map.units_[i];
        if (!has_value(unit) || unit >> 31 != 0) continue;
        const size_t at = i ^ offset_of(unit);
        if (at >= map.units_.size() || value_of(map.units_[at]) >= map.replacements_.size())
            return damaged(fmt::format("has a value outside at its unit {}", i));
    }
    return map;
}

CharacterMap::Match CharacterMap::longest(std::string_view text) const {
    Match match{0, {}};
    size_t at = offset_of(units_[0]);
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<uint8_t>(text[i]);
        at ^= byte;
        if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) break;
        const uint32_t unit = units_[at];
        at ^= offset_of(unit);
        if (has_value(unit)) match = {i + 1, replacements_.substr(value_of(units_[at]))};
    }
    if (match.length > 0) match.replacement = match.replacement.substr(0, match.replacement.find('\0'));
    return match;
}

Result<SentenceNormalizer> SentenceNormalizer::read(const Gguf& file, InvalidBytes invalid_bytes) {
    SentenceNormalizer normalizer;
    RIFTJIT_TRY(adds_space, file.boolean("tokenizer.ggml.add_space_prefix"));
    RIFTJIT_TRY(joins_spaces, file.boolean("tokenizer.ggml.remove_extra_whitespaces"));
    RIFTJIT_TRY(map, CharacterMap::read(file));
    normalizer.adds_space_ = adds_space.value_or(true);
    normalizer.joins_spaces_ = joins_spaces.value_or(false);
    normalizer.map_ = std::move(map);
    normalizer.invalid_bytes_ = invalid_bytes;
    return normalizer;
}

CharacterMap::Match SentenceNormalizer::next(std::string_view text) const {
    if (!map_.empty())
        if (const CharacterMap::Match match = map_.longest(text); match.length > 0) return match;
    const CodePoint code_point = decode_code_point(text.data(), text.data() + text.size());
    if (code_point.value == kInvalidByte && invalid_bytes_ == InvalidBytes::replaced) return {1, kReplacementCharacter};
    return {code_point.length_bytes, text.substr(0, code_point.length_bytes)};
}

void SentenceNormalizer::append_marked(std::string_view text, std::string& result) const {
    for (size_t space = text.find(' '); space != std::string_view::npos; space = text.find(' ')) {
        result += text.substr(0, space);
        result += kSpaceMark;
        text.remove_prefix(space + 1);
    }
    result += text;
}

void SentenceNormalizer::append_normalized(std::string_view text, std::string& result) const {
    const size_t begin = result.size();
    if (joins_spaces_)
        while (!text.empty()) {
            const CharacterMap::Match front = next(text);
            if (front.replacement != " ") break;
            text.remove_prefix(front.length);
        }
    if (text.empty()) return;
    if (adds_space_) result += kSpaceMark;
    if (!joins_spaces_ && map_.empty() && invalid_bytes_ == InvalidBytes::kept) return append_marked(text, result);
    bool follows_space = joins_spaces_;
    while (!text.empty()) {
        const CharacterMap::Match front = next(text);
        std::string_view replacement = front.replacement;
        while (follows_space && replacement.starts_with(' ')) replacement.remove_prefix(1);
        if (!replacement.empty()) {
            append_marked(replacement, result);
            follows_space = joins_spaces_ && replacement.ends_with(' ');
        }
        text.remove_prefix(front.length);
    }
    if (joins_spaces_)
        while (result.size() > begin && result.ends_with(kSpaceMark)) result.resize(result.size() - kSpaceMark.size());
}

}  // namespace riftjit::models
