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
    prompt_tokens += other.prompt_tokens;
    sampled_tokens += other.sampled_tokens;
    generation_runs += other.generation_runs;
    return *this;
}

Result<void> Generation::read_prompt() {
    const auto batch = unread_.first(std::min<size_t>(options_.batch, unread_.size()));
    {
        const Stopwatch watch(timings_.prompt_ms);
        RIFTJIT_TRY(logits, context_.evaluate(batch));
        logits_ = logits;
    }
    timings_.prompt_tokens += static_cast<uint32_t>(batch.size());
    unread_ = unread_.subspan(batch.size());
    for (const int32_t id : batch) sampler_.accept(id);
    if (unread_.empty() && options_.hash != nullptr) options_.hash->add(logits_);
    return {};
}

Result<void> Generation::evaluate_last() {
    const Stopwatch watch(timings_.generation_ms);
    RIFTJIT_TRY(logits, context_.evaluate({&ids_.back(), 1}));
    logits_ = logits;
    ++timings_.generation_runs;
    if (options_.hash != nullptr) options_.hash->add(logits_);
    return {};
}

Result<int32_t> Generation::sample() {
    const Stopwatch watch(timings_.sample_ms);
    const auto id = sampler_.sample(logits_);
    if (!id) return unexpected_logits(context_.session(), id.error());
    sampler_.accept(*id);
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
    RIFTJIT_TRY(id, sample());
    if (tokenizer_.is_end_of_generation(id)) return step({}, {}, FinishReason::end_of_generation);
    ids_.push_back(id);
    const bool is_hidden = options_.show_control == models::Tokenizer::ShowControl::no && tokenizer_.is_control(id);
    std::string text = is_hidden ? std::string() : stream_.push(tokenizer_.piece(id));
    return step(id, std::move(text), stream_.found_stop_word() ? FinishReason::stop_word : limit());
}

Generation::Step Generation::stop() { return step({}, {}, FinishReason::interrupted); }

}  // namespace riftjit::engine
