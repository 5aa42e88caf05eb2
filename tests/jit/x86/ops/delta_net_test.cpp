#include <gtest/gtest.h>

#include "graph/kernel_error.h"
#include "graph/reference.h"
#include "tests/jit/x86/ops/running_kernel.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace delta_net_test {

using graph::kRounding;

RunningKernel random_kernel(const DeltaNetSpec& spec) {
    return {spec, 7, [](std::string_view argument, Random& random) {
                return argument == "decay" ? -std::exp(random.normal()) : random.normal();
            }};
}

// Values with what each may be off by.
struct Measured {
    double value = 0, error = 0;
};

// A row divided by its length: its sum of squares takes a rounding per 64 and seven, of which the root takes half;
// root, quotient, factor and product are four.
std::vector<Measured> divided(const RunningKernel& kernel, const std::string& name, uint32_t text, uint32_t row,
                              uint32_t first, const DeltaNetSpec& spec, double factor) {
    double squares = 0;
    for (uint32_t i = 0; i < spec.key_dim; ++i) {
        const double x = kernel.at(name, text, row, first + i);
        squares += x * x;
    }
    std::vector<Measured> result;
    for (uint32_t i = 0; i < spec.key_dim; ++i) {
        const double value = kernel.at(name, text, row, first + i) * factor / std::sqrt(squares + spec.epsilon);
        result.push_back({value, std::abs(value) * kRounding * ((spec.key_dim / 64 + 8) / 2.0 + 5)});
    }
    return result;
}

Measured product_sum(const std::vector<Measured>& left, const std::vector<Measured>& right) {
    Measured sum;
    double size = 0;
    for (size_t i = 0; i < left.size(); ++i) {
        const double term = left[i].value * right[i].value;
        sum.value += term;
        size += std::abs(term);
        sum.error +=
            left[i].error * (std::abs(right[i].value) + right[i].error) + std::abs(left[i].value) * right[i].error;
    }
    sum.error += size * kRounding * (double(left.size()) + 2);
    return sum;
}

// Step by step as jit/kernel_spec.h has it, with a rounding of each result; softplus within 9 roundings, exp 2.8, the
// sum and the quotient of the sigmoid one each.
void expect_close_to_reference(const DeltaNetSpec& spec, Isa isa) {
    const RunningKernel kernel = random_kernel(spec);
    const auto got = kernel.run(isa, kernel.in_pieces(5));
    const bool is_grouped = spec.order == HeadOrder::grouped;
    const uint32_t shared = spec.value_heads / spec.key_heads, channels = spec.value_heads * spec.value_dim;
    for (uint32_t text = 0; text < kTexts; ++text)
        for (uint32_t head = 0; head < spec.value_heads; ++head) {
            const uint32_t key_head = is_grouped ? head / shared : head % spec.key_heads;
            const uint32_t beta_at = is_grouped ? 2 * shared * key_head + head % shared : head;
            std::vector<std::vector<Measured>> columns(spec.value_dim, std::vector<Measured>(spec.key_dim));
            for (uint32_t row = 0; row < kernel.rows(); ++row) {
                const uint32_t first = key_head * spec.key_dim;
                const auto k = divided(kernel, "k", text, row, first, spec, 1);
                const auto q = divided(kernel, "q", text, row, first, spec, 1 / std::sqrt(double(spec.key_dim)));
                const double time = double(kernel.at("alpha", text, row, is_grouped ? beta_at + shared : head)) +
                                    kernel.weight("time_bias", head);
                const double dt = graph::reference::softplus(time), decay = kernel.weight("decay", head);
                const double dt_error = 9 * kRounding * dt + kRounding * std::abs(time);
                const double kept = std::exp(dt * decay);
                const double kept_error =
                    kept * (std::abs(decay) * dt_error + kRounding * std::abs(dt * decay) + 2.8 * kRounding) + 1e-37;
                const double gate = 1 / (1 + std::exp(-double(kernel.at("beta", text, row, beta_at))));
                for (uint32_t column = 0; column < spec.value_dim; ++column) {
                    const uint32_t channel = head * spec.value_dim + column;
                    auto& s = columns[column];
                    for (auto& [value, error] : s) {
                        error = (kept + kept_error) * error + std::abs(value) * kept_error;
                        value *= kept;
                        error += kRounding * std::abs(value);
                    }
                    const Measured known = product_sum(s, k);
                    const double rest = kernel.at("v", text, row, channel) - known.value, difference = rest * gate;
                    const double difference_error =
                        gate * (known.error + kRounding * std::abs(rest)) + 5 * kRounding * std::abs(difference);
                    for (uint32_t i = 0; i < spec.key_dim; ++i) {
                        s[i].error += std::abs(k[i].value) * difference_error +
                                      k[i].error * (std::abs(difference) + difference_error);
                        s[i].value += k[i].value * difference;
                        s[i].error += kRounding * std::abs(s[i].value);
                    }
                    const Measured out = product_sum(s, q);
                    ASSERT_NEAR(got.out[text][size_t(row) * channels + channel], out.value, out.error * 1.01 + 1e-36)
                        << name(isa) << " " << kernel_name(spec) << ", text " << text << ", row " << row << ", channel "
                        << channel;
                }
            }
        }
}

TEST(DeltaNetX86, MatchesReference) {
    for (const DeltaNetSpec& spec : kernel_cases::delta_net())
        for (const Isa isa : machine_isas()) expect_close_to_reference(spec, isa);
}

TEST(DeltaNetX86, GivesTheSameBitsHoweverTextsAreCut) {
    for (const DeltaNetSpec& spec : kernel_cases::delta_net())
        expect_same_bits_however_cut(random_kernel(spec), spec.value_heads * spec.value_dim, kernel_name(spec));
}

}  // namespace delta_net_test
}  // namespace riftjit::x86
