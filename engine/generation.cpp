#include "engine/generation.h"

#include <algorithm>

#include "engine/stopwatch.h"

namespace riftjit::engine {

namespace {

uint32_t& count_at(std::vector<uint32_t>& counts, size_t place) {
    if (counts.size() <= place) counts.resize(place + 1);
    return counts[place];
}

void add_up(std::vector<uint32_t>& sums, std::span<const uint32_t> counts) {
    for (size_t place = 0; place < counts.size(); ++place) count_at(sums, place) += counts[place];
}

// Names the launch that first wrote something that is no number.
std::unexpected<Error> unexpected_logits(runtime::Session& session, const Error& error) {
    const auto launch = session.first_not_finite();
    if (!launch) return std::unexpected(error);
    return fail(error.kind, "{}; the first is written by {}", error.message, *launch);
}

}  // namespace

const char* name(FinishReason reason) {
    switch (reason) {
        case FinishReason::end_of_generation:
            return "eos";
        case FinishReason::stop_word:
            return "word";
        case FinishReason::length:
            return "length";
        case FinishReason::interrupted:
            return "interrupted";
    }
    return "?";
}

Timings& Timings::operator+=(const Timings& other) {
    prompt_ms += other.prompt_ms, sample_ms += other.sample_ms, generation_ms += other.generation_ms;
    draft_ms += other.draft_ms;
    prompt_tokens += other.prompt_tokens;
    sampled_tokens += other.sampled_tokens;
    generation_runs += other.generation_runs, generation_steps += other.generation_steps;
    add_up(drafted_at, other.drafted_at);
    add_up(accepted_at, other.accepted_at);
    return *this;
}

Result<void> Generation::read_prompt() {
    const auto batch = unread_.first(std::min<size_t>(options_.batch, unread_.size()));
    {
        const Stopwatch watch(timings_.prompt_ms);
        RIFTJIT_TRY(logits, context_.append(batch, reading_));
        logits_ = logits;
    }
    timings_.prompt_tokens += static_cast<uint32_t>(batch.size());
    unread_ = unread_.subspan(batch.size());
    for (const int32_t id : batch) {
        sampler_.accept(id);
        if (guesses_) guesses_->accept(id);
    }
    if (guesses_) RIFTJIT_TRY_VOID(guesses_->catch_up());
    if (unread_.empty() && options_.hash != nullptr) options_.hash->add(logits_.all);
    return {};
}

// The logits behind the last token: of a step before, if it was guessed there.
Result<void> Generation::evaluate_last() {
    if (const auto logits = context_.take_guess(ids_.back())) {
        logits_ = *logits;
        ++count_at(timings_.accepted_at, guesses_->met());
    } else {
        RIFTJIT_TRY_VOID(take_step());
    }
    ++timings_.generation_runs;
    if (options_.hash != nullptr) options_.hash->add(logits_.all);
    return {};
}

Result<void> Generation::take_step() {
    std::span<const int32_t> guesses;
    if (guesses_) {
        RIFTJIT_TRY(drafted, guesses_->next(ids_.back(), most_guesses(), tokenizer_, sampler_));
        guesses = drafted;
    }
    const double before = timings_.generation_ms;
    {
        const Stopwatch watch(timings_.generation_ms);
        RIFTJIT_TRY(logits, context_.append(ids_.back(), guesses, reading_));
        logits_ = logits;
    }
    ++timings_.generation_steps;
    for (uint32_t place = 0; place < guesses.size(); ++place) ++count_at(timings_.drafted_at, place);
    if (guesses_) guesses_->stepped(static_cast<uint32_t>(1 + guesses.size()), timings_.generation_ms - before);
    return {};
}

// Rows that somebody may sample from, behind that of the last token.
uint32_t Generation::most_guesses() const {
    uint64_t most = context_.most_guesses();
    if (options_.max_tokens >= 0) most = std::min<uint64_t>(most, options_.max_tokens - ids_.size() - 1);
    return static_cast<uint32_t>(most);
}

Result<int32_t> Generation::sample() {
    const Stopwatch watch(timings_.sample_ms);
    std::optional<int32_t> of_highest;
    if (!logits_.highest.empty()) of_highest = sampler_.sample(logits_.highest);
    if (!of_highest && logits_.all.empty()) {
        RIFTJIT_TRY(row, context_.read_row());
        logits_.all = row;
    }
    const auto id = of_highest ? Result<int32_t>(*of_highest) : sampler_.sample(logits_.all);
    if (!id) return unexpected_logits(context_.session(), id.error());
    RIFTJIT_TRY_VOID(sampler_.accept_sampled(*id));
    if (guesses_) guesses_->accept(*id);
    ++timings_.sampled_tokens;
    return *id;
}

std::optional<FinishReason> Generation::limit() const {
    const bool is_enough = options_.max_tokens >= 0 && ids_.size() >= static_cast<size_t>(options_.max_tokens);
    if (is_enough || context_.is_full()) return FinishReason::length;
    return std::nullopt;
}

Generation::Step Generation::step(std::optional<int32_t> id, std::string text, std::optional<FinishReason> finish) {
    if (finish) text += stream_.finish();
    if (guesses_) timings_.draft_ms = guesses_->draft_ms();
    text_ += text;
    return {id, std::move(text), finish};
}

Result<Generation::Step> Generation::next() {
    if (!unread_.empty()) {
        RIFTJIT_TRY_VOID(read_prompt());
        if (!unread_.empty()) return step({}, {}, {});
        if (options_.max_tokens == 0) return step({}, {}, FinishReason::length);
    } else {
        RIFTJIT_TRY_VOID(evaluate_last());
    }
    if (sampler_.must_end()) return step({}, {}, FinishReason::end_of_generation);
    RIFTJIT_TRY(id, sample());
    if (tokenizer_.is_end_of_generation(id)) return step({}, {}, FinishReason::end_of_generation);
    ids_.push_back(id);
    const bool is_hidden = options_.show_control == models::Tokenizer::ShowControl::no && tokenizer_.is_control(id);
    std::string text = is_hidden ? std::string() : stream_.push(tokenizer_.piece(id));
    if (stream_.found_stop_word()) return step(id, std::move(text), FinishReason::stop_word);
    // Nothing could follow but a token that says so.
    if (sampler_.must_end()) return step(id, std::move(text), FinishReason::end_of_generation);
    return step(id, std::move(text), limit());
}

Generation::Step Generation::stop() { return step({}, {}, FinishReason::interrupted); }

}  // namespace riftjit::engine
