// What a constraint allows, sampled as if the row had nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/sampling/sampler.h"

namespace riftjit::runtime {
namespace constrained_test {

constexpr uint32_t kVocabulary = 300;
constexpr float kNever = -std::numeric_limits<float>::infinity();

// A mask that is the same at each token.
class Fixed : public TokenConstraint {
public:
    Fixed(std::vector<bool> allowed, bool is_open) : allowed_(std::move(allowed)), is_open_(is_open) {
        for (size_t id = 0; id < allowed_.size(); ++id)
            if (allowed_[id]) mask_[id / 64] |= uint64_t(1) << (id % 64);
    }
    Result<bool> allows(int32_t id) override { return allowed_[size_t(id)]; }
    bool is_open() const override { return is_open_; }
    Result<std::span<const uint64_t>> allowed() override { return std::span<const uint64_t>(mask_); }
    Result<void> accept(int32_t id) override {
        if (!allowed_[size_t(id)]) return fail(ErrorKind::Usage, "not allowed");
        return {};
    }
    bool may_end() const override { return false; }
    bool must_end() override { return false; }
    void restart() override {}
    std::unique_ptr<TokenConstraint> clone() const override { return std::make_unique<Fixed>(*this); }

private:
    std::vector<bool> allowed_;
    bool is_open_;
    std::vector<uint64_t> mask_ = std::vector<uint64_t>((kVocabulary + 63) / 64);
};

std::vector<float> random_row(std::mt19937& random) {
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> row(kVocabulary);
    for (float& logit : row) logit = normal(random);
    return row;
}

std::vector<bool> random_mask(std::mt19937& random, size_t count) {
    std::vector<bool> allowed(kVocabulary);
    for (; count > 0; --count) allowed[random() % kVocabulary] = true;
    return allowed;
}

std::vector<SamplerParameters> chains() {
    std::vector<SamplerParameters> all(9);
    for (SamplerParameters& parameters : all) parameters.seed = 7;
    all[1].temperature = 0;
    all[2].top_k = 0;
    all[3].stages = {SamplerStage::temperature};
    all[4].mirostat = Mirostat::v2;
    all[5].mirostat = Mirostat::v1;
    all[6].repeat_penalty = 1.3f, all[6].presence_penalty = 0.5f, all[6].logit_bias = {{3, 2}, {9, -4}};
    all[7].stages = {SamplerStage::top_n_sigma, SamplerStage::typ_p, SamplerStage::xtc, SamplerStage::temperature};
    all[7].top_n_sigma = 1.5f, all[7].typical_p = 0.8f, all[7].xtc_probability = 0.5f, all[7].min_keep = 2;
    all[8].suppressed = {1, 2, 3, 64, 65};
    return all;
}

// The same tokens, with the same random numbers, as from rows in which all else is impossible.
TEST(Constrained, IsTheChainOverWhatIsAllowed) {
    std::mt19937 random(1);
    for (const SamplerParameters& parameters : chains()) {
        for (const size_t count : {3u, 40u, 120u, 2000u}) {
            Sampler constrained = *Sampler::create(parameters, kVocabulary),
                    plain = *Sampler::create(parameters, kVocabulary);
            SCOPED_TRACE(fmt::format("{}, {} tokens", plain.describe(), count));
            std::vector<bool> allowed = random_mask(random, count);
            allowed[100] = true;
            constrained.constrain(std::make_unique<Fixed>(allowed, false));
            for (int i = 0; i < 40; ++i) {
                const std::vector<float> row = random_row(random);
                std::vector<float> masked = row;
                for (size_t id = 0; id < masked.size(); ++id)
                    if (!allowed[id]) masked[id] = kNever;
                const int32_t id = *constrained.sample(row);
                // Mirostat 2 sums shares in the order that ranking left, which more candidates change: so roundings do.
                const int32_t expected = *plain.sample(masked);
                if (parameters.mirostat != Mirostat::v2) {
                    ASSERT_EQ(id, expected);
                }
                ASSERT_TRUE(allowed[size_t(id)]);
                ASSERT_TRUE(constrained.accept_sampled(id));
                plain.accept(id);
            }
        }
    }
}

TEST(Constrained, TheHighestLogitsGiveTheTokenOfTheRow) {
    std::mt19937 random(2);
    size_t told = 0, asked = 0;
    for (const SamplerParameters& parameters : chains()) {
        for (const bool is_open : {false, true}) {
            for (const size_t count : {2u, 30u, 200u, 3000u}) {
                Sampler of_highest = *Sampler::create(parameters, kVocabulary),
                        of_row = *Sampler::create(parameters, kVocabulary);
                const std::vector<bool> allowed = random_mask(random, count);
                for (Sampler* sampler : {&of_highest, &of_row})
                    sampler->constrain(std::make_unique<Fixed>(allowed, is_open));
                for (int i = 0; i < 30; ++i) {
                    const std::vector<float> row = random_row(random);
                    std::vector<IndexedLogit> highest;
                    for (uint32_t id = 0; id < kVocabulary; ++id) highest.push_back({row[id], id});
                    std::ranges::sort(highest, [](const auto& a, const auto& b) { return a.logit > b.logit; });
                    highest.resize(kHighest);
                    const auto id = of_highest.sample(highest);
                    ++(id ? told : asked);
                    const auto expected = of_row.sample(row);
                    if (!expected) {  // nothing but suppressed ones
                        ASSERT_FALSE(id);
                        break;
                    }
                    ASSERT_EQ(id ? *id : *of_highest.sample(row), *expected);
                }
            }
        }
    }
    EXPECT_GT(told, 100u);
    EXPECT_GT(asked, 100u);
}

TEST(Constrained, OpenOnesAreAskedBehindTheDraw) {
    std::mt19937 random(3);
    SamplerParameters parameters;
    parameters.seed = 5;
    parameters.stages = {SamplerStage::temperature};
    parameters.temperature = 1;
    Sampler sampler = *Sampler::create(parameters, 4);
    std::vector<bool> allowed{true, false, true, true};
    allowed.resize(kVocabulary);
    sampler.constrain(std::make_unique<Fixed>(allowed, true));
    const std::vector<float> row{0.5f, 2.0f, 1.0f, -1.0f};
    std::vector<double> counts(4), shares(4);
    double sum = 0, chi_square = 0;
    for (const size_t id : {0, 2, 3}) sum += std::exp(row[id]);
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) ++counts[size_t(*sampler.sample(row))];
    EXPECT_EQ(counts[1], 0);
    for (const size_t id : {0, 2, 3}) {
        const double expected = kDraws * std::exp(row[id]) / sum;
        chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
    }
    EXPECT_LT(chi_square, 13.8);  // of two degrees of freedom one in a thousand is above
}

TEST(Constrained, SaysWhatNoChainCouldSample) {
    SamplerParameters parameters;
    parameters.suppressed = {5};
    Sampler sampler = *Sampler::create(parameters, kVocabulary);
    std::vector<bool> allowed(kVocabulary);
    allowed[5] = true;
    sampler.constrain(std::make_unique<Fixed>(allowed, false));
    EXPECT_EQ(sampler.sample(std::vector<float>(kVocabulary, 0)).error().message,
              "none of the 1 tokens that the grammar allows here may be sampled");
    EXPECT_FALSE(sampler.accept_sampled(6));
    EXPECT_EQ(sampler.allowed_prefix(std::vector<int32_t>{5, 5, 6, 5}), 2u);
    EXPECT_EQ(sampler.describe(), "logits -> logit_bias -> grammar -> top_k -> top_p -> min_p -> temperature -> dist");
}

}  // namespace constrained_test
}  // namespace riftjit::runtime
