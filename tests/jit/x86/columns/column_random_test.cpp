// Random numbers of column programs: the bits of the reference, the same at every level, and the distributions asked
// for.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "jit/columns/philox.h"
#include "tests/jit/x86/columns/column_runner.h"

namespace riftjit::x86 {
namespace column_random_test {

constexpr uint32_t kCount = 200'000;

// Column 0: the mean; column 1: the draw.
ColumnProgramSpec draw(ColumnOp op, Precision precision, uint32_t index = 5) {
    return {precision,
            0,
            {ColumnType::f64, ColumnType::f64},
            {{ColumnOp::load}, {op, 0, 0, 0, index}, {ColumnOp::store, 1, 0, 0, 1}}};
}

ColumnMemory memory_of(const ColumnProgramSpec& spec, uint32_t count, double mean, uint64_t step = 0x1'0000'0003) {
    ColumnMemory memory(spec, count);
    for (uint32_t i = 0; i < count; ++i) memory.set(0, i, mean);
    memory.set_random(0xffff'ff00, 0x0123'4567'89ab'cdef, step);  // ids pass 2^32
    return memory;
}

std::vector<double> drawn(ColumnOp op, Precision precision, Isa isa, double mean = 0, uint32_t index = 5,
                          uint64_t step = 0x1'0000'0003) {
    const ColumnProgramSpec spec = draw(op, precision, index);
    ColumnMemory memory = memory_of(spec, kCount, mean, step);
    memory.run(RunnableKernel(spec, isa).function());
    return {memory.column<double>(1), memory.column<double>(1) + kCount};
}

std::vector<double> of_reference(ColumnOp op, Precision precision, double mean = 0) {
    const ColumnProgramSpec spec = draw(op, precision);
    ColumnMemory memory = memory_of(spec, kCount, mean);
    memory.run_reference();
    return {memory.column<double>(1), memory.column<double>(1) + kCount};
}

TEST(ColumnRandomX86, UniformNumbersAreThoseOfPhilox) {
    for (Isa isa : column_isas()) {
        EXPECT_EQ(drawn(ColumnOp::uniform, Precision::f64, isa), of_reference(ColumnOp::uniform, Precision::f64));
        EXPECT_EQ(drawn(ColumnOp::uniform, Precision::f32, isa), of_reference(ColumnOp::uniform, Precision::f32));
        const PhiloxWords words = philox_draw(0x0123'4567'89ab'cdef, 0xffff'ff00, 5, 0x1'0000'0003);
        EXPECT_EQ(drawn(ColumnOp::uniform, Precision::f64, isa)[0], uniform_f64(philox_first(words)));
    }
}

TEST(ColumnRandomX86, DrawsAndStepsDiffer) {
    const Isa isa = column_isas().front();
    const std::vector<double> first = drawn(ColumnOp::uniform, Precision::f64, isa);
    EXPECT_NE(drawn(ColumnOp::uniform, Precision::f64, isa, 0, 6)[0], first[0]);
    EXPECT_NE(drawn(ColumnOp::uniform, Precision::f64, isa, 0, 5, 0x1'0000'0004)[0], first[0]);
    EXPECT_NE(drawn(ColumnOp::uniform, Precision::f64, isa, 0, 5, 0x2'0000'0003)[0], first[0]);
}

// The reference's radius and cosine are within an ulp or two each, the kernel's too: 8 ulp of at most 9.
TEST(ColumnRandomX86, NormalNumbersFollowTheReference) {
    const std::vector<double> expected = of_reference(ColumnOp::normal, Precision::f64);
    const std::vector<double> first = drawn(ColumnOp::normal, Precision::f64, column_isas().front());
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_NEAR(first[i], expected[i], 8 * 0x1p-49);
    for (Isa isa : column_isas()) {
        EXPECT_EQ(drawn(ColumnOp::normal, Precision::f64, isa), first);
        const std::vector<double> floats = drawn(ColumnOp::normal, Precision::f32, isa);
        for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(floats[i], static_cast<float>(first[i]));
    }
}

// The reference's exp may differ by an ulp, which moves a number where u lies within 2^-52 of a sum: not once here.
TEST(ColumnRandomX86, PoissonNumbersAreThoseOfTheReference) {
    for (double mean : {0.0, 1e-3, 0.1, 1.6, 30.0, kMostPoissonMean})
        for (Precision precision : {Precision::f64, Precision::f32}) {
            const std::vector<double> expected = of_reference(ColumnOp::poisson, precision, mean);
            for (Isa isa : column_isas()) EXPECT_EQ(drawn(ColumnOp::poisson, precision, isa, mean), expected) << mean;
        }
}

// A mean that all elements share is worked out before the loop.
TEST(ColumnRandomX86, PoissonNumbersOfASharedMeanAreTheSame) {
    for (Precision precision : {Precision::f64, Precision::f32})
        for (ColumnOp source : {ColumnOp::scalar, ColumnOp::constant}) {
            const double mean = 1.7;
            ColumnProgramSpec spec = draw(ColumnOp::poisson, precision);
            spec.scalars = 1;
            spec.steps[0] = {source, 0, 0, 0, 0, mean};
            for (Isa isa : column_isas()) {
                ColumnMemory memory = memory_of(spec, kCount, 0);
                memory.scalars()[0] = mean;
                memory.run(RunnableKernel(spec, isa).function());
                const std::vector<double> expected = of_reference(ColumnOp::poisson, precision, mean);
                for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(memory.number(1, i), expected[i]);
            }
        }
}

// The sum of `draws` numbers, of a mean each.
ColumnProgramSpec sum_of_poisson_numbers(uint32_t draws) {
    ColumnProgramSpec spec{Precision::f64, draws, {ColumnType::f64}, {{ColumnOp::constant}}};
    for (uint32_t i = 0; i < draws; ++i) {
        const auto sum = uint16_t(spec.steps.size() - 1), mean = uint16_t(sum + 1);
        spec.steps.push_back({ColumnOp::scalar, 0, 0, 0, i});
        spec.steps.push_back({ColumnOp::poisson, mean, 0, 0, i});
        spec.steps.push_back({ColumnOp::add, sum, uint16_t(mean + 1)});
    }
    spec.steps.push_back({ColumnOp::store, uint16_t(spec.steps.size() - 1)});
    return spec;
}

// The same after values that are needed before and after the draws, as the equations of a neuron have them.
ColumnProgramSpec sum_beside_values(uint32_t draws) {
    constexpr uint16_t kValues = 12;
    ColumnProgramSpec spec = sum_of_poisson_numbers(draws);
    std::vector<ColumnStep> steps = {{ColumnOp::load}};
    for (uint16_t i = 1; i < kValues; ++i) steps.push_back({ColumnOp::multiply, uint16_t(i - 1), 0});
    for (ColumnStep step : spec.steps) {
        if (step.op == ColumnOp::store) break;
        if (step.op == ColumnOp::poisson || step.op == ColumnOp::add) step.a += kValues;
        if (step.op == ColumnOp::add) step.b += kValues;
        steps.push_back(step);
    }
    for (uint16_t i = 0; i < kValues; ++i) steps.push_back({ColumnOp::add, uint16_t(steps.size() - 1), i});
    steps.push_back({ColumnOp::store, uint16_t(steps.size() - 1)});
    spec.steps = std::move(steps);
    return spec;
}

// All that can make a draw longer is what asmjit puts on the stack, of which the values beside it are no cause. With
// none of its registers its own a draw was 3 % longer there, and 12 % slower, at AVX2.
TEST(ColumnRandomX86, APoissonDrawIsNoLongerBesideOtherValues) {
    for (Isa isa : column_isas()) {
        const auto bytes_per_draw = [&](ColumnProgramSpec (*program)(uint32_t)) {
            const auto bytes = [&](uint32_t draws) { return double(generate(program(draws), isa).instruction_bytes); };
            return (bytes(60) - bytes(8)) / 52;
        };
        EXPECT_LT(bytes_per_draw(sum_beside_values), 1.01 * bytes_per_draw(sum_of_poisson_numbers)) << name(isa);
    }
}

// A network may have a thousand inputs to a population. With registers of its own for each draw, asmjit took 16 s for
// these; with those of the draws before, 0.3 s.
TEST(ColumnRandomX86, AThousandPoissonDrawsAreThoseOfTheReferenceAndCompileInSeconds) {
    constexpr uint32_t kDraws = 1000;
    constexpr double kMostSeconds = 4;
    const ColumnProgramSpec spec = sum_of_poisson_numbers(kDraws);
    const auto memory = [&] {
        ColumnMemory made = memory_of(spec, 33, 0);
        for (uint32_t i = 0; i < kDraws; ++i) made.scalars()[i] = 0.01 * i;
        return made;
    };
    ColumnMemory expected = memory();
    expected.run_reference();
    for (Isa isa : column_isas()) {
        const std::clock_t start = std::clock();
        const RunnableKernel kernel(spec, isa);
        EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, kMostSeconds);
        ColumnMemory found = memory();
        found.run(kernel.function());
        for (uint32_t i = 0; i < found.elements(); ++i) EXPECT_EQ(found.number(0, i), expected.number(0, i));
    }
}

TEST(ColumnRandomX86, PoissonNumbersOfAMeanOutOfRangeAreNaN) {
    for (Isa isa : column_isas())
        for (double mean : {-1e-9, 256.5, 1e300, double(INFINITY), double(-INFINITY), double(NAN)}) {
            const ColumnProgramSpec spec = draw(ColumnOp::poisson, Precision::f64);
            ColumnMemory memory = memory_of(spec, 16, 1.0);
            memory.set(0, 3, mean);
            memory.run(RunnableKernel(spec, isa).function());
            for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(memory.number(1, i)), i == 3) << mean;
        }
}

// Chi-square of counts against probabilities, as a normal deviate (Wilson and Hilferty 1931). Below 4 in size: a
// right generator exceeds that in 1 of 15,000 seeds.
double chi_square_deviate(const std::vector<double>& counts, const std::vector<double>& probabilities) {
    double chi_square = 0, freedom = -1;
    for (size_t bin = 0; bin < counts.size(); ++bin) {
        const double expected = probabilities[bin] * kCount;
        if (expected < 10) continue;
        chi_square += (counts[bin] - expected) * (counts[bin] - expected) / expected;
        freedom += 1;
    }
    const double variance = 2 / (9 * freedom);
    return (std::cbrt(chi_square / freedom) - (1 - variance)) / std::sqrt(variance);
}

struct Moments {
    double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& values) {
    Moments out;
    for (double value : values) out.mean += value / kCount;
    for (double value : values) out.variance += (value - out.mean) * (value - out.mean) / kCount;
    return out;
}

TEST(ColumnRandomX86, UniformNumbersFillTheUnitEvenly) {
    for (Precision precision : {Precision::f64, Precision::f32}) {
        const std::vector<double> values = drawn(ColumnOp::uniform, precision, column_isas().back());
        std::vector<double> counts(256);
        for (double value : values) {
            ASSERT_TRUE(value >= 0 && value < 1);
            ++counts[size_t(value * 256)];
        }
        EXPECT_LT(std::fabs(chi_square_deviate(counts, std::vector<double>(256, 1.0 / 256))), 4);
        EXPECT_NEAR(moments(values).mean, 0.5, 4 * std::sqrt(1.0 / 12 / kCount));
    }
}

TEST(ColumnRandomX86, NormalNumbersHaveTheNormalDistribution) {
    const std::vector<double> values = drawn(ColumnOp::normal, Precision::f64, column_isas().back());
    constexpr int kBins = 80;  // of a tenth, from -4; what lies beyond goes to the ends
    std::vector<double> counts(kBins), probabilities(kBins);
    for (double value : values) ++counts[size_t(std::clamp(int(std::floor(value * 10)) + kBins / 2, 0, kBins - 1))];
    const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    for (int bin = 0; bin < kBins; ++bin) {
        const double low = (bin - kBins / 2) / 10.0, high = low + 0.1;
        probabilities[size_t(bin)] = (bin == kBins - 1 ? 1 : below(high)) - (bin == 0 ? 0 : below(low));
    }
    EXPECT_LT(std::fabs(chi_square_deviate(counts, probabilities)), 4);
    EXPECT_NEAR(moments(values).mean, 0, 4 / std::sqrt(double(kCount)));
    EXPECT_NEAR(moments(values).variance, 1, 4 * std::sqrt(2.0 / kCount));
}

TEST(ColumnRandomX86, PoissonNumbersHaveThePoissonDistribution) {
    for (double mean : {0.1, 1.6, 30.0, kMostPoissonMean}) {
        const std::vector<double> values = drawn(ColumnOp::poisson, Precision::f64, column_isas().back(), mean);
        std::vector<double> counts(512), probabilities(512);
        for (double value : values) {
            ASSERT_TRUE(value >= 0 && value < 512 && value == std::floor(value));
            ++counts[size_t(value)];
        }
        for (size_t k = 0; k < probabilities.size(); ++k)
            probabilities[k] = std::exp(double(k) * std::log(mean) - mean - std::lgamma(double(k) + 1));
        EXPECT_LT(std::fabs(chi_square_deviate(counts, probabilities)), 4) << mean;
        EXPECT_NEAR(moments(values).mean, mean, 4 * std::sqrt(mean / kCount));
        EXPECT_NEAR(moments(values).variance, mean, 4 * std::sqrt((mean + 2 * mean * mean) / kCount));
    }
}

}  // namespace column_random_test
}  // namespace riftjit::x86
