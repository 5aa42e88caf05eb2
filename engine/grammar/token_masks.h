// Which tokens of a vocabulary may follow in a state of a grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/grammar.h"
#include "host/result.h"
#include "models/tokenizer/tokenizer.h"

namespace riftjit::engine {

class GrammarMachine;

// The tokens' bytes as a tree in the order of a walk; one for all grammars of a model.
class TokenTree {
public:
    enum class Kind : uint8_t {
        text,     // may stand in a text
        control,  // only where a grammar names it
        end,      // where a text may end
    };
    struct Token {
        std::string bytes;
        Kind kind = Kind::text;
    };
    explicit TokenTree(std::vector<Token> tokens);
    static TokenTree of(const models::Tokenizer& tokenizer);

    struct Node {
        uint32_t end;   // of what lies below
        int32_t token;  // whose bytes end here, the first of them; -1: none
        uint16_t depth;
        uint8_t byte;
    };
    // The first is the root. Below it come first the tokens that are plain text, then the others.
    std::span<const Node> nodes() const { return nodes_; }
    uint32_t first_other() const { return first_other_; }
    // Of whole characters none of which is a control character, a quotation mark or a backslash: what a string of JSON,
    // and most else that holds text, takes without a look at each.
    std::span<const uint64_t> plain() const { return plain_; }

    // A part of the tree: nodes with what leads to them, in the tree's order.
    struct Some {
        uint32_t node;
        uint32_t end;    // of those below it in this list
        bool is_wanted;  // others are but on the way
    };
    // Tokens of more bytes than some number, which is `bytes` or a little less; null: there are none.
    struct Longer {
        size_t than;
        std::vector<uint64_t> tokens;
        std::vector<Some> nodes;
    };
    const Longer* longer_than(size_t bytes) const;
    int32_t next_alike(int32_t token) const { return next_alike_[static_cast<size_t>(token)]; }  // -1: none
    std::string_view bytes(int32_t token) const { return tokens_[static_cast<size_t>(token)].bytes; }
    Kind kind(int32_t token) const { return tokens_[static_cast<size_t>(token)].kind; }
    uint32_t size() const { return static_cast<uint32_t>(tokens_.size()); }
    size_t deepest() const { return deepest_; }
    std::span<const int32_t> ends() const { return ends_; }
    // A token with exactly this text, control tokens too; -1: none.
    int32_t find(std::string_view text) const;

private:
    void note_longer(size_t than);

    std::vector<Token> tokens_;
    std::vector<Node> nodes_;
    std::vector<int32_t> next_alike_, ends_;
    std::vector<uint64_t> plain_;
    std::vector<Longer> longer_;
    uint32_t first_other_ = 1;
    size_t deepest_ = 0;
};

using TokenMask = std::vector<uint64_t>;

// A grammar on a vocabulary: its states and masks as far as texts came to them, shared by all of them and kept within
// kMostBytes, beyond which they are begun anew. Any thread may use it.
class TokenMasks {
public:
    static constexpr size_t kMostBytes = size_t(96) << 20;

    // Fails on a token that the grammar names and the vocabulary has not.
    static Result<std::shared_ptr<TokenMasks>> create(std::shared_ptr<const Grammar> grammar,
                                                      std::shared_ptr<const TokenTree> tree);
    ~TokenMasks();

    // Where a text is; valid whatever becomes of the shared states.
    class State;
    State start();
    // nullopt: the token must not stand there.
    Result<std::optional<State>> after(const State& state, int32_t token);
    Result<std::optional<State>> after_bytes(const State& state, std::string_view bytes);
    Result<std::shared_ptr<const TokenMask>> mask(const State& state);
    bool may_end(const State& state) const;
    // Nothing but an end may follow.
    bool must_end(const State& state) const;

    const TokenTree& tree() const { return *tree_; }
    const Grammar& grammar() const { return *grammar_; }

private:
    struct Impl;
    TokenMasks(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);
    void renew(State& state);

    std::shared_ptr<const Grammar> grammar_;
    std::shared_ptr<const TokenTree> tree_;
    mutable std::mutex mutex_;
    std::unique_ptr<Impl> impl_;
};

class TokenMasks::State {
private:
    friend class TokenMasks;
    std::shared_ptr<GrammarMachine> machine_;
    uint32_t configuration_ = 0;
};

// The grammars of one model: their tree, made when the first is asked for, and the masks of those lately used.
class GrammarMasks {
public:
    explicit GrammarMasks(models::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
    Result<std::shared_ptr<TokenMasks>> of(std::shared_ptr<const Grammar> grammar);

private:
    static constexpr size_t kKept = 16;
    models::Tokenizer tokenizer_;
    std::mutex mutex_;
    std::shared_ptr<const TokenTree> tree_;
    std::vector<std::shared_ptr<TokenMasks>> kept_;  // the latest last
};

}  // namespace riftjit::engine
