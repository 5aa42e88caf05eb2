// Functions of column programs against <cmath> in the extended precision of x86, whose 64 bits make the truth good to
// 2^-10 ulp of f64.
#include "jit/x86/columns/column_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/jit/x86/columns/column_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace column_functions_test {

struct Function {
    ColumnOp op;
    double bound_ulp;  // as column_functions.h states
    std::function<long double(long double, long double)> truth;
};
const std::vector<Function> kFunctions = {
    {ColumnOp::exp, 1.0, [](long double x, long double) { return std::exp(x); }},
    {ColumnOp::expm1, 1.2, [](long double x, long double) { return std::expm1(x); }},
    {ColumnOp::log, 1.1, [](long double x, long double) { return std::log(x); }},
    {ColumnOp::sin, 1.0, [](long double x, long double) { return std::sin(x); }},
    {ColumnOp::cos, 1.0, [](long double x, long double) { return std::cos(x); }},
    {ColumnOp::tanh, 3.0, [](long double x, long double) { return std::tanh(x); }},
    {ColumnOp::power, 1.3, [](long double x, long double y) { return std::pow(x, y); }},
};
constexpr double kTruthUlp = 0x1p-9;  // glibc's error, a few units of its 64 bits

const Function& function(ColumnOp op) { return *std::ranges::find(kFunctions, op, &Function::op); }

// Distance to the next number of this size with `digits` digits, not below the smallest subnormal.
double ulp_of(long double value, int digits, int least_exponent) {
    int exponent;
    std::frexp(value, &exponent);
    return std::ldexp(1.0, std::max(value == 0 ? least_exponent : exponent - digits, least_exponent));
}
double ulp_f64(long double value) { return ulp_of(value, 53, -1074); }
double ulp_f32(long double value) { return ulp_of(value, 24, -149); }

struct Points {
    std::vector<double> x, y;
};
using Pick = std::function<double(Random&)>;

Points points(uint32_t count, const Pick& x, const Pick& y = [](Random&) { return 0.0; }) {
    Random random(count);
    Points out;
    for (uint32_t i = 0; i < count; ++i) out.x.push_back(x(random)), out.y.push_back(y(random));
    return out;
}
Pick between(double low, double high) {
    return [=](Random& random) { return low + (high - low) * random.uniform(); };
}
// Either sign, its size spread evenly over binades.
Pick binades(double low, double high) {
    return [=](Random& random) {
        const double size = std::exp2(low + (high - low) * random.uniform());
        return random.below(2) == 0 ? size : -size;
    };
}
Pick positive(const Pick& pick) {
    return [=](Random& random) { return std::fabs(pick(random)); };
}

std::vector<double> run(ColumnOp op, Precision precision, Isa isa, const Points& at) {
    const ColumnProgramSpec spec = kernel_cases::column_op(op, precision);
    ColumnMemory memory(spec, uint32_t(at.x.size()));
    for (uint32_t i = 0; i < memory.elements(); ++i) memory.set(0, i, at.x[i]), memory.set(1, i, at.y[i]);
    memory.run(RunnableKernel(spec, isa).function());
    std::vector<double> out;
    for (uint32_t i = 0; i < memory.elements(); ++i) out.push_back(memory.number(3, i));
    return out;
}

// Within the bound at the first level, and the same bits at the others. A subnormal result may be rounded once more.
void expect_within_bound(ColumnOp op, const Points& at) {
    const std::vector<double> first = run(op, Precision::f64, column_isas().front(), at);
    for (size_t i = 0; i < at.x.size(); ++i) {
        const long double truth = function(op).truth(at.x[i], at.y[i]);
        if (std::fabs(truth) > std::numeric_limits<double>::max()) continue;  // special values have their own test
        const bool is_subnormal = std::fabs(truth) < std::numeric_limits<double>::min();
        const double bound = function(op).bound_ulp + kTruthUlp + (is_subnormal ? 0.5 : 0);
        ASSERT_LE(std::fabs(static_cast<double>(first[i] - truth)), bound * ulp_f64(truth))
            << traits(op).name << " of " << at.x[i] << " " << at.y[i] << ": " << first[i];
    }
    for (Isa isa : column_isas()) {
        const std::vector<double> out = run(op, Precision::f64, isa, at);
        for (size_t i = 0; i < out.size(); ++i)
            ASSERT_TRUE(same_number(out[i], first[i])) << traits(op).name << " of " << at.x[i] << " at " << name(isa);
    }
}

constexpr uint32_t kCount = 20000;

TEST(ColumnFunctionsX86, ExpStaysBelowOneUlp) {
    expect_within_bound(ColumnOp::exp, points(kCount, between(-746, 709.78)));
    expect_within_bound(ColumnOp::exp, points(kCount, between(-0.7, 0.7)));
    expect_within_bound(ColumnOp::exp, points(kCount, between(-746, -708)));
    expect_within_bound(ColumnOp::exp, points(kCount, binades(-60, 2)));
}

TEST(ColumnFunctionsX86, Expm1StaysBelowItsBoundFromTinyToLarge) {
    expect_within_bound(ColumnOp::expm1, points(kCount, between(-45, 709.78)));
    expect_within_bound(ColumnOp::expm1, points(kCount, between(-1.1, 1.1)));
    expect_within_bound(ColumnOp::expm1, points(kCount, binades(-1074, 3)));
    expect_within_bound(ColumnOp::expm1, points(kCount, between(35, 41)));
    expect_within_bound(ColumnOp::expm1, points(kCount, between(-41, -35)));
}

TEST(ColumnFunctionsX86, LogStaysBelowItsBoundSubnormalsIncluded) {
    expect_within_bound(ColumnOp::log, points(kCount, positive(binades(-1074, 1024))));
    expect_within_bound(ColumnOp::log, points(kCount, between(0.5, 2)));
    expect_within_bound(ColumnOp::log, points(kCount, between(0.999, 1.001)));
}

TEST(ColumnFunctionsX86, SinAndCosStayBelowOneUlpUpToTheMostAngle) {
    // Next to multiples of pi / 2, where the reduction cancels most.
    const Pick quarters = [](Random& random) {
        const double n = std::floor(std::exp2(44 * random.uniform()));
        return static_cast<double>(n * 1.57079632679489661923132169163975144L);
    };
    for (ColumnOp op : {ColumnOp::sin, ColumnOp::cos}) {
        expect_within_bound(op, points(kCount, between(-10, 10)));
        expect_within_bound(op, points(kCount, binades(-1074, 1)));
        expect_within_bound(op, points(kCount, binades(3, 45)));
        expect_within_bound(op, points(kCount, quarters));
    }
}

TEST(ColumnFunctionsX86, TanhStaysBelowThreeUlp) {
    expect_within_bound(ColumnOp::tanh, points(kCount, between(-22, 22)));
    expect_within_bound(ColumnOp::tanh, points(kCount, between(-1, 1)));
    expect_within_bound(ColumnOp::tanh, points(kCount, binades(-1074, 1)));
}

TEST(ColumnFunctionsX86, PowerStaysBelowItsBoundOverTheWholeRange) {
    expect_within_bound(ColumnOp::power, points(kCount, positive(binades(-10, 10)), between(-70, 70)));
    expect_within_bound(ColumnOp::power, points(kCount, positive(binades(-1074, 1024)), between(-1.1, 1.1)));
    expect_within_bound(ColumnOp::power, points(kCount, between(0.9, 1.1), between(-7000, 7000)));
    expect_within_bound(ColumnOp::power, points(kCount, binades(-10, 10), [](Random& random) {
                            return double(random.below(200)) - 100;  // negative bases
                        }));
}

// Annex F of C, as <cmath> follows it.
TEST(ColumnFunctionsX86, SpecialValuesAreThoseOfC) {
    const double kTiny = std::numeric_limits<double>::denorm_min(), kMost = std::numeric_limits<double>::max();
    const std::vector<double> special = {0.0,  -0.0,  1.0,    -1.0,   2.0,        -2.0,  0.5,    -0.5,     3.0,
                                         -3.0, 1e300, -1e300, kTiny,  -kTiny,     kMost, -kMost, INFINITY, -INFINITY,
                                         NAN,  710.0, -746.0, 0x1p53, 0x1p53 + 2, 1.5,   -1.5};
    Points at;
    for (double x : special)
        for (double y : special) at.x.push_back(x), at.y.push_back(y);
    for (const Function& function : kFunctions)
        for (Isa isa : column_isas()) {
            const std::vector<double> out = run(function.op, Precision::f64, isa, at);
            for (size_t i = 0; i < out.size(); ++i) {
                const bool is_angle = function.op == ColumnOp::sin || function.op == ColumnOp::cos;
                if (is_angle && std::fabs(at.x[i]) > kMostAngle) continue;
                const double expected = static_cast<double>(function.truth(at.x[i], at.y[i]));
                const bool is_close = std::fabs(out[i] - expected) <= 3 * ulp_f64(expected);
                EXPECT_TRUE(same_number(out[i], expected) || (is_close && expected != 0))
                    << traits(function.op).name << " of " << at.x[i] << ", " << at.y[i] << ": " << out[i] << " not "
                    << expected;
            }
        }
}

TEST(ColumnFunctionsX86, AnglesBeyondTheMostAreNaN) {
    const Points at{{kMostAngle, -kMostAngle, std::nextafter(kMostAngle, INFINITY), -1e300, INFINITY},
                    std::vector<double>(5)};
    for (Isa isa : column_isas())
        for (ColumnOp op : {ColumnOp::sin, ColumnOp::cos}) {
            const std::vector<double> out = run(op, Precision::f64, isa, at);
            for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i >= 2) << at.x[i];
        }
}

// In f32 the error of f64 vanishes beside the one rounding.
TEST(ColumnFunctionsX86, F32RoundsOnce) {
    const std::vector<std::pair<ColumnOp, Points>> cases = {
        {ColumnOp::exp, points(kCount, between(-104, 89))},
        {ColumnOp::expm1, points(kCount, binades(-140, 6))},
        {ColumnOp::log, points(kCount, positive(binades(-149, 128)))},
        {ColumnOp::sin, points(kCount, binades(-140, 45))},
        {ColumnOp::cos, points(kCount, binades(-140, 45))},
        {ColumnOp::tanh, points(kCount, binades(-140, 5))},
        {ColumnOp::power, points(kCount, positive(binades(-10, 10)), between(-13, 13))},
    };
    for (const auto& [op, at] : cases)
        for (Isa isa : column_isas()) {
            const std::vector<double> out = run(op, Precision::f32, isa, at);
            for (size_t i = 0; i < out.size(); ++i) {
                const long double truth = function(op).truth(static_cast<float>(at.x[i]), static_cast<float>(at.y[i]));
                if (std::fabs(truth) > std::numeric_limits<float>::max()) continue;
                ASSERT_LE(std::fabs(static_cast<double>(out[i] - truth)), 0.5001 * ulp_f32(truth))
                    << traits(op).name << " of " << at.x[i] << " " << at.y[i] << ": " << out[i];
            }
        }
}

}  // namespace column_functions_test
}  // namespace riftjit::x86
