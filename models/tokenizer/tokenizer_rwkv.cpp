// RWKV: at each place the longest token, over bytes.
#include "models/tokenizer/token_trie.h"
#include "models/tokenizer/tokenizer_kinds.h"

namespace riftjit::models {

namespace {

std::vector<TokenTrie::Entry> byte_strings(const Vocabulary& vocabulary) {
    std::vector<TokenTrie::Entry> entries;
    entries.reserve(vocabulary.size());
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id)
        if (vocabulary.is_plain(id)) entries.push_back({vocabulary.piece(id), id});
    return entries;
}

class RwkvEncoder final : public TextEncoder {
public:
    explicit RwkvEncoder(const EncoderSource& source)
        : trie_(byte_strings(source.vocabulary)), unknown_(source.special_ids.unknown) {}

    Result<void> encode(std::span<const TextPart> parts, EncodedText& result) const override {
        for (const TextPart& part : parts)
            part.token == Vocabulary::kNone ? add_text(part.text, result) : result.ids.push_back(part.token);
        return {};
    }

private:
    void add_text(std::string_view text, EncodedText& result) const {
        while (!text.empty()) {
            const TokenTrie::Match match = trie_.longest(text);
            if (match.id >= 0) {
                result.ids.push_back(match.id);
                text.remove_prefix(match.end);
                continue;
            }
            if (unknown_) {
                result.ids.push_back(*unknown_);
            } else {
                result.left_out.set(static_cast<uint8_t>(text.front()));
            }
            text.remove_prefix(1);
        }
    }

    TokenTrie trie_;
    std::optional<int32_t> unknown_;
};

}  // namespace

MadeEncoder make_rwkv_encoder(const EncoderSource& source) { return std::make_unique<const RwkvEncoder>(source); }

}  // namespace riftjit::models
