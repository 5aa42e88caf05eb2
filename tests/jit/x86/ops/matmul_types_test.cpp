// Every weight type in every form that reads weights, at every level of this machine: no hole, and the right values.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "graph/dequantize.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/packed.h"
#include "jit/x86/rows.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/random_weights.h"
#include "tests/jit/x86/ops/row_reference.h"

namespace riftjit::x86 {
namespace matmul_types_test {

std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

template <class T>
struct alignas(64) Line {
    T values[64 / sizeof(T)];
};

// 64-byte aligned bytes.
class AlignedBytes {
public:
    explicit AlignedBytes(size_t size) : lines_((size + 63) / 64) {}
    std::byte* data() { return reinterpret_cast<std::byte*>(lines_.data()); }
    const std::byte* data() const { return reinterpret_cast<const std::byte*>(lines_.data()); }

private:
    std::vector<Line<std::byte>> lines_;
};

// A weight matrix in the file's layout, packed, and as values.
struct Weights {
    Weights(DType weight_type, uint32_t row_count, uint32_t row_width)
        : type(weight_type),
          rows(row_count),
          width(row_width),
          packed(packed_bytes(type, rows, width)),
          values(size_t(rows) * width) {
        const auto file = random_weights(type, rows, width, 17 + static_cast<uint64_t>(type));
        pack_panels(type, rows, width, file.data(), packed.data(), 0, (rows + kPanelRows - 1) / kPanelRows);
        for (uint32_t row = 0; row < rows; ++row)
            graph::dequantize_row(type, &file[row * row_bytes(type, width)], width, &values[size_t(row) * width]);
    }
    std::span<const float> row(uint32_t index) const { return std::span(values).subspan(size_t(index) * width, width); }

    DType type;
    uint32_t rows, width;
    AlignedBytes packed;
    std::vector<float> values;
};

// Activation rows as a kernel reads them, and the values that they stand for.
struct ActivationRows {
    ActivationRows(RowFormat format, uint32_t row_count, uint32_t row_width)
        : width(row_width), stride(activation_row_bytes(format, width)), bytes(size_t(stride) * row_count) {
        Random random(5);
        std::vector<float> row(width);
        for (uint32_t token = 0; token < row_count; ++token) {
            for (float& value : row) value = random.normal();
            const auto encoded = reference_row(format, row);
            std::copy(encoded.begin(), encoded.end(), bytes.data() + size_t(token) * stride);
            for (uint32_t i = 0; i < width; ++i) values.push_back(decode(format, encoded, row, i));
        }
    }
    static double decode(RowFormat format, std::span<const std::byte> encoded, std::span<const float> row, uint32_t i) {
        if (format == RowFormat::f32) return row[i];
        if (format == RowFormat::bf16) return bfloat_to_float(float_to_bfloat(row[i]));
        const I16Row layout{static_cast<uint32_t>(row.size()), format};
        const auto* codes = reinterpret_cast<const int16_t*>(encoded.data());
        const auto* scales = reinterpret_cast<const float*>(encoded.data() + layout.scales_offset_bytes());
        return double(codes[i]) * scales[i / kI16Block];
    }
    std::span<const double> row(uint32_t token) const {
        return std::span(values).subspan(size_t(token) * width, width);
    }

    uint32_t width, stride;
    AlignedBytes bytes;
    std::vector<double> values;
};

// The widths that differ for a kernel: whole steps of 256 elements, and a last step of one block only.
std::vector<uint32_t> widths(DType type) {
    const uint32_t block = traits(type).block_elements;
    if (block == kI16Block) return {768};
    return {512, 512 + block * (block == 1 ? 7 : 1)};
}

constexpr uint32_t kRows = 40;  // two panels and a half
constexpr uint32_t kTokens = 5;
constexpr uint32_t kStride = 64;  // of output rows, in floats

std::vector<float> run_matmul(const MatmulSpec& spec, Isa isa, const Weights& weights, const ActivationRows& x,
                              std::span<const float> bias) {
    const RunnableKernel kernel(spec, isa);
    const BatchState batch{.rows = kTokens};
    std::vector<Line<float>> out(kTokens * kStride / 16);
    float* rows = out.data()->values;
    std::fill_n(rows, kTokens * kStride, 0.25f);
    const MatmulArgs args{weights.packed.data(), bias.data(), x.bytes.data(), rows, &batch};
    kernel(&args, 0, unit_count(spec, kTokens));
    return {rows, rows + kTokens * kStride};
}

struct Option {
    const char* name;
    Epilogue epilogue;
    Presence bias;
};
constexpr Option kOptions[] = {{"store", Epilogue::store, Presence::absent},
                               {"bias", Epilogue::store, Presence::present},
                               {"accumulate", Epilogue::accumulate, Presence::absent}};

class WeightTypes : public testing::TestWithParam<DType> {};

// Bound: integer sums are exact, so only f32 roundings of intermediate sums count: at most four per 16 elements
// (convert, multiply-add, minimum, step) or one per element with float weights. None of the sums exceeds the sum of |a|
// times four times the row's largest |w|: a minimum is about as large as the values it is taken from.
double error_bound(std::span<const float> weights, std::span<const double> x) {
    double largest = 0, sum = 0;
    for (float weight : weights) largest = std::max(largest, std::fabs(double(weight)));
    for (double value : x) sum += std::fabs(value);
    const double roundings = 1 + static_cast<double>(weights.size()) / 4;
    return kHalfUlp * roundings * (4 * largest * sum + 2);
}

void expect_products(std::span<const float> out, const Weights& weights, const ActivationRows& x, const Option& option,
                     std::span<const float> bias, const std::string& what) {
    for (uint32_t token = 0; token < kTokens; ++token) {
        for (uint32_t r = 0; r < kRows; ++r) {
            double expected = option.epilogue == Epilogue::accumulate ? 0.25 : 0.0;
            if (option.bias == Presence::present) expected += bias[r];
            for (uint32_t i = 0; i < weights.width; ++i) expected += double(weights.row(r)[i]) * x.row(token)[i];
            ASSERT_NEAR(out[token * kStride + r], expected, error_bound(weights.row(r), x.row(token)))
                << what << " token " << token << " row " << r;
        }
        for (uint32_t r = 48; r < kStride; ++r)
            ASSERT_EQ(out[token * kStride + r], 0.25f) << what << " beyond the rows";
    }
}

TEST_P(WeightTypes, MultiplyInBothFormsAtEveryLevel) {
    const DType type = GetParam();
    Random random(3);
    std::vector<float> bias(kRows);
    for (float& value : bias) value = random.normal();
    for (const uint32_t width : widths(type)) {
        const Weights weights(type, kRows, width);
        // By option and way of adding up, which quantised weights have in common and bf16 ones at AMX for themselves.
        std::map<std::tuple<bool, bool, std::string>, std::vector<float>> first;
        for (const Isa isa : machine_isas()) {
            const RowFormat format = activation_format(type, Activations::i13, isa);
            const ActivationRows x(format, kTokens, width);
            for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
                for (const Option& option : kOptions) {
                    const MatmulSpec spec{type, kRows, width, kStride, form, option.epilogue, option.bias};
                    const std::string what = kernel_name(spec) + " at " + std::string(name(isa));
                    const auto out = run_matmul(spec, isa, weights, x, bias);
                    expect_products(out, weights, x, option, bias, what);
                    const auto [same, is_first] = first.try_emplace(
                        {format == RowFormat::bf16, type == DType::BF16 && has_amx(isa), option.name}, out);
                    for (uint32_t token = 0; token < kTokens; ++token)
                        for (uint32_t r = 0; r < kRows; ++r)
                            ASSERT_EQ(out[token * kStride + r], same->second[token * kStride + r])
                                << what << " differs from another form or level";
                }
            }
        }
    }
}

// The contract of jit/kernel_spec.h: every device that adds in this order gives these bits.
TEST(FloatMatmul, GivesTheBitsOfItsOrderOfAdditions) {
    for (const DType type : {DType::F32, DType::F16}) {
        const Weights weights(type, kRows, 519);
        const ActivationRows x(RowFormat::f32, kTokens, 519);
        const MatmulSpec spec{type, kRows, 519, kStride, MatmulForm::tile, Epilogue::store, Presence::absent};
        for (const Isa isa : machine_isas()) {
            const auto out = run_matmul(spec, isa, weights, x, {});
            for (uint32_t token = 0; token < kTokens; ++token)
                for (uint32_t r = 0; r < kRows; ++r) {
                    const auto add = [&](float sum, uint32_t k) {
                        return std::fma(weights.row(r)[k], float(x.row(token)[k]), sum);
                    };
                    ASSERT_EQ(out[token * kStride + r], sum_in_order<float>(spec.order, spec.width, add))
                        << name(type) << " at " << name(isa) << " token " << token << " row " << r;
                }
        }
    }
}

// Products of an f16 scale, a sub-scale and a code fit 24 bits in every type, so a lookup rounds like the file's
// decoder.
TEST_P(WeightTypes, LookUpTheFilesValuesAtEveryLevel) {
    const DType type = GetParam();
    const std::vector<int32_t> ids = {39, 0, 16, 15, 16};
    for (const uint32_t width : widths(type)) {
        const Weights table(type, kRows, width);
        for (const Isa isa : machine_isas()) {
            const EmbedSpec spec{type, width};
            const RunnableKernel kernel(spec, isa);
            const BatchState batch{.rows = static_cast<uint32_t>(ids.size())};
            const uint32_t stride = static_cast<uint32_t>(round_up(width, 16));
            std::vector<Line<float>> out(ids.size() * stride / 16);
            const EmbedArgs args{table.packed.data(), ids.data(), out.data()->values, &batch};
            kernel(&args, 0, unit_count(spec, batch.rows));
            for (size_t token = 0; token < ids.size(); ++token)
                for (uint32_t i = 0; i < width; ++i)
                    ASSERT_EQ(out.data()->values[token * stride + i], table.row(ids[token])[i])
                        << kernel_name(spec) << " at " << name(isa) << " token " << token << " element " << i;
        }
    }
}

// Levels that this machine lacks compile as well.
TEST_P(WeightTypes, CompileForEveryLevel) {
    for (const Isa isa : all_isas()) {
        for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
            const MatmulSpec spec{GetParam(), 64, 512, 64, form, Epilogue::store, Presence::absent};
            EXPECT_TRUE(compile(spec, isa)) << kernel_name(spec) << " at " << name(isa);
        }
        const EmbedSpec spec{GetParam(), 512};
        EXPECT_TRUE(compile(spec, isa)) << kernel_name(spec) << " at " << name(isa);
    }
}

INSTANTIATE_TEST_SUITE_P(All, WeightTypes, testing::ValuesIn(weight_types()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(WeightTypes, AreTheTwentyEightOfTheFormat) { EXPECT_EQ(weight_types().size(), 28u); }

}  // namespace matmul_types_test
}  // namespace riftjit::x86
