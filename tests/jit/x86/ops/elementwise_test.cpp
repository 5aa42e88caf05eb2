#include <gtest/gtest.h>

#include "jit/x86/emit/chain_compiler.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace elementwise_test {

constexpr uint32_t kTokens = 3;

// Rows of inputs end with their last element.
std::vector<GuardedBuffer<float>> random_inputs(const ElementwiseSpec& spec, double size = 2.0) {
    Random random(spec.width + spec.steps.size());
    std::vector<GuardedBuffer<float>> inputs;
    for (const ElementwiseInput& input : spec.inputs) {
        const uint32_t last = input.column == kWholeRow ? spec.width : input.column + 1;
        inputs.emplace_back(input.row_stride * (kTokens - 1) + last);
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

// Each step passes on its operands' errors and adds its own: half an ulp. Subnormals are multiples of 2^-149.
// tanh is never steeper than 1, and off by 2^-23 (emit_tanh); a root grows by no more than that of what its operand is
// off, and beyond that operand by half of it over the root.
Bounded apply(const ElementwiseStep& step, const Bounded& left, const Bounded& right) {
    const auto rounded = [](double value, double passed) {
        return Bounded{value, passed * 1.0001 + std::fabs(value) * kHalfUlp + 0x1p-149};
    };
    switch (step.op) {
        case ElementwiseOp::multiply:
            return rounded(
                left.value * right.value,
                std::fabs(left.value) * right.error + std::fabs(right.value) * left.error + left.error * right.error);
        case ElementwiseOp::divide:
            return rounded(left.value / right.value, (left.error + std::fabs(left.value / right.value) * right.error) /
                                                         (std::fabs(right.value) - right.error));
        case ElementwiseOp::at_least:
            return {std::max(left.value, double(step.constant)), left.error};
        case ElementwiseOp::at_most:
            return {std::min(left.value, double(step.constant)), left.error};
        case ElementwiseOp::square_root: {
            const double root = std::sqrt(std::max(left.value, 0.0));
            return rounded(root, root * root > left.error ? left.error / root : std::sqrt(2 * left.error));
        }
        default:
            break;
    }
    if (step.op == ElementwiseOp::softcap)
        return {step.constant * std::tanh(left.value / step.constant),
                left.error * 1.0001 + step.constant * 0x1p-23 + std::fabs(left.value) * 4 * kHalfUlp};
    const bool is_sum = step.op == ElementwiseOp::add;
    const double value = is_sum ? left.value + right.value : left.value * step.constant;
    const double passed = is_sum ? left.error + right.error : left.error * std::fabs(step.constant);
    return {value, passed * 1.0001 + std::fabs(value) * kHalfUlp + 0x1p-149};
}

void expect_close_to_reference(const ElementwiseSpec& spec, const std::vector<GuardedBuffer<float>>& inputs) {
    for (Isa isa : machine_isas()) {
        const auto out = run(spec, isa, inputs);
        for (uint32_t token = 0; token < kTokens; ++token)
            for (uint32_t i = 0; i < spec.width; ++i) {
                std::vector<Bounded> values;
                for (size_t k = 0; k < inputs.size(); ++k)
                    values.push_back({inputs[k][token * spec.inputs[k].row_stride +
                                                (spec.inputs[k].column == kWholeRow ? i : spec.inputs[k].column)],
                                      0.0});
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

TEST(ElementwiseX86, KeepsNan) {
    for (Isa isa : machine_isas())
        for (ElementwiseOp op : kernel_cases::kElementwiseOps) {
            const ElementwiseSpec spec{1, 16, {{1}}, {{op, 0, 0, 50.0f}}};
            std::vector<GuardedBuffer<float>> inputs;
            inputs.emplace_back(kTokens);
            for (uint32_t token = 0; token < kTokens; ++token) inputs[0][token] = NAN;
            EXPECT_TRUE(std::isnan(run(spec, isa, inputs)[0]));
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

}  // namespace elementwise_test
}  // namespace riftjit::x86
