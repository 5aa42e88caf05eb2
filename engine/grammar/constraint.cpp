#include "engine/grammar/constraint.h"

#include <algorithm>

#include "host/utf8.h"

namespace riftjit::engine {

GrammarConstraint::GrammarConstraint(std::shared_ptr<TokenMasks> masks, GrammarTriggers triggers)
    : masks_(std::move(masks)), triggers_(std::move(triggers)) {
    std::erase(triggers_.words, std::string());
    restart();
}

void GrammarConstraint::restart() {
    state_ = masks_->start();
    is_waiting_ = !triggers_.empty();
    has_ended_ = false;
    unread_.clear();
}

Result<GrammarConstraint::Next> GrammarConstraint::next(int32_t id) const {
    if (has_ended_ || id < 0 || static_cast<uint32_t>(id) >= masks_->tree().size()) return Next{};
    const bool is_end = masks_->tree().kind(id) == TokenTree::Kind::end;
    if (is_waiting_ && !is_end) return next_waiting(id);
    if (is_end && may_end()) return Next{.state = state_, .is_waiting = is_waiting_, .has_ended = true, .unread = {}};
    RIFTJIT_TRY(state, masks_->after(state_, id));
    return Next{.state = state, .is_waiting = false, .has_ended = false, .unread = {}};
}

// The grammar reads from the first place on at which a word begins, if this token ends one.
Result<GrammarConstraint::Next> GrammarConstraint::next_waiting(int32_t id) const {
    if (std::ranges::find(triggers_.tokens, id) != triggers_.tokens.end()) {
        // A grammar names the trigger as a token, or spells it.
        const TokenMasks::State start = masks_->start();
        RIFTJIT_TRY(named, masks_->after(start, id));
        if (named) return Next{.state = named, .is_waiting = false, .has_ended = false, .unread = {}};
        RIFTJIT_TRY(spelt, masks_->after_bytes(start, masks_->tree().bytes(id)));
        return Next{.state = spelt, .is_waiting = false, .has_ended = false, .unread = {}};
    }
    std::string text = unread_;
    text += masks_->tree().bytes(id);
    size_t first = std::string::npos, longest = 1;
    for (const std::string& word : triggers_.words) {
        first = std::min(first, text.find(word));
        longest = std::max(longest, word.size());
    }
    if (first != std::string::npos) {
        RIFTJIT_TRY(state, masks_->after_bytes(masks_->start(), std::string_view(text).substr(first)));
        return Next{.state = state, .is_waiting = false, .has_ended = false, .unread = {}};
    }
    text.erase(0, text.size() - std::min(text.size(), longest - 1));
    return Next{.state = state_, .is_waiting = true, .has_ended = false, .unread = std::move(text)};
}

Result<bool> GrammarConstraint::allows(int32_t id) {
    RIFTJIT_TRY(after, next(id));
    return after.state.has_value();
}

Result<void> GrammarConstraint::accept(int32_t id) {
    RIFTJIT_TRY(after, next(id));
    if (!after.state) {
        const auto& tree = masks_->tree();
        const bool is_token = id >= 0 && static_cast<uint32_t>(id) < tree.size();
        return fail(ErrorKind::Usage, "the grammar does not allow token {} \"{}\" here", id,
                    is_token ? escape_unprintable(tree.bytes(id)) : std::string("?"));
    }
    state_ = *after.state;
    is_waiting_ = after.is_waiting, has_ended_ = after.has_ended;
    unread_ = std::move(after.unread);
    return {};
}

bool GrammarConstraint::may_end() const { return is_waiting_ || has_ended_ || masks_->may_end(state_); }

bool GrammarConstraint::must_end() { return has_ended_ || (!is_waiting_ && masks_->must_end(state_)); }

// All but those that would end a trigger and go on as the grammar does not.
Result<std::shared_ptr<const TokenMask>> GrammarConstraint::mask_waiting() const {
    const uint32_t size = masks_->tree().size();
    auto mask = std::make_shared<TokenMask>((size + 63) / 64);
    for (uint32_t id = 0; id < size; ++id) {
        RIFTJIT_TRY(after, next(static_cast<int32_t>(id)));
        if (after.state) (*mask)[id / 64] |= uint64_t(1) << (id % 64);
    }
    return mask;
}

Result<std::span<const uint64_t>> GrammarConstraint::allowed() {
    RIFTJIT_TRY(mask, is_waiting_ && !has_ended_ ? mask_waiting() : masks_->mask(state_));
    mask_ = mask;
    const bool is_none = std::ranges::all_of(*mask_, [](uint64_t word) { return word == 0; });
    if (is_none && !has_ended_ && !masks_->may_end(state_))
        return fail(ErrorKind::Unsupported,
                    "no token of the vocabulary may follow: what the grammar asks for next cannot be spelt with them, "
                    "or its rules are nested more than 2000 deep");
    return std::span<const uint64_t>(*mask_);
}

std::unique_ptr<runtime::TokenConstraint> GrammarConstraint::clone() const {
    return std::make_unique<GrammarConstraint>(*this);
}

}  // namespace riftjit::engine
