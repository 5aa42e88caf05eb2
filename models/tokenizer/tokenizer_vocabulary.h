// The tokens of a vocabulary: their texts in the file, the bytes they stand for, their types and ids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "models/gguf/gguf.h"

namespace riftjit::models {

enum class TokenType : uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };  // as in the file

// From texts to ids, by hash. Empty texts are not in it.
class TokenIndex {
public:
    // Fails with the ids of two tokens that have the same text.
    struct Duplicate {
        int32_t first, second;
    };
    std::optional<Duplicate> build(const std::vector<std::string_view>& texts);

    std::optional<int32_t> find(std::string_view text) const;

    // A search in steps, so that a caller with many can have their memory accesses under way at once.
    struct Search {
        std::string_view text;
        uint64_t hash;
        int32_t candidate;  // a token that has this hash; -1: none
    };
    Search start(std::string_view text) const;  // asks for the slot
    void look_up(Search& search) const;         // asks for the candidate's text
    void approach(const Search& search) const;  // asks for the bytes of that text
    std::optional<int32_t> finish(const Search& search) const;

private:
    struct Slot {
        uint32_t tag;  // upper half of the hash
        int32_t id;    // -1: empty
    };
    size_t slot_of(uint64_t hash) const { return hash & (slots_.size() - 1); }
    size_t after(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    const std::vector<std::string_view>* texts_ = nullptr;
    std::vector<Slot> slots_;
};

// How the text of a plain token says which bytes it stands for.
enum class PieceForm : uint8_t {
    stand_ins,  // a character for each byte (append_stand_in)
    spaced,     // U+2581 is a space, <0x0A> a byte
    literal,    // the text itself, and <0x0A> a byte
    escaped,    // as in Python's bytes: \n, \x0a
};

class Vocabulary {
public:
    static constexpr int32_t kNone = -1;

    // Reads tokenizer.ggml.tokens and tokenizer.ggml.token_type. The texts stay in the file's mapping.
    static Result<std::unique_ptr<Vocabulary>> read(const Gguf& file);
    Vocabulary(const Vocabulary&) = delete;
    Vocabulary& operator=(const Vocabulary&) = delete;

    uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
    std::string_view text(int32_t id) const { return texts_[id]; }
    TokenType type(int32_t id) const { return types_[id]; }
    void set_type(int32_t id, TokenType type) { types_[id] = type; }
    bool types_are_known() const { return types_are_known_; }  // false: the file has none, all count as normal

    const TokenIndex& index() const { return index_; }
    std::optional<int32_t> find(std::string_view text) const { return index_.find(text); }
    // The token that plain text may become: neither control, nor unknown, nor one that is cut out before.
    std::optional<int32_t> find_plain(std::string_view text) const;

    // The bytes that tokens stand for. Call once the types are final: only plain tokens are written in this form. Fails
    // for an escape that is none.
    Result<void> build_pieces(PieceForm form, const Gguf& file);
    std::string_view piece(int32_t id) const {
        const size_t begin = id == 0 ? 0 : piece_ends_[id - 1];
        return std::string_view(piece_bytes_).substr(begin, piece_ends_[id] - begin);
    }
    size_t longest_piece() const { return longest_piece_; }
    int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }  // kNone: the vocabulary has none for it
    bool is_plain(int32_t id) const;
    // A plain token that is no byte: what characters may merge to.
    bool is_text(int32_t id) const { return is_plain(id) && types_[id] != TokenType::byte; }

private:
    Vocabulary() = default;
    Result<void> read_types(const Gguf& file);
    void find_byte_tokens(PieceForm form);

    std::vector<std::string_view> texts_;
    std::vector<TokenType> types_;
    bool types_are_known_ = true;
    TokenIndex index_;
    std::string piece_bytes_;
    std::vector<size_t> piece_ends_;
    size_t longest_piece_ = 0;
    std::array<int32_t, 256> byte_tokens_{};
};

// Byte-level vocabularies write each byte as a printable character of its own: 33-126, 161-172 and 174-255 as
// themselves, the other 68 as U+0100 upwards. (GPT-2's bytes_to_unicode.)
void append_stand_in(std::string& text, uint8_t byte);

// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

}  // namespace riftjit::models
