#include <gtest/gtest.h>

#include <optional>

#include "graph/reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/row_reference.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace swiglu_test {

constexpr uint32_t kTokens = 3;

// gate and up lie in one row, as a fused projection writes them; the last row ends with its last element.
struct Input {
    GuardedBuffer<float> rows;
    uint32_t width, stride;
    explicit Input(const SwigluSpec& spec, double size = 2.0)
        : rows((kTokens - 1) * spec.in_stride + 2 * spec.width), width(spec.width), stride(spec.in_stride) {
        Random random(spec.width);
        for (uint32_t token = 0; token < kTokens; ++token)
            for (uint32_t i = 0; i < 2 * width; ++i) rows[token * stride + i] = random.normal(size);
    }
    const float* gate() const { return rows.data(); }
    const float* up() const { return rows.data() + width; }
};

std::vector<std::vector<std::byte>> run(const SwigluSpec& spec, Isa isa, const Input& input) {
    const RunnableKernel kernel(spec, isa);
    const uint32_t row_bytes = activation_row_bytes(spec.output, spec.width);
    GuardedBuffer<std::byte> out(kTokens * row_bytes);
    const SwigluArgs args{input.gate(), input.up(), out.data(), nullptr};
    kernel(&args, 1, kTokens);
    kernel(&args, 0, 1);
    const size_t defined_bytes = reference_row(spec.output, std::vector<float>(spec.width)).size();
    std::vector<std::vector<std::byte>> rows;
    for (uint32_t token = 0; token < kTokens; ++token)
        rows.emplace_back(out.data() + token * row_bytes, out.data() + token * row_bytes + defined_bytes);
    return rows;
}

// 3 ulp of silu (argued beside emit_silu) and half of one for the product; an ulp is at most 2 kHalfUlp of its value.
// The exponent of gelu_tanh and of clamped_silu is off by up to 5 roundings, and what it gates by as much times it:
// |t| exp(t) / (1 + exp(t)) is below |t|, for t beyond 88 all is 0.
constexpr double kRelativeBound = 6 * kHalfUlp + kHalfUlp;
double relative_bound(const SwigluSpec& spec, double gate) {
    if (spec.activation == Activation::silu) return kRelativeBound;
    if (spec.activation == Activation::clamped_silu) return kRelativeBound + (5 * 15 + 2) * kHalfUlp;
    const double exponent = std::min(88.0, 1.6 * std::fabs(gate) * (1 + 0.045 * gate * gate));
    return kRelativeBound + 5 * exponent * kHalfUlp;
}
// Of gelu_erf the normal distribution is off by that much in absolute terms: its polynomial's 0.75e-7 and roundings.
constexpr double kErfBound = 0.75e-7 + 8 * kHalfUlp;

// exp is within 1.4 units, 2.8 roundings of a number up to 1, then two differences, products and a sum round once each.
double xielu_bound(const Xielu& xielu, double gate) {
    const double curved = gate > 0 ? 2 * std::fabs(xielu.positive) * gate * gate
                                   : std::fabs(xielu.negative) * (2.8 + 1 + 2 * (1 + std::fabs(gate)));
    return 1.5 * kHalfUlp * (curved + 3 * std::fabs(xielu.linear * gate) + std::fabs(xielu.positive * gate * gate) * 2);
}

void expect_close_to_reference(const SwigluSpec& spec, const Input& input) {
    for (Isa isa : machine_isas()) {
        const auto rows = run(spec, isa, input);
        for (uint32_t token = 0; token < kTokens; ++token) {
            const auto* out = reinterpret_cast<const float*>(rows[token].data());
            for (uint32_t i = 0; i < spec.width; ++i) {
                const double gate = input.gate()[token * spec.in_stride + i],
                             up = input.up()[token * spec.in_stride + i];
                const bool has_up = spec.up == Presence::present;
                const double expected =
                    graph::reference::activate(spec.activation, gate, has_up ? up : 1.0, spec.xielu);
                const double size = std::fabs(gate * (has_up ? up : 1.0));
                const double bound = spec.activation == Activation::gelu_erf ? size * kErfBound
                                     : spec.activation == Activation::xielu
                                         ? std::fabs(has_up ? up : 1.0) * xielu_bound(spec.xielu, gate)
                                         : std::fabs(expected) * relative_bound(spec, gate);
                // Below -kExpMax silu is -0 instead of some 1e-37; subnormals are multiples of 2^-149.
                EXPECT_NEAR(out[i], expected, bound + 1e-36 * std::max(1.0, std::fabs(up)) + 0x1p-149)
                    << name(isa) << " " << kernel_name(spec) << " gate " << gate;
            }
        }
    }
}

TEST(SwigluX86, MatchesReferenceAroundTheVectorWidth) {
    for (const SwigluSpec& spec : kernel_cases::swiglu())
        if (spec.output == RowFormat::f32) expect_close_to_reference(spec, Input(spec));
}

TEST(SwigluX86, HoldsForLargeGates) {
    const SwigluSpec spec{320, 640, RowFormat::f32};
    for (double size : {1e-20, 50.0, 1e4, 1e17}) expect_close_to_reference(spec, Input(spec, size));
}

TEST(SwigluX86, QuantisesTheVeryRowThatItWouldWriteAsFloats) {
    for (const SwigluSpec& spec : kernel_cases::swiglu()) {
        const Input input(spec);
        for (Isa isa : machine_isas()) {
            const auto rows = run(spec, isa, input);
            const auto float_rows =
                run({spec.width, spec.in_stride, RowFormat::f32, spec.activation, spec.up, spec.xielu}, isa, input);
            for (uint32_t token = 0; token < kTokens; ++token) {
                const auto* values = reinterpret_cast<const float*>(float_rows[token].data());
                EXPECT_EQ(rows[token], reference_row(spec.output, {values, spec.width}))
                    << name(isa) << kernel_name(spec);
            }
        }
    }
}

TEST(SwigluX86, EveryLevelGivesTheSameBits) {
    for (const SwigluSpec& spec : kernel_cases::swiglu()) {
        const Input input(spec, 10.0);
        const auto first = run(spec, machine_isas().front(), input);
        for (Isa isa : machine_isas()) EXPECT_EQ(run(spec, isa, input), first) << name(isa) << " " << kernel_name(spec);
    }
}

}  // namespace swiglu_test
}  // namespace riftjit::x86
