#include "engine/draft_pace.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace riftjit::engine {

namespace {

constexpr double kAllowance = 0.01;  // plain steps, for each token
constexpr double kFirstAccount = 4, kFullAccount = 16, kFullTrials = 4, kDeepestAccount = -2;
constexpr double kWorthTrying = 1.1;      // hoped for, in tokens for the time of a plain step
constexpr uint32_t kKnownFor = 64;        // steps
constexpr uint32_t kPlainStepsFirst = 2;  // the first one of a process is slow
constexpr uint32_t kStepsBetweenPlain = 32;
constexpr double kUp = 0.125;         // how much of a rise is believed
constexpr double kStretched = 2;      // times what was believed: as much of a new time counts
constexpr double kShareOver = 64;     // tries
constexpr double kUnseenShare = 0.5;  // of guesses that are right, before any was seen
constexpr double kUnseenWeight = 2;   // in tries
constexpr uint32_t kMostRows = 1 << 11;

// 1, 2, 3..4, 5..8, ...: steps of about the same time, as rows are computed in tiles.
uint32_t kind_of(uint32_t rows) { return static_cast<uint32_t>(std::bit_width(std::min(rows, kMostRows) - 1)); }

}  // namespace

bool DraftPace::Cost::is_known(uint32_t step) const { return count_ > 0 && step - step_ <= kKnownFor; }

void DraftPace::Cost::add(double value, uint32_t step) {
    const bool is_less = !is_known(step) || value < value_;
    ++count_;
    step_ = step;
    value_ = is_less ? value : value_ + kUp * (std::min(value, kStretched * value_) - value_);
}

DraftPace::DraftPace(const Limits& limits)
    : limits_(limits), account_(kFirstAccount + 2.0 * limits.least), trials_(account_) {}

// Of a step with so many guesses: the token behind those that are right too.
double DraftPace::tokens_of(uint32_t grade, uint32_t guesses) const {
    double tokens = 1, all_right = 1, share = kUnseenShare;
    for (uint32_t place = 0; place < guesses; ++place) {
        if (place < kDepths) {
            const Share& seen = shares_[grade][place];
            share = (seen.hits + kUnseenWeight * share) / (seen.tries + kUnseenWeight);
        }
        all_right *= share;
        tokens += all_right;
    }
    return tokens;
}

double DraftPace::step_cost(uint32_t rows, About about) const {
    uint32_t kind = kind_of(rows);
    if (rows_[kind].is_known(steps_)) return rows_[kind].value();
    while (kind > 0 && !rows_[kind].is_known(steps_)) --kind;
    const double hoped = kind == 0 ? 1 : rows_[kind].value(), feared = hoped * rows / (1U << kind);
    return about == About::least ? hoped : about == About::most ? feared : std::sqrt(hoped * feared);
}

// A smaller model reads a token in less than a plain step, whatever the first ones of a process took.
double DraftPace::catch_up_cost(uint32_t backlog) const {
    return backlog * std::min(catch_up_ms_.value() / plain_ms_.value(), 1.0);
}

double DraftPace::cost(uint32_t guesses, uint32_t backlog, About about) const {
    const double one = guess_.is_known(steps_) ? guess_.value() : about == About::most ? 1 : 0;
    return step_cost(guesses + 1, about) + guesses * one + catch_up_cost(backlog);
}

uint32_t DraftPace::length(uint32_t grade, uint32_t most, uint32_t backlog) const {
    most = std::min(most, limits_.most);
    const uint32_t least = std::max(limits_.least, 1U);
    if (most < least) return 0;
    if (!limits_.is_bounded) return most;
    if (is_beginning() || steps_since_plain_ >= kStepsBetweenPlain) return 0;
    uint32_t best = 0;
    double best_rate = 0;
    bool is_near = true;  // to what was done before
    for (uint32_t guesses = least; guesses != 0;) {
        const bool is_known = rows_[kind_of(guesses + 1)].is_known(steps_);
        const double tokens = tokens_of(grade, guesses);
        const double rate = tokens / cost(guesses, backlog, About::least);
        const bool pays = account_ >= 0 && tokens > cost(guesses, backlog, About::likely);
        const bool may_be_tried =
            rate > kWorthTrying && std::min(account_, trials_) >= cost(guesses, backlog, About::most) - 1;
        if ((is_known || is_near) && (pays || may_be_tried) && rate > best_rate) best = guesses, best_rate = rate;
        is_near = is_known;
        // The most of each kind of step, and of all.
        const uint32_t next = std::min(most, std::bit_ceil(guesses + 2) - 1);
        guesses = next == guesses ? 0 : next;
    }
    return best;
}

bool DraftPace::is_beginning() const { return plain_ms_.count() < kPlainStepsFirst; }

void DraftPace::note_catch_up(uint32_t tokens, double ms) {
    if (tokens > 0) catch_up_ms_.add(ms / tokens, steps_);
}

void DraftPace::learn_shares(const Step& step) {
    if (!step.grade) return;
    for (uint32_t place = 0; place < std::min(step.guesses, kDepths) && place <= step.right; ++place) {
        Share& share = shares_[*step.grade][place];
        const double keep = 1 - 1 / kShareOver;
        share = {share.hits * keep + (place < step.right ? 1 : 0), share.tries * keep + 1};
    }
}

void DraftPace::note(const Step& step) {
    const bool is_plain = step.rows == 1;
    ++steps_;
    steps_since_plain_ = is_plain ? 0 : steps_since_plain_ + 1;
    if (is_plain) plain_ms_.add(step.step_ms, steps_);
    if (plain_ms_.count() == 0) return learn_shares(step);  // where steps are not bounded
    const double draft_cost = step.draft_ms / plain_ms_.value();
    double gain = -draft_cost;
    bool is_trial = false;
    if (!is_plain) {
        // More than could be is something else's time.
        const double most = step_cost(step.rows, About::most);
        is_trial = tokens_of(*step.grade, step.rows - 1) <= cost(step.rows - 1, step.backlog, About::likely);
        Cost& rows = rows_[kind_of(step.rows)];
        rows.add(std::min<double>(step.step_ms / plain_ms_.value(), step.rows), steps_);
        gain += step.right + 1 - std::min(rows.value(), most);
    }
    if (step.guesses > 0) guess_.add(std::max(0.0, draft_cost - catch_up_cost(step.backlog)) / step.guesses, steps_);
    learn_shares(step);
    const double allowance = kAllowance * (is_plain ? 1 : step.right + 1), least = 2.0 * limits_.least;
    account_ = std::clamp(account_ + allowance + gain, kDeepestAccount, kFullAccount + least);
    trials_ = std::min(trials_ + allowance + (is_trial ? std::min(gain, 0.0) : 0), kFullTrials + least);
}

}  // namespace riftjit::engine
