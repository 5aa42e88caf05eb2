#include "engine/guesses.h"

#include <algorithm>

#include "engine/stopwatch.h"

namespace riftjit::engine {

Result<void> Guesses::catch_up() {
    const uint32_t backlog = drafting_->draft->backlog();
    const double before = draft_ms_;
    {
        const Stopwatch watch(draft_ms_);
        RIFTJIT_TRY_VOID(drafting_->draft->catch_up());
    }
    drafting_->pace.note_catch_up(backlog, draft_ms_ - before);
    return {};
}

void Guesses::learn(int32_t last) {
    if (!step_) return;
    step_->right = right_;
    if (step_->rows == 1 && step_->guesses == 1 && guesses_[0] == last) step_->right = 1;
    drafting_->pace.note(*step_);
}

Result<std::span<const int32_t>> Guesses::next(int32_t last, uint32_t most, const models::Tokenizer& tokenizer,
                                               const runtime::Sampler& sampler) {
    learn(last);
    auto& [draft, pace] = *drafting_;
    guesses_.clear();
    right_ = 0;
    step_.emplace();
    const auto grade = draft->grade();
    if (!grade) return guesses_;
    const uint32_t backlog = draft->backlog(), count = pace.length(*grade, most, backlog);
    if (count == 0 && !draft->is_free()) {
        if (pace.is_beginning()) RIFTJIT_TRY_VOID(catch_up());
        return guesses_;
    }
    const double before = draft_ms_;
    {
        const Stopwatch watch(draft_ms_);
        RIFTJIT_TRY(proposal, draft->propose(std::max(count, 1U)));
        guesses_.assign(proposal.begin(), proposal.end());
    }
    const auto end = std::ranges::find_if(guesses_, [&](int32_t id) { return tokenizer.is_end_of_generation(id); });
    guesses_.erase(end, guesses_.end());
    guesses_.resize(sampler.allowed_prefix(guesses_));
    const bool is_tried = count > 0 && guesses_.size() >= pace.least();
    if (!is_tried && guesses_.size() > 1) guesses_.resize(1);
    *step_ = {.grade = grade,
              .guesses = static_cast<uint32_t>(guesses_.size()),
              .backlog = backlog,
              .draft_ms = draft_ms_ - before};
    return std::span(guesses_).first(is_tried ? guesses_.size() : 0);
}

void Guesses::stepped(uint32_t rows, double ms) {
    if (!step_) return;
    step_->rows = rows;
    step_->step_ms = ms;
}

uint32_t Guesses::met() { return right_++; }

}  // namespace riftjit::engine
