// One text that follows a grammar.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/grammar/token_masks.h"
#include "runtime/sampling/token_constraint.h"

namespace riftjit::engine {

// From when on a text follows its grammar. Both empty: from the beginning. Otherwise anything may be said before the
// first of these, which is the first that the grammar reads.
struct GrammarTriggers {
    std::vector<std::string> words;
    std::vector<int32_t> tokens;

    bool empty() const { return words.empty() && tokens.empty(); }
};

class GrammarConstraint : public runtime::TokenConstraint {
public:
    explicit GrammarConstraint(std::shared_ptr<TokenMasks> masks, GrammarTriggers triggers = {});

    Result<bool> allows(int32_t id) override;
    bool is_open() const override { return is_waiting_; }
    Result<std::span<const uint64_t>> allowed() override;
    Result<void> accept(int32_t id) override;
    bool may_end() const override;
    bool must_end() override;
    void restart() override;
    std::unique_ptr<runtime::TokenConstraint> clone() const override;

private:
    // Behind one token more.
    struct Next {
        std::optional<TokenMasks::State> state;  // none: it is not allowed, or the text waits
        bool is_waiting = false, has_ended = false;
        std::string unread;
    };
    Result<Next> next(int32_t id) const;
    Result<Next> next_waiting(int32_t id) const;
    Result<std::shared_ptr<const TokenMask>> mask_waiting() const;

    std::shared_ptr<TokenMasks> masks_;
    GrammarTriggers triggers_;
    TokenMasks::State state_;
    bool is_waiting_;
    bool has_ended_ = false;
    std::string unread_;  // while waiting: the text's end, in which a word may begin
    std::shared_ptr<const TokenMask> mask_;
};

}  // namespace riftjit::engine
