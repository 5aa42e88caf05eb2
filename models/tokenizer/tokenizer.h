// Text to token ids and back, for every kind of vocabulary (tokenizer_kinds.h).
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "host/utf8.h"
#include "models/gguf/gguf.h"

namespace riftjit::models {

enum class ParseSpecial : uint8_t { no, yes };  // yes: control tokens in the text become their ids
// yes: a begin token, if the vocabulary wants one and the text does not begin with it; and_end: an end token too, if
// the vocabulary wants one: for a text that is whole, not for one to be continued
enum class AddBos : uint8_t { no, yes, and_end };

// Of one text, whatever the context: ten million tokens and more.
inline constexpr uint64_t kMostTextBytes = uint64_t(32) << 20;

using ByteSet = std::bitset<256>;
// "byte 0x1d has no token in this vocabulary and is left out"; empty for no byte.
std::string describe_left_out(const ByteSet& bytes);

class Tokenizer {
public:
    // pre: overrides tokenizer.ggml.pre (--pre).
    static Result<Tokenizer> from_gguf(const Gguf& file, std::optional<std::string_view> pre = std::nullopt);

    // Bytes for which the vocabulary has no token are left out, as published tokenizers do, and added to `left_out`:
    // whoever encodes what a user said says so.
    Result<std::vector<int32_t>> encode(std::string_view text, ParseSpecial parse_special, AddBos add_bos,
                                        ByteSet* left_out = nullptr) const;
    // A segment of a rendered conversation: template literals parse specials, message contents do not. Words reach
    // across segments, so ids are those of the joined text; special tokens do not.
    struct Segment {
        std::string text;
        ParseSpecial parse_special;
    };
    Result<std::vector<int32_t>> encode(std::span<const Segment> segments, AddBos add_bos,
                                        ByteSet* left_out = nullptr) const;

    // Two texts, with the vocabulary's tokens around both and between them: what rerankers read.
    Result<std::vector<int32_t>> encode_pair(std::string_view first, std::string_view second,
                                             ByteSet* left_out = nullptr) const;

    // Ids must be those of tokens. The space that a vocabulary puts in front of a text is taken away again.
    enum class ShowControl : uint8_t { no, yes };
    std::string decode(std::span<const int32_t> ids, ShowControl show = ShowControl::no) const;  // raw bytes
    std::string_view piece(int32_t id) const;  // raw bytes of one token (control tokens: their text)
    bool is_control(int32_t id) const;         // hidden in output: control and unknown tokens, not gpt-oss's channels

    // How long a text can be that becomes no more than so many tokens, within kMostTextBytes: of a longer one no token
    // need be made to know that it does not fit. A mebibyte at least, so that only what is far too long ends without
    // its number of tokens.
    uint64_t most_text_bytes(uint64_t tokens) const;

    uint32_t size() const;
    std::string_view kind() const;       // "BPE", "SPM", ...
    std::string_view algorithm() const;  // what that is
    std::string_view pre() const;        // the pre-tokenizer's name; empty: this kind has none
    std::optional<int32_t> bos() const;
    std::optional<int32_t> eos() const;
    // Of fill-in-the-middle: what marks a text before a gap, behind it, and what belongs there; the names of a
    // repository and of its files.
    struct FimTokens {
        std::optional<int32_t> prefix, suffix, middle, repository, separator;
    };
    FimTokens fim() const;
    bool adds_bos() const;
    bool adds_end() const;
    std::optional<int32_t> end() const;  // that AddBos::and_end adds
    bool is_end_of_generation(int32_t id) const;
    std::span<const int32_t> end_of_generation() const;        // ascending
    std::optional<int32_t> find(std::string_view text) const;  // the token with exactly this text
    std::span<const std::string> warnings() const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace riftjit::models
