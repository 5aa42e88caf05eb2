#include "graph/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <tuple>

#include "graph/plan.h"
#include "tests/graph/tiny_graph.h"

namespace riftjit::graph {
namespace reference_test {

using Row = std::vector<double>;

// Sums of a few hundred products of order one in double.
constexpr double kRounding = 1e-12;

Row counting_row(size_t width) {
    Row row(width);
    std::iota(row.begin(), row.end(), 1.0);
    return row;
}

double largest_difference(const Row& left, const Row& right) {
    EXPECT_EQ(left.size(), right.size());
    double largest = 0;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
        largest = std::max(largest, std::abs(left[i] - right[i]));
    return largest;
}

// ---- ops ------------------------------------------------------------------------------------------------------------

TEST(ReferenceRmsNorm, DividesByTheRootMeanSquare) {
    const Row x = {3, 4, 0, 0}, gain = {1, 2, 3, 4};
    Row out(4);
    reference::rms_norm(x.data(), gain.data(), 0.0, 4, out.data());  // mean square 25/4, root 5/2
    EXPECT_LT(largest_difference(out, {3 / 2.5, 2 * 4 / 2.5, 0, 0}), kRounding);
    reference::rms_norm(x.data(), nullptr, 9.75, 4, out.data());  // 25/4 + 39/4 = 16
    EXPECT_LT(largest_difference(out, {0.75, 1, 0, 0}), kRounding);
}

TEST(ReferenceMatmul, DecodesTheRowItMultiplies) {
    const uint8_t q8_row[34] = {0x00, 0x38, 1, 2, 0xff};  // d = 0.5; codes 1, 2, -1, 0, ...
    const Row x = counting_row(32);
    double out = 0;
    reference::matmul_row(DType::Q8_0, reinterpret_cast<const std::byte*>(q8_row), x.data(), 32, &out);
    EXPECT_EQ(out, 0.5 * (1 * 1 + 2 * 2 - 3));
}

TEST(ReferenceRope, TurnsThePairsOfEachPairing) {
    // The first pair turns by position * scale * base^0; as a float the angle is off by 4.4e-8.
    const auto quarter = float(std::numbers::pi / 2);
    constexpr double kBound = 3e-7;
    Row head = counting_row(6);
    reference::rope(head.data(), RopePairing::adjacent, {4, 1e30f, quarter}, nullptr, 1);
    EXPECT_LT(largest_difference(head, {-2, 1, 3, 4, 5, 6}), kBound);  // the second by base^(-1/2): nothing
    head = counting_row(6);
    reference::rope(head.data(), RopePairing::half, {4, 1e30f, quarter}, nullptr, 1);
    EXPECT_LT(largest_difference(head, {-3, 2, 1, 4, 5, 6}), kBound);
}

TEST(ReferenceRope, AngleIsPositionTimesScaleTimesPowerOfBaseOverFactor) {
    const float factors[2] = {1.0f, 4.0f};
    Row head = {1, 0, 1, 0};
    reference::rope(head.data(), RopePairing::adjacent, {4, 100.0f, 0.5f}, factors, 7);
    const double first = 7 * 0.5, second = 7 * 0.5 / 10 / 4;
    EXPECT_LT(largest_difference(head, {std::cos(first), std::sin(first), std::cos(second), std::sin(second)}),
              kRounding);
}

TEST(ReferenceRope, ScoresDependOnTheDistanceOnly) {
    const auto score = [](uint32_t query_position, uint32_t key_position) {
        Row q = counting_row(8), k = {3, -1, 4, 1, -5, 9, 2, -6};
        reference::rope(q.data(), RopePairing::half, {8, 10000.0f}, nullptr, query_position);
        reference::rope(k.data(), RopePairing::half, {8, 10000.0f}, nullptr, key_position);
        return std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
    };
    EXPECT_NEAR(score(5, 2), score(1003, 1000), 1e-9);
    EXPECT_GT(std::abs(score(5, 2) - score(5, 3)), 1.0);
}

TEST(ReferenceAttention, WeighsValuesBySoftmaxOfScaledScores) {
    // Two positions of stride 3 (head size 2): scores 1*ln4*scale and 0, so with scale 1/2 the weights are 2/3 and 1/3.
    const Row q = {std::log(4.0), 5}, keys = {1, 0, 99, 0, 0, 99}, values = {3, 6, 99, 9, 0, 99};
    Row out(2);
    reference::attention_head(q.data(), keys.data(), values.data(), 2, 3, 2, 0.5, out.data());
    EXPECT_LT(largest_difference(out, {5, 4}), kRounding);
    reference::attention_head(q.data(), keys.data(), values.data(), 1, 3, 2, 0.5, out.data());
    EXPECT_LT(largest_difference(out, {3, 6}), kRounding);
}

TEST(ReferenceAttention, SurvivesScoresThatOverflowTheExponential) {
    const Row q = {1e4}, keys = {1, 2}, values = {5, 7};
    Row out(1);
    reference::attention_head(q.data(), keys.data(), values.data(), 2, 1, 1, 1.0, out.data());
    EXPECT_EQ(out[0], 7);
}

TEST(ReferenceActivations, MatchTheirDefinitions) {
    EXPECT_EQ(reference::silu(0), 0);
    EXPECT_NEAR(reference::silu(std::log(3.0)), 0.75 * std::log(3.0), kRounding);  // sigmoid(ln 3) = 3/4
    EXPECT_EQ(reference::silu(-1e5), 0);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

const std::vector<int32_t> kPrompt = {3, 14, 15, 9, 26, 5, 35, 49, 0};

Row run_all(const Graph& graph) {
    Reference reference(graph);
    return reference.run(kPrompt).value();
}

TEST(Reference, AnySplitOfThePromptGivesTheSameLogits) {
    const auto model = test::make_tiny();
    const Row whole = run_all(model.graph);
    ASSERT_EQ(whole.size(), kPrompt.size() * 50);
    for (size_t chunk : {1, 2, 4}) {
        Reference reference(model.graph);
        Row joined;
        for (size_t at = 0; at < kPrompt.size(); at += chunk) {
            const size_t count = std::min(chunk, kPrompt.size() - at);
            const Row part = reference.run(std::span(kPrompt).subspan(at, count)).value();
            joined.insert(joined.end(), part.begin(), part.end());
        }
        EXPECT_EQ(joined, whole) << "chunks of " << chunk;
    }
}

TEST(Reference, GatherRowsKeepsTheRowsAskedFor) {
    const auto model = test::make_tiny();
    const Row all = run_all(model.graph);
    Reference reference(model.graph);
    const Row two = reference.run(kPrompt, std::vector<uint32_t>{7, 2}).value();
    Row expected(all.begin() + 7 * 50, all.begin() + 8 * 50);
    expected.insert(expected.end(), all.begin() + 2 * 50, all.begin() + 3 * 50);
    EXPECT_EQ(two, expected);
    EXPECT_EQ(reference.run(kPrompt, std::vector<uint32_t>{9}).error().message,
              "reference: row 9 is wanted of 9 tokens");
}

TEST(Reference, FusedGraphsComputeWhatTheUnfusedOnesDo) {
    const auto model = test::make_tiny({.chain = true});
    const Row unfused = run_all(apply_passes(model.graph, parse_passes("none").value()));
    for (const Pass& pass : passes()) {
        const Graph fused = apply_passes(model.graph, parse_passes(pass.name).value());
        EXPECT_LT(largest_difference(run_all(fused), unfused), 1e-9) << pass.name;
    }
    EXPECT_LT(largest_difference(run_all(apply_passes(model.graph, parse_passes("all").value())), unfused), 1e-9);
}

TEST(Reference, ElementwiseChainsRunTheirStepsInOrder) {
    const std::vector<float> table = {1, -2, 0.5f, 3}, bias = {10, 20, 30, 40};
    Graph graph;
    const auto weight = [&](const char* name, const std::vector<float>& data) {
        return graph.add_weight(name, DType::F32, 1, 4, reinterpret_cast<const std::byte*>(data.data()));
    };
    const TensorId x = graph.embed("embed", graph.add_input("ids"), weight("table", table)).value();
    graph.logits = graph.scale("chain", x, 1.0f).value();
    using enum ElementwiseOp;
    graph.nodes.back().op = ElementwiseChainOp{
        {x, weight("bias", bias)}, {{add, 0, 1, 0}, {scale, 2, 0, 0.5f}, {add, 3, 0, 0}}, graph.logits};
    Reference reference(graph);
    const Row out = reference.run(std::vector<int32_t>{0, 0}).value();
    for (size_t i = 0; i < 8; ++i) {
        const double v = table[i % 4];
        EXPECT_NEAR(out[i], (v + bias[i % 4]) * 0.5 + v, kRounding) << i;
    }
}

TEST(Reference, ResetForgetsTheCache) {
    const auto model = test::make_tiny();
    Reference reference(model.graph);
    const Row first = reference.run(kPrompt).value();
    EXPECT_NE(reference.run(kPrompt).value(), first);
    reference.reset();
    EXPECT_EQ(reference.run(kPrompt).value(), first);
}

TEST(Reference, RefusesATokenOutsideTheVocabulary) {
    const auto model = test::make_tiny();
    Reference reference(model.graph);
    EXPECT_EQ(reference.run(std::vector<int32_t>{50}).error().message,
              "embed: token 50 is not in the vocabulary of 50");
    EXPECT_EQ(reference.run(std::vector<int32_t>{-1}).error().message,
              "embed: token -1 is not in the vocabulary of 50");
    EXPECT_EQ(reference.run(std::vector<int32_t>{}).error().message, "reference: no tokens to run");
}

// What a row loses to its format: half a step of the largest of its block, or half a unit in bf16's last place.
TEST(Reference, RoundsRowsToWhatTheirFormatsHold) {
    std::mt19937 random(5);
    std::normal_distribution<double> values;
    std::vector<double> x(600);
    std::ranges::generate(x, [&] { return values(random); });
    EXPECT_EQ(reference::rounded(RowFormat::f32, x), x);
    for (const auto& [format, block, most] :
         {std::tuple(RowFormat::i16, kI16Block, kI16Max), {RowFormat::i8, kI8Block, kI8Max}}) {
        const std::vector<double> rounded = reference::rounded(format, x);
        for (size_t i = 0; i < x.size(); ++i) {
            const auto begin = x.begin() + long(i / block * block),
                       end = x.begin() + long(std::min(x.size(), (i / block + 1) * block));
            const double largest =
                std::abs(*std::max_element(begin, end, [](double a, double b) { return std::abs(a) < std::abs(b); }));
            EXPECT_LE(std::abs(rounded[i] - x[i]), largest / most * 0.500001);
            const double code = rounded[i] / (largest / most);
            EXPECT_NEAR(code, std::round(code), 1e-9);
        }
    }
    const std::vector<double> halves = reference::rounded(RowFormat::bf16, x);
    for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_LE(std::abs(halves[i] - x[i]), std::abs(x[i]) * 0x1.0001p-8);
        EXPECT_EQ(std::bit_cast<uint32_t>(float(halves[i])) & 0xffff, 0u);
    }
}

}  // namespace reference_test
}  // namespace riftjit::graph
