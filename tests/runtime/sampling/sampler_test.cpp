#include "runtime/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "runtime/sampling/logit_scan.h"
#include "tests/jit/highest_reference.h"
#include "tests/runtime/allocation_counter.h"

namespace riftjit::runtime {
namespace sampler_test {

constexpr float kInf = std::numeric_limits<float>::infinity();

Sampler make_sampler(const SamplerParameters& parameters, size_t vocabulary) {
    auto sampler = Sampler::create(parameters, uint32_t(vocabulary));
    EXPECT_TRUE(sampler.has_value()) << sampler.error().message;
    return std::move(*sampler);
}

SamplerParameters seeded(uint32_t seed) {
    SamplerParameters parameters;
    parameters.seed = seed;
    return parameters;
}

SamplerParameters greedy() {
    SamplerParameters parameters;
    parameters.temperature = 0;
    return parameters;
}

std::vector<float> random_row(size_t size, uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> row(size);
    for (float& logit : row) logit = normal(engine);
    return row;
}

std::string error_of(Sampler& sampler, const std::vector<float>& logits) {
    const auto sampled = sampler.sample(logits);
    return sampled ? "" : sampled.error().message;
}

TEST(Sampler, GreedyTakesTheHighestAndTheLowestIdOfEquals) {
    Sampler sampler = make_sampler(greedy(), 4);
    EXPECT_TRUE(sampler.is_greedy());
    EXPECT_EQ(*sampler.sample(std::vector<float>{1, 3, 3, 2}), 1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{-kInf, -kInf, -5, -5}), 2);
    EXPECT_EQ(*sampler.sample(std::vector<float>{-0.0f, 0.0f, -1, -1}), 0);
}

TEST(Sampler, GreedyIgnoresSeedAndTruncation) {
    const std::vector<float> row = random_row(1000, 1);
    const auto best = int32_t(std::max_element(row.begin(), row.end()) - row.begin());
    for (uint32_t seed : {0u, 1u, 99u}) {
        SamplerParameters parameters = greedy();
        parameters.seed = seed;
        parameters.xtc_probability = 1;
        parameters.typical_p = 0.1f;
        EXPECT_EQ(*make_sampler(parameters, row.size()).sample(row), best);
    }
}

TEST(Sampler, GreedyHeedsBiasesAndPenalties) {
    SamplerParameters parameters = greedy();
    parameters.logit_bias = {{0, 5.0f}};
    EXPECT_EQ(*make_sampler(parameters, 3).sample(std::vector<float>{0, 4, 1}), 0);

    parameters = greedy();
    parameters.suppressed = {1};
    EXPECT_EQ(*make_sampler(parameters, 3).sample(std::vector<float>{0, 4, 1}), 2);

    parameters = greedy();
    parameters.presence_penalty = 2.5f;
    parameters.stages = {SamplerStage::top_k, SamplerStage::penalties};  // wherever it stands
    Sampler sampler = make_sampler(parameters, 3);
    EXPECT_EQ(*sampler.sample(std::vector<float>{2, 4, 1}), 1);
    sampler.accept(1);
    EXPECT_EQ(*sampler.sample(std::vector<float>{2, 4, 1}), 0);
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    for (const SamplerParameters& parameters : {greedy(), seeded(1)}) {
        Sampler sampler = make_sampler(parameters, 4);
        EXPECT_EQ(error_of(sampler, {0, kNan, kNan, 1}),
                  "2 of 4 logits are not numbers (NaN): weights are damaged or beyond f32");
        EXPECT_EQ(error_of(sampler, {0, 1, kInf, 1}),
                  "the logit of token 2 is infinite: weights or penalties are beyond f32");
        EXPECT_EQ(error_of(sampler, {-kInf, -kInf, -kInf, -kInf}),
                  "every token of the vocabulary is forbidden, none can be sampled");
        EXPECT_EQ(error_of(sampler, {0, 1, 2, 3}), "") << "and goes on afterwards";
    }
}

TEST(Sampler, RefusesWhatValidateRefuses) {
    SamplerParameters parameters;
    parameters.top_p = 7;
    const auto sampler = Sampler::create(parameters, 4);
    ASSERT_FALSE(sampler);
    EXPECT_EQ(sampler.error().message, "--top-p 7: expected a number from 0 to 1");
}

std::vector<int32_t> draw(Sampler& sampler, const std::vector<float>& row, int count) {
    std::vector<int32_t> ids;
    for (int i = 0; i < count; ++i) {
        ids.push_back(*sampler.sample(row));
        sampler.accept(ids.back());
    }
    return ids;
}

TEST(Sampler, EqualSeedsGiveEqualTokens) {
    const std::vector<float> row = random_row(5000, 3);
    for (Mirostat mirostat : {Mirostat::off, Mirostat::v1, Mirostat::v2}) {
        SamplerParameters parameters = seeded(1234);
        parameters.mirostat = mirostat;
        Sampler first = make_sampler(parameters, row.size()), second = make_sampler(parameters, row.size());
        parameters.seed = 1235;
        Sampler other = make_sampler(parameters, row.size());
        EXPECT_EQ(first.seed(), 1234u);
        const auto ids = draw(first, row, 50);
        EXPECT_EQ(draw(second, row, 50), ids);
        EXPECT_NE(draw(other, row, 50), ids);
    }
}

TEST(Sampler, DrawsASeedWhenNoneIsGivenAndTellsIt) {
    const std::vector<float> row = random_row(500, 3);
    Sampler random = make_sampler({}, row.size());
    Sampler again = make_sampler(seeded(random.seed()), row.size());
    EXPECT_EQ(draw(random, row, 30), draw(again, row, 30));
}

// The whole default chain by its definition: 40 highest, 0.95 of their mass, 0.05 of the best, temperature 0.8.
std::vector<double> default_chain(const std::vector<float>& row) {
    std::vector<int32_t> order(row.size());
    for (size_t i = 0; i < row.size(); ++i) order[i] = int32_t(i);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    order.resize(std::min<size_t>(40, order.size()));
    const auto weigh = [&](double temperature) {
        std::vector<double> weights;
        double sum = 0;
        for (int32_t id : order) weights.push_back(std::exp((double(row[id]) - row[order[0]]) / temperature));
        for (double weight : weights) sum += weight;
        for (double& weight : weights) weight /= sum;
        return weights;
    };
    std::vector<double> weights = weigh(1);
    double sum = 0;
    size_t kept = 0;
    while (kept < weights.size() && sum < 0.95) sum += weights[kept++];
    order.resize(kept);
    while (weights[order.size() - 1] < 0.05 * weights[0]) order.pop_back();
    weights = weigh(0.8);
    std::vector<double> probabilities(row.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) probabilities[order[i]] = weights[i];
    return probabilities;
}

// Chi-squared with a fixed seed; the limit is five standard deviations above the statistic's mean.
TEST(Sampler, DefaultChainHasItsDistribution) {
    for (uint32_t row_seed : {1u, 2u}) {
        std::vector<float> row = random_row(3000, row_seed);
        for (float& logit : row) logit /= 2;  // flatter, so that more than a handful of tokens stay
        const std::vector<double> probabilities = default_chain(row);
        Sampler sampler = make_sampler(seeded(77), row.size());
        std::vector<int> counts(row.size(), 0);
        constexpr int kDraws = 40'000;
        for (int i = 0; i < kDraws; ++i) ++counts[*sampler.sample(row)];
        double statistic = 0;
        int bins = 0;
        for (size_t id = 0; id < row.size(); ++id) {
            if (probabilities[id] == 0) {
                ASSERT_EQ(counts[id], 0) << "token " << id << " was cut off";
                continue;
            }
            const double expected = kDraws * probabilities[id];
            ASSERT_GE(expected, 5);
            statistic += (counts[id] - expected) * (counts[id] - expected) / expected;
            ++bins;
        }
        EXPECT_GT(bins, 5);
        EXPECT_LT(statistic, bins - 1 + 5 * std::sqrt(2.0 * (bins - 1)));
    }
}

TEST(Sampler, ExtremesLeaveOneToken) {
    const std::vector<float> row = random_row(2000, 8);
    const auto best = int32_t(std::max_element(row.begin(), row.end()) - row.begin());
    std::vector<SamplerParameters> narrow(4, seeded(5));
    narrow[0].top_k = 1;
    narrow[1].top_p = 0;
    narrow[2].min_p = 1;
    narrow[3].temperature = 1e-30f;
    for (SamplerParameters& parameters : narrow)
        for (int32_t id : draw(*std::make_unique<Sampler>(make_sampler(parameters, row.size())), row, 20))
            EXPECT_EQ(id, best);
}

TEST(Sampler, TopKAboveTheVocabularyKeepsAll) {
    SamplerParameters parameters = seeded(5);
    parameters.stages = {SamplerStage::top_k};
    parameters.top_k = 1'000'000;
    Sampler sampler = make_sampler(parameters, 3);
    const auto ids = draw(sampler, {0, 0, 0}, 200);
    EXPECT_EQ(std::set<int32_t>(ids.begin(), ids.end()).size(), 3u);
}

TEST(Sampler, VocabularyOfOneToken) {
    for (const SamplerParameters& parameters : {greedy(), seeded(1)})
        EXPECT_EQ(*make_sampler(parameters, 1).sample(std::vector<float>{-3}), 0);
}

TEST(Sampler, DescribesTheStagesThatRun) {
    EXPECT_EQ(make_sampler({}, 4).describe(), "logits -> top_k -> top_p -> min_p -> temperature -> dist");
    SamplerParameters parameters = greedy();
    parameters.repeat_penalty = 1.1f;
    parameters.suppressed = {2};
    EXPECT_EQ(make_sampler(parameters, 4).describe(), "logits -> logit_bias -> penalties -> greedy");
    parameters = {};
    parameters.mirostat = Mirostat::v2;
    EXPECT_EQ(make_sampler(parameters, 4).describe(), "logits -> temperature -> mirostat2");
    parameters = {};
    parameters.adaptive_target = 0.5f;
    parameters.stages = {SamplerStage::adaptive_p, SamplerStage::min_p};
    EXPECT_EQ(make_sampler(parameters, 4).describe(), "logits -> min_p -> adaptive_p");
}

TEST(Sampler, AllocatesNothingPerTokenOnceWarm) {
    const std::vector<float> row = random_row(151'936, 4);
    std::vector<SamplerParameters> chains(5, seeded(3));
    chains[1] = greedy();
    chains[2].repeat_penalty = 1.1f;
    chains[2].dry_multiplier = 0.8f;
    chains[3].top_k = 0;
    chains[3].typical_p = 0.9f;
    chains[3].xtc_probability = 0.5f;
    chains[4].mirostat = Mirostat::v1;
    for (const SamplerParameters& parameters : chains) {
        Sampler sampler = make_sampler(parameters, row.size());
        draw(sampler, row, 2);
        const uint64_t before = allocations_on_this_thread();
        for (int i = 0; i < 5; ++i) sampler.accept(*sampler.sample(row));
        EXPECT_EQ(allocations_on_this_thread(), before) << sampler.describe();
    }
}

TEST(LogitScan, GathersAtLeastTheHighest) {
    for (size_t size : {40, 41, 3000, 151'936}) {
        std::vector<float> row = random_row(size, uint32_t(size));
        for (float spread : {0.001f, 1.0f, 1000.0f}) {
            for (float& logit : row) logit *= spread;
            LogitScan scan({}, uint32_t(size));
            const auto best = scan.best(row);
            ASSERT_TRUE(best);
            for (int token = 0; token < 3; ++token) {
                Candidates candidates;
                ASSERT_TRUE(scan.gather_highest(row, *best, 40, candidates)) << size << " x " << spread;
                ASSERT_GE(candidates.size(), 40u);
                candidates.rank(40);
                const float lowest = candidates[39].logit;
                EXPECT_LT(std::ranges::count_if(row, [&](float logit) { return logit > lowest; }), 40);
            }
        }
    }
}

TEST(LogitScan, GivesUpOnEqualLogitsAndOnTooFewPossibleOnes) {
    std::vector<float> row(5000, 1.0f);
    LogitScan scan({}, 5000);
    Candidates candidates;
    EXPECT_FALSE(scan.gather_highest(row, *scan.best(row), 40, candidates));
    std::fill(row.begin() + 10, row.end(), -kInf);
    EXPECT_FALSE(scan.gather_highest(row, *scan.best(row), 40, candidates));
    EXPECT_EQ(candidates.size(), 0u);
}

TEST(Sampler, EqualLogitsAreDrawnAlike) {
    SamplerParameters parameters = seeded(5);
    Sampler sampler = make_sampler(parameters, 5000);
    const auto ids = draw(sampler, std::vector<float>(5000, 1.0f), 400);
    // The 40 lowest ids survive top-k, of them as many as reach 0.95 of the mass: 38.
    EXPECT_EQ(std::set<int32_t>(ids.begin(), ids.end()).size(), 38u);
    EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 37);
}

// ---- of the highest logits alone ----

// Two samplers of one seed, of which one sees the highest where they suffice, draw the same tokens.
struct BothWays {
    size_t of_highest = 0, of_rows = 0;
};
BothWays expect_same_tokens(const SamplerParameters& parameters, const std::vector<std::vector<float>>& rows) {
    BothWays counts;
    Sampler plain = make_sampler(parameters, rows[0].size()), seeing = make_sampler(parameters, rows[0].size());
    for (const std::vector<float>& row : rows) {
        const auto expected = plain.sample(row);
        auto list = highest_of(row);
        std::ranges::reverse(list);  // no order is promised
        const auto found = seeing.sample(std::span<const IndexedLogit>(list));
        const auto fallen_back = found ? Result<int32_t>(*found) : seeing.sample(row);
        ++(found ? counts.of_highest : counts.of_rows);
        EXPECT_EQ(expected.has_value(), fallen_back.has_value());
        if (!expected || !fallen_back) continue;
        EXPECT_EQ(*expected, *fallen_back);
        plain.accept(*expected);
        seeing.accept(*expected);
    }
    return counts;
}

std::vector<std::vector<float>> random_rows(size_t size, size_t count) {
    std::vector<std::vector<float>> rows;
    for (uint32_t i = 0; i < count; ++i) {
        rows.push_back(random_row(size, 100 + i));
        for (float& logit : rows.back())
            if (i % 3 == 1) logit = std::round(logit);  // many equal ones, zeros of both signs among them
    }
    return rows;
}

TEST(SamplerOfTheHighest, DrawsTheTokensOfWholeRows) {
    const auto rows = random_rows(3000, 60);
    const auto expect_no_row = [&](const SamplerParameters& parameters) {
        EXPECT_TRUE(make_sampler(parameters, 3000).takes_highest());
        EXPECT_EQ(expect_same_tokens(parameters, rows).of_rows, 0u);
    };
    SamplerParameters p = seeded(7);
    expect_no_row(p);
    p.temperature = 0;
    expect_no_row(p);
    p = seeded(8);
    p.top_k = 64;
    p.temperature = 3;
    p.dynatemp_range = 1;
    expect_no_row(p);
    p = seeded(9);
    p.min_keep = 50;
    p.xtc_probability = 0.5f;
    p.typical_p = 0.9f;
    expect_no_row(p);
    p = seeded(10);
    p.stages = {SamplerStage::top_k, SamplerStage::penalties, SamplerStage::adaptive_p, SamplerStage::temperature};
    p.repeat_penalty = 1.3f;
    p.adaptive_target = 0.3f;
    expect_no_row(p);
}

TEST(SamplerOfTheHighest, AsksForTheRowWhereOthersMatter) {
    const auto rows = random_rows(3000, 6);
    const auto expect_rows = [&](auto change) {
        SamplerParameters p = seeded(7);
        change(p);
        EXPECT_FALSE(make_sampler(p, 3000).takes_highest());
        EXPECT_EQ(expect_same_tokens(p, rows).of_highest, 0u);
    };
    expect_rows([](SamplerParameters& p) { p.top_k = 65; });
    expect_rows([](SamplerParameters& p) { p.top_k = 0; });
    expect_rows([](SamplerParameters& p) { p.min_keep = 65; });
    expect_rows([](SamplerParameters& p) { p.repeat_penalty = 1.1f; });
    expect_rows([](SamplerParameters& p) { p.repeat_penalty = 1.1f, p.temperature = 0; });
    expect_rows([](SamplerParameters& p) { p.logit_bias = {{5, 1}}; });
    expect_rows([](SamplerParameters& p) { p.mirostat = Mirostat::v2; });
    expect_rows([](SamplerParameters& p) { p.top_n_sigma = 1; });
    expect_rows([](SamplerParameters& p) { p.stages = {SamplerStage::temperature, SamplerStage::top_k}; });
}

TEST(SamplerOfTheHighest, LeavesOutWhatIsSuppressed) {
    auto rows = random_rows(3000, 30);
    SamplerParameters p = seeded(3);
    for (int32_t id = 0; id < 3000; id += 10) p.suppressed.push_back(id);
    const BothWays some = expect_same_tokens(p, rows);
    EXPECT_EQ(some.of_rows, 0u);
    for (int32_t id = 0; id < 3000; id += 2) p.suppressed.push_back(id);  // of 64, some 32 are left
    const BothWays many = expect_same_tokens(p, rows);
    EXPECT_GT(many.of_rows, 0u);
    p.temperature = 0;
    EXPECT_EQ(expect_same_tokens(p, rows).of_rows, 0u);
    for (auto& row : rows) row[0] = std::numeric_limits<float>::quiet_NaN();  // nobody may take it
    EXPECT_EQ(expect_same_tokens(p, rows).of_rows, 0u);
}

// NaNs, infinities, rows with too little that is possible: what sample() says of the row.
TEST(SamplerOfTheHighest, LeavesWhatIsWrongToTheRow) {
    for (const SamplerParameters& parameters : {greedy(), seeded(4)})
        for (const float wrong : {kInf, std::numeric_limits<float>::quiet_NaN()}) {
            auto rows = random_rows(500, 4);
            for (auto& row : rows) row[123] = wrong;
            EXPECT_EQ(expect_same_tokens(parameters, rows).of_highest, 0u);
        }
    for (const SamplerParameters& parameters : {greedy(), seeded(4)}) {
        EXPECT_EQ(expect_same_tokens(parameters, {std::vector<float>(500, -kInf)}).of_highest, 0u);
        std::vector<float> few(500, -kInf);
        few[400] = 1, few[30] = 0.5f;
        expect_same_tokens(parameters, {few});
        expect_same_tokens(parameters, {{1, 2, 3}});  // of which there are fewer than top-k takes
    }
}

}  // namespace sampler_test
}  // namespace riftjit::runtime
