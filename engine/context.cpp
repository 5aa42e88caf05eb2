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
    return ids.subspan(ids_.size());
}

// A running state that cannot go back there is no longer the text's: a step failed between two of a prompt's.
Result<void> Context::forget_guesses() {
    RIFTJIT_TRY_VOID(session_->truncate(static_cast<uint32_t>(ids_.size())));
    if (session_->position() == ids_.size()) return {};
    return fail(ErrorKind::Unsupported, "the text of {} tokens cannot go on: its running state is kept behind {}",
                ids_.size(), session_->position());
}

Result<std::span<const float>> Context::evaluate(std::span<const int32_t> ids, runtime::LogitRows rows) {
    RIFTJIT_TRY_VOID(forget_guesses());
    guesses_.clear();
    auto logits = session_->evaluate(ids, rows);
    if (logits) ids_.insert(ids_.end(), ids.begin(), ids.end());
    return logits;
}

NextLogits Context::next_of(uint32_t row) const {
    if (logits_.highest != nullptr) return {{}, logits_.highest_of(row)};
    return {logits_.row(row), {}};
}

Result<NextLogits> Context::append(std::span<const int32_t> ids, runtime::LogitReading reading) {
    RIFTJIT_TRY_VOID(forget_guesses());
    guesses_.clear();
    RIFTJIT_TRY(logits, session_->append(ids, reading));
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    taken_ = 0;
    logits_ = logits;
    return next_of(0);
}

Result<void> Context::restore(std::vector<int32_t> ids, const runtime::Sequences::Source& source) {
    guesses_.clear();
    ids_.clear();
    RIFTJIT_TRY_VOID(session_->restore(static_cast<uint32_t>(ids.size()), source));
    ids_ = std::move(ids);
    return {};
}

Result<void> Context::truncate(uint32_t position) {
    RIFTJIT_TRY_VOID(session_->truncate(std::min(position, static_cast<uint32_t>(ids_.size()))));
    guesses_.clear();
    ids_.resize(session_->position());
    return {};
}

Result<NextLogits> Context::append(int32_t id, std::span<const int32_t> guesses, runtime::LogitReading reading) {
    if (guesses.empty()) return append({&id, 1}, reading);
    RIFTJIT_TRY_VOID(forget_guesses());
    guesses_.assign(1, id);
    guesses_.insert(guesses_.end(), guesses.begin(), guesses.end());
    auto logits = session_->step(guesses_, reading);
    guesses_.erase(guesses_.begin());
    if (!logits) {
        guesses_.clear();
        return std::unexpected(logits.error());
    }
    ids_.push_back(id);
    taken_ = 0;
    logits_ = *logits;
    return next_of(0);
}

std::optional<NextLogits> Context::take_guess(int32_t id) {
    if (taken_ >= guesses_.size() || guesses_[taken_] != id) return std::nullopt;
    ids_.push_back(id);
    return next_of(static_cast<uint32_t>(++taken_));
}

Result<std::span<const float>> Context::read_row() {
    if (logits_.data == nullptr) {
        RIFTJIT_TRY(rows, session_->read_rows());
        logits_ = rows;
    }
    return logits_.row(static_cast<uint32_t>(taken_));
}

uint32_t Context::most_guesses() const {
    const auto left = static_cast<uint32_t>(session_->context() - ids_.size());
    return left == 0 ? 0 : std::min(left, session_->most_outputs()) - 1;
}

}  // namespace riftjit::engine
