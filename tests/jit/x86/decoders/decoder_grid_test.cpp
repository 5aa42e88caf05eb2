#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "graph/dequantize.h"
#include "host/half.h"
#include "jit/code_memory.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder.h"
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/decoders/packed.h"
#include "jit/x86/detect.h"

namespace riftjit::x86 {
namespace decoder_grid_test {

constexpr DType kGridTypes[] = {DType::IQ2_XXS, DType::IQ2_XS, DType::IQ2_S, DType::IQ3_XXS,
                                DType::IQ3_S,   DType::IQ1_S,  DType::IQ1_M};

// What one step of 256 elements decodes to, for the 16 rows of a panel.
struct alignas(64) DecodedStep {
    std::array<std::array<int16_t[2], kPanelRows>, kStepElements / 2> pairs;
    std::array<std::array<int32_t, kPanelRows>, 16> sub_scales;
    std::array<float, kPanelRows> scale;

    double value(const DecoderTraits& traits, uint32_t row, uint32_t element) const {
        return double(pairs[element / 2][row][element % 2]) * sub_scales[element / traits.group][row] * scale[row];
    }
};

// void(header, body, DecodedStep*): stores all that a decoder gives.
class ProbeKernel final : public X86Emitter {
public:
    ProbeKernel(const Decoder& decoder, Isa isa) : X86Emitter(isa), decoder_(decoder) {}

private:
    const Reg64 header = rdi, body = rsi, out = rdx, table = rax;

    void generate() override {
        int next = 0;
        DecodeSite::Registers registers{Elements::pairs, {}, {}, table};
        for (size_t i = 0; i < decoder_.constants(isa_, Elements::pairs).size(); ++i)
            registers.constants.push_back(next++);
        for (size_t i = 0; i < decoder_.temporaries(isa_, Elements::pairs); ++i)
            registers.temporaries.push_back(next++);
        check(next <= static_cast<int>(max_decoder_registers(isa_)), "the decoder keeps to its registers");
        for (int half = 0; half < halves(); ++half) {
            const DecodeSite site(*this, decoder_.traits(), registers, {header, body, 0, 0, half});
            if (half == 0) decoder_.prepare(site);
            store_step(site, vector(next), half * 32);
        }
        epilogue();
    }

    void store_step(const DecodeSite& site, const Xmm& value, int offset) {
        const uint32_t group = decoder_.traits().group;
        decoder_.scale(site, 0, value);
        store(*this, ptr[out + offsetof(DecodedStep, scale) + offset], value);
        for (uint32_t g = 0; g < kStepElements / group; ++g) {
            decoder_.sub_scale(site, g, value);
            store(*this, ptr[out + offsetof(DecodedStep, sub_scales) + g * 64 + offset], value);
            decoder_.unpack(site, g, [&](const Xmm& pair, uint32_t index) {
                store(*this, ptr[out + (g * group / 2 + index) * 64 + offset], pair);
            });
        }
    }

    const Decoder& decoder_;
};

// Rows of random blocks with finite scales.
std::vector<std::byte> random_rows(DType type, uint32_t rows, uint32_t width, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(rows * row_bytes(type, width));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const uint32_t block_bytes = traits(type).block_bytes;
    for (size_t at = 0; at < bytes.size(); at += block_bytes) {
        const size_t top = type == DType::IQ1_M ? at + 55 : at + 1;  // the byte that holds the exponent's upper bits
        bytes[top] &= static_cast<std::byte>(type == DType::IQ1_M ? 0xbf : 0xbb);
    }
    return bytes;
}

struct AlignedBytes {
    explicit AlignedBytes(size_t size) : lines((size + 63) / 64) {}
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> lines;
    std::byte* data() { return lines.data()->bytes; }
};

// Decodes a panel of `rows` rows, step by step.
std::vector<DecodedStep> decode(DType type, Isa isa, uint32_t rows, uint32_t width, const std::byte* file_rows) {
    AlignedBytes packed(packed_panel_bytes(type, width));
    pack_panels(type, rows, width, file_rows, packed.data(), 0, 1);
    CodeMemory memory;
    const auto code = memory.add(ProbeKernel(*find_decoder(type), isa).finish().bytes);
    EXPECT_TRUE(code && memory.seal());
    const auto probe = std::bit_cast<void (*)(const std::byte*, const std::byte*, DecodedStep*)>(code.value());
    const PanelLayout layout = panel_layout(type, width);
    std::vector<DecodedStep> steps(layout.full_steps);
    for (uint32_t i = 0; i < layout.full_steps; ++i)
        probe(packed.data() + layout.header_offset + i * layout.header_stride,
              packed.data() + layout.body_offset + i * layout.body_stride, &steps[i]);
    return steps;
}

class GridDecoders : public testing::TestWithParam<DType> {};

// Sixteen rows of 64 blocks draw each row of the largest grid 16 times on average. The products are exact: an f16 value
// (11 bits) times 2s + 1 (5 bits) times a magnitude (6 bits) fits f32's 24 bits, so the file decoder rounds nothing
// either.
TEST_P(GridDecoders, GiveExactlyTheFilesValuesAtEveryLevel) {
    const DType type = GetParam();
    const uint32_t rows = kPanelRows, width = 64 * kStepElements;
    const std::vector<std::byte> file = random_rows(type, rows, width, 7);
    for (const Isa isa : detect().levels) {
        const std::vector<DecodedStep> steps = decode(type, isa, rows, width, file.data());
        const DecoderTraits& decoder = find_decoder(type)->traits();
        std::vector<float> expected(width);
        for (uint32_t row = 0; row < rows; ++row) {
            graph::dequantize_row(type, file.data() + row * row_bytes(type, width), width, expected.data());
            for (uint32_t e = 0; e < width; ++e)
                ASSERT_EQ(steps[e / kStepElements].value(decoder, row, e % kStepElements), expected[e])
                    << name(isa) << " row " << row << " element " << e;
        }
    }
}

TEST_P(GridDecoders, GiveZeroForRowsBeyondTheLast) {
    const DType type = GetParam();
    const std::vector<std::byte> file = random_rows(type, 5, kStepElements, 3);
    for (const Isa isa : detect().levels) {
        const std::vector<DecodedStep> steps = decode(type, isa, 5, kStepElements, file.data());
        for (uint32_t row = 5; row < kPanelRows; ++row)
            for (uint32_t e = 0; e < kStepElements; ++e)
                ASSERT_EQ(steps[0].value(find_decoder(type)->traits(), row, e), 0) << name(isa) << " row " << row;
    }
}

// The largest codes and sub-scales that the decoder can give, against the limits that decoder.h asks it to argue.
TEST_P(GridDecoders, KeepTheIntegerSumsOfAStepWithinTheirTypes) {
    const DType type = GetParam();
    const std::vector<std::byte> file = random_rows(type, kPanelRows, 64 * kStepElements, 11);
    int64_t largest_code = 0, largest_scale = 0;
    for (const DecodedStep& step : decode(type, detect().levels.front(), kPanelRows, 64 * kStepElements, file.data())) {
        for (const auto& pair : step.pairs)
            for (const auto& elements : pair)
                for (const int16_t code : elements) largest_code = std::max<int64_t>(largest_code, std::abs(code));
        for (uint32_t g = 0; g < kStepElements / find_decoder(type)->traits().group; ++g)
            for (const int32_t scale : step.sub_scales[g]) largest_scale = std::max<int64_t>(largest_scale, scale);
    }
    EXPECT_LE(largest_code * largest_scale, INT16_MAX);
    EXPECT_LE(largest_code * largest_scale * kI16Max * kStepElements, INT32_MAX);
}

TEST_P(GridDecoders, PackToTheSizeOfTheFile) {
    const DType type = GetParam();
    const uint32_t width = 1024;  // four blocks: their headers fill whole lines
    EXPECT_EQ(packed_panel_bytes(type, width), kPanelRows * row_bytes(type, width));
}

INSTANTIATE_TEST_SUITE_P(All, GridDecoders, testing::ValuesIn(kGridTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace decoder_grid_test
}  // namespace riftjit::x86
