#include "engine/generation.h"

#include <algorithm>
#include <chrono>

namespace riftjit::engine {

namespace {

using Clock = std::chrono::steady_clock;

// Adds the time of its life to a sum of milliseconds.
class Stopwatch {
public:
    explicit Stopwatch(double& sum_ms) : sum_ms_(sum_ms) {}
    ~Stopwatch() { sum_ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& sum_ms_;
    Clock::time_point start_ = Clock::now();
};

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
        accept(id);
    }
    if (options_.drafting != nullptr) RIFTJIT_TRY_VOID(catch_up());
    if (unread_.empty() && options_.hash != nullptr) options_.hash->add(logits_.all);
    return {};
}

// The logits behind the last token: of a step before, if it was guessed there.
Result<void> Generation::evaluate_last() {
    if (const auto logits = context_.take_guess(ids_.back())) {
        logits_ = *logits;
        ++count_at(timings_.accepted_at, step_->right++);
    } else {
        RIFTJIT_TRY_VOID(take_step());
    }
    ++timings_.generation_runs;
    if (options_.hash != nullptr) options_.hash->add(logits_.all);
    return {};
}

Result<void> Generation::take_step() {
    std::span<const int32_t> guesses;
    if (options_.drafting != nullptr) {
        learn();
        RIFTJIT_TRY(drafted, draft());
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
    if (step_) {
        step_->rows = static_cast<uint32_t>(1 + guesses.size());
        step_->step_ms = timings_.generation_ms - before;
    }
    return {};
}

void Generation::accept(int32_t id) {
    if (options_.drafting != nullptr) options_.drafting->draft->accept(id);
}

// Of the prompt and what follows, so that no later token of the answer waits for it.
Result<void> Generation::catch_up() {
    const uint32_t backlog = options_.drafting->draft->backlog();
    const double before = timings_.draft_ms;
    {
        const Stopwatch watch(timings_.draft_ms);
        RIFTJIT_TRY_VOID(options_.drafting->draft->catch_up());
    }
    options_.drafting->pace.note_catch_up(backlog, timings_.draft_ms - before);
    return {};
}

// Rows that somebody may sample from, behind that of the last token.
uint32_t Generation::most_guesses() const {
    uint64_t most = context_.most_guesses();
    if (options_.max_tokens >= 0) most = std::min<uint64_t>(most, options_.max_tokens - ids_.size() - 1);
    return static_cast<uint32_t>(most);
}

// The guesses to be tried; opens step_. An end of generation is not guessed: nothing is sampled behind it. Nor is what
// the sampler will not take.
Result<std::span<const int32_t>> Generation::draft() {
    auto& [draft, pace] = *options_.drafting;
    guesses_.clear();
    step_.emplace();
    const auto grade = draft->grade();
    if (!grade) return guesses_;
    const uint32_t backlog = draft->backlog(), count = pace.length(*grade, most_guesses(), backlog);
    if (count == 0 && !draft->is_free()) {
        if (pace.is_beginning()) RIFTJIT_TRY_VOID(catch_up());
        return guesses_;
    }
    const double before = timings_.draft_ms;
    {
        const Stopwatch watch(timings_.draft_ms);
        RIFTJIT_TRY(proposal, draft->propose(std::max(count, 1U)));
        guesses_.assign(proposal.begin(), proposal.end());
    }
    const auto end = std::ranges::find_if(guesses_, [&](int32_t id) { return tokenizer_.is_end_of_generation(id); });
    guesses_.erase(end, guesses_.end());
    guesses_.resize(sampler_.allowed_prefix(guesses_));
    const bool is_tried = count > 0 && guesses_.size() >= pace.least();
    if (!is_tried && guesses_.size() > 1) guesses_.resize(1);
    *step_ = {.grade = grade,
              .guesses = static_cast<uint32_t>(guesses_.size()),
              .backlog = backlog,
              .draft_ms = timings_.draft_ms - before};
    return std::span(guesses_).first(is_tried ? guesses_.size() : 0);
}

// From the last step, whose every guess has met its token by now.
void Generation::learn() {
    if (!step_) return;
    if (step_->rows == 1 && step_->guesses == 1 && guesses_[0] == ids_.back()) step_->right = 1;
    options_.drafting->pace.note(*step_);
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
    accept(*id);
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
    text_ += text;
    return {id, std::move(text), finish};
}

Result<Generation::Step> Generation::next() {
    if (!unread_.empty()) {
        RIFTJIT_TRY_VOID(read_prompt());
        if (!unread_.empty()) return Step{};
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
