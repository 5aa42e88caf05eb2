#include <gtest/gtest.h>

#include <string>

#include "tests/jit/x86/ops/weights_under_test.h"

namespace riftjit::x86 {
namespace embed_test {

std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

// Around the gathers of 8 or 16 elements; one block; whole steps and a shorter last one.
std::vector<uint32_t> widths(DType type) {
    const uint32_t block = traits(type).block_elements;
    if (block == 1) return {1, 2, 7, 8, 9, 16, 33, 576};
    if (block == kI16Block) return {256, 768};
    return {block, 256, 512 + block, 256 / block * block - block};
}

class Embed : public testing::TestWithParam<DType> {};

// The product of scale, sub-scale and code fits f32's 24 bits in every type, so there is at most one rounding, after
// the minimum, and it is the file decoder's.
TEST_P(Embed, GivesTheFilesValuesExactly) {
    constexpr uint32_t kRows = 37;
    const std::vector<int32_t> ids = {0, 36, 15, 16, 31, 7, 7};
    const BatchState batch{.rows = static_cast<uint32_t>(ids.size())};
    for (const uint32_t width : widths(GetParam())) {
        const WeightsUnderTest table(GetParam(), kRows, width);
        const auto stride = static_cast<uint32_t>(round_up(width, 16));
        for (const Isa isa : machine_isas()) {
            const EmbedSpec spec{GetParam(), width};
            GuardedBuffer<float> out(ids.size() * stride);
            const EmbedArgs args{table.packed.data(), ids.data(), out.data(), &batch};
            RunnableKernel(spec, isa)(&args, 0, unit_count(spec, batch.rows));
            for (size_t token = 0; token < ids.size(); ++token)
                for (uint32_t i = 0; i < width; ++i)
                    ASSERT_EQ(out[token * stride + i], table.row(static_cast<uint32_t>(ids[token]))[i])
                        << kernel_name(spec) << " at " << name(isa) << " token " << token << " element " << i;
        }
    }
}

TEST_P(Embed, WritesOnlyTheTokensAskedFor) {
    const uint32_t width = std::max<uint32_t>(256, traits(GetParam()).block_elements);
    const WeightsUnderTest table(GetParam(), 16, width);
    const std::vector<int32_t> ids = {3, 4, 5, 6};
    const BatchState batch{.rows = 4};
    for (const Isa isa : machine_isas()) {
        const RunnableKernel kernel(EmbedSpec{GetParam(), width}, isa);
        std::vector<float> out(4 * width, -7.0f);
        const EmbedArgs args{table.packed.data(), ids.data(), out.data(), &batch};
        kernel(&args, 1, 3);
        for (size_t i = 0; i < out.size(); ++i) {
            const size_t token = i / width;
            const bool is_asked_for = token == 1 || token == 2;
            ASSERT_EQ(out[i], is_asked_for ? table.row(static_cast<uint32_t>(ids[token]))[i % width] : -7.0f)
                << name(isa) << " element " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Embed, testing::ValuesIn(weight_types()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(EmbedWidths, BeyondAddressingAreRefused) {
    const auto compiled = compile(EmbedSpec{DType::F32, 1u << 25}, Isa::avx2);
    ASSERT_FALSE(compiled);
    EXPECT_NE(compiled.error().message.find("width 33554432 makes a panel of more than 1 GiB"), std::string::npos)
        << compiled.error().message;
}

}  // namespace embed_test
}  // namespace riftjit::x86
