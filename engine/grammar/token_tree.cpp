#include <algorithm>
#include <numeric>

#include "engine/grammar/token_masks.h"

namespace riftjit::engine {

namespace {

// A longer one is no word: it is never offered.
constexpr size_t kMostTokenBytes = 4096;

}  // namespace

TokenTree::TokenTree(std::vector<Token> tokens) : tokens_(std::move(tokens)), next_alike_(tokens_.size(), -1) {
    std::vector<int32_t> sorted;
    for (size_t id = 0; id < tokens_.size(); ++id) {
        const Token& token = tokens_[id];
        if (token.kind == Kind::end) ends_.push_back(static_cast<int32_t>(id));
        // One without bytes would bring a text no further.
        if (token.kind == Kind::text && !token.bytes.empty() && token.bytes.size() <= kMostTokenBytes)
            sorted.push_back(static_cast<int32_t>(id));
    }
    std::ranges::stable_sort(sorted, {}, [this](int32_t id) { return bytes(id); });
    nodes_.push_back({.end = 0, .token = -1, .depth = 0, .byte = 0});
    std::vector<uint32_t> path{0};  // nodes, by depth
    const auto leave_to = [&](size_t depth) {
        for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    };
    int32_t last = -1;
    for (const int32_t id : sorted) {
        const std::string_view text = bytes(id), before = last < 0 ? std::string_view() : bytes(last);
        if (text == before) {
            next_alike_[static_cast<size_t>(last)] = id;
            last = id;
            continue;
        }
        const auto shared = static_cast<size_t>(std::ranges::mismatch(text, before).in1 - text.begin());
        leave_to(shared);
        for (size_t at = shared; at < text.size(); ++at) {
            path.push_back(static_cast<uint32_t>(nodes_.size()));
            nodes_.push_back({.end = 0,
                              .token = at + 1 == text.size() ? id : -1,
                              .depth = static_cast<uint16_t>(at + 1),
                              .byte = static_cast<uint8_t>(text[at])});
        }
        deepest_ = std::max(deepest_, text.size());
        last = id;
    }
    leave_to(0);
    nodes_[0].end = static_cast<uint32_t>(nodes_.size());
}

TokenTree TokenTree::of(const models::Tokenizer& tokenizer) {
    std::vector<Token> tokens(tokenizer.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
        const auto id = static_cast<int32_t>(i);
        tokens[i].bytes = tokenizer.piece(id);
        tokens[i].kind = tokenizer.is_end_of_generation(id) ? Kind::end
                         : tokenizer.is_control(id)         ? Kind::control
                                                            : Kind::text;
    }
    return TokenTree(std::move(tokens));
}

int32_t TokenTree::find(std::string_view text) const {
    const auto found = std::ranges::find(tokens_, text, &Token::bytes);
    return found == tokens_.end() ? -1 : static_cast<int32_t>(found - tokens_.begin());
}

}  // namespace riftjit::engine
