#include "models/tokenizer/tokenizer_special_texts.h"

namespace riftjit::models {

SpecialTexts::SpecialTexts(const Vocabulary& vocabulary) {
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

void SpecialTexts::find(std::string_view text, ParseSpecial parse_special, std::vector<Match>& matches) const {
    for (size_t position = 0; position < text.size();) {
        if (roots_[static_cast<uint8_t>(text[position])] < 0) {
            ++position;
            continue;
        }
        const Match match = longest(text.substr(position), parse_special);
        if (match.id >= 0) matches.push_back({position, position + match.end, match.id});
        position += match.id >= 0 ? match.end : 1;
    }
}

}  // namespace riftjit::models
