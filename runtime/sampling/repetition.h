// Penalties for repeating recent tokens: per token (repeat, frequency, presence) and per sequence (DRY).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sampling/candidates.h"

namespace riftjit::runtime {

// The newest `last_n` tokens, contiguous.
class RecentTokens {
public:
    explicit RecentTokens(uint32_t last_n);
    void push(int32_t id);
    void assign(std::span<const int32_t> text);
    bool full() const { return tokens_.size() >= last_n_; }
    std::span<const int32_t> window() const {  // oldest first
        return std::span(tokens_).last(full() ? last_n_ : tokens_.size());
    }

private:
    size_t last_n_;
    std::vector<int32_t> tokens_;
};

struct PenaltyParameters {
    uint32_t last_n;  // tokens looked back at; 1 or more
    float repeat, frequency, presence;
};

class Penalties {
public:
    Penalties(const PenaltyParameters& parameters, uint32_t vocabulary)
        : parameters_(parameters), recent_(parameters.last_n), counts_(vocabulary, 0) {}

    void accept(int32_t id);
    void restart(std::span<const int32_t> text);  // as if it had accepted these alone
    void apply(std::span<float> logits);          // visits recent tokens only
    void apply(Candidates& candidates) const;

private:
    float penalised(float logit, uint32_t count) const;

    PenaltyParameters parameters_;
    RecentTokens recent_;
    std::vector<uint32_t> counts_;  // by token, within the window
};

struct DryParameters {
    float multiplier, base;
    uint32_t allowed_length, last_n;
    // Token sequences over which no repetition reaches (line ends, quotation marks).
    std::vector<std::vector<int32_t>> breakers;
};

// "Don't repeat yourself": a token that would extend a repetition of L recent tokens loses
// multiplier * base^(L - allowed_length).
class Dry {
public:
    Dry(DryParameters parameters, uint32_t vocabulary);

    void accept(int32_t id) { recent_.push(id); }
    void restart(std::span<const int32_t> text) { recent_.assign(text); }
    void apply(std::span<float> logits);
    void apply(Candidates& candidates);

private:
    using Breakers = std::vector<std::vector<int32_t>>;
    std::span<const std::vector<int32_t>> breakers_from(int32_t first) const;
    bool is_breaker(int32_t id) const;  // by itself
    size_t reach_of_repetitions() const;
    void find_repetitions();
    void note_repetition(int32_t next, size_t length);
    float penalty(int32_t id) const;
    void forget_repetitions();

    DryParameters parameters_;
    int max_exponent_;
    RecentTokens recent_;
    std::vector<uint32_t> match_;     // by steps back: tokens there that equal the newest ones (Z function)
    std::vector<uint32_t> longest_;   // by token: 1 + the longest repetition that it would extend; 0: none
    std::vector<int32_t> repeating_;  // tokens whose entry above is not 0
};

// The token sequences that may contain each breaker text, over the whole vocabulary: a breaker may start inside a token
// and end in a later one.
using PieceOf = std::function<std::string(int32_t id)>;
using Tokenize = std::function<std::vector<int32_t>(std::string_view text)>;
std::vector<std::vector<int32_t>> dry_breaker_sequences(std::span<const std::string> breakers, uint32_t vocabulary,
                                                        const PieceOf& piece, const Tokenize& tokenize);

}  // namespace riftjit::runtime
