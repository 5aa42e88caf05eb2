#include <gtest/gtest.h>

#include <optional>

#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/row_reference.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace rms_norm_test {

constexpr uint32_t kTokens = 3;

struct Inputs {
    GuardedBuffer<float> x, addend, gain;
};

Inputs random_inputs(uint32_t width, uint64_t seed, float size = 1.0f) {
    Random random(seed);
    const uint32_t stride = static_cast<uint32_t>(round_up(width, 16));
    Inputs inputs{GuardedBuffer<float>(kTokens * stride), GuardedBuffer<float>(kTokens * stride),
                  GuardedBuffer<float>(width)};
    for (uint32_t token = 0; token < kTokens; ++token)
        for (uint32_t i = 0; i < width; ++i) {
            inputs.x[token * stride + i] = random.normal(size);
            inputs.addend[token * stride + i] = random.normal(size);
        }
    for (uint32_t i = 0; i < width; ++i) inputs.gain[i] = random.normal();
    return inputs;
}

struct Outputs {
    GuardedBuffer<std::byte> rows;
    GuardedBuffer<float> sum;
};

Outputs run(const RmsNormSpec& spec, Isa isa, const Inputs& inputs) {
    const RunnableKernel kernel(spec, isa);
    Outputs outputs{GuardedBuffer<std::byte>(kTokens * activation_row_bytes(spec.output, spec.width)), inputs.x};
    const BatchState batch{.rows = kTokens};
    const RmsNormArgs args{outputs.sum.data(), inputs.addend.data(), inputs.gain.data(), outputs.rows.data(), &batch};
    for (uint32_t unit = kTokens; unit-- > 0;) kernel(&args, unit, unit + 1);  // any order and split
    return outputs;
}

// Each lane of four partial sums takes ceil(width / 64) rounded products, then come 6 additions, the division by the
// width and the addition of epsilon; the square root halves what they did and adds its own rounding, and so do the
// division, the product with x and the product with the gain.
double relative_bound(uint32_t width) { return kHalfUlp * ((round_up(width, 64) / 64 + 8) / 2.0 + 4) * 1.001; }

void expect_close_to_reference(const RmsNormSpec& spec, const Inputs& inputs, const Outputs& outputs, Isa isa) {
    const uint32_t stride = static_cast<uint32_t>(round_up(spec.width, 16));
    for (uint32_t row = 0; row < kTokens; ++row) {
        const auto* out = reinterpret_cast<const float*>(outputs.rows.data()) + row * stride;
        const float* sums = outputs.sum.data() + row * stride;
        double squares = 0;
        for (uint32_t i = 0; i < spec.width; ++i) {
            const float x = inputs.x[row * stride + i], addend = inputs.addend[row * stride + i];
            EXPECT_EQ(sums[i], spec.addend == Addend::residual ? x + addend : x);
            squares += double(sums[i]) * sums[i];
        }
        const double scale = 1.0 / std::sqrt(squares / spec.width + double(spec.epsilon));
        for (uint32_t i = 0; i < spec.width; ++i) {
            const double expected = sums[i] * scale * (spec.gain == Presence::present ? inputs.gain[i] : 1.0f);
            EXPECT_NEAR(out[i], expected, std::fabs(expected) * relative_bound(spec.width) + 0x1p-149)
                << name(isa) << " " << kernel_name(spec) << " row " << row << " element " << i;
        }
    }
}

// The bytes of each output row that the format defines.
std::vector<std::vector<std::byte>> defined_rows(const RmsNormSpec& spec, const Outputs& outputs) {
    std::vector<std::vector<std::byte>> rows;
    for (uint32_t row = 0; row < kTokens; ++row) {
        const std::byte* begin = outputs.rows.data() + row * activation_row_bytes(spec.output, spec.width);
        const size_t bytes = reference_row(spec.output, std::vector<float>(spec.width)).size();
        rows.emplace_back(begin, begin + bytes);
    }
    return rows;
}

TEST(RmsNormX86, MatchesReferenceAroundTheVectorWidth) {
    for (const RmsNormSpec& spec : kernel_cases::rms_norm()) {
        if (spec.output != RowFormat::f32) continue;
        const Inputs inputs = random_inputs(spec.width, spec.width);
        for (Isa isa : machine_isas()) expect_close_to_reference(spec, inputs, run(spec, isa, inputs), isa);
    }
}

// The contract of jit/kernel_spec.h: every device that sums the squares in this order gives these bits.
TEST(RmsNormX86, GivesTheBitsOfItsOrderOfAdditions) {
    for (const uint32_t width : kernel_cases::kWidths) {
        const RmsNormSpec spec{width, 1e-6f, Presence::present, Addend::none, RowFormat::f32};
        const Inputs inputs = random_inputs(width, 5 * width);
        const float* x = inputs.x.data() + (kTokens - 1) * round_up(width, 16);
        const float squares = sum_in_order<float>(KOrder::lanes64, width,
                                                  [&](float sum, uint32_t k) { return std::fma(x[k], x[k], sum); });
        const float scale = 1.0f / std::sqrt(squares / float(width) + spec.epsilon);
        for (Isa isa : machine_isas()) {
            const Outputs outputs = run(spec, isa, inputs);
            const auto* out = reinterpret_cast<const float*>(outputs.rows.data()) + (kTokens - 1) * round_up(width, 16);
            for (uint32_t i = 0; i < width; ++i)
                ASSERT_EQ(out[i], scale * x[i] * inputs.gain[i]) << name(isa) << " width " << width << " element " << i;
        }
    }
}

TEST(RmsNormX86, HoldsFromTinyToLargeMagnitudes) {
    for (float size : {1e-20f, 1e-3f, 1e4f, 1e15f}) {
        const RmsNormSpec spec{320, 1e-6f, Presence::present, Addend::residual, RowFormat::f32};
        const Inputs inputs = random_inputs(spec.width, 11, size);
        for (Isa isa : machine_isas()) expect_close_to_reference(spec, inputs, run(spec, isa, inputs), isa);
    }
}

TEST(RmsNormX86, QuantisesTheVeryRowThatItWouldWriteAsFloats) {
    for (const RmsNormSpec& spec : kernel_cases::rms_norm()) {
        const Inputs inputs = random_inputs(spec.width, 3 * spec.width);
        RmsNormSpec as_floats = spec;
        as_floats.output = RowFormat::f32;
        for (Isa isa : machine_isas()) {
            const auto rows = defined_rows(spec, run(spec, isa, inputs));
            const auto float_rows = defined_rows(as_floats, run(as_floats, isa, inputs));
            for (size_t row = 0; row < rows.size(); ++row) {
                const auto* values = reinterpret_cast<const float*>(float_rows[row].data());
                EXPECT_EQ(rows[row], reference_row(spec.output, {values, spec.width}))
                    << name(isa) << " " << kernel_name(spec) << " row " << row;
            }
        }
    }
}

TEST(RmsNormX86, EveryLevelGivesTheSameBits) {
    for (const RmsNormSpec& spec : kernel_cases::rms_norm()) {
        const Inputs inputs = random_inputs(spec.width, 5 * spec.width);
        std::optional<std::vector<std::vector<std::byte>>> first;
        for (Isa isa : machine_isas()) {
            const auto rows = defined_rows(spec, run(spec, isa, inputs));
            if (!first) first = rows;
            EXPECT_EQ(rows, *first) << name(isa) << " " << kernel_name(spec);
        }
    }
}

TEST(RmsNormX86, ARowOfZerosGivesZeros) {
    const RmsNormSpec spec{100, 1e-6f, Presence::present, Addend::none, RowFormat::f32};
    Inputs inputs = random_inputs(spec.width, 1);
    for (size_t i = 0; i < inputs.x.size(); ++i) inputs.x[i] = 0.0f;
    for (Isa isa : machine_isas()) expect_close_to_reference(spec, inputs, run(spec, isa, inputs), isa);
}

}  // namespace rms_norm_test
}  // namespace riftjit::x86
