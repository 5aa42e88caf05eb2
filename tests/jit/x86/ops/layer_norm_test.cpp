#include <gtest/gtest.h>

#include "graph/plan.h"
#include "graph/reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/row_reference.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace layer_norm_test {

constexpr uint32_t kTokens = 3;

struct Inputs {
    GuardedBuffer<float> x, gain, bias;
};

Inputs random_inputs(uint32_t width, float size = 1.0f, float offset = 0.5f) {
    Random random(width);
    const auto stride = static_cast<uint32_t>(round_up(width, 16));
    Inputs inputs{GuardedBuffer<float>(kTokens * stride), GuardedBuffer<float>(width), GuardedBuffer<float>(width)};
    for (uint32_t token = 0; token < kTokens; ++token)
        for (uint32_t i = 0; i < width; ++i) inputs.x[token * stride + i] = random.normal(size) + size * offset;
    for (uint32_t i = 0; i < width; ++i) {
        inputs.gain[i] = random.normal();
        inputs.bias[i] = random.normal();
    }
    return inputs;
}

GuardedBuffer<std::byte> run(const LayerNormSpec& spec, Isa isa, const Inputs& inputs) {
    GuardedBuffer<std::byte> out(kTokens * activation_row_bytes(spec.output, spec.width));
    const BatchState batch{.rows = kTokens};
    const LayerNormArgs args{inputs.x.data(), inputs.gain.data(), inputs.bias.data(), out.data(), &batch};
    const RunnableKernel kernel(spec, isa);
    kernel(&args, 2, 3);
    kernel(&args, 0, 2);
    return out;
}

const float* row_of(const Inputs& inputs, uint32_t width, uint32_t token) {
    return inputs.x.data() + token * round_up(width, 16);
}

// The mean takes n + 7 roundings (n = ceil(width / 64) sums per lane, six folds, the quotient) of numbers that are no
// larger than the sum of |x|. A difference carries that error and its own rounding. Differences add up to nothing, so
// an error e of the mean moves the variance by e^2 alone; beside it stand n + 8 roundings of sums and three of each
// square, of which the root takes half, then the root, the quotient and two products round once each, and the bias.
void expect_close_to_reference(const LayerNormSpec& spec, const Inputs& inputs, Isa isa) {
    const auto out = run(spec, isa, inputs);
    const double n = double(round_up(spec.width, 64)) / 64;
    for (uint32_t token = 0; token < kTokens; ++token) {
        const float* x = row_of(inputs, spec.width, token);
        const auto* got = reinterpret_cast<const float*>(out.data()) + token * round_up(spec.width, 16);
        double mean = 0, size = 0, variance = 0;
        for (uint32_t i = 0; i < spec.width; ++i) mean += x[i] / double(spec.width);
        for (uint32_t i = 0; i < spec.width; ++i) size += std::fabs(x[i]) / spec.width;
        for (uint32_t i = 0; i < spec.width; ++i) variance += (x[i] - mean) * (x[i] - mean) / spec.width;
        variance += double(spec.epsilon);
        const double mean_error = kHalfUlp * (n + 7) * size, scale = 1 / std::sqrt(variance);
        const double relative = kHalfUlp * ((n + 11) / 2 + 4) + mean_error * mean_error / variance;
        for (uint32_t i = 0; i < spec.width; ++i) {
            const double difference = x[i] - mean, gain = inputs.gain[i];
            const double scaled = difference * scale * gain;
            const double expected = scaled + (spec.bias == Presence::present ? inputs.bias[i] : 0.0f);
            const double bound = std::fabs(gain) * scale * (mean_error + kHalfUlp * std::fabs(difference)) +
                                 std::fabs(scaled) * relative + std::fabs(expected) * kHalfUlp;
            ASSERT_NEAR(got[i], expected, bound * 1.001 + 0x1p-149)
                << name(isa) << " " << kernel_name(spec) << " token " << token << " element " << i;
        }
    }
}

TEST(LayerNormX86, MatchesReferenceAroundTheVectorWidth) {
    for (const LayerNormSpec& spec : kernel_cases::layer_norm())
        if (spec.output == RowFormat::f32)
            for (Isa isa : machine_isas()) expect_close_to_reference(spec, random_inputs(spec.width), isa);
}

TEST(LayerNormX86, HoldsFromTinyToLargeMagnitudesAndFarFromZero) {
    const LayerNormSpec spec{320, 1e-12f, Presence::present, RowFormat::f32};
    for (float size : {1e-3f, 1e4f, 1e15f})
        for (float offset : {0.0f, 100.0f})
            for (Isa isa : machine_isas()) expect_close_to_reference(spec, random_inputs(320, size, offset), isa);
}

// The contract of jit/kernel_spec.h: every device that adds in this order gives these bits.
TEST(LayerNormX86, GivesTheBitsOfItsOrderOfAdditions) {
    for (const uint32_t width : kernel_cases::kWidths) {
        const LayerNormSpec spec{width, 1e-5f, Presence::present, RowFormat::f32};
        const Inputs inputs = random_inputs(width);
        for (Isa isa : machine_isas()) {
            const auto out = run(spec, isa, inputs);
            const float* x = row_of(inputs, width, 1);
            const auto* got = reinterpret_cast<const float*>(out.data()) + round_up(width, 16);
            const float mean =
                sum_in_order<float>(KOrder::lanes64, width, [&](float sum, uint32_t k) { return sum + x[k]; }) /
                float(width);
            const float squares = sum_in_order<float>(
                KOrder::lanes64, width, [&](float sum, uint32_t k) { return std::fma(x[k] - mean, x[k] - mean, sum); });
            const float scale = 1.0f / std::sqrt(squares / float(width) + spec.epsilon);
            for (uint32_t i = 0; i < width; ++i)
                ASSERT_EQ(got[i], std::fma((x[i] - mean) * scale, inputs.gain[i], inputs.bias[i]))
                    << name(isa) << " width " << width << " element " << i;
        }
    }
}

TEST(LayerNormX86, QuantisesTheVeryRowThatItWouldWriteAsFloats) {
    for (const LayerNormSpec& spec : kernel_cases::layer_norm()) {
        const Inputs inputs = random_inputs(spec.width);
        LayerNormSpec as_floats = spec;
        as_floats.output = RowFormat::f32;
        for (Isa isa : machine_isas()) {
            const auto rows = run(spec, isa, inputs), float_rows = run(as_floats, isa, inputs);
            for (uint32_t token = 0; token < kTokens; ++token) {
                const auto* values =
                    reinterpret_cast<const float*>(float_rows.data()) + token * round_up(spec.width, 16);
                const auto expected = reference_row(spec.output, {values, values + spec.width});
                const std::byte* row = rows.data() + token * activation_row_bytes(spec.output, spec.width);
                EXPECT_EQ(std::memcmp(row, expected.data(), expected.size()), 0)
                    << name(isa) << " " << kernel_name(spec);
            }
        }
    }
}

TEST(LayerNormGraph, IsLoweredToOneLaunchAndComputedByTheReference) {
    const std::vector<float> table = {1, -2, 0.5f, 3}, gain = {1, 2, 3, 4}, bias = {10, 20, 30, 40};
    graph::Graph graph;
    const auto weight = [&](const char* name, const std::vector<float>& data) {
        return graph.add_weight(name, DType::F32, 1, 4, reinterpret_cast<const std::byte*>(data.data()));
    };
    const auto x = graph.embed("embed", graph.add_input("ids"), weight("table", table)).value();
    const auto rows = graph.gather_rows("rows", x).value();
    graph.logits = graph.layer_norm("norm", rows, weight("gain", gain), weight("bias", bias), 1e-5f).value();
    const auto logits = graph::Reference(graph).run(std::vector<int32_t>{0}).value();
    const double mean = 0.625,
                 scale = 1 / std::sqrt((0.375 * 0.375 + 2.625 * 2.625 + 0.125 * 0.125 + 2.375 * 2.375) / 4 + 1e-5f);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(logits[i], (table[i] - mean) * scale * gain[i] + bias[i], 1e-14);

    const auto plan = graph::make_plan(graph, {.backend = &backend(Isa::avx2), .max_tokens = 5, .passes = {}});
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->steps.size(), 3u) << "embed, gather, norm";
    EXPECT_TRUE(plan->steps[2].spec == KernelSpec(LayerNormSpec{4, 1e-5f, Presence::present, RowFormat::f32}));
    EXPECT_EQ(plan->steps[2].places[2].kind, graph::Place::Kind::weight);
    EXPECT_FALSE(graph.layer_norm("other", x, graph::kNoTensor, graph::kNoTensor, 1e-5f));
}

}  // namespace layer_norm_test
}  // namespace riftjit::x86
