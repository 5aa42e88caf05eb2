#include "engine/context.h"

#include <algorithm>

namespace riftjit::engine {

Result<std::span<const int32_t>> Context::reuse(std::span<const int32_t> ids) {
    if (ids.empty()) return fail(ErrorKind::Usage, "the prompt is empty and the model has no BOS token to start from");
    if (ids.size() > session_->context())
        return fail(ErrorKind::Usage, "the prompt has {} tokens, the context {} (-c); context_length_exceeded",
                    ids.size(), session_->context());
    uint32_t same = 0;
    while (same < ids_.size() && same + 1 < ids.size() && ids_[same] == ids[same]) ++same;
    RIFTJIT_TRY_VOID(truncate(same));
    return ids.subspan(same);
}

Result<std::span<const float>> Context::evaluate(std::span<const int32_t> ids, runtime::LogitRows rows) {
    RIFTJIT_TRY_VOID(forget_guesses());
    guesses_.clear();
    auto logits = session_->evaluate(ids, rows);
    if (logits) ids_.insert(ids_.end(), ids.begin(), ids.end());
    return logits;
}

Result<void> Context::truncate(uint32_t position) {
    RIFTJIT_TRY_VOID(session_->truncate(std::min(position, static_cast<uint32_t>(ids_.size()))));
    guesses_.clear();
    ids_.resize(session_->position());
    return {};
}

Result<std::span<const float>> Context::evaluate(int32_t id, std::span<const int32_t> guesses) {
    if (guesses.empty()) return evaluate({&id, 1});
    RIFTJIT_TRY_VOID(forget_guesses());
    guesses_.assign(1, id);
    guesses_.insert(guesses_.end(), guesses.begin(), guesses.end());
    auto logits = session_->step(guesses_);
    guesses_.erase(guesses_.begin());
    if (!logits) {
        guesses_.clear();
        return std::unexpected(logits.error());
    }
    ids_.push_back(id);
    taken_ = 0;
    guessed_ = *logits;
    return guessed_.row(0);
}

std::optional<std::span<const float>> Context::take_guess(int32_t id) {
    if (taken_ >= guesses_.size() || guesses_[taken_] != id) return std::nullopt;
    ids_.push_back(id);
    return guessed_.row(static_cast<uint32_t>(++taken_));
}

uint32_t Context::most_guesses() const {
    const auto left = static_cast<uint32_t>(session_->context() - ids_.size());
    return left == 0 ? 0 : std::min(left, session_->most_outputs()) - 1;
}

}  // namespace riftjit::engine
