#include <gtest/gtest.h>

#include "graph/kernel_error.h"
#include "graph/reference.h"
#include "tests/jit/x86/ops/running_kernel.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace scan_test {

using graph::kRounding;

// Decays as trained models have them, some of which forget nearly everything in a row.
RunningKernel random_kernel(const ScanSpec& spec, float spread = 1) {
    return {spec, 9, [spread](std::string_view argument, Random& random) {
                return argument == "decay" ? -std::exp(random.normal(1.5)) : random.normal(spread);
            }};
}

// Each value and what it may be off by, step by step: times by their sum and softplus (9 roundings), factors by their
// argument's error and exp's (1.4 ulp: 2.8 roundings), states by what they were off, their factor, their input and a
// rounding, sums by a rounding of each term.
void expect_close_to_reference(const ScanSpec& spec, Isa isa, float spread = 1) {
    const RunningKernel kernel = random_kernel(spec, spread);
    const auto got = kernel.run(isa, kernel.in_pieces(5));
    const uint32_t channels = spec.heads * spec.head_dim, states = spec.states;
    for (uint32_t text = 0; text < kTexts; ++text)
        for (uint32_t channel = 0; channel < channels; ++channel) {
            const uint32_t head = channel / spec.head_dim, first = head / (spec.heads / spec.groups) * states;
            std::vector<double> h(states), h_error(states);
            for (uint32_t row = 0; row < kernel.rows(); ++row) {
                const double time = double(kernel.at("time", text, row, head)) + kernel.weight("time_bias", head);
                const double dt = graph::reference::softplus(time);
                const double dt_error = 9 * kRounding * dt + kRounding * std::abs(time);
                const double x = kernel.at("x", text, row, channel), input = dt * x;
                const double input_error = std::abs(x) * dt_error + kRounding * std::abs(input);
                double sum = 0, size = 0, bound = 0;
                for (uint32_t n = 0; n < states; ++n) {
                    const double decay =
                        kernel.weight("decay", spec.head_dim == 1 ? uint32_t(channel_place(channel, n, states)) : head);
                    const double kept = std::exp(dt * decay), b = kernel.at("b", text, row, first + n);
                    const double kept_error =
                        kept * (std::abs(decay) * dt_error + kRounding * std::abs(dt * decay) + 2.8 * kRounding) +
                        1e-37;
                    const double c = kernel.at("c", text, row, first + n), before = h[n];
                    h[n] = before * kept + input * b;
                    h_error[n] = (kept + kept_error) * h_error[n] + std::abs(before) * kept_error +
                                 std::abs(b) * input_error + kRounding * (std::abs(input * b) + std::abs(h[n]));
                    sum += h[n] * c;
                    size += std::abs(h[n] * c);
                    bound += h_error[n] * std::abs(c);
                }
                const double skipped = kernel.weight("skip", head) * x;
                bound += (size * (states + 2) + std::abs(sum + skipped)) * kRounding;
                ASSERT_NEAR(got.out[text][size_t(row) * channels + channel], sum + skipped, bound * 1.01 + 1e-36)
                    << name(isa) << " " << kernel_name(spec) << ", text " << text << ", row " << row << ", channel "
                    << channel;
            }
        }
}

TEST(ScanX86, MatchesReference) {
    for (const ScanSpec& spec : kernel_cases::scan())
        for (const Isa isa : machine_isas()) expect_close_to_reference(spec, isa);
}

// Times near zero, and so long that softplus is their value.
TEST(ScanX86, MatchesReferenceFarFromOne) {
    for (const ScanSpec& spec : {ScanSpec{20, 1, 16, 1}, ScanSpec{4, 32, 32, 2}})
        for (const float spread : {1e-3f, 30.0f})
            for (const Isa isa : machine_isas()) expect_close_to_reference(spec, isa, spread);
}

TEST(ScanX86, GivesTheSameBitsHoweverTextsAreCut) {
    for (const ScanSpec& spec : kernel_cases::scan())
        expect_same_bits_however_cut(random_kernel(spec), spec.heads * spec.head_dim, kernel_name(spec));
}

TEST(ScanX86, RefusesWhatItCannotDivideByName) {
    const auto refusal = [](const ScanSpec& spec) { return validate(spec).error().message; };
    EXPECT_EQ(refusal({4, 8, 16, 1}), "scan: head_dim 8 is not a multiple of 16, a block of channels");
    EXPECT_EQ(refusal({4, 16, 18, 1}), "scan: states 18 is not a multiple of 4, sums side by side");
    EXPECT_EQ(refusal({4, 16, 16, 3}), "scan: heads 4 is not a multiple of 3, the number of groups");
    EXPECT_EQ(refusal({32, 1, 16, 2}), "scan: groups 2 of channels that are heads");
}

}  // namespace scan_test
}  // namespace riftjit::x86
