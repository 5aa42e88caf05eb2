// Keyed numbers: their distributions, and that they depend on the key alone.
#include "sim/network/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/network/distribution.h"
#include "sim/network/subset.h"

namespace riftjit::sim {
namespace random_test {

// Sum of (observed - expected)^2 / expected; for k cells it stays below k + 5 sqrt(2 k) but for one seed in millions
// (normal approximation, k >= 50), and seeds are fixed.
double chi_square(const std::vector<uint64_t>& observed, double expected) {
    double sum = 0;
    for (const uint64_t count : observed) sum += (count - expected) * (count - expected) / expected;
    return sum;
}
double chi_square_limit(double cells) { return cells + 5 * std::sqrt(2 * cells); }

TEST(RandomKey, DiffersForEachPurposeAndObject) {
    const uint64_t key = random_key(1, Purpose::connection, 2, 3);
    EXPECT_EQ(key, random_key(1, Purpose::connection, 2, 3));
    EXPECT_NE(key, random_key(2, Purpose::connection, 2, 3));
    EXPECT_NE(key, random_key(1, Purpose::synapse_value, 2, 3));
    EXPECT_NE(key, random_key(1, Purpose::connection, 3, 3));
    EXPECT_NE(key, random_key(1, Purpose::connection, 2, 4));
    EXPECT_NE(key, random_key(uint64_t(1) << 32, Purpose::connection, 2, 3));
}

TEST(BoundedNumbers, AreUniform) {
    for (const uint32_t bound : {50u, 77u, 1'000u}) {
        std::vector<uint64_t> counts(bound);
        BoundedNumbers numbers(random_key(7, Purpose::connection), 3, bound);
        const uint32_t draws = bound * 1000;
        for (uint32_t i = 0; i < draws; ++i) ++counts[numbers.next()];
        EXPECT_LT(chi_square(counts, 1000), chi_square_limit(bound)) << bound;
    }
}

TEST(BoundedNumbers, AreUnbiasedWhereMultiplicationAloneIsNot) {
    // Of 3 * 2^30 numbers every third would come twice as often as the others if no word were thrown away.
    const uint32_t bound = 3u << 30;
    std::vector<uint64_t> counts(3);
    BoundedNumbers numbers(random_key(7, Purpose::connection), 0, bound);
    const int draws = 300'000;
    for (int i = 0; i < draws; ++i) ++counts[numbers.next() % 3];
    // Two degrees of freedom: above 30 with probability e^-15.
    EXPECT_LT(chi_square(counts, draws / 3.0), 30);
}

TEST(BoundedNumbers, OfOneIsZero) {
    BoundedNumbers numbers(1, 0, 1);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(numbers.next(), 0u);
}

TEST(PortableFunctions, AreWithinTwoUnitsOfTheLastPlace) {
    const auto units_off = [](double value, long double exact) {
        const double nearest = static_cast<double>(exact);
        return std::abs(double(value - exact)) / (std::nextafter(std::abs(nearest), INFINITY) - std::abs(nearest));
    };
    for (uint32_t i = 0; i < 200'000; ++i) {
        const double u = open_uniform(philox_first(random_words(5, i, 0)));
        EXPECT_LE(units_off(portable_log(u), std::log((long double)u)), 2) << u;
        const double wide = std::ldexp(0.5 + u, int(i % 2000) - 1000);
        EXPECT_LE(units_off(portable_log(wide), std::log((long double)wide)), 2) << wide;
        const double near = 1 + (u - 0.5) * 0x1p-20;
        EXPECT_LE(units_off(portable_log(near), std::log((long double)near)), 2) << near;
        const double small = -std::ldexp(u, -int(i % 60));
        EXPECT_LE(units_off(portable_log1p(small), std::log1p((long double)small)), 4) << small;
        const double x = (u - 0.5) * 1400;
        EXPECT_LE(units_off(portable_exp(x), std::exp((long double)x)), 2) << x;
    }
    EXPECT_EQ(portable_log(1), 0);
    EXPECT_EQ(portable_exp(0), 1);
}

// The normal integral of a quantile is where it came from: Phi(q) = erfc(-q / sqrt 2) / 2, from the C library.
TEST(NormalQuantile, InvertsTheNormalIntegral) {
    for (double u = 0x1p-53; u < 0.5; u *= 1.01) {
        const double q = normal_quantile(u);
        // dPhi/dq / Phi is at most |q| + 1: an error of a few 1e-16 of q shows as that many times q^2.
        EXPECT_NEAR(0.5 * std::erfc(-q / std::sqrt(2.0)) / u, 1, 2e-15 * (1 + q * q)) << u;
        EXPECT_EQ(normal_quantile(1 - std::ldexp(std::floor(std::ldexp(u, 52)), -52)),
                  -normal_quantile(std::ldexp(std::floor(std::ldexp(u, 52)), -52)))
            << u;
        if (u < 0x1p-51) u *= 2;
    }
    EXPECT_EQ(normal_quantile(0.5), 0);
}

TEST(Distribution, DrawsItsMomentsAndKeepsItsLimits) {
    const uint64_t key = neuron_value_key(1, 0, "V");
    const uint32_t draws = 200'000;
    const auto moments = [&](const Distribution& distribution, Half half) {
        double sum = 0, squares = 0;
        for (uint32_t i = 0; i < draws; ++i) {
            const double value = draw(distribution, key, i, i, half);
            EXPECT_GE(value, distribution.least);
            EXPECT_LE(value, distribution.most);
            sum += value;
            squares += value * value;
        }
        const double mean = sum / draws;
        return std::pair(mean, std::sqrt(squares / draws - mean * mean));
    };
    // Five standard errors: sigma / sqrt(n) of a mean, sigma / sqrt(2 n) of a normal deviation (three times as much for
    // the lognormal one, whose fourth moment is larger).
    const double error = 5 / std::sqrt(double(draws));
    for (const Half half : {Half::first, Half::second}) {
        const auto [mean, deviation] = moments({Normal{-58, 5}}, half);
        EXPECT_NEAR(mean, -58, 5 * error);
        EXPECT_NEAR(deviation, 5, 5 * error);
        const auto [middle, spread] = moments({Uniform{-60, -50}}, half);
        EXPECT_NEAR(middle, -55, 10 / std::sqrt(12.0) * error);
        EXPECT_NEAR(spread, 10 / std::sqrt(12.0), 10 / std::sqrt(12.0) * error);
        const auto [log_mean, log_deviation] = moments({Lognormal{0, 0.5}}, half);
        EXPECT_NEAR(log_mean, std::exp(0.125), 0.61 * error);
        EXPECT_NEAR(log_deviation, 0.6039, 3 * 0.61 * error);
    }
    // A normal number above its mean: mean sqrt(2 / pi), variance 1 - 2 / pi.
    Distribution half_normal{Normal{0, 1}};
    half_normal.least = 0;
    const auto [mean, deviation] = moments(half_normal, Half::first);
    EXPECT_NEAR(mean, std::sqrt(2 / M_PI), error);
    EXPECT_NEAR(deviation, std::sqrt(1 - 2 / M_PI), error);
}

TEST(Distribution, NamesWhatCannotBeDrawn) {
    const auto fault = [](auto kind, double least = -kUnlimited, double most = kUnlimited) {
        return distribution_fault({kind, least, most});
    };
    EXPECT_EQ(fault(Normal{0, 1}), "");
    EXPECT_EQ(fault(Normal{NAN, 1}), "a mean of nan");
    EXPECT_EQ(fault(Normal{0, -1}), "a standard deviation of -1");
    EXPECT_EQ(fault(Uniform{2, 1}), "a range from 2 to 1");
    EXPECT_EQ(fault(Constant{INFINITY}), "a value of inf");
    EXPECT_EQ(fault(Constant{3}, 0, 2), "a value of 3, at least 0, at most 2");
    EXPECT_EQ(fault(Values{{1, NAN}}), "a value of nan");
    EXPECT_EQ(fault(Lognormal{0, 80}), "a logarithm of mean 0 and deviation 80");
    EXPECT_EQ(fault(Normal{0, 1}, 5),
              "normal (mean 0, deviation 1), at least 5: a draw has probability 2.9e-07 of lying inside");
    EXPECT_EQ(fault(Uniform{0, 1}, 2), "uniform (0 to 1), at least 2: a draw has probability 0 of lying inside");
    EXPECT_EQ(fault(Uniform{1, 1}, 1, 1), "");
}

TEST(Subset, IsEachOneEquallyOften) {
    // All subsets of 3 and of 5 (drawn by what is left out) of 8 numbers: 56 each.
    for (const uint32_t count : {3u, 5u}) {
        SubsetDrawer drawer(8);
        std::vector<uint64_t> occurrences(256);
        std::vector<uint32_t> chosen;
        for (uint32_t id = 0; id < 56'000; ++id) {
            drawer.draw(random_key(11, Purpose::connection), id, count, chosen);
            ASSERT_EQ(chosen.size(), count);
            uint32_t set = 0;
            for (const uint32_t number : chosen) set |= 1u << number;
            ASSERT_EQ(__builtin_popcount(set), int(count)) << "numbers repeat";
            ++occurrences[set];
        }
        std::erase(occurrences, 0);
        EXPECT_EQ(occurrences.size(), 56u);
        EXPECT_LT(chi_square(occurrences, 1000), chi_square_limit(56));
    }
}

}  // namespace random_test
}  // namespace riftjit::sim
