#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/jit/x86/ops/weights_under_test.h"

namespace riftjit::x86 {
namespace matmul_test {

std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

constexpr MatmulForm kForms[] = {MatmulForm::vector, MatmulForm::tile};

struct Shape {
    uint32_t rows, width, tokens;
};

// One panel and several, a last one with one row and with nearly all; one block, whole steps of 256 elements, and a
// shorter last step of one and of several blocks; fewer tokens than a tile, whole tiles, all remainders; 16 tokens,
// which AMX takes as one tile, and more.
std::vector<Shape> shapes(DType type) {
    const uint32_t block = traits(type).block_elements;
    if (block == 1)
        return {{1, 1, 1}, {17, 7, 3}, {31, 33, 9}, {48, 255, 12}, {40, 512, 25}, {33, 100, 51}, {16, 64, 16}};
    if (block == kI16Block)
        return {{1, 256, 1}, {17, 512, 7}, {31, 256, 13}, {48, 768, 5}, {40, 512, 16}, {33, 256, 37}};
    const uint32_t several = 256 / block - 1;
    return {{1, block, 1},
            {17, 256, 3},
            {31, 256 + block, 10},
            {48, 512 + several * block, 5},
            {40, several * block, 8},
            {40, 512 + block, 16},
            {17, block, 37}};
}

// A type of weights and what it is multiplied by.
struct Operands {
    DType type;
    Activations activations = Activations::i13;
};
std::vector<Operands> all_operands() {
    std::vector<Operands> operands;
    for (const DType type : weight_types()) {
        operands.push_back({type});
        if (is_quantized(type)) operands.push_back({type, Activations::i8});
    }
    return operands;
}
std::string operands_name(const testing::TestParamInfo<Operands>& info) {
    const auto& [type, activations] = info.param;
    return fmt::format("{}{}", name(type), activations == Activations::i8 ? "_i8" : "");
}

MatmulSpec spec_of(const Operands& operands, const Shape& shape, MatmulForm form) {
    const auto stride = static_cast<uint32_t>(round_up(shape.rows, 16));
    return {operands.type,    shape.rows,       shape.width,         stride, form, Epilogue::store,
            Presence::absent, KOrder::sequence, operands.activations};
}
RowFormat format_of(const Operands& operands, Isa isa) {
    return activation_format(operands.type, operands.activations, isa);
}

// Runs over all panels; `out` begins as `initial`.
std::vector<float> multiply(const MatmulSpec& spec, Isa isa, const WeightsUnderTest& weights, const RowsUnderTest& x,
                            const GuardedBuffer<float>* bias = nullptr, float initial = NAN) {
    const BatchState batch{.rows = x.count};
    GuardedBuffer<float> out(size_t(spec.out_stride) * x.count);
    std::fill_n(out.data(), out.size(), initial);
    const MatmulArgs args{weights.packed.data(), bias != nullptr ? bias->data() : nullptr, x.bytes.data(), out.data(),
                          &batch};
    RunnableKernel(spec, isa)(&args, 0, unit_count(spec, x.count));
    return {out.data(), out.data() + out.size()};
}

// ---- the error bound ----

// Where in a block the codes are of which the types with minima subtract; empty for types without.
std::pair<uint32_t, uint32_t> code_bytes_over_minimum(DType type) {
    switch (type) {
        case DType::Q4_1:
            return {4, 20};
        case DType::Q5_1:
            return {4, 24};
        case DType::Q2_K:
            return {16, 80};
        case DType::Q4_K:
            return {16, 144};
        case DType::Q5_K:
            return {16, 176};
        default:
            return {0, 0};
    }
}

// The values of the row if all codes were zero: the minima, which are summed apart from the rest.
std::vector<float> minima(const WeightsUnderTest& weights, uint32_t row) {
    std::vector<float> values(weights.width);
    const auto [begin, end] = code_bytes_over_minimum(weights.type);
    if (begin == end) return values;
    const uint64_t bytes = row_bytes(weights.type, weights.width);
    std::vector<std::byte> file(weights.file.begin() + static_cast<ptrdiff_t>(row * bytes),
                                weights.file.begin() + static_cast<ptrdiff_t>((row + 1) * bytes));
    for (size_t block = 0; block < file.size(); block += traits(weights.type).block_bytes)
        std::fill(&file[block + begin], &file[block + end], std::byte{0});
    graph::dequantize_row(weights.type, file.data(), weights.width, values.data());
    return values;
}

struct Expected {
    double value = 0;      // with the activations as they are stored
    double magnitude = 0;  // sum of the magnitudes of all that is added up
};

Expected expected_product(const WeightsUnderTest& weights, uint32_t row, std::span<const float> row_minima,
                          const RowsUnderTest& x, uint32_t token) {
    Expected expected;
    for (uint32_t k = 0; k < weights.width; ++k) {
        const double weight = weights.row(row)[k], minimum = row_minima[k], activation = x.value(token, k);
        expected.value += weight * activation;
        expected.magnitude += (std::fabs(weight - minimum) + std::fabs(minimum)) * std::fabs(activation);
    }
    return expected;
}

// Integer sums are exact. What is left are f32 roundings, each at most 2^-24 of a sum that is no larger than the sum of
// magnitudes: one conversion and one multiply-add per segment or minimum of a step of 256 (32 at most, of segments of
// 16 elements), one multiply-add per step; with activations of 8 bits two for each group and its minimum, which has a
// rounded scale, all of them in one sum; with float weights one per element, for VDPBF16PS too. Then bias and the
// addition to what was there. The last factor covers second-order terms.
double rounding_bound(const WeightsUnderTest& weights, RowFormat format, const Expected& expected) {
    const uint32_t steps = (weights.width + kI16Block - 1) / kI16Block, groups = (weights.width + 15) / 16;
    const double roundings = 2 + (!is_quantized(format)     ? weights.width
                                  : format == RowFormat::i8 ? 4 * groups
                                                            : 33 + steps);
    return roundings * kHalfUlp * expected.magnitude * 1.001;
}

void expect_products(std::span<const float> out, const WeightsUnderTest& weights, const RowsUnderTest& x,
                     const std::string& what) {
    const uint64_t stride = round_up(weights.rows, 16);
    for (uint32_t row = 0; row < weights.rows; ++row) {
        const std::vector<float> row_minima = minima(weights, row);
        for (uint32_t token = 0; token < x.count; ++token) {
            const Expected expected = expected_product(weights, row, row_minima, x, token);
            ASSERT_NEAR(out[token * stride + row], expected.value, rounding_bound(weights, x.format, expected))
                << what << " token " << token << " row " << row;
        }
    }
}

std::string label(const MatmulSpec& spec, Isa isa, uint32_t tokens) {
    return fmt::format("{} at {}, {} tokens", kernel_name(spec), name(isa), tokens);
}

class Matmul : public testing::TestWithParam<Operands> {};

TEST_P(Matmul, IsExactUpToFloatRoundingOverShapesWithTails) {
    const Operands operands = GetParam();
    const DType type = operands.type;
    for (const Shape& shape : shapes(type)) {
        const WeightsUnderTest weights(type, shape.rows, shape.width);
        const auto values = random_values(size_t(shape.tokens) * shape.width, 1);
        for (const Isa isa : machine_isas()) {
            const RowsUnderTest x(format_of(operands, isa), shape.tokens, shape.width, values);
            for (const MatmulForm form : kForms) {
                const MatmulSpec spec = spec_of(operands, shape, form);
                expect_products(multiply(spec, isa, weights, x), weights, x, label(spec, isa, shape.tokens));
            }
        }
    }
}

// Levels that give equal bits have the same: all but for bf16, which each of VDPBF16PS and TDPBF16PS adds up its own
// way.
int bits_of(DType type, Isa isa) {
    if (type != DType::BF16 || !has_bf16(isa)) return 0;
    return has_amx(isa) ? 2 : 1;
}

// Padding rows included: they are zero.
TEST_P(Matmul, GivesTheSameBitsInBothFormsAtEveryLevelAndInAnyBatch) {
    const Operands operands = GetParam();
    const DType type = operands.type;
    for (const Shape& shape : shapes(type)) {
        const WeightsUnderTest weights(type, shape.rows, shape.width);
        const auto values = random_values(size_t(shape.tokens) * shape.width, 2);
        std::map<int, std::vector<float>> first;
        for (const Isa isa : machine_isas()) {
            const RowFormat format = format_of(operands, isa);
            const RowsUnderTest x(format, shape.tokens, shape.width, values);
            for (const MatmulForm form : kForms) {
                const MatmulSpec spec = spec_of(operands, shape, form);
                const auto out = multiply(spec, isa, weights, x);
                const auto& same = first.try_emplace(bits_of(type, isa), out).first->second;
                ASSERT_EQ(std::memcmp(out.data(), same.data(), out.size() * sizeof(float)), 0)
                    << label(spec, isa, shape.tokens);
                const RowsUnderTest last(format, 1, shape.width, std::span(values).last(shape.width));
                const auto alone = multiply(spec, isa, weights, last);
                ASSERT_EQ(std::memcmp(alone.data(), &out[out.size() - alone.size()], alone.size() * sizeof(float)), 0)
                    << label(spec, isa, 1) << " instead of " << shape.tokens;
            }
        }
    }
}

// |x - scale * code| <= scale / 2, and 0.001 of a code for the roundings of scale and quotient, so the product is off
// by no more than half a code per weight: what is left between the file's values and a layer's output.
TEST_P(Matmul, DiffersFromTheUnroundedActivationsByHalfACodeAtMost) {
    const Operands operands = GetParam();
    const DType type = operands.type;
    const Shape shape{32, std::max<uint32_t>(512, traits(type).block_elements), 3};
    const WeightsUnderTest weights(type, shape.rows, shape.width);
    const auto values = random_values(size_t(shape.tokens) * shape.width, 3);
    const Isa isa = machine_isas().front();
    const RowsUnderTest x(format_of(operands, isa), shape.tokens, shape.width, values);
    const auto out = multiply(spec_of(operands, shape, MatmulForm::vector), isa, weights, x);
    for (uint32_t row = 0; row < shape.rows; ++row) {
        const std::vector<float> row_minima = minima(weights, row);
        for (uint32_t token = 0; token < shape.tokens; ++token) {
            double product = 0, half_codes = 0;
            for (uint32_t k = 0; k < shape.width; ++k) {
                const double weight = weights.row(row)[k];
                product += weight * values[token * shape.width + k];
                if (is_quantized(x.format)) half_codes += std::fabs(weight) * x.scale(token, k) * 0.501;
            }
            const Expected stored = expected_product(weights, row, row_minima, x, token);
            ASSERT_NEAR(out[token * shape.rows + row], product, half_codes + rounding_bound(weights, x.format, stored))
                << "row " << row << " token " << token;
        }
    }
}

// Blocks whose codes and sub-scales are all at one end, times activations that are all at the largest code with the
// weights' signs: the largest integer sums there can be. A wrapped sum is off by 2^32.
std::vector<std::byte> extreme_block(DType type, uint8_t fill) {
    std::vector<std::byte> block(traits(type).block_bytes, std::byte{fill});
    constexpr uint16_t kOne = 0x3c00, kHalf = 0x3800;
    uint16_t half = kOne;
    for (uint32_t offset : half_offsets(type)) write_u16(&block[offset], std::exchange(half, kHalf));
    if (type == DType::Q6_K && fill == 0) std::fill(&block[192], &block[208], std::byte{0x80});  // -128 * (0 - 32)
    if (type == DType::MXFP4) block[0] = std::byte{127};
    if (type == DType::NVFP4) std::fill(&block[0], &block[4], std::byte{0x38});
    if (type == DType::IQ1_M)  // nibbles of the scale 1.0, lowest first, above the sub-scales
        for (int i = 0; i < 4; ++i)
            block[49 + 2 * i] = (block[49 + 2 * i] & std::byte{15}) | std::byte(i == 3 ? 0x30 : i == 2 ? 0xc0 : 0);
    return block;
}

class IntegerSums : public testing::TestWithParam<Operands> {};

TEST_P(IntegerSums, HoldTheLargest) {
    const Operands operands = GetParam();
    const DType type = operands.type;
    if (traits(type).block_elements == 1) return;  // no integer sums
    const Shape shape{16, 512, 18};
    const uint32_t blocks = shape.rows * shape.width / traits(type).block_elements;
    for (const uint8_t fill : {0x00, 0x80, 0xff}) {
        std::vector<std::byte> file;
        for (uint32_t i = 0; i < blocks; ++i) std::ranges::copy(extreme_block(type, fill), std::back_inserter(file));
        const WeightsUnderTest weights(type, shape.rows, shape.width, file);
        std::vector<float> values;
        for (uint32_t token = 0; token < shape.tokens; ++token)
            for (const float sign = token % 2 == 0 ? 1.0f : -1.0f; const float weight : weights.row(0))
                values.push_back(weight < 0 ? -sign : sign);
        for (const Isa isa : machine_isas()) {
            const RowsUnderTest x(format_of(operands, isa), shape.tokens, shape.width, values);
            for (const MatmulForm form : kForms) {
                const MatmulSpec spec = spec_of(operands, shape, form);
                expect_products(multiply(spec, isa, weights, x), weights, x, label(spec, isa, shape.tokens));
            }
        }
    }
}

TEST_P(Matmul, DoesOnlyTheUnitsAskedFor) {
    const Operands operands = GetParam();
    const DType type = operands.type;
    const Shape shape{72, std::max<uint32_t>(256, traits(type).block_elements), 18};
    const WeightsUnderTest weights(type, shape.rows, shape.width);
    const auto values = random_values(size_t(shape.tokens) * shape.width, 4);
    for (const Isa isa : machine_isas()) {
        const RowsUnderTest x(format_of(operands, isa), shape.tokens, shape.width, values);
        for (const MatmulForm form : kForms) {
            const MatmulSpec spec = spec_of(operands, shape, form);
            const auto whole = multiply(spec, isa, weights, x);
            const RunnableKernel kernel(spec, isa);
            const BatchState batch{.rows = shape.tokens};
            std::vector<float> out(whole.size(), -7.0f);
            const MatmulArgs args{weights.packed.data(), nullptr, x.bytes.data(), out.data(), &batch};
            kernel(&args, 2, 2);
            EXPECT_EQ(out, std::vector<float>(whole.size(), -7.0f)) << label(spec, isa, shape.tokens) << ", no unit";
            kernel(&args, 1, 4);
            for (size_t i = 0; i < out.size(); ++i) {
                const uint64_t panel = i % spec.out_stride / kPanelRows;
                EXPECT_EQ(out[i], 1 <= panel && panel < 4 ? whole[i] : -7.0f)
                    << label(spec, isa, shape.tokens) << " " << i;
            }
            kernel(&args, 0, 1);
            kernel(&args, 4, 5);
            EXPECT_EQ(out, whole) << label(spec, isa, shape.tokens) << " in three parts";
        }
    }
}

// result + bias, then what was there + that: two roundings after the plain product. The bias ends at an unmapped page.
TEST_P(Matmul, AddsBiasesAndAccumulates) {
    const Operands operands = GetParam();
    const DType type = operands.type;
    for (const uint32_t rows : {24u, 48u}) {
        const Shape shape{rows, std::max<uint32_t>(256, traits(type).block_elements), 20};
        const WeightsUnderTest weights(type, shape.rows, shape.width);
        const auto values = random_values(size_t(shape.tokens) * shape.width, 5);
        GuardedBuffer<float> bias(rows);
        std::ranges::copy(random_values(rows, 6), bias.data());
        for (const Isa isa : machine_isas()) {
            const RowsUnderTest x(format_of(operands, isa), shape.tokens, shape.width, values);
            for (const MatmulForm form : kForms) {
                MatmulSpec spec = spec_of(operands, shape, form);
                const auto plain = multiply(spec, isa, weights, x);
                spec.bias = Presence::present;
                const auto with_bias = multiply(spec, isa, weights, x, &bias);
                spec.epilogue = Epilogue::accumulate;
                const auto with_both = multiply(spec, isa, weights, x, &bias, 0.75f);
                spec.bias = Presence::absent;
                const auto accumulated = multiply(spec, isa, weights, x, nullptr, 0.75f);
                for (uint32_t token = 0; token < shape.tokens; ++token) {
                    for (uint32_t row = 0; row < rows; ++row) {
                        const size_t i = token * spec.out_stride + row;
                        EXPECT_EQ(with_bias[i], plain[i] + bias[row]) << label(spec, isa, shape.tokens);
                        EXPECT_EQ(with_both[i], 0.75f + (plain[i] + bias[row])) << label(spec, isa, shape.tokens);
                        EXPECT_EQ(accumulated[i], 0.75f + plain[i]) << label(spec, isa, shape.tokens);
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Matmul, testing::ValuesIn(all_operands()), operands_name);
std::vector<Operands> operands_of_blocks() {
    std::vector<Operands> operands = all_operands();
    std::erase_if(operands, [](const Operands& one) { return !is_quantized(one.type); });
    return operands;
}
INSTANTIATE_TEST_SUITE_P(Types, IntegerSums, testing::ValuesIn(operands_of_blocks()), operands_name);

// More tokens than a tile form keeps in cache at a time (256 at most), a width at which that is fewer, and a rest that
// is no whole tile.
TEST(MatmulTokenBlocks, DoNotShowInTheResult) {
    for (const Operands& operands : {Operands{DType::Q8_0},
                                     {DType::Q4_K},
                                     {DType::BF16},
                                     {DType::Q8_0, Activations::i8},
                                     {DType::Q4_K, Activations::i8},
                                     {DType::Q6_K, Activations::i8}}) {
        const DType type = operands.type;
        for (const Shape& shape : {Shape{40, 256, 401}, Shape{24, 256, 261}, Shape{24, 4096, 103}}) {
            const WeightsUnderTest weights(type, shape.rows, shape.width);
            const auto values = random_values(size_t(shape.tokens) * shape.width, 8);
            for (const Isa isa : machine_isas()) {
                const RowsUnderTest x(format_of(operands, isa), shape.tokens, shape.width, values);
                const auto tile = multiply(spec_of(operands, shape, MatmulForm::tile), isa, weights, x);
                const auto vector = multiply(spec_of(operands, shape, MatmulForm::vector), isa, weights, x);
                ASSERT_EQ(std::memcmp(tile.data(), vector.data(), tile.size() * sizeof(float)), 0)
                    << name(type) << " at " << name(isa) << ", " << shape.tokens << " tokens";
            }
        }
    }
}

TEST(MatmulWidths, BeyondAddressingAreRefused) {
    const MatmulSpec spec{DType::F32, 16, 1u << 22, 16, MatmulForm::vector, Epilogue::store, Presence::absent};
    const auto compiled = compile(spec, Isa::avx2);
    ASSERT_FALSE(compiled);
    EXPECT_NE(compiled.error().message.find("width 4194304 makes a panel of more than 128 MiB"), std::string::npos)
        << compiled.error().message;
}

}  // namespace matmul_test
}  // namespace riftjit::x86
