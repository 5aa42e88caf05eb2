#include <gtest/gtest.h>

#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/row_reference.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace heads_test {

constexpr uint32_t kTokens = 4;

GuardedBuffer<float> random_floats(size_t count, uint64_t seed) {
    Random random(seed);
    GuardedBuffer<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = random.normal();
    return values;
}

TEST(HeadsX86, AreTakenOutAsRowsOfTheirOwn) {
    for (const SplitHeadsSpec& spec : kernel_cases::split_heads()) {
        const GuardedBuffer<float> x = random_floats(size_t(kTokens) * spec.in_stride, spec.width);
        const uint32_t row_bytes = activation_row_bytes(spec.output, spec.width);
        for (Isa isa : machine_isas()) {
            GuardedBuffer<std::byte> out(size_t(kTokens) * spec.heads * row_bytes);
            const BatchState batch{.rows = kTokens};
            const SplitHeadsArgs args{x.data(), out.data(), &batch};
            const RunnableKernel kernel(spec, isa);
            kernel(&args, 1, kTokens);
            kernel(&args, 0, 1);
            for (uint32_t head = 0; head < spec.heads; ++head)
                for (uint32_t token = 0; token < kTokens; ++token) {
                    const float* const from = x.data() + token * spec.in_stride + head * spec.head_stride + spec.offset;
                    const auto expected = reference_row(spec.output, {from, from + spec.width});
                    const std::byte* const row = out.data() + size_t(head * kTokens + token) * row_bytes;
                    const size_t bytes = spec.output == RowFormat::f32 ? spec.width * sizeof(float) : expected.size();
                    ASSERT_EQ(std::memcmp(row, expected.data(), bytes), 0)
                        << name(isa) << " " << kernel_name(spec) << " head " << head << " token " << token;
                }
        }
    }
}

TEST(HeadsX86, ArePutBackBehindTheirFirstParts) {
    for (const JoinHeadsSpec& spec : kernel_cases::join_heads()) {
        const GuardedBuffer<float> x = random_floats(size_t(kTokens) * spec.in_stride, spec.width);
        const size_t stride = round_up(spec.width, 16), all_heads = round_up(spec.heads * spec.width, 16);
        const size_t out_stride = round_up(spec.heads * (spec.first_width + spec.width), 16);
        const GuardedBuffer<float> rows = random_floats(kTokens * spec.heads * stride + 16, 5);
        for (Isa isa : machine_isas()) {
            GuardedBuffer<float> out(kTokens * out_stride);
            const BatchState batch{.rows = kTokens};
            const JoinHeadsArgs args{spec.first_width != 0 ? x.data() : nullptr, rows.data(), out.data(), &batch};
            const RunnableKernel kernel(spec, isa);
            kernel(&args, 2, kTokens);
            kernel(&args, 0, 2);
            for (uint32_t token = 0; token < kTokens; ++token) {
                const float* at = out.data() + token * out_stride;
                for (uint32_t head = 0; head < spec.heads; ++head) {
                    const float* const first =
                        x.data() + token * spec.in_stride + head * spec.head_stride + spec.offset;
                    for (uint32_t i = 0; i < spec.first_width; ++i) ASSERT_EQ(*at++, first[i]) << kernel_name(spec);
                    const float* const rest = spec.rows == HeadRows::by_head
                                                  ? rows.data() + (head * kTokens + token) * stride
                                                  : rows.data() + token * all_heads + head * spec.width;
                    for (uint32_t i = 0; i < spec.width; ++i)
                        ASSERT_EQ(*at++, spec.rows == HeadRows::zeros ? 0.0f : rest[i])
                            << name(isa) << " " << kernel_name(spec) << " head " << head << " token " << token;
                }
            }
        }
    }
}

}  // namespace heads_test
}  // namespace riftjit::x86
