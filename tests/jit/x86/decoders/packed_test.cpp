#include "jit/x86/decoders/packed.h"

#include <gtest/gtest.h>

#include <string>

#include "jit/x86/decoders/decoder.h"
#include "jit/x86/decoders/decoder_ops.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/random_weights.h"

namespace riftjit::x86 {
namespace packed_test {

std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

std::vector<std::byte> pack(DType type, uint32_t rows, uint32_t width, const std::byte* file, uint32_t begin,
                            uint32_t end) {
    std::vector<std::byte> packed(packed_bytes(type, rows, width));
    pack_panels(type, rows, width, file, packed.data(), begin, end);
    return packed;
}

class Packed : public testing::TestWithParam<DType> {};

// Peak memory is a file's size and little more. A panel is padded by less than a line, but for the last pair of an odd
// bf16 width.
TEST_P(Packed, TakesTheFilesBytesAndLessThanALineMorePerPanel) {
    const DType type = GetParam();
    const uint32_t block = traits(type).block_elements;
    for (uint32_t blocks = 1; blocks <= 40; ++blocks) {
        const uint32_t width = blocks * block;
        const uint64_t file = kPanelRows * row_bytes(type, width), packed = packed_panel_bytes(type, width);
        EXPECT_GE(packed, file) << width;
        EXPECT_LT(packed, file + 64) << width;
        EXPECT_EQ(packed % 64, 0u) << width;
    }
}

TEST_P(Packed, IsTheSameWhenPackedInParts) {
    const DType type = GetParam();
    const uint32_t rows = 75, width = 3 * traits(type).block_elements;
    const auto file = random_weights(type, rows, width, 5);
    const auto whole = pack(type, rows, width, file.data(), 0, 5);
    std::vector<std::byte> parts(whole.size());
    for (const uint32_t panel : {4u, 0u, 2u, 1u, 3u})
        pack_panels(type, rows, width, file.data(), parts.data(), panel, panel + 1);
    EXPECT_EQ(parts, whole);
}

TEST_P(Packed, ReadsNothingBeyondTheRows) {
    const DType type = GetParam();
    const uint32_t rows = 17, width = traits(type).block_elements;
    const auto file = random_weights(type, rows, width, 6);
    GuardedBuffer<std::byte> guarded(file.size());
    std::ranges::copy(file, guarded.data());
    EXPECT_EQ(pack(type, rows, width, guarded.data(), 0, 2), pack(type, rows, width, file.data(), 0, 2));
}

TEST_P(Packed, HasZeroRowsAfterTheLast) {
    const DType type = GetParam();
    const uint32_t width = 2 * traits(type).block_elements;
    const auto file = random_weights(type, 1, width, 7);
    std::vector<std::byte> padded(16 * file.size());
    std::ranges::copy(file, padded.begin());
    EXPECT_EQ(pack(type, 1, width, file.data(), 0, 1), pack(type, 16, width, padded.data(), 0, 1));
}

INSTANTIATE_TEST_SUITE_P(Types, Packed, testing::ValuesIn(weight_types()),
                         [](const auto& info) { return std::string(name(info.param)); });

// Element 2j at bit bits * (j / 2) + 8 * (j % 2), element 2j + 1 sixteen bits higher, as decoder_ops.h says.
template <int bits>
void expect_fields_in_place() {
    Random random(bits);
    uint8_t elements[32 / bits];
    for (int run = 0; run < 100; ++run) {
        uint32_t expected = 0;
        for (int i = 0; i < 32 / bits; ++i) {
            elements[i] = static_cast<uint8_t>(random.below(1u << bits));
            expected |= uint32_t(elements[i]) << (i / 4 * bits + i / 2 % 2 * 8 + i % 2 * 16);
        }
        EXPECT_EQ(pack_fields<bits>(elements), expected);
    }
}

TEST(PackFields, TakesBitsFromAWordAsFromBytes) {
    Random random(9);
    for (int run = 0; run < 100; ++run) {
        const auto word = static_cast<uint32_t>(random.bits());
        uint8_t elements[32];
        for (int i = 0; i < 32; ++i) elements[i] = word >> i & 1;
        EXPECT_EQ(pack_bit_fields(word), pack_fields<1>(elements));
    }
}

TEST(PackFields, PutsPairsWhereOneMaskFindsThem) {
    expect_fields_in_place<1>();
    expect_fields_in_place<2>();
    expect_fields_in_place<4>();
    expect_fields_in_place<8>();
}

TEST(PanelLayout, KeepsHeadersBesideTheirBlocks) {
    const StepLayout q8 = step_layout(find_decoder(DType::Q8_0)->traits());  // [2 headers][body][body]
    EXPECT_EQ(q8.blocks_per_chunk, 2u);
    EXPECT_EQ(q8.header_position(3), 64u + 2 * 512 + 32);
    EXPECT_EQ(q8.body_position(3), 64u + 2 * 512 + 64 + 512);
    const StepLayout mxfp4 = step_layout(find_decoder(DType::MXFP4)->traits());  // one byte per row
    EXPECT_EQ(mxfp4.blocks_per_chunk, 4u);
    EXPECT_EQ(mxfp4.header_position(5), 64u + 4 * 256 + 16);
    EXPECT_TRUE(step_layout(find_decoder(DType::Q6_K)->traits()).has_separate_headers);
    EXPECT_EQ(panel_layout(DType::Q6_K, 768).body_offset, 128u);
}

}  // namespace packed_test
}  // namespace riftjit::x86
