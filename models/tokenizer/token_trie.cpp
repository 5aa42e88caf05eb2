#include "models/tokenizer/token_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace riftjit::models {

namespace {

// Eight bytes of a text as a number that orders as they do.
uint64_t eight_bytes(std::string_view text, size_t begin) {
    uint64_t bytes = 0;
    if (text.size() > begin) std::memcpy(&bytes, text.data() + begin, std::min(text.size() - begin, sizeof bytes));
    return std::byteswap(bytes);
}

// The first sixteen bytes lie in the element: most comparisons and steps need no look at the text.
struct SortedToken {
    uint64_t first, second;
    const char* text;
    int32_t id;
    uint32_t size;

    std::string_view view() const { return {text, size}; }
};

}  // namespace

TokenTrie::TokenTrie(const std::vector<Entry>& entries) {
    constexpr size_t kHeldBytes = 16;
    std::vector<SortedToken> tokens;
    tokens.reserve(entries.size());
    for (const auto& [text, id] : entries)
        if (!text.empty())
            tokens.push_back(
                {eight_bytes(text, 0), eight_bytes(text, 8), text.data(), id, static_cast<uint32_t>(text.size())});
    std::ranges::sort(tokens, [&](const SortedToken& a, const SortedToken& b) {
        if (a.first != b.first) return a.first < b.first;
        if (a.second != b.second) return a.second < b.second;
        return std::pair(a.view(), a.id) < std::pair(b.view(), b.id);
    });
    const auto byte_of = [&](const SortedToken& token, size_t depth) {
        if (depth >= kHeldBytes) return static_cast<uint8_t>(token.text[depth]);
        return static_cast<uint8_t>((depth < 8 ? token.first : token.second) >> (56 - 8 * (depth & 7)));
    };

    struct Range {  // the tokens below a node, and where their texts go on behind it
        uint32_t begin, end, depth;
    };
    std::vector<Range> ranges;
    nodes_.reserve(tokens.size() + tokens.size() / 2);
    ranges.reserve(nodes_.capacity());
    labels_.reserve(nodes_.capacity());
    ranges.push_back({0, static_cast<uint32_t>(tokens.size()), 0});
    nodes_.emplace_back();
    labels_ += '\0';
    const auto shared_size = [&](uint32_t begin, uint32_t end, uint32_t depth) {  // of sorted texts: of first and last
        const SortedToken &first = tokens[begin], &last = tokens[end - 1];
        if (end - begin == 1) return first.size;
        while (depth < first.size && depth < last.size && byte_of(first, depth) == byte_of(last, depth)) ++depth;
        return depth;
    };
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
        auto [begin, end, depth] = ranges[node];
        if (depth > 0 && tokens[begin].size == depth) nodes_[node].id = tokens[begin].id;
        while (begin < end && tokens[begin].size == depth) ++begin;
        nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
        while (begin < end) {
            const uint8_t byte = byte_of(tokens[begin], depth);
            uint32_t next = begin + 1;
            while (next < end && byte_of(tokens[next], depth) == byte) ++next;
            const uint32_t behind = shared_size(begin, next, depth + 1);
            ranges.push_back({begin, next, behind});
            nodes_.push_back({.text = tokens[begin].text + depth, .size = behind - depth});
            labels_ += static_cast<char>(byte);
            ++nodes_[node].child_count;
            begin = next;
        }
    }
}

TokenTrie::Match TokenTrie::longest(std::string_view text) const {
    Match match;
    for_each_front(text, [&](int32_t id, size_t end) { match = {id, end}; });
    return match;
}

}  // namespace riftjit::models
