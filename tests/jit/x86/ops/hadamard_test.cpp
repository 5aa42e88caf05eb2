#include <gtest/gtest.h>

#include "graph/kernel_error.h"
#include "graph/reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace hadamard_test {

constexpr uint32_t kTokens = 3;

std::vector<float> rows_of(const HadamardSpec& spec, Isa isa, const GuardedBuffer<float>& x) {
    GuardedBuffer<float> out(kTokens * spec.width);
    const BatchState batch{.rows = kTokens};
    const HadamardArgs args{x.data(), out.data(), &batch};
    const RunnableKernel kernel(spec, isa);
    kernel(&args, 1, kTokens);
    kernel(&args, 0, 1);
    return {out.data(), out.data() + kTokens * spec.width};
}

GuardedBuffer<float> random_rows(const HadamardSpec& spec) {
    Random random(spec.size);
    GuardedBuffer<float> x(kTokens * spec.width);
    for (size_t i = 0; i < x.size(); ++i) x[i] = random.normal();
    return x;
}

TEST(HadamardX86, MultipliesEachPartByTheMatrixWithTheSameBitsAtEveryLevel) {
    for (const HadamardSpec& spec : kernel_cases::hadamard()) {
        const GuardedBuffer<float> x = random_rows(spec);
        std::vector<float> first;
        for (const Isa isa : machine_isas()) {
            const std::vector<float> out = rows_of(spec, isa, x);
            if (first.empty()) first = out;
            EXPECT_EQ(out, first) << name(isa) << " " << kernel_name(spec);
            for (size_t at = 0; at < x.size(); at += spec.size) {
                const auto expected = graph::hadamard_of({x.data() + at, spec.size});
                for (uint32_t i = 0; i < spec.size; ++i)
                    ASSERT_NEAR(out[at + i], expected[i].value, expected[i].bound)
                        << name(isa) << " " << kernel_name(spec) << " element " << at + i;
            }
        }
    }
}

// The reference's form is the fast one; the sums of the definition are those of hadamard_of().
TEST(HadamardX86, ReferenceIsTheMatrixAndItsOwnInverse) {
    for (const HadamardSpec& spec : kernel_cases::hadamard()) {
        const GuardedBuffer<float> x = random_rows(spec);
        std::vector<double> values(x.data(), x.data() + spec.size);
        graph::reference::walsh_hadamard(values);
        const auto expected = graph::hadamard_of({x.data(), spec.size});
        for (uint32_t i = 0; i < spec.size; ++i) EXPECT_NEAR(values[i], expected[i].value, 1e-12) << spec.size;
        graph::reference::walsh_hadamard(values);
        for (uint32_t i = 0; i < spec.size; ++i) EXPECT_NEAR(values[i], x[i], 1e-12) << spec.size;
    }
}

}  // namespace hadamard_test
}  // namespace riftjit::x86
