#include "runtime/sampling/sampler_stages.h"

#include <algorithm>
#include <cmath>

namespace riftjit::runtime::stages {
namespace {

// How many entries are put in order at first where the number needed is not known; then four times as many.
constexpr size_t kFirstRanked = 256;

float entropy_of(Candidates& candidates) {
    double entropy = 0;
    for (const Candidate& candidate : candidates.all())
        if (candidate.probability > 0) entropy -= double(candidate.probability) * std::log(candidate.probability);
    return float(entropy);
}

}  // namespace

void top_k(Candidates& candidates, size_t count) {
    candidates.rank(count);
    candidates.keep_first(count);
}

void top_p(Candidates& candidates, float p, size_t min_keep) {
    candidates.softmax();
    size_t ranked = 0;
    double sum = 0;
    for (size_t index = 0; index < candidates.size(); ++index) {
        if (index == ranked) candidates.rank(ranked = std::max(kFirstRanked, ranked * 4));
        sum += candidates[index].probability;
        if (sum >= p && index + 1 >= min_keep) return candidates.keep_first(index + 1);
    }
}

void min_p(Candidates& candidates, float p, size_t min_keep) {
    const float lowest = candidates.highest_logit() + std::log(p);
    const auto all = candidates.all();
    const size_t kept = std::count_if(all.begin(), all.end(), [&](const Candidate& c) { return c.logit >= lowest; });
    if (kept >= min_keep) return candidates.drop_below(lowest);
    candidates.rank(min_keep);
    candidates.keep_first(min_keep);
}

void typical_p(Candidates& candidates, float p, size_t min_keep) {
    candidates.softmax();
    const float entropy = entropy_of(candidates);
    for (Candidate& candidate : candidates.all())
        candidate.score = std::abs(-std::log(candidate.probability) - entropy);  // infinite where impossible
    size_t ranked = 0;
    double sum = 0;
    for (size_t index = 0; index < candidates.size(); ++index) {
        if (index == ranked) candidates.rank_by_score(ranked = std::max(kFirstRanked, ranked * 4));
        sum += candidates[index].probability;
        if (sum > p && index + 1 >= min_keep) return candidates.keep_first(index + 1);
    }
}

void top_n_sigma(Candidates& candidates, float n) {
    double sum = 0, squares = 0;
    size_t possible = 0;
    for (const Candidate& candidate : candidates.all()) {
        if (std::isinf(candidate.logit)) continue;
        sum += candidate.logit;
        ++possible;
    }
    const double mean = sum / double(possible);
    for (const Candidate& candidate : candidates.all())
        if (!std::isinf(candidate.logit)) squares += (candidate.logit - mean) * (candidate.logit - mean);
    candidates.drop_below(float(candidates.highest_logit() - n * std::sqrt(squares / double(possible))));
}

void xtc(Candidates& candidates, float probability, float threshold, size_t min_keep, Random& random) {
    if (candidates.size() < 2 || random.uniform_float() > probability) return;
    candidates.softmax();
    size_t likely = 0, ranked = 0;  // as many reach the threshold
    while (likely < candidates.size()) {
        if (likely == ranked) candidates.rank(ranked = std::max(kFirstRanked, ranked * 4));
        if (candidates[likely].probability < threshold) break;
        ++likely;
    }
    if (likely < 2) return;
    const size_t dropped = likely - 1;  // the least probable of the likely ones stays
    if (candidates.size() - dropped >= min_keep) candidates.drop_first(dropped);
}

void temperature(Candidates& candidates, float temperature) {
    const float highest = candidates.highest_logit();  // subtracted first, so that no temperature overflows
    for (Candidate& candidate : candidates.all()) candidate.logit = (candidate.logit - highest) / temperature;
}

void dynamic_temperature(Candidates& candidates, float base, float range, float exponent) {
    if (candidates.size() < 2) return;
    candidates.softmax();
    const float highest_entropy = std::log(float(candidates.size()));
    const float lowest = std::max(0.0f, base - range), highest = base + range;
    const float scale = std::pow(entropy_of(candidates) / highest_entropy, exponent);
    const float chosen = lowest + (highest - lowest) * scale;
    if (chosen > 0) return temperature(candidates, chosen);
    candidates.rank(1);
    candidates.keep_first(1);
}

size_t draw(Candidates& candidates, Random& random) {
    candidates.softmax();
    double sum = 0;
    for (const Candidate& candidate : candidates.all()) sum += candidate.probability;
    const double target = sum * random.uniform();
    double running = 0;
    size_t last_possible = 0;
    for (size_t index = 0; index < candidates.size(); ++index) {
        if (candidates[index].probability == 0) continue;
        running += candidates[index].probability;
        if (running >= target) return index;
        last_possible = index;
    }
    return last_possible;  // rounding left the running sum just below the target
}

size_t MirostatState::draw_and_learn(Candidates& candidates, Random& random) {
    const size_t index = draw(candidates, random);
    const float surprise = -std::log2(candidates[index].probability);
    mu_ -= eta_ * (surprise - tau_);
    return index;
}

size_t MirostatState::draw_v1(Candidates& candidates, uint32_t vocabulary, Random& random) {
    constexpr size_t kZipfTokens = 100;  // the exponent is estimated from the most probable ones
    candidates.softmax();
    candidates.rank(kZipfTokens);
    double products = 0, squares = 0;
    for (size_t i = 0; i + 1 < std::min(kZipfTokens, candidates.size()); ++i) {
        if (candidates[i + 1].probability == 0) break;
        const double t = std::log(double(i + 2) / double(i + 1));
        products += t * std::log(candidates[i].probability / candidates[i + 1].probability);
        squares += t * t;
    }
    const double exponent = products / squares, excess = exponent - 1;
    const double count = std::pow(excess * std::exp2(mu_) / (1 - std::pow(double(vocabulary), -excess)), 1 / exponent);
    // Not a number where there is nothing to estimate from (one candidate) or all are equal.
    const bool known = count >= 1;
    top_k(candidates, known ? size_t(std::min(count, double(candidates.size()))) : 1);
    return draw_and_learn(candidates, random);
}

size_t MirostatState::draw_v2(Candidates& candidates, Random& random) {
    candidates.softmax();
    candidates.rank(1);
    // Surprise is the logarithm of the probability: what it allows is a lowest logit.
    const float best_surprise = -std::log2(candidates[0].probability);
    if (best_surprise > mu_)
        candidates.keep_first(1);
    else
        candidates.drop_below(candidates[0].logit - (mu_ - best_surprise) * float(M_LN2));
    return draw_and_learn(candidates, random);
}

size_t AdaptiveP::draw(Candidates& candidates, Random& random) {
    constexpr float kWidth = 0.3f, kPeak = 5.0f, kSharpness = 10.0f;
    candidates.softmax();
    const float average = weighted_sum_ / total_weight_;
    const float target = std::clamp(2 * target_ - average, 0.0f, 1.0f);
    for (Candidate& candidate : candidates.all()) {
        candidate.score = candidate.probability;
        if (std::isinf(candidate.logit)) continue;
        const float distance = std::abs(candidate.probability - target) / kWidth;
        candidate.logit = kPeak - kSharpness * distance * distance / (1 + distance);  // square near 0, then linear
    }
    candidates.forget_ranks();
    const size_t index = stages::draw(candidates, random);
    drawn_id_ = candidates[index].id;
    drawn_probability_ = candidates[index].score;
    return index;
}

void AdaptiveP::accept(int32_t id) {
    if (id == drawn_id_) {
        weighted_sum_ = drawn_probability_ + decay_ * weighted_sum_;
        total_weight_ = 1 + decay_ * total_weight_;
    }
    drawn_id_ = -1;
}

}  // namespace riftjit::runtime::stages
