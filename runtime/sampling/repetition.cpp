#include "runtime/sampling/repetition.h"

#include <algorithm>
#include <cmath>

namespace riftjit::runtime {
namespace {

// Windows up to this long never allocate once constructed; longer ones ("the whole context") grow with the text.
constexpr size_t kReservedTokens = 16 * 1024;

}  // namespace

RecentTokens::RecentTokens(uint32_t last_n) : last_n_(last_n) {
    tokens_.reserve(std::min(2 * last_n_, kReservedTokens));
}

// Older tokens are dropped in bulk, so that the vector stops growing.
void RecentTokens::push(int32_t id) {
    if (tokens_.size() >= 2 * last_n_) tokens_.erase(tokens_.begin(), tokens_.end() - last_n_);
    tokens_.push_back(id);
}

void RecentTokens::assign(std::span<const int32_t> text) {
    const auto newest = text.last(std::min(text.size(), last_n_));
    tokens_.assign(newest.begin(), newest.end());
}

// ---- per token ------------------------------------------------------------------------------------------------------

void Penalties::accept(int32_t id) {
    if (recent_.full()) --counts_[recent_.window().front()];
    recent_.push(id);
    ++counts_[id];
}

void Penalties::restart(std::span<const int32_t> text) {
    for (const int32_t id : recent_.window()) --counts_[id];
    recent_.assign(text);
    for (const int32_t id : recent_.window()) ++counts_[id];
}

// A negative logit is multiplied: dividing it would make the token likelier.
float Penalties::penalised(float logit, uint32_t count) const {
    logit = logit <= 0 ? logit * parameters_.repeat : logit / parameters_.repeat;
    return logit - float(count) * parameters_.frequency - parameters_.presence;
}

void Penalties::apply(std::span<float> logits) {
    constexpr uint32_t kDone = 1u << 31;
    for (const int32_t id : recent_.window()) {
        if (counts_[id] & kDone) continue;
        logits[id] = penalised(logits[id], counts_[id]);
        counts_[id] |= kDone;
    }
    for (const int32_t id : recent_.window()) counts_[id] &= ~kDone;
}

void Penalties::apply(Candidates& candidates) const {
    for (Candidate& candidate : candidates.all())
        if (const uint32_t count = counts_[candidate.id]) candidate.logit = penalised(candidate.logit, count);
    candidates.forget_ranks();
}

// ---- per sequence ---------------------------------------------------------------------------------------------------

Dry::Dry(DryParameters parameters, uint32_t vocabulary)
    : parameters_(std::move(parameters)), recent_(parameters_.last_n), longest_(vocabulary, 0) {
    std::erase_if(parameters_.breakers, [](const auto& breaker) { return breaker.empty(); });
    std::sort(parameters_.breakers.begin(), parameters_.breakers.end());
    match_.reserve(std::min<size_t>(parameters_.last_n, kReservedTokens));
    repeating_.reserve(std::min<size_t>(parameters_.last_n, kReservedTokens));
    // Beyond it the power is no longer a float; a base of 1 never grows.
    constexpr float kLogOfLargestFloat = 88.7228391f;
    max_exponent_ = parameters_.base > 1.000001f ? int(kLogOfLargestFloat / std::log(parameters_.base)) : 0;
}

std::span<const std::vector<int32_t>> Dry::breakers_from(int32_t first) const {
    struct ByFirst {
        bool operator()(const std::vector<int32_t>& breaker, int32_t id) const { return breaker.front() < id; }
        bool operator()(int32_t id, const std::vector<int32_t>& breaker) const { return id < breaker.front(); }
    };
    const auto [begin, end] =
        std::equal_range(parameters_.breakers.begin(), parameters_.breakers.end(), first, ByFirst{});
    return {begin, end};
}

bool Dry::is_breaker(int32_t id) const {
    const auto breakers = breakers_from(id);
    return !breakers.empty() && breakers.front().size() == 1;  // sorted: the shortest comes first
}

// How many of the newest tokens follow the last breaker: no repetition is longer than that.
size_t Dry::reach_of_repetitions() const {
    const auto window = recent_.window();
    for (size_t following = 0; following < window.size(); ++following) {
        const auto newest = window.last(following + 1);
        size_t longest = 0;  // tokens of the longest complete breaker that starts here
        for (const std::vector<int32_t>& breaker : breakers_from(newest.front())) {
            if (breaker.size() > newest.size() || breaker.size() <= longest) continue;
            if (std::equal(breaker.begin(), breaker.end(), newest.begin())) longest = breaker.size();
        }
        if (longest > 0) return newest.size() - longest;
    }
    return window.size();
}

void Dry::note_repetition(int32_t next, size_t length) {
    if (longest_[next] == 0) repeating_.push_back(next);
    longest_[next] = std::max(longest_[next], uint32_t(length + 1));
}

// The Z function (Gusfield 1997, section 1.4) of the window read backwards: match_[k] tokens ending k steps back equal
// the newest ones. The token after such an occurrence would extend the repetition.
void Dry::find_repetitions() {
    const auto window = recent_.window();
    if (window.size() <= parameters_.allowed_length) return;
    const size_t reach = reach_of_repetitions();
    if (reach < parameters_.allowed_length) return;

    const auto recent = [&](size_t steps_back) { return window[window.size() - 1 - steps_back]; };
    match_.assign(window.size(), 0);
    for (size_t k = 1, left = 0, right = 0; k < window.size(); ++k) {  // [left, right) is the match that ends furthest
        size_t length = k < right ? std::min<size_t>(right - k, match_[k - left]) : 0;
        while (k + length < window.size() && recent(length) == recent(k + length)) ++length;
        match_[k] = uint32_t(length);
        if (k + length > right) left = k, right = k + length;
        if (const size_t repeated = std::min(length, reach); repeated >= parameters_.allowed_length)
            note_repetition(recent(k - 1), repeated);
    }
}

float Dry::penalty(int32_t id) const {
    if (longest_[id] == 0 || is_breaker(id)) return 0;
    int exponent = int(longest_[id] - 1 - parameters_.allowed_length);
    if (max_exponent_ > 0) exponent = std::min(exponent, max_exponent_);
    return float(parameters_.multiplier * std::pow(parameters_.base, exponent));
}

void Dry::forget_repetitions() {
    for (const int32_t id : repeating_) longest_[id] = 0;
    repeating_.clear();
}

void Dry::apply(std::span<float> logits) {
    find_repetitions();
    for (const int32_t id : repeating_) logits[id] -= penalty(id);
    forget_repetitions();
}

void Dry::apply(Candidates& candidates) {
    find_repetitions();
    for (Candidate& candidate : candidates.all()) candidate.logit -= penalty(candidate.id);
    candidates.forget_ranks();
    forget_repetitions();
}

std::vector<std::vector<int32_t>> dry_breaker_sequences(std::span<const std::string> breakers, uint32_t vocabulary,
                                                        const PieceOf& piece, const Tokenize& tokenize) {
    constexpr size_t kMaxBreakerBytes = 40, kMaxTailTokens = 20;
    std::vector<std::vector<int32_t>> sequences;
    for (const std::string& whole : breakers) {
        const std::string breaker = whole.substr(0, kMaxBreakerBytes);
        if (breaker.empty()) continue;
        for (int32_t id = 0; id < int32_t(vocabulary); ++id) {
            const std::string text = piece(id);
            if (text.find(breaker) != std::string::npos) {
                sequences.push_back({id});
                continue;
            }
            // The breaker may begin with this token's end; the tokens of what is left of it must follow.
            for (size_t length = std::min(text.size(), breaker.size() - 1); length > 0; --length) {
                if (!text.ends_with(std::string_view(breaker).substr(0, length))) continue;
                std::vector<int32_t> sequence = tokenize(std::string_view(breaker).substr(length));
                if (sequence.size() > kMaxTailTokens) sequence.resize(kMaxTailTokens);
                sequence.insert(sequence.begin(), id);
                sequences.push_back(std::move(sequence));
            }
        }
    }
    std::sort(sequences.begin(), sequences.end());
    sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
    return sequences;
}

}  // namespace riftjit::runtime
