#include <gtest/gtest.h>

#include "jit/x86/emit/chain_compiler.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace {

constexpr uint32_t kTokens = 3;

// Rows of inputs end with their last element.
std::vector<GuardedBuffer<float>> random_inputs(const ElementwiseSpec& spec, double size = 2.0) {
    Random random(spec.width + spec.steps.size());
    std::vector<GuardedBuffer<float>> inputs;
    for (const ElementwiseInput& input : spec.inputs) {
        inputs.emplace_back(input.row_stride * (kTokens - 1) + spec.width);
        for (size_t i = 0; i < inputs.back().size(); ++i) inputs.back()[i] = random.normal(size);
    }
    return inputs;
}

GuardedBuffer<float> run(const ElementwiseSpec& spec, Isa isa, const std::vector<GuardedBuffer<float>>& inputs) {
    GuardedBuffer<float> out(kTokens * spec.out_stride);
    ElementwiseArgs args{};
    for (size_t i = 0; i < inputs.size(); ++i) args.inputs[i] = inputs[i].data();
    args.out = out.data();
    const RunnableKernel kernel(spec, isa);
    kernel(&args, 2, 3);
    kernel(&args, 0, 2);
    kernel(&args, 1, 1);
    return out;
}

// A value and a bound on the error of its f32 counterpart.
struct Bounded {
    double value, error;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Each step passes on its operands' errors, times the largest slope of the function, and adds its own: half an ulp for
// a sum or product; for the functions what elementwise.cpp and math.h argue. Subnormals are multiples of 2^-149.
Bounded apply(const ElementwiseStep& step, const Bounded& left, const Bounded& right) {
    constexpr double u = kHalfUlp, tiny = 0x1p-149;
    const double x = left.value, c = step.constant;
    const auto rounded = [&](double value, double passed, double relative) {
        return Bounded{value, passed * 1.0001 + std::fabs(value) * relative + tiny};
    };
    switch (step.op) {
        case ElementwiseOp::add:
            return rounded(x + right.value, left.error + right.error, u);
        case ElementwiseOp::multiply:
            return rounded(x * right.value,
                           left.error * std::fabs(right.value) + right.error * std::fabs(x) + left.error * right.error,
                           u);
        case ElementwiseOp::scale:
            return rounded(x * c, left.error * std::fabs(c), u);
        case ElementwiseOp::silu: {  // 3 ulp, at most 6 u; the slope is below 1.1; -0 below -kExpMax
            const Bounded silu = rounded(x * sigmoid(x), 1.1 * left.error, 6 * u);
            return {silu.value, silu.error + 1e-36};
        }
        case ElementwiseOp::gelu_tanh: {
            // The exponent a takes 4 roundings and that of its constant: 5 u |a|, times the relative slope of the
            // quotient in it, which is below 1; then 3 u of exp, 2 of the sum and quotient. The slope is below 1.13.
            const double a = 2 * std::sqrt(2 / M_PI) * (x + 0.044715f * x * x * x);
            const double counted = std::min(std::fabs(a), 90.0);  // where exp has ended in 0 or infinity
            const Bounded gelu = rounded(x * sigmoid(a), 1.13 * left.error, (5 * counted + 6) * u);
            return {gelu.value, gelu.error + 1e-36};
        }
        case ElementwiseOp::tanh:
            return rounded(std::tanh(x), left.error, 6 * u);
        case ElementwiseOp::softcap:  // the argument is rounded twice, which moves tanh by at most 2 u of itself
            return rounded(c * std::tanh(x / c), left.error, 9 * u);
    }
    return {};
}

void expect_close_to_reference(const ElementwiseSpec& spec, const std::vector<GuardedBuffer<float>>& inputs) {
    for (Isa isa : machine_isas()) {
        const auto out = run(spec, isa, inputs);
        for (uint32_t token = 0; token < kTokens; ++token)
            for (uint32_t i = 0; i < spec.width; ++i) {
                std::vector<Bounded> values;
                for (size_t k = 0; k < inputs.size(); ++k)
                    values.push_back({inputs[k][token * spec.inputs[k].row_stride + i], 0.0});
                for (const ElementwiseStep& step : spec.steps)
                    values.push_back(apply(step, values[step.left], values[step.right]));
                ASSERT_NEAR(out[token * spec.out_stride + i], values.back().value, values.back().error)
                    << name(isa) << " " << describe(spec) << " token " << token << " element " << i;
            }
    }
}

TEST(ElementwiseX86, MatchesReferenceForEveryOpAndChain) {
    for (const ElementwiseSpec& spec : kernel_cases::elementwise())
        expect_close_to_reference(spec, random_inputs(spec));
}

TEST(ElementwiseX86, HoldsFromTinyToLargeMagnitudes) {
    for (ElementwiseOp op : kernel_cases::kElementwiseOps)
        for (double size : {1e-30, 1e-8, 0.3, 20.0, 1e4, 1e12}) {
            const ElementwiseSpec spec{100, 112, {{100}, {100}}, {{op, 0, 1, 3.0f}}};
            expect_close_to_reference(spec, random_inputs(spec, size));
        }
}

// A row of every 2^-11-th float between 2^-30 and 2^7: functions have no weak spot between the random values.
TEST(ElementwiseX86, FunctionsHoldOverAllBinades) {
    const uint32_t first = std::bit_cast<uint32_t>(0x1p-30f), last = std::bit_cast<uint32_t>(0x1p7f);
    std::vector<float> x;
    for (uint32_t bits = first; bits < last; bits += 4001)
        for (float sign : {1.0f, -1.0f}) x.push_back(sign * std::bit_cast<float>(bits));
    const uint32_t width = static_cast<uint32_t>(x.size()) / kTokens;
    for (ElementwiseOp op :
         {ElementwiseOp::silu, ElementwiseOp::gelu_tanh, ElementwiseOp::tanh, ElementwiseOp::softcap}) {
        const ElementwiseSpec spec{width, uint32_t(round_up(width, 16)), {{width}}, {{op, 0, 0, 2.5f}}};
        std::vector<GuardedBuffer<float>> inputs;
        inputs.emplace_back(kTokens * width);
        std::copy_n(x.begin(), kTokens * width, inputs[0].data());
        expect_close_to_reference(spec, inputs);
    }
}

TEST(ElementwiseX86, FunctionsKeepNanAndSaturate) {
    const auto value_of = [](ElementwiseOp op, Isa isa, float x) {
        const ElementwiseSpec spec{1, 16, {{1}}, {{op, 0, 0, 50.0f}}};
        std::vector<GuardedBuffer<float>> inputs;
        inputs.emplace_back(kTokens);
        for (uint32_t token = 0; token < kTokens; ++token) inputs[0][token] = x;
        return run(spec, isa, inputs)[0];
    };
    for (Isa isa : machine_isas()) {
        for (ElementwiseOp op : kernel_cases::kElementwiseOps) EXPECT_TRUE(std::isnan(value_of(op, isa, NAN)));
        for (float size : {100.0f, 1e30f, INFINITY}) {
            EXPECT_EQ(value_of(ElementwiseOp::tanh, isa, size), 1.0f);
            EXPECT_EQ(value_of(ElementwiseOp::tanh, isa, -size), -1.0f);
            EXPECT_EQ(value_of(ElementwiseOp::gelu_tanh, isa, size), size);
            EXPECT_EQ(value_of(ElementwiseOp::silu, isa, size), size);
        }
        EXPECT_EQ(value_of(ElementwiseOp::softcap, isa, -1e30f), -50.0f);
        EXPECT_EQ(value_of(ElementwiseOp::gelu_tanh, isa, -1e30f), 0.0f);
        EXPECT_TRUE(std::signbit(value_of(ElementwiseOp::tanh, isa, -0.0f)));
    }
}

TEST(ElementwiseX86, EveryLevelGivesTheSameBits) {
    for (const ElementwiseSpec& spec : kernel_cases::elementwise()) {
        const auto inputs = random_inputs(spec, 5.0);
        const auto first = run(spec, machine_isas().front(), inputs);
        for (Isa isa : machine_isas()) {
            const auto out = run(spec, isa, inputs);
            for (uint32_t token = 0; token < kTokens; ++token)
                EXPECT_EQ(std::memcmp(&out[token * spec.out_stride], &first[token * spec.out_stride], spec.width * 4),
                          0)
                    << name(isa) << " " << describe(spec);
        }
    }
}

TEST(ElementwiseX86, WhatAsmjitRefusesIsThrown) {
    ChainCompiler compiler(Isa::avx2);
    compiler.addFunc(asmjit::FuncSignatureT<void>(asmjit::CallConvId::kX64SystemV));
    const auto store_to_a_constant = [&] {
        compiler.emit(asmjit::x86::Inst::kIdMov, asmjit::Imm(1), asmjit::Imm(2));
        compiler.finish_kernel();
    };
    EXPECT_THROW(store_to_a_constant(), std::exception);
}

}  // namespace
}  // namespace riftjit::x86
