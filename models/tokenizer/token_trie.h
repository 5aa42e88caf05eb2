// Tokens by their bytes: which of them begin a text, in one walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace riftjit::models {

// A tree whose nodes have as many bytes as all tokens below share.
class TokenTrie {
public:
    struct Entry {
        std::string_view text;  // must outlive the trie
        int32_t id;
    };
    // Empty texts are not in it; of equal texts the smallest id.
    explicit TokenTrie(const std::vector<Entry>& entries);

    // found(id, end) for each token at the front of `text`, shorter ones first; it ends at `end`.
    template <class Found>
    void for_each_front(std::string_view text, const Found& found) const {
        const Node* node = &nodes_[0];
        size_t position = 0;
        while (position < text.size()) {
            const char* labels = labels_.data() + node->first_child;
            const void* label = std::memchr(labels, static_cast<uint8_t>(text[position]), node->child_count);
            if (label == nullptr) return;
            node = &nodes_[node->first_child + static_cast<size_t>(static_cast<const char*>(label) - labels)];
            if (!text.substr(position).starts_with(std::string_view(node->text, node->size))) return;
            position += node->size;
            if (node->id >= 0) found(node->id, position);
        }
    }

    // The longest token at the front of `text`: its id, -1 if there is none, and where it ends.
    struct Match {
        int32_t id = -1;
        size_t end = 0;
    };
    Match longest(std::string_view text) const;

private:
    struct Node {
        const char* text = nullptr;  // from the node above to here
        uint32_t size = 0;
        int32_t id = -1;  // of the token that ends here
        uint32_t first_child = 0, child_count = 0;
    };
    std::vector<Node> nodes_;
    std::string labels_;  // the first byte of each node's text: those of siblings lie side by side
};

}  // namespace riftjit::models
