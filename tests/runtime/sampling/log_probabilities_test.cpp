#include "runtime/sampling/log_probabilities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace riftjit::runtime {
namespace log_probabilities_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LogProbabilities, AreThoseOfSoftmax) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 6);
    for (const size_t size : {1u, 2u, 7u, 1000u, 151936u}) {
        std::vector<float> row(size);
        for (float& logit : row) logit = normal(random);
        long double sum = 0;
        for (const float logit : row) sum += std::exp((long double)(logit));
        const LogProbabilities found = log_probabilities(row, int32_t(size / 2), 20);
        const auto expect = [&](const TokenLogProbability& entry) {
            const long double exact = row[size_t(entry.id)] - std::log(sum);
            // One rounding to float of a value that doubles hold to 1e-12.
            EXPECT_NEAR(entry.log_probability, double(exact), std::abs(double(exact)) * 0x1p-24 + 1e-10);
        };
        expect(found.picked);
        ASSERT_EQ(found.top.size(), std::min<size_t>(size, 20));
        for (size_t i = 0; i < found.top.size(); ++i) {
            expect(found.top[i]);
            if (i > 0) {
                EXPECT_GE(row[size_t(found.top[i - 1].id)], row[size_t(found.top[i].id)]);
            }
        }
        size_t above = 0;
        for (const float logit : row) above += logit > row[size_t(found.top.back().id)];
        EXPECT_EQ(above, found.top.size() - 1);
    }
}

TEST(LogProbabilities, OfEqualOnesTheLowerIdComesFirst) {
    const std::vector<float> row{1, 3, 2, 3, 3, 2};
    std::vector<int32_t> ids;
    for (const auto& entry : log_probabilities(row, 0, 5).top) ids.push_back(entry.id);
    EXPECT_EQ(ids, (std::vector<int32_t>{1, 3, 4, 2, 5}));
    EXPECT_TRUE(log_probabilities(row, 0, 0).top.empty());
    EXPECT_EQ(log_probabilities(row, 0, 100).top.size(), row.size());
}

TEST(LogProbabilities, HugeAndForbiddenLogitsStayNumbers) {
    const std::vector<float> row{3e38f, -3e38f, -kInfinity, std::nanf(""), 3e38f};
    const LogProbabilities found = log_probabilities(row, 2, 5);
    EXPECT_EQ(found.picked.log_probability, -kInfinity);
    EXPECT_NEAR(found.top[0].log_probability, -std::log(2.0), 1e-6);
    EXPECT_EQ(found.top[1].id, 4);
    EXPECT_EQ(found.top[3].log_probability, -kInfinity);
    const std::vector<float> none{-kInfinity, -kInfinity}, infinite{0, kInfinity};
    EXPECT_EQ(log_probabilities(none, 0, 1).picked.log_probability, -kInfinity);
    EXPECT_EQ(log_probabilities(infinite, 1, 1).picked.log_probability, 0);
    EXPECT_EQ(log_probabilities(infinite, 0, 1).picked.log_probability, -kInfinity);
}

}  // namespace log_probabilities_test
}  // namespace riftjit::runtime
