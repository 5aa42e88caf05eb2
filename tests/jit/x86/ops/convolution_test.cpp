#include <gtest/gtest.h>

#include "graph/kernel_error.h"
#include "graph/reference.h"
#include "tests/jit/x86/ops/running_kernel.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace convolution_test {

RunningKernel random_kernel(const ConvolutionSpec& spec) {
    return {spec, 9, [](std::string_view, Random& random) { return random.normal(); }};
}

// A rounding of each product with its sum, in a chain that begins with the bias; of silu 3 ulp, and 1.1 times as much
// as its argument is off; the gates once each.
void expect_close_to_reference(const ConvolutionSpec& spec, Isa isa) {
    const RunningKernel kernel = random_kernel(spec);
    const auto got = kernel.run(isa, kernel.in_pieces(5));
    const bool is_gated = spec.gates == ConvolutionGates::both;
    for (uint32_t text = 0; text < kTexts; ++text)
        for (uint32_t row = 0; row < kernel.rows(); ++row)
            for (uint32_t channel = 0; channel < spec.channels; ++channel) {
                double sum = spec.bias == Presence::present ? kernel.weight("bias", channel) : 0, size = std::abs(sum);
                for (uint32_t i = 0; i < spec.taps; ++i) {
                    if (row + i + 1 < spec.taps) continue;
                    const uint32_t from = row + i + 1 - spec.taps;
                    double x = kernel.at("x", text, from, channel);
                    if (is_gated) x *= kernel.at("in_gate", text, from, channel);
                    const double term = x * kernel.weight("weights", uint32_t(channel_place(channel, i, spec.taps)));
                    sum += term;
                    size += std::abs(term);
                }
                double value = sum, bound = size * graph::kRounding * (spec.taps + 1);
                if (spec.silu == Presence::present) {
                    value = graph::reference::silu(sum);
                    bound = 1.1 * bound + 6 * graph::kRounding * std::abs(value);
                }
                if (is_gated) {
                    const double gate = kernel.at("out_gate", text, row, channel);
                    value *= gate;
                    bound = bound * std::abs(gate) + graph::kRounding * std::abs(value);
                }
                ASSERT_NEAR(got.out[text][size_t(row) * spec.channels + channel], value, bound * 1.001 + 1e-37)
                    << name(isa) << " " << kernel_name(spec) << ", text " << text << ", row " << row << ", channel "
                    << channel;
            }
}

TEST(ConvolutionX86, MatchesReference) {
    for (const ConvolutionSpec& spec : kernel_cases::convolution())
        for (const Isa isa : machine_isas()) expect_close_to_reference(spec, isa);
}

TEST(ConvolutionX86, GivesTheSameBitsHoweverTextsAreCut) {
    for (const ConvolutionSpec& spec : kernel_cases::convolution())
        expect_same_bits_however_cut(random_kernel(spec), spec.channels, kernel_name(spec));
}

}  // namespace convolution_test
}  // namespace riftjit::x86
