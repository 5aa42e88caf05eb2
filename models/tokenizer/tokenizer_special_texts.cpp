#include "models/tokenizer/tokenizer_special_texts.h"

#include <algorithm>

#include "host/utf8.h"

namespace riftjit::models {

namespace {

bool is_whitespace_at(const char* position, const char* end, size_t& length) {
    const CodePoint code_point = decode_code_point(position, end);
    length = code_point.length_bytes;
    const char32_t value = code_point.value;
    return (value >= '\t' && value <= '\r') || value == ' ' || value == 0x85 || value == 0xA0 || value == 0x1680 ||
           (value >= 0x2000 && value <= 0x200A) || value == 0x2028 || value == 0x2029 || value == 0x202F ||
           value == 0x205F || value == 0x3000;
}

size_t end_of_whitespace(std::string_view text, size_t position) {
    for (size_t length = 0; position < text.size(); position += length)
        if (!is_whitespace_at(text.data() + position, text.data() + text.size(), length)) break;
    return position;
}

size_t begin_of_whitespace(std::string_view text, size_t first, size_t position) {
    while (position > first) {
        size_t begin = position - 1;  // of the character in front
        while (begin > first && position - begin < 3 && (text[begin] & 0xC0) == 0x80) --begin;
        size_t length = 0;
        if (!is_whitespace_at(text.data() + begin, text.data() + position, length) || begin + length != position) break;
        position = begin;
    }
    return position;
}

}  // namespace

SpecialTexts::SpecialTexts(const Vocabulary& vocabulary, const Strips& strips) : strips_(strips) {
    roots_.fill(-1);
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id) {
        const TokenType type = vocabulary.type(id);
        const bool is_special =
            type == TokenType::control || type == TokenType::unknown || type == TokenType::user_defined;
        const std::string_view text = vocabulary.text(id);
        if (is_special && !text.empty() && text.size() <= kMaxBytes) add(text, id, type);
    }
}

void SpecialTexts::add(std::string_view text, int32_t id, TokenType type) {
    int32_t node = -1;
    for (const char c : text) {
        const auto byte = static_cast<uint8_t>(c);
        int32_t next = node < 0 ? roots_[byte] : child(node, byte);
        if (next < 0) {
            next = static_cast<int32_t>(nodes_.size());
            nodes_.push_back({.byte = byte});
            if (node < 0) {
                roots_[byte] = next;
            } else {
                nodes_[next].next_sibling = nodes_[node].first_child;
                nodes_[node].first_child = next;
            }
        }
        node = next;
    }
    nodes_[node].id = id;
    nodes_[node].only_when_parsed = type != TokenType::user_defined;
}

int32_t SpecialTexts::child(int32_t node, uint8_t byte) const {
    int32_t found = nodes_[node].first_child;
    while (found >= 0 && nodes_[found].byte != byte) found = nodes_[found].next_sibling;
    return found;
}

SpecialTexts::Match SpecialTexts::longest(std::string_view text, ParseSpecial parse_special) const {
    Match match{0, 0, Vocabulary::kNone};
    int32_t node = roots_[static_cast<uint8_t>(text.front())];
    for (size_t length = 1; node >= 0; ++length) {
        const Node& here = nodes_[node];
        if (here.id >= 0 && (parse_special == ParseSpecial::yes || !here.only_when_parsed))
            match = {0, length, here.id};
        if (length == text.size()) break;
        node = child(node, static_cast<uint8_t>(text[length]));
    }
    return match;
}

SpecialTexts::Match SpecialTexts::widened(Match match, std::string_view text, size_t first) const {
    if (std::ranges::binary_search(strips_.before, match.id))
        match.begin = begin_of_whitespace(text, first, match.begin);
    if (std::ranges::binary_search(strips_.after, match.id)) match.end = end_of_whitespace(text, match.end);
    return match;
}

void SpecialTexts::find(std::string_view text, ParseSpecial parse_special, std::vector<Match>& matches) const {
    const size_t known = matches.size();
    for (size_t position = 0; position < text.size();) {
        if (roots_[static_cast<uint8_t>(text[position])] < 0) {
            ++position;
            continue;
        }
        const Match match = longest(text.substr(position), parse_special);
        if (match.id < 0) {
            ++position;
            continue;
        }
        const size_t first = matches.size() == known ? 0 : matches.back().end;
        matches.push_back(widened({position, position + match.end, match.id}, text, first));
        position = matches.back().end;
    }
}

}  // namespace riftjit::models
