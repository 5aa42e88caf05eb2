#include "engine/divergence.h"

#include <algorithm>
#include <cmath>

namespace riftjit::engine {

namespace {

// Below, a base's code says no more than that.
constexpr double kDeepestBase = -16;
// Of fewer values no spread is told.
constexpr size_t kFewest = 10;

}  // namespace

TokenDivergence compare(const LogitRow& row, const LogRecord& base, int32_t token) {
    TokenDivergence found{-row.log_probability(token), -base.log_probability(size_t(token))};
    size_t best = 0;
    double highest = base.log_probability(0);
    for (size_t i = 0; i < row.logits.size(); ++i) {
        const double base_log = base.log_probability(i);
        if (base_log > highest) {
            highest = base_log;
            best = i;
        }
        if (base_log > kDeepestBase)
            found.divergence += std::exp(base_log) * (base_log - row.log_probability(int32_t(i)));
    }
    found.difference = std::exp(-found.negative_log) - std::exp(-found.base_negative_log);
    found.has_same_best = best == size_t(row.best);
    return found;
}

void Divergence::add(const TokenDivergence& token) {
    log_ += token.negative_log;
    log_squares_ += token.negative_log * token.negative_log;
    base_log_ += token.base_negative_log;
    base_log_squares_ += token.base_negative_log * token.base_negative_log;
    products_ += token.negative_log * token.base_negative_log;
    divergence_ += token.divergence;
    divergence_squares_ += token.divergence * token.divergence;
    const double square = token.difference * token.difference;
    difference_ += token.difference;
    difference_squares_ += square;
    difference_fourths_ += square * square;
    same_best_ += token.has_same_best;
    divergences_.push_back(float(token.divergence));
    differences_.push_back(float(token.difference));
}

Estimate Divergence::mean(double sum, double squares, size_t count) {
    if (count == 0) return {};
    const double value = sum / double(count);
    const double variance = squares / double(count) - value * value;
    return {value, variance > 0 && count > kFewest ? std::sqrt(variance / double(count - 1)) : 0};
}

double Divergence::covariance() const {
    if (count() < kFewest) return 0;
    const auto n = double(count());
    return (products_ / n - log_ / n * (base_log_ / n)) / (n - 1);
}

Estimate Divergence::perplexity() const {
    const auto [value, error] = log_perplexity();
    return {std::exp(value), std::exp(value) * error};
}

Estimate Divergence::base_perplexity() const {
    const auto [value, error] = base_log_perplexity();
    return {std::exp(value), std::exp(value) * error};
}

// Both were measured on the same tokens: what they share is no error of their difference.
Estimate Divergence::log_ratio() const {
    const Estimate here = log_perplexity(), base = base_log_perplexity();
    const double variance = here.error * here.error + base.error * base.error - 2 * covariance();
    return {here.value - base.value, std::sqrt(std::max(variance, 0.0))};
}

Estimate Divergence::ratio() const {
    const auto [value, error] = log_ratio();
    return {std::exp(value), std::exp(value) * error};
}

Estimate Divergence::excess() const {
    const Estimate here = perplexity(), base = base_perplexity();
    const double shared = here.value * base.value * covariance();
    const double variance = here.error * here.error + base.error * base.error - 2 * shared;
    return {here.value - base.value, std::sqrt(std::max(variance, 0.0))};
}

double Divergence::correlation() const {
    const double errors = log_perplexity().error * base_log_perplexity().error;
    return errors > 0 ? covariance() / errors : 0;
}

Estimate Divergence::divergence() const { return mean(divergence_, divergence_squares_, count()); }
Estimate Divergence::difference() const { return mean(difference_, difference_squares_, count()); }

Estimate Divergence::difference_rms() const {
    const auto [square, error] = mean(difference_squares_, difference_fourths_, count());
    const double root = std::sqrt(square);
    return {root, root > 0 ? error / (2 * root) : 0};
}

Estimate Divergence::same_best() const {
    if (count() == 0) return {};
    const double share = double(same_best_) / double(count());
    return {share, count() > 1 ? std::sqrt(share * (1 - share) / double(count() - 1)) : 0};
}

double Divergence::at_share(std::vector<float> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double place = share * double(values.size() - 1);
    const auto below = size_t(place);
    const double rest = place - double(below);
    return (1 - rest) * values[below] + rest * values[std::min(below + 1, values.size() - 1)];
}

}  // namespace riftjit::engine
