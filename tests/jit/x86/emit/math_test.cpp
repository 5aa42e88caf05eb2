#include "jit/x86/emit/math.h"

#include <gtest/gtest.h>

#include "jit/x86/emit/wide.h"
#include "tests/jit/x86/ops/kernel_runner.h"

namespace riftjit::x86 {
namespace math_test {

enum class Function { exp, exp_not_positive, silu };

struct Args {
    const float* x;
    float* y;
};

// y = function(x) for groups of 16 begin..end-1.
class MathKernel final : public X86Kernel<Function, WideEmitter> {
public:
    using X86Kernel::X86Kernel;

private:
    const Reg64 x = r8, y = r9, offset = rax;
    const Reg32 group = esi, end = edx;

    void generate() override {
        prologue({});
        mov(x, ptr[rdi + offsetof(Args, x)]);
        mov(y, ptr[rdi + offsetof(Args, y)]);
        const ExpScratch<Wide, LaneMask> scratch = {wide(2), wide(3), lane_mask(0, wide(2))};
        for_units(group, end, [&] {
            mov(offset.cvt32(), group);
            shl(offset, 6);
            vmovups(wide(0), lanes_at(x + offset));
            if (spec_ == Function::silu) {
                emit_silu(*this, wide(1), wide(0), wide(4), scratch);
            } else {
                const auto domain = spec_ == Function::exp ? ExpDomain::any : ExpDomain::not_positive;
                emit_exp(*this, wide(1), wide(0), scratch, domain);
            }
            vmovups(lanes_at(y + offset), wide(1));
        });
        epilogue();
    }
};

std::vector<float> evaluate(Function function, Isa isa, std::vector<float> x) {
    x.resize(round_up(x.size(), 16));
    std::vector<float> y(x.size());
    const Args args{x.data(), y.data()};
    RunnableKernel(MathKernel(function, isa).finish())(&args, 0, static_cast<uint32_t>(x.size() / 16));
    return y;
}

// Bit patterns spread evenly over all floats between two, both included.
std::vector<float> sweep(float from, float to, uint32_t step) {
    std::vector<float> values{from, to};
    const uint32_t first = std::bit_cast<uint32_t>(from), last = std::bit_cast<uint32_t>(to);
    for (uint64_t bits = std::min(first, last); bits < std::max(first, last); bits += step)
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    return values;
}

constexpr uint32_t kStep = 1009;

void expect_exp_within_its_bound(Function function, const std::vector<float>& x) {
    for (Isa isa : machine_isas()) {
        const std::vector<float> y = evaluate(function, isa, x);
        double worst = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double expected = std::exp(double(x[i]));
            worst = std::max(worst, std::fabs(y[i] - expected) / ulp(expected));
        }
        EXPECT_LT(worst, 1.4) << name(isa);  // the bound argued beside emit_exp
    }
}

TEST(MathX86, ExpIsWithinItsBoundBetweenTheClamps) {
    expect_exp_within_its_bound(Function::exp, sweep(-0.0f, kExpMin, kStep));
    expect_exp_within_its_bound(Function::exp, sweep(0.0f, kExpMax, kStep));
    expect_exp_within_its_bound(Function::exp_not_positive, sweep(-0.0f, kExpMin, kStep));
}

TEST(MathX86, ExpEndsInZeroAndInfinity) {
    const float below = std::nextafter(kExpMin, -INFINITY), above = std::nextafter(kExpMax, INFINITY);
    for (Isa isa : machine_isas()) {
        for (Function function : {Function::exp, Function::exp_not_positive})
            for (float y : evaluate(function, isa, {below, -88.0f, -1000.0f, -1e30f, -3.4e38f, -INFINITY}))
                EXPECT_TRUE(y == 0.0f || y == 1.0f) << y;  // 1: the zeros that fill up the group of 16
        EXPECT_EQ(evaluate(Function::exp_not_positive, isa, {-INFINITY})[0], 0.0f);
        EXPECT_EQ(evaluate(Function::exp, isa, {below})[0], 0.0f);
        for (float x : {above, 89.0f, 1e30f, 3.4e38f, INFINITY})
            EXPECT_EQ(evaluate(Function::exp, isa, {x})[0], INFINITY) << x;
    }
}

TEST(MathX86, ExpOfZeroIsExactlyOne) {
    for (Isa isa : machine_isas())
        for (Function function : {Function::exp, Function::exp_not_positive})
            EXPECT_EQ(evaluate(function, isa, std::vector<float>(16, -0.0f)), std::vector<float>(16, 1.0f));
}

TEST(MathX86, NanGivesNanWhateverItsPayload) {
    for (uint32_t bits : {0x7fc0'0000u, 0x7f80'0001u, 0xffff'ffffu, 0x7fc0'01ffu})
        for (Isa isa : machine_isas())
            for (Function function : {Function::exp, Function::exp_not_positive, Function::silu})
                EXPECT_TRUE(std::isnan(evaluate(function, isa, {std::bit_cast<float>(bits)})[0])) << std::hex << bits;
}

TEST(MathX86, SiluIsWithinItsBound) {
    std::vector<float> x = sweep(-0.0f, -80.0f, kStep);
    const std::vector<float> positive = sweep(0.0f, 3e38f, 2 * kStep);
    x.insert(x.end(), positive.begin(), positive.end());
    for (Isa isa : machine_isas()) {
        const std::vector<float> y = evaluate(Function::silu, isa, x);
        double worst = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double expected = x[i] / (1.0 + std::exp(-double(x[i])));
            worst = std::max(worst, std::fabs(y[i] - expected) / ulp(expected));
        }
        EXPECT_LT(worst, 3.0) << name(isa);  // the bound argued beside emit_silu
    }
}

TEST(MathX86, SiluOfLargeNegativeNumbersVanishes) {
    for (Isa isa : machine_isas())
        for (float y : evaluate(Function::silu, isa, sweep(-88.8f, -3.4e38f, 1 << 20))) {
            EXPECT_EQ(y, 0.0f);
        }
}

TEST(MathX86, EveryLevelGivesTheSameBits) {
    const std::vector<float> x = sweep(0.0f, std::bit_cast<float>(0xffffffffu), 100003);
    for (Function function : {Function::exp, Function::exp_not_positive, Function::silu}) {
        const std::vector<float> first = evaluate(function, machine_isas().front(), x);
        for (Isa isa : machine_isas()) {
            const std::vector<float> y = evaluate(function, isa, x);
            EXPECT_EQ(std::memcmp(y.data(), first.data(), y.size() * sizeof(float)), 0) << name(isa);
        }
    }
}

}  // namespace math_test
}  // namespace riftjit::x86
