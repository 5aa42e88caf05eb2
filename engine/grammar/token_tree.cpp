#include <algorithm>
#include <numeric>

#include "engine/grammar/token_masks.h"
#include "host/utf8.h"

namespace riftjit::engine {

namespace {

// A longer one is no word: it is never offered.
constexpr size_t kMostTokenBytes = 4096;

bool is_plain_text(std::string_view text) {
    return valid_utf8_prefix(text) == text.size() && std::ranges::none_of(text, [](char byte) {
               return static_cast<uint8_t>(byte) < 0x20 || byte == 0x7F || byte == '"' || byte == '\\';
           });
}

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
    const auto others = std::ranges::stable_partition(sorted, [this](int32_t id) { return is_plain_text(bytes(id)); });
    const auto plain = static_cast<size_t>(others.begin() - sorted.begin());
    plain_.resize((tokens_.size() + 63) / 64);
    for (size_t i = 0; i < plain; ++i) plain_[static_cast<size_t>(sorted[i]) / 64] |= uint64_t(1) << (sorted[i] % 64);
    nodes_.push_back({.end = 0, .token = -1, .depth = 0, .byte = 0});
    std::vector<uint32_t> path{0};  // nodes, by depth
    const auto leave_to = [&](size_t depth) {
        for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    };
    int32_t last = -1;
    for (size_t place = 0; place < sorted.size(); ++place) {
        if (place == plain) {
            leave_to(0);
            first_other_ = static_cast<uint32_t>(nodes_.size());
            last = -1;
        }
        const int32_t id = sorted[place];
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
    if (plain == sorted.size()) first_other_ = nodes_[0].end;
    for (const size_t bytes : {8, 12, 16, 24, 32, 64, 128})
        if (bytes < deepest_) note_longer(bytes);
}

void TokenTree::note_longer(size_t than) {
    Longer& made = longer_.emplace_back(than, std::vector<uint64_t>(plain_.size()), std::vector<Some>{});
    std::vector<uint32_t> way(deepest_ + 1);
    std::vector<size_t> noted;  // places in the list of the way's first nodes
    const auto leave_to = [&](size_t depth) {
        for (; noted.size() > depth; noted.pop_back())
            made.nodes[noted.back()].end = static_cast<uint32_t>(made.nodes.size());
    };
    for (uint32_t i = 1; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        leave_to(node.depth - 1U);
        way[node.depth] = i;
        if (node.depth <= than || node.token < 0) continue;
        for (int32_t token = node.token; token >= 0; token = next_alike(token))
            made.tokens[static_cast<size_t>(token) / 64] |= uint64_t(1) << (token % 64);
        while (noted.size() < node.depth) {
            noted.push_back(made.nodes.size());
            made.nodes.push_back({way[noted.size()], 0, false});
        }
        made.nodes.back().is_wanted = true;
    }
    leave_to(0);
}

const TokenTree::Longer* TokenTree::longer_than(size_t bytes) const {
    const Longer* found = nullptr;
    for (const Longer& longer : longer_)
        if (longer.than <= bytes) found = &longer;
    return bytes >= deepest_ ? nullptr : found;
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
