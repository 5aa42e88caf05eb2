// Each stage against its definition, written out in double over a fully sorted list.
#include "runtime/sampling/sampler_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace riftjit::runtime {
namespace sampler_stages_test {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Token {
    int32_t id;
    double logit, probability;
};
using Tokens = std::vector<Token>;

Tokens normalised(Tokens tokens) {
    double highest = -kInf, sum = 0;
    for (const Token& token : tokens) highest = std::max(highest, token.logit);
    for (Token& token : tokens) sum += token.probability = std::exp(token.logit - highest);
    for (Token& token : tokens) token.probability /= sum;
    return tokens;
}

Tokens sorted(const std::vector<float>& logits) {
    Tokens tokens;
    for (size_t i = 0; i < logits.size(); ++i) tokens.push_back({int32_t(i), logits[i], 0});
    std::stable_sort(tokens.begin(), tokens.end(), [](auto& a, auto& b) { return a.logit > b.logit; });
    return normalised(tokens);
}

std::set<int32_t> ids(const Tokens& tokens) {
    std::set<int32_t> result;
    for (const Token& token : tokens) result.insert(token.id);
    return result;
}

std::set<int32_t> ids(Candidates& candidates) {
    std::set<int32_t> result;
    for (const Candidate& candidate : candidates.all()) result.insert(candidate.id);
    EXPECT_EQ(result.size(), candidates.size()) << "a token twice";
    return result;
}

Candidates make_candidates(const std::vector<float>& logits) {
    Candidates candidates;
    for (size_t i = 0; i < logits.size(); ++i) candidates.add(int32_t(i), logits[i]);
    return candidates;
}

// Rows around the sizes at which ranking goes on in larger steps (256, 1024), some with many equal logits.
std::vector<std::vector<float>> rows() {
    std::mt19937 engine(7);
    std::normal_distribution<float> normal(0, 2.5f);
    std::vector<std::vector<float>> rows = {{0.5f}, {1, 1}, {0, -kInf, 2, -kInf}, std::vector<float>(700, 0.25f)};
    for (size_t size : {3, 40, 256, 257, 1024, 1025, 5000}) {
        std::vector<float> row(size);
        for (float& logit : row) logit = normal(engine);
        rows.push_back(row);
        for (float& logit : row) logit = std::round(logit);
        rows.push_back(row);
    }
    return rows;
}

TEST(SamplerStages, RankingEqualsAFullSort) {
    for (const auto& row : rows()) {
        const Tokens expected = sorted(row);
        Candidates candidates = make_candidates(row);
        for (size_t count : {size_t(1), size_t(2), row.size() / 2, row.size(), row.size() + 5}) {
            candidates.rank(count);
            for (size_t i = 0; i < std::min(count, row.size()); ++i) ASSERT_EQ(candidates[i].id, expected[i].id);
        }
    }
}

TEST(SamplerStages, SoftmaxSumsToOneWithoutOverflow) {
    for (const auto& row : {std::vector<float>{3e38f, 3e38f, -3e38f}, {-1000, -1001, -kInf}, {0, 1, 2, 3}}) {
        Candidates candidates = make_candidates(row);
        candidates.softmax();
        for (const Token& token : sorted(row)) EXPECT_NEAR(candidates[token.id].probability, token.probability, 1e-6);
    }
}

TEST(SamplerStages, TopKKeepsTheHighestLowestIdsOnTies) {
    for (const auto& row : rows()) {
        for (size_t k : {size_t(1), size_t(2), size_t(40), row.size(), row.size() * 2}) {
            Tokens expected = sorted(row);
            expected.resize(std::min(k, row.size()));
            Candidates candidates = make_candidates(row);
            stages::top_k(candidates, k);
            EXPECT_EQ(ids(candidates), ids(expected)) << "k " << k << " of " << row.size();
        }
    }
}

TEST(SamplerStages, TopPKeepsTheFewestWhoseSumReachesP) {
    for (const auto& row : rows()) {
        for (double p : {0.0, 0.1, 0.5, 0.95, 0.999}) {
            for (size_t min_keep : {0, 3}) {
                const Tokens tokens = sorted(row);
                // Where the exact sum is within rounding of p either count is right.
                constexpr double kRounding = 1e-5;
                double sum = 0;
                size_t fewest = 0, most = 0;
                for (const Token& token : tokens) {
                    if (sum < p - kRounding || fewest < std::max<size_t>(min_keep, 1)) ++fewest;
                    if (sum < p + kRounding || most < std::max<size_t>(min_keep, 1)) ++most;
                    sum += token.probability;
                }
                Candidates candidates = make_candidates(row);
                stages::top_p(candidates, float(p), min_keep);
                EXPECT_GE(candidates.size(), fewest) << "p " << p << " of " << row.size();
                EXPECT_LE(candidates.size(), most) << "p " << p << " of " << row.size();
                EXPECT_EQ(ids(candidates), ids(Tokens(tokens.begin(), tokens.begin() + candidates.size())));
            }
        }
    }
}

TEST(SamplerStages, MinPKeepsThoseNotTooFarBelowTheBest) {
    for (const auto& row : rows()) {
        for (double p : {0.01, 0.05, 0.5, 1.0}) {
            for (size_t min_keep : {0, 5}) {
                Tokens expected = sorted(row);
                const double lowest = float(expected[0].logit) + std::log(float(p));
                size_t kept = 0;
                while (kept < expected.size() && (expected[kept].logit >= lowest || kept < min_keep)) ++kept;
                expected.resize(kept);
                Candidates candidates = make_candidates(row);
                stages::min_p(candidates, float(p), min_keep);
                EXPECT_EQ(ids(candidates), ids(expected)) << "p " << p << " of " << row.size();
            }
        }
    }
}

TEST(SamplerStages, TypicalPKeepsThoseNearestToTheEntropy) {
    for (const auto& row : rows()) {
        for (double p : {0.2, 0.5, 0.9}) {
            Tokens tokens = sorted(row);
            double entropy = 0;
            for (const Token& token : tokens)
                if (token.probability > 0) entropy -= token.probability * std::log(token.probability);
            const auto distance = [&](const Token& token) { return std::abs(-std::log(token.probability) - entropy); };
            Candidates candidates = make_candidates(row);
            stages::typical_p(candidates, float(p), 0);
            const std::set<int32_t> kept = ids(candidates);
            double sum = 0, farthest = 0, nearest_dropped = kInf;
            for (const Token& token : tokens) {
                if (kept.contains(token.id)) {
                    sum += token.probability;
                    farthest = std::max(farthest, distance(token));
                } else {
                    nearest_dropped = std::min(nearest_dropped, distance(token));
                }
            }
            EXPECT_LE(farthest, nearest_dropped + 1e-5) << "p " << p << " of " << row.size();
            if (kept.size() < tokens.size()) {
                EXPECT_GT(sum, p - 1e-5);
            }
            // One less would not exceed p: the last kept is the least typical one.
            EXPECT_LE(sum - candidates[candidates.size() - 1].probability, p + 1e-5);
        }
    }
}

TEST(SamplerStages, TopNSigmaKeepsThoseWithinNDeviationsOfTheBest) {
    for (const auto& row : rows()) {
        for (double n : {0.5, 1.0, 3.0}) {
            const Tokens tokens = sorted(row);
            std::vector<double> possible;
            for (const Token& token : tokens)
                if (token.logit != -kInf) possible.push_back(token.logit);
            const double mean = std::accumulate(possible.begin(), possible.end(), 0.0) / possible.size();
            double variance = 0;
            for (double logit : possible) variance += (logit - mean) * (logit - mean) / possible.size();
            const double lowest = tokens[0].logit - n * std::sqrt(variance);
            Candidates candidates = make_candidates(row);
            stages::top_n_sigma(candidates, float(n));
            const auto kept = ids(candidates);
            for (const Token& token : tokens) {
                if (std::abs(token.logit - lowest) < 1e-5) continue;  // within rounding: either side is right
                EXPECT_EQ(kept.contains(token.id), token.logit > lowest);
            }
        }
    }
}

TEST(SamplerStages, XtcDropsTheLikelyOnesButTheLast) {
    for (const auto& row : rows()) {
        for (double threshold : {0.0, 0.01, 0.1, 0.4}) {
            const Tokens tokens = sorted(row);
            size_t likely = 0;
            bool close = false;  // a probability within rounding of the threshold: either side is right
            for (const Token& token : tokens) {
                likely += token.probability >= threshold;
                close |= threshold > 0 && std::abs(token.probability - threshold) < 1e-6;
            }
            if (close) continue;
            const size_t dropped = likely >= 2 ? likely - 1 : 0;
            Candidates candidates = make_candidates(row);
            Random random(1);
            stages::xtc(candidates, 1.0f, float(threshold), 0, random);
            EXPECT_EQ(ids(candidates), ids(Tokens(tokens.begin() + dropped, tokens.end()))) << threshold;
        }
    }
}

TEST(SamplerStages, XtcActsWithItsProbabilityAndKeepsTheMinimum) {
    const std::vector<float> row = {1, 1, 1, -5};
    Random random(3);
    int acted = 0;
    for (int i = 0; i < 4000; ++i) {
        Candidates candidates = make_candidates(row);
        stages::xtc(candidates, 0.25f, 0.1f, 0, random);
        acted += candidates.size() < row.size();
    }
    // Binomial(4000, 1/4): five standard deviations are 137.
    EXPECT_NEAR(acted, 1000, 137);

    Candidates candidates = make_candidates(row);
    stages::xtc(candidates, 1.0f, 0.1f, 3, random);
    EXPECT_EQ(candidates.size(), row.size()) << "two would be left, three were asked for";
}

void expect_distribution(Candidates& candidates, const Tokens& expected) {
    candidates.softmax();
    std::vector<double> probabilities(expected.size());
    for (const Token& token : expected) probabilities[token.id] = token.probability;
    for (const Candidate& candidate : candidates.all())
        EXPECT_NEAR(candidate.probability, probabilities[candidate.id], 1e-5);
}

TEST(SamplerStages, TemperatureDividesLogits) {
    for (const auto& row : rows()) {
        if (row.size() > 300) continue;
        for (float temperature : {0.1f, 0.8f, 1.5f}) {
            Tokens expected = sorted(row);
            for (Token& token : expected) token.logit /= temperature;
            Candidates candidates = make_candidates(row);
            stages::temperature(candidates, temperature);
            expect_distribution(candidates, normalised(expected));
        }
    }
}

TEST(SamplerStages, TheSmallestTemperatureLeavesTheBest) {
    Candidates candidates = make_candidates({1, 3, 2});
    stages::temperature(candidates, 1e-38f);
    candidates.softmax();
    EXPECT_EQ(candidates[1].probability, 1.0f);
}

TEST(SamplerStages, DynamicTemperatureFollowsTheEntropy) {
    for (const auto& row : rows()) {
        if (row.size() > 300 || row.size() < 2) continue;
        for (float exponent : {0.5f, 1.0f, 2.0f}) {
            Tokens expected = sorted(row);
            double entropy = 0;
            for (const Token& token : expected)
                if (token.probability > 0) entropy -= token.probability * std::log(token.probability);
            const double share = std::pow(entropy / std::log(double(row.size())), exponent);
            const double temperature = 0.3 + (1.3 - 0.3) * share;  // 0.8 - 0.5 to 0.8 + 0.5
            for (Token& token : expected) token.logit /= temperature;
            Candidates candidates = make_candidates(row);
            stages::dynamic_temperature(candidates, 0.8f, 0.5f, exponent);
            expect_distribution(candidates, normalised(expected));
        }
    }
}

TEST(SamplerStages, DynamicTemperatureOfZeroTakesTheBest) {
    Candidates candidates = make_candidates({-kInf, 0, -kInf});  // no entropy: the lowest temperature, max(0, 0.5 - 1)
    stages::dynamic_temperature(candidates, 0.5f, 1.0f, 1.0f);
    EXPECT_EQ(ids(candidates), std::set<int32_t>{1});
}

// Pearson's statistic over `bins` outcomes exceeds its mean by five standard deviations with a chance below 1e-5; the
// seed is fixed, so the test passes always or never.
void expect_frequencies(const std::vector<int>& counts, const std::vector<double>& probabilities) {
    const double draws = std::accumulate(counts.begin(), counts.end(), 0);
    double statistic = 0;
    int bins = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (probabilities[i] == 0) {
            EXPECT_EQ(counts[i], 0) << "impossible token " << i;
            continue;
        }
        const double expected = draws * probabilities[i];
        ASSERT_GE(expected, 5) << "too few draws for the approximation";
        statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
        ++bins;
    }
    const double freedom = bins - 1;
    EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(SamplerStages, DrawFollowsTheDistribution) {
    const std::vector<float> row = {0, 1, -kInf, 2, 0.5f, -2, 1.5f, 0};
    std::vector<double> probabilities(row.size());
    for (const Token& token : sorted(row)) probabilities[token.id] = token.probability;
    std::vector<int> counts(row.size(), 0);
    Random random(42);
    for (int i = 0; i < 50'000; ++i) {
        Candidates candidates = make_candidates(row);
        ++counts[candidates[stages::draw(candidates, random)].id];
    }
    expect_frequencies(counts, probabilities);
}

// A long tail as Zipf's law has it. Surprise is taken from the whole row, as a reader would; truncation makes what the
// sampler saw a little smaller, hence the tolerance of half a bit.
template <class Draw>
double mean_surprise(Draw draw) {
    std::vector<float> row(5'000);
    for (size_t i = 0; i < row.size(); ++i) row[i] = -1.1f * std::log(float(i + 1));
    std::vector<double> probabilities(row.size());
    for (const Token& token : sorted(row)) probabilities[token.id] = token.probability;
    Random random(5);
    double sum = 0;
    constexpr int kWarm = 300, kDraws = 1500;
    for (int i = 0; i < kWarm + kDraws; ++i) {
        Candidates candidates = make_candidates(row);
        const int32_t id = candidates[draw(candidates, random)].id;
        if (i >= kWarm) sum -= std::log2(probabilities[id]) / kDraws;
    }
    return sum;
}

TEST(SamplerStages, MirostatHoldsTheSurpriseNearItsTarget) {
    for (float tau : {3.0f, 5.0f}) {
        stages::MirostatState v1(tau, 0.1f), v2(tau, 0.1f);
        const double surprise_v1 =
            mean_surprise([&](Candidates& c, Random& random) { return v1.draw_v1(c, 5'000, random); });
        const double surprise_v2 = mean_surprise([&](Candidates& c, Random& random) { return v2.draw_v2(c, random); });
        // The chain learns from the surprise among what it kept; the whole row's is higher by the bits cut off.
        EXPECT_GT(surprise_v1, tau - 0.3);
        EXPECT_LT(surprise_v1, tau + 1.5);
        EXPECT_GT(surprise_v2, tau - 0.3);
        EXPECT_LT(surprise_v2, tau + 1.5);
    }
}

TEST(SamplerStages, MirostatV2CutsAtASurpriseOfTwiceTau) {
    // Before any token mu is 2 tau = 3 bits; probabilities 1/2, 1/4, 1/8, 1/8 - e and less: surprises 1, 2, 3 and
    // above.
    const std::vector<float> row = {std::log(0.5f), std::log(0.25f), std::log(0.1251f), std::log(0.1f),
                                    std::log(0.0249f)};
    std::set<int32_t> seen;
    Random random(1);
    for (int i = 0; i < 2000; ++i) {
        Candidates candidates = make_candidates(row);
        stages::MirostatState fresh(1.5f, 0.1f);
        seen.insert(candidates[fresh.draw_v2(candidates, random)].id);
    }
    EXPECT_EQ(seen, (std::set<int32_t>{0, 1, 2}));
}

TEST(SamplerStages, MirostatTakesTheOnlyCandidate) {
    Random random(1);
    stages::MirostatState state(5, 0.1f);
    Candidates one = make_candidates({0.5f});
    EXPECT_EQ(one[state.draw_v1(one, 100, random)].id, 0);
    one = make_candidates({0.5f});
    EXPECT_EQ(one[state.draw_v2(one, random)].id, 0);
}

TEST(SamplerStages, AdaptivePTransformsByTheDistanceToItsTarget) {
    // Fresh state: the average equals the target, so the adapted target is the target itself.
    const std::vector<float> row = {std::log(0.6f), std::log(0.3f), std::log(0.1f)};
    const double target = 0.3;
    std::vector<double> probabilities;
    double sum = 0;
    for (double p : {0.6, 0.3, 0.1}) {
        const double distance = std::abs(p - target) / 0.3;
        probabilities.push_back(std::exp(5 - 10 * distance * distance / (1 + distance)));
        sum += probabilities.back();
    }
    for (double& p : probabilities) p /= sum;
    std::vector<int> counts(3, 0);
    Random random(9);
    for (int i = 0; i < 20'000; ++i) {
        Candidates candidates = make_candidates(row);
        stages::AdaptiveP fresh(float(target), 0.9f);
        ++counts[candidates[fresh.draw(candidates, random)].id];
    }
    expect_frequencies(counts, probabilities);
}

TEST(SamplerStages, AdaptivePMovesAgainstWhatWasChosen) {
    // After accepting unlikely tokens the target rises, so that the likely one is drawn more often than at first.
    const std::vector<float> row = {std::log(0.6f), std::log(0.3f), std::log(0.1f)};
    const auto share_of_likely = [&](int accepted_unlikely) {
        Random random(4);
        int likely = 0;
        for (int i = 0; i < 3000; ++i) {
            stages::AdaptiveP state(0.3f, 0.5f);
            for (int accepted = 0; accepted < accepted_unlikely;) {
                Candidates candidates = make_candidates(row);
                const int32_t id = candidates[state.draw(candidates, random)].id;
                state.accept(id == 2 ? id : -2);  // others leave the state as it is
                accepted += id == 2;
            }
            Candidates candidates = make_candidates(row);
            likely += candidates[state.draw(candidates, random)].id == 0;
        }
        return likely / 3000.0;
    };
    EXPECT_GT(share_of_likely(2), share_of_likely(0) + 0.2);
}

}  // namespace sampler_stages_test
}  // namespace riftjit::runtime
