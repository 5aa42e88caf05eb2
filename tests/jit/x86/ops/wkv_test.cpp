#include <gtest/gtest.h>

#include "graph/kernel_error.h"
#include "graph/reference.h"
#include "tests/jit/x86/ops/running_kernel.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace wkv_test {

using graph::kRounding;

RunningKernel random_kernel(const WkvSpec& spec) {
    return {spec, 7, [](std::string_view, Random& random) { return random.normal(); }};
}

// Values with what each may be off by.
struct Measured {
    double value = 0, error = 0;
};

// What a row makes for a head, step by step as jit/kernel_spec.h has it: exp within 2.8 roundings, a gate by it within
// 6 (exp, sum, quotient, each up to twice where the result is small), each further operation one.
struct HeadRow {
    std::vector<Measured> r, decay, key, known, rate, value;
    Measured mixed;
    std::vector<double> plain_value;
};

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

HeadRow head_row(const RunningKernel& kernel, const WkvSpec& spec, uint32_t text, uint32_t row, uint32_t head) {
    const uint32_t dim = spec.head_dim, first = head * dim;
    const bool is_v7 = spec.rule == WkvRule::v7;
    HeadRow made;
    const auto gate = [](double x) { return 1 / (1 + std::exp(-x)); };
    double squares = 0, mean = 0, sizes = 0, mixed_size = 0;
    for (uint32_t i = 0; i < dim; ++i) {
        const double known =
            is_v7 ? double(kernel.at("k", text, row, first + i)) * kernel.weight("key_scale", first + i) : 0;
        squares += known * known;
        mean += kernel.at("v", text, row, first + i) / double(dim);
        sizes += std::abs(kernel.at("v", text, row, first + i)) / double(dim);
    }
    // Sums take a rounding per 64 and seven more, of which a root takes half.
    const double sum_roundings = dim / 64 + 8, length = std::sqrt(squares);
    for (uint32_t i = 0; i < dim; ++i) {
        const double r = kernel.at("r", text, row, first + i), w = kernel.at("w", text, row, first + i);
        const double k = kernel.at("k", text, row, first + i), v = kernel.at("v", text, row, first + i);
        made.r.push_back({r, 0});
        made.plain_value.push_back(v);
        const bool is_centered = spec.centered == Presence::present;
        const double value = is_centered ? v - mean : v;
        made.value.push_back({value, is_centered ? kRounding * (sizes * (sum_roundings + 1) + std::abs(value)) : 0});
        const double exponent = is_v7 ? -std::exp(-0.5) * gate(w) : -std::exp(w);
        const double decay = std::exp(exponent);
        made.decay.push_back({decay, decay * kRounding * (std::abs(exponent) * (is_v7 ? 8.0 : 2.8) + 2.8) + 1e-37});
        if (!is_v7) {
            made.key.push_back({k, 0});
            made.known.push_back({0, 0});
            made.rate.push_back({0, 0});
        } else {
            const double a = gate(kernel.at("a", text, row, first + i)), of_key = kernel.weight("key_rate", first + i);
            const double factor = 1 + (a - 1) * of_key, key = k * factor;
            const double factor_error = kRounding * (std::abs(of_key) * (6 * a + std::abs(a - 1)) + std::abs(factor));
            made.key.push_back({key, std::abs(k) * factor_error + kRounding * std::abs(key)});
            const double known = k * kernel.weight("key_scale", first + i) / length;
            const double known_error = std::abs(known) * kRounding * (sum_roundings / 2 + 6);
            made.known.push_back({known, known_error});
            made.rate.push_back({known * a, known_error * a + std::abs(known * a) * 7 * kRounding});
        }
        const double mix = kernel.weight("mix", first + i), term = r * made.key.back().value * mix;
        made.mixed.value += term;
        mixed_size += std::abs(term);
        made.mixed.error += std::abs(r * mix) * made.key.back().error;
    }
    made.mixed.error += mixed_size * kRounding * (sum_roundings + 1);
    return made;
}

void expect_close_to_reference(const WkvSpec& spec, Isa isa) {
    const RunningKernel kernel = random_kernel(spec);
    const auto got = kernel.run(isa, kernel.in_pieces(5));
    const uint32_t dim = spec.head_dim, channels = spec.heads * dim;
    const bool is_v7 = spec.rule == WkvRule::v7;
    for (uint32_t text = 0; text < kTexts; ++text)
        for (uint32_t head = 0; head < spec.heads; ++head) {
            std::vector<std::vector<Measured>> columns(dim, std::vector<Measured>(dim));
            for (uint32_t row = 0; row < kernel.rows(); ++row) {
                const HeadRow made = head_row(kernel, spec, text, row, head);
                for (uint32_t column = 0; column < dim; ++column) {
                    auto& s = columns[column];
                    const size_t at = size_t(row) * channels + head * dim + column;
                    const auto [value, value_error] = made.value[column];
                    Measured out = product_sum(s, made.r), difference;
                    if (is_v7) difference = product_sum(s, made.known);
                    for (uint32_t i = 0; i < dim; ++i) {
                        const auto &decay = made.decay[i], &key = made.key[i], &rate = made.rate[i];
                        double error = (decay.value + decay.error) * s[i].error + std::abs(s[i].value) * decay.error;
                        s[i].value *= decay.value;
                        error += kRounding * std::abs(s[i].value);
                        s[i].value += key.value * value;
                        error += std::abs(key.value) * value_error + key.error * (std::abs(value) + value_error) +
                                 kRounding * std::abs(s[i].value);
                        if (is_v7) {
                            s[i].value -= rate.value * difference.value;
                            error += std::abs(rate.value) * difference.error +
                                     rate.error * (std::abs(difference.value) + difference.error) +
                                     kRounding * std::abs(s[i].value);
                        }
                        s[i].error = error;
                    }
                    if (is_v7) {
                        out = product_sum(s, made.r);
                        const double bonus = made.plain_value[column] * made.mixed.value;
                        ASSERT_NEAR(got.more.at("bonus")[text][at], bonus,
                                    std::abs(made.plain_value[column]) * made.mixed.error * 1.01 +
                                        kRounding * std::abs(bonus) + 1e-36)
                            << name(isa) << " " << kernel_name(spec);
                    } else {
                        out.value += made.mixed.value * value;
                        out.error += std::abs(made.mixed.value) * value_error +
                                     made.mixed.error * (std::abs(value) + value_error) +
                                     kRounding * std::abs(out.value);
                    }
                    ASSERT_NEAR(got.out[text][at], out.value, out.error * 1.01 + 1e-36)
                        << name(isa) << " " << kernel_name(spec) << ", text " << text << ", row " << row << ", channel "
                        << head * dim + column;
                }
            }
        }
}

TEST(WkvX86, MatchesReference) {
    for (const WkvSpec& spec : kernel_cases::wkv())
        for (const Isa isa : machine_isas()) expect_close_to_reference(spec, isa);
}

TEST(WkvX86, GivesTheSameBitsHoweverTextsAreCut) {
    for (const WkvSpec& spec : kernel_cases::wkv())
        expect_same_bits_however_cut(random_kernel(spec), spec.heads * spec.head_dim, kernel_name(spec));
}

// A key of zeros has a direction of zeros, not of no numbers.
TEST(WkvX86, KeysOfZerosChangeNothingButByDecay) {
    const WkvSpec spec{2, 32, WkvRule::v7, Presence::present};
    const RunningKernel kernel(
        spec, 4, [](std::string_view argument, Random& random) { return argument == "k" ? 0.0f : random.normal(); });
    for (const Isa isa : machine_isas())
        for (const auto& text : kernel.run(isa, kernel.at_once()).out)
            for (const float number : text) ASSERT_EQ(number, 0.0f) << name(isa);
}

}  // namespace wkv_test
}  // namespace riftjit::x86
