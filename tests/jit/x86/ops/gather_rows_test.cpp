#include <gtest/gtest.h>

#include <vector>

#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace gather_rows_test {

TEST(GatherRowsX86, CopiesTheRowsAskedForAndNothingElse) {
    const std::vector<uint32_t> wanted = {4, 0, 4, 2};  // any order, and twice
    for (const GatherRowsSpec& spec : kernel_cases::gather_rows()) {
        const uint32_t stride = f32_row_bytes(spec.width) / sizeof(float);
        Random random(spec.width);
        GuardedBuffer<float> x(5 * stride);
        for (size_t i = 0; i < x.size(); ++i) x[i] = random.normal();
        const BatchState batch{.rows = 5, .outputs = uint32_t(wanted.size()), .output_row = wanted.data()};
        for (Isa isa : machine_isas()) {
            GuardedBuffer<float> out(wanted.size() * stride);
            const GatherRowsArgs args{x.data(), out.data(), &batch};
            const RunnableKernel kernel(spec, isa);
            kernel(&args, 1, 3);
            for (size_t i = 0; i < stride; ++i) {
                EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), ~0u) << "a row of another unit";
                EXPECT_EQ(std::bit_cast<uint32_t>(out[3 * stride + i]), ~0u) << "a row of another unit";
            }
            kernel(&args, 3, 4);
            kernel(&args, 0, 1);
            for (size_t row = 0; row < wanted.size(); ++row)
                EXPECT_TRUE(std::equal(x.data() + wanted[row] * stride, x.data() + wanted[row] * stride + spec.width,
                                       out.data() + row * stride))
                    << name(isa) << " " << kernel_name(spec) << " row " << row;
        }
    }
}

}  // namespace gather_rows_test
}  // namespace riftjit::x86
