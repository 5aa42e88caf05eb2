#include <gtest/gtest.h>

#include <optional>

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
constexpr double kRelativeBound = 6 * kHalfUlp + kHalfUlp;

void expect_close_to_reference(const SwigluSpec& spec, const Input& input) {
    for (Isa isa : machine_isas()) {
        const auto rows = run(spec, isa, input);
        for (uint32_t token = 0; token < kTokens; ++token) {
            const auto* out = reinterpret_cast<const float*>(rows[token].data());
            for (uint32_t i = 0; i < spec.width; ++i) {
                const double gate = input.gate()[token * spec.in_stride + i],
                             up = input.up()[token * spec.in_stride + i];
                const double expected = gate / (1.0 + std::exp(-gate)) * up;
                // Below -kExpMax silu is -0 instead of some 1e-37; subnormals are multiples of 2^-149.
                EXPECT_NEAR(out[i], expected, std::fabs(expected) * kRelativeBound + 1e-36 * std::fabs(up) + 0x1p-149)
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
            const auto float_rows = run({spec.width, spec.in_stride, RowFormat::f32}, isa, input);
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
