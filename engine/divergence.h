// How far one model's predictions of a text are from another's: llama-perplexity's --kl-divergence.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/log_probability_file.h"

namespace riftjit::engine {

// Of one scored token.
struct TokenDivergence {
    double negative_log = 0, base_negative_log = 0;
    double divergence = 0;  // sum over tokens of p_base * ln(p_base / p), where p_base > exp(-16)
    double difference = 0;  // of the token's probability: here, less the base's
    bool has_same_best = false;
};
TokenDivergence compare(const LogitRow& row, const LogRecord& base, int32_t token);

struct Estimate {
    double value = 0, error = 0;
};

// Sums over tokens, in their order.
class Divergence {
public:
    void add(const TokenDivergence& token);
    size_t count() const { return divergences_.size(); }

    Estimate perplexity() const;
    Estimate base_perplexity() const;
    Estimate log_ratio() const;   // ln(perplexity / base perplexity)
    Estimate ratio() const;       // of the perplexities
    Estimate excess() const;      // perplexity - base perplexity
    double correlation() const;   // of the negative logarithms
    Estimate divergence() const;  // mean
    Estimate difference() const;  // mean of the probabilities' differences
    Estimate difference_rms() const;
    Estimate same_best() const;  // share of tokens

    // Of all divergences, or all differences; `share` in [0, 1].
    double divergence_at(double share) const { return at_share(divergences_, share); }
    double difference_at(double share) const { return at_share(differences_, share); }

private:
    static double at_share(std::vector<float> values, double share);
    static Estimate mean(double sum, double squares, size_t count);
    Estimate log_perplexity() const { return mean(log_, log_squares_, count()); }
    Estimate base_log_perplexity() const { return mean(base_log_, base_log_squares_, count()); }
    double covariance() const;  // of the two means

    double log_ = 0, log_squares_ = 0, base_log_ = 0, base_log_squares_ = 0, products_ = 0;
    double divergence_ = 0, divergence_squares_ = 0;
    double difference_ = 0, difference_squares_ = 0, difference_fourths_ = 0;
    size_t same_best_ = 0;
    std::vector<float> divergences_, differences_;
};

}  // namespace riftjit::engine
