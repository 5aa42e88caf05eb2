#include "sim/equations/value_graph.h"

#include <gtest/gtest.h>

#include <cmath>

namespace riftjit::sim {
namespace value_graph_test {

std::string program_of(const ValueGraph& graph, Value value) {
    const auto spec = graph.program(Precision::f64, {ColumnType::f64, ColumnType::f64, ColumnType::f64}, 1,
                                    {{2, value}}, graph.truth(false));
    return spec ? column_program_text(*spec) : spec.error().message;
}

class ValueGraphTest : public testing::Test {
protected:
    ValueGraph graph;
    const Value x = graph.load(0), y = graph.load(1);
    Value number(long double value) { return graph.constant(value); }
};

TEST_F(ValueGraphTest, EqualExpressionsAreOneNode) {
    EXPECT_EQ(graph.add(x, y), graph.add(y, x));
    EXPECT_EQ(graph.multiply(x, y), graph.multiply(y, x));
    EXPECT_NE(graph.subtract(x, y), graph.subtract(y, x));
    EXPECT_EQ(graph.function(ColumnOp::exp, x), graph.function(ColumnOp::exp, x));
    const Value e = graph.function(ColumnOp::exp, x);
    EXPECT_EQ(program_of(graph, graph.divide(e, graph.add(e, y))),
              "v0 = column 0 (f64)\nv1 = exp v0\nv2 = column 1 (f64)\nv3 = add v2, v1\nv4 = divide v1, v3\n"
              "column 2 (f64) = v4\n");
}

TEST_F(ValueGraphTest, ConstantsAreFoldedInExtendedPrecision) {
    const Value tenth = graph.divide(number(1), number(10));
    EXPECT_EQ(graph.number(graph.multiply(tenth, number(10))), 1.0L);
    EXPECT_EQ(*graph.number(graph.function(ColumnOp::exp, number(1))), std::exp(1.0L));
    EXPECT_EQ(graph.number(graph.power(number(2), number(-2))), 0.25L);
    // x / 3 * 6: one factor, rounded once.
    EXPECT_EQ(graph.multiply(graph.divide(x, number(4)), number(8)), graph.multiply(number(2), x));
    EXPECT_EQ(graph.negate(graph.subtract(x, y)), graph.subtract(y, x));
    EXPECT_EQ(graph.add(x, number(0)), x);
    EXPECT_EQ(graph.multiply(x, number(1)), x);
    EXPECT_EQ(graph.number(graph.multiply(x, number(0))), 0.0L);
    EXPECT_EQ(graph.select(graph.less(number(1), number(2)), x, y), x);
    EXPECT_EQ(graph.both(graph.truth(true), graph.less(x, y)), graph.less(x, y));
    EXPECT_TRUE(graph.is_false(graph.both(graph.truth(false), graph.less(x, y))));
    EXPECT_EQ(graph.number(graph.extreme(ColumnOp::maximum, number(1), number(2))), 2.0L);
    EXPECT_EQ(graph.number(graph.extreme(ColumnOp::minimum, number(1), number(2))), 1.0L);
}

TEST_F(ValueGraphTest, SmallWholePowersAreProducts) {
    const Value square = graph.multiply(x, x);
    EXPECT_EQ(graph.power(x, number(2)), square);
    EXPECT_EQ(graph.power(x, number(4)), graph.multiply(square, square));
    EXPECT_EQ(graph.power(x, number(1)), x);
    EXPECT_EQ(graph.number(graph.power(x, number(0))), 1.0L);
    EXPECT_EQ(graph.power(x, number(0.5)), graph.function(ColumnOp::square_root, x));
    EXPECT_EQ(graph.power(x, number(-1)), graph.divide(number(1), x));
    EXPECT_EQ(program_of(graph, graph.power(x, number(0.4L))),
              "v0 = column 0 (f64)\nv1 = 0.4\nv2 = power v0, v1\ncolumn 2 (f64) = v2\n");
}

TEST_F(ValueGraphTest, ProductsThatOneSumUsesAreFused) {
    EXPECT_EQ(program_of(graph, graph.add(graph.multiply(x, x), y)),
              "v0 = column 0 (f64)\nv1 = column 1 (f64)\nv2 = fused_multiply_add v0, v0, v1\ncolumn 2 (f64) = v2\n");
    EXPECT_EQ(program_of(graph, graph.subtract(y, graph.multiply(number(3), x))),
              "v0 = -3\nv1 = column 0 (f64)\nv2 = column 1 (f64)\nv3 = fused_multiply_add v0, v1, v2\n"
              "column 2 (f64) = v3\n");
    // Used twice, it stays a product, so that x y - x y is 0.
    const Value product = graph.multiply(x, y);
    const std::string twice = program_of(graph, graph.subtract(graph.add(product, y), product));
    EXPECT_EQ(twice.find("fused"), std::string::npos) << twice;
}

TEST_F(ValueGraphTest, WhatNothingStoresIsNotWritten) {
    graph.function(ColumnOp::exp, graph.add(x, y));
    EXPECT_EQ(program_of(graph, x), "v0 = column 0 (f64)\ncolumn 2 (f64) = v0\n");
}

TEST_F(ValueGraphTest, LinearPartsAreTakenApart) {
    const Value s = graph.symbol(0);
    const auto parts = graph.linear_in(graph.divide(graph.subtract(y, graph.multiply(x, s)), number(4)), s);
    ASSERT_TRUE(parts.has_value());
    EXPECT_EQ(parts->first, graph.multiply(number(-0.25), x));
    EXPECT_EQ(parts->second, graph.multiply(number(0.25), y));
    EXPECT_FALSE(graph.linear_in(graph.multiply(s, s), s).has_value());
    EXPECT_FALSE(graph.linear_in(graph.divide(x, s), s).has_value());
    EXPECT_FALSE(graph.linear_in(graph.function(ColumnOp::exp, s), s).has_value());
    const AffineForm form = graph.affine(graph.subtract(graph.multiply(number(3), graph.add(x, number(2))), x));
    EXPECT_EQ(form.constant, 6);
    EXPECT_EQ(form.coefficients, (std::map<Value, long double>{{x, 2.0L}}));
    EXPECT_TRUE(graph.affine(graph.subtract(graph.add(x, y), graph.add(y, x))).is_zero());
}

TEST_F(ValueGraphTest, SharedSumsAreTakenApartOnce) {
    const Value s = graph.symbol(0);
    Value sum = graph.add(s, x);
    for (int i = 0; i < 60; ++i) sum = graph.add(sum, graph.add(sum, y));  // 2^60 paths
    EXPECT_EQ(graph.affine(sum).coefficients.at(s), 0x1p60L);
    EXPECT_EQ(graph.number(graph.linear_in(sum, s)->first), 0x1p60L);
}

TEST_F(ValueGraphTest, ConstantsThatAreNoNumbersAreRefusedWhereTheyAreUsed) {
    const Value nan = graph.divide(number(0), number(0));
    EXPECT_EQ(program_of(graph, graph.add(x, nan)),
              "a constant is not finite (a division by 0, or the root or logarithm of a negative number)");
    EXPECT_EQ(program_of(graph, graph.select(graph.truth(true), x, nan)), program_of(graph, x));
}

TEST_F(ValueGraphTest, MeansThatNoPoissonNumberCanHaveAreRefused) {
    const auto drawn = [&](double mean) {
        return program_of(graph, graph.draw(ColumnOp::poisson, 0, graph.multiply(number(mean), number(1))));
    };
    EXPECT_EQ(drawn(5000), "poisson() of a mean of 5000: 0 to 256 can be drawn in a step");
    EXPECT_EQ(drawn(-1), "poisson() of a mean of -1: 0 to 256 can be drawn in a step");
    EXPECT_EQ(drawn(256).find("poisson() of"), std::string::npos);
}

TEST_F(ValueGraphTest, ProgramsAboveTheLimitAreRefused) {
    Value sum = x;
    for (int i = 0; i < 5000; ++i) sum = graph.function(ColumnOp::sin, sum);
    EXPECT_EQ(program_of(graph, sum), "too long: 5002 steps, of at most 4096");
}

}  // namespace value_graph_test
}  // namespace riftjit::sim
