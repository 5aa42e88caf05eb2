// Ops on rows have the processor's bits on every chip.
#include <limits>

#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace row_ops_test {

using namespace same_bits;

// Waves of one block and of several, groups of 64 and quads that end in the middle, rows of one round, of four and,
// with sums, of several pieces.
constexpr uint32_t kWidths[] = {1,    2,    3,    15,   16,   17,   63,   64,    65,   127,  128,
                                129,  255,  256,  257,  384,  511,  513,  576,   1000, 1024, 2047,
                                2048, 2049, 2304, 4099, 8192, 8193, 9000, 16384, 20002};
constexpr RowFormat kFormats[] = {RowFormat::f32, RowFormat::i16};

uint32_t rows_of(uint32_t width) { return width > 1024 ? 2 : 3; }

std::vector<float> rows_of_floats(uint32_t rows, uint32_t width, uint32_t seed) {
    return random_floats(size_t{rows} * f32_row_bytes(width) / 4, seed);
}

Run run_of(uint32_t rows, std::vector<std::pair<uint32_t, std::vector<float>>> inputs) {
    return {.rows = positions(0, rows), .inputs = std::move(inputs)};
}

Case norm_case(const KernelSpec& spec, std::vector<graph::Place> places, uint32_t width, RowFormat output) {
    const uint32_t rows = rows_of(width);
    Case test{describe(spec), {graph::Step{"norm", spec, std::move(places)}}, 3};
    test.weights = {vector_weight(random_floats(width, 7)), vector_weight(random_floats(width, 8))};
    test.runs = {run_of(rows, {{0, rows_of_floats(rows, width, 3)}, {2, rows_of_floats(rows, width, 4)}})};
    test.results = {{1, width, output}, {0, width}};
    return test;
}

TEST(RdnaRowOps, RmsNorm) {
    for (const uint32_t width : kWidths)
        for (const RowFormat output : kFormats) {
            const auto expect = [&](Presence gain, Addend addend) {
                const graph::Place added = addend == Addend::none ? no_place() : buffer(2);
                const graph::Place scaled = gain == Presence::absent ? no_place() : weight(0);
                expect_same_bits(norm_case(RmsNormSpec{width, 1e-5f, gain, addend, output},
                                           {buffer(0), added, scaled, buffer(1)}, width, output));
            };
            expect(Presence::present, Addend::residual);
            expect(width % 2 == 0 ? Presence::present : Presence::absent,
                   width % 2 == 0 ? Addend::none : Addend::residual);
        }
}

TEST(RdnaRowOps, LayerNorm) {
    for (const uint32_t width : kWidths)
        for (const RowFormat output : kFormats)
            for (const Presence bias : {Presence::absent, Presence::present}) {
                if ((bias == Presence::present) != ((width + uint32_t(output)) % 2 == 0)) continue;  // half of them
                const LayerNormSpec spec{width, 1e-12f, bias, output};
                expect_same_bits(norm_case(
                    spec, {buffer(0), weight(0), bias == Presence::absent ? no_place() : weight(1), buffer(1)}, width,
                    output));
            }
}

// Rows of zeros, of equal numbers, of very small and very large ones, and of what is no number.
TEST(RdnaRowOps, NormsOfUnusualRows) {
    using Limits = std::numeric_limits<float>;
    const uint32_t width = 300;
    const float row_values[] = {0.0f,  -0.0f, 1.5f,  1e-20f,   Limits::denorm_min(), 0x1p-70f,
                                1e18f, 3e19f, 1e38f, -2.5e38f, Limits::infinity(),   Limits::quiet_NaN()};
    std::vector<float> x;
    for (const float value : row_values)
        for (uint32_t i = 0; i < f32_row_bytes(width) / 4; ++i) x.push_back(i % 7 == 3 ? value * 0.75f : value);
    for (const float epsilon : {0.0f, 1e-6f})
        for (const RowFormat output : kFormats) {
            Case test = norm_case(RmsNormSpec{width, epsilon, Presence::present, Addend::none, output},
                                  {buffer(0), no_place(), weight(0), buffer(1)}, width, output);
            test.runs = {run_of(uint32_t(std::size(row_values)), {{0, x}})};
            expect_same_bits(test);
            test.steps = {graph::Step{"norm",
                                      LayerNormSpec{width, epsilon, Presence::present, output},
                                      {buffer(0), weight(0), weight(1), buffer(1)}}};
            expect_same_bits(test);
        }
}

Case quantize_case(uint32_t width, const std::vector<float>& x, uint32_t rows) {
    const QuantizeSpec spec{width, RowFormat::i16};
    Case test{describe(spec), {graph::Step{"quantize", spec, {buffer(0), buffer(1)}}}, 2};
    test.runs = {run_of(rows, {{0, x}})};
    test.results = {{1, width, RowFormat::i16}};
    return test;
}

TEST(RdnaRowOps, Quantize) {
    for (const uint32_t width : kWidths) {
        const uint32_t rows = rows_of(width);
        expect_same_bits(quantize_case(width, rows_of_floats(rows, width, 5), rows));
    }
}

// A block of each kind: zeros, around the smallest that has an inverse, denormals, halves of codes, the largest, and
// what is no number.
TEST(RdnaRowOps, QuantizeUnusualBlocks) {
    using Limits = std::numeric_limits<float>;
    const float largest[] = {0.0f,
                             -0.0f,
                             kI16Smallest,
                             std::nextafter(kI16Smallest, 0.0f),
                             std::nextafter(kI16Smallest, 1.0f),
                             -0x1p-130f,
                             Limits::denorm_min(),
                             4095.0f,
                             -8190.0f,
                             1e30f,
                             0x1p126f,
                             -0x1.8p127f,
                             Limits::max(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN()};
    std::vector<float> x;
    for (size_t block = 0; block < std::size(largest); ++block) {
        const float scale = std::isfinite(largest[block]) ? largest[block] : 1.0f;
        for (uint32_t i = 0; i < kI16Block; ++i) x.push_back(scale * (float(i * 16 % 8191) - 4095) / 8190.0f);
        x[block * kI16Block + 77 * block % kI16Block] = largest[block];
    }
    expect_same_bits(quantize_case(uint32_t(x.size()), x, 1));
    expect_same_bits(quantize_case(uint32_t(x.size()) - 37, x, 1));
}

Case swiglu_case(const SwigluSpec& spec, const std::vector<float>& rows_of_both, uint32_t rows) {
    graph::Place up = buffer(0);
    up.offset_bytes += spec.width * sizeof(float);
    if (spec.up == Presence::absent) up = no_place();
    Case test{fmt::format("{}, stride {}", describe(spec), spec.in_stride),
              {graph::Step{"swiglu", spec, {buffer(0), up, buffer(1)}}},
              2};
    test.runs = {run_of(rows, {{0, rows_of_both}})};
    test.results = {{1, spec.width, spec.output}};
    return test;
}

// Gate and up side by side in rows that may end anywhere: the up rows are not aligned then.
TEST(RdnaRowOps, Swiglu) {
    for (const uint32_t width : kWidths)
        for (const uint32_t gap : {0u, 5u})
            for (const RowFormat output : kFormats) {
                const uint32_t rows = rows_of(width), stride = 2 * width + gap;
                expect_same_bits(
                    swiglu_case({width, stride, output}, random_floats(size_t{rows} * stride, 6, 4), rows));
            }
}

constexpr Activation kActivations[] = {Activation::silu,    Activation::gelu_tanh,    Activation::gelu_erf,
                                       Activation::relu,    Activation::relu_squared, Activation::clamped_silu,
                                       Activation::sigmoid, Activation::xielu};
constexpr Xielu kXielu = {0.8f, 0.45f, 0.5f, -1e-6f};

// With something beside the gate and without: rows then follow each other as closely as they may.
TEST(RdnaRowOps, Activations) {
    for (const Activation activation : kActivations)
        for (const Presence up : {Presence::absent, Presence::present}) {
            if (activation == Activation::clamped_silu && up == Presence::absent) continue;
            for (const uint32_t width : {67u, 576u, 2049u}) {
                const uint32_t rows = rows_of(width), stride = up == Presence::absent ? width : 2 * width + 3;
                const RowFormat output = width == 67 ? RowFormat::f32 : RowFormat::i16;
                expect_same_bits(swiglu_case({width, stride, output, activation, up, kXielu},
                                             random_floats(size_t{rows} * stride, 6, 4), rows));
            }
        }
}

TEST(RdnaRowOps, SwigluOfUnusualGates) {
    using Limits = std::numeric_limits<float>;
    const uint32_t width = 512;
    std::vector<float> x = random_floats(2 * width, 9, 40);
    const float gates[] = {0.0f,
                           -0.0f,
                           88.0f,
                           89.0f,
                           -87.0f,
                           -88.0f,
                           -88.7228f,
                           -88.8f,
                           -89.0f,
                           1e30f,
                           -1e30f,
                           1e-30f,
                           1e-40f,
                           Limits::max(),
                           -Limits::max(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN()};
    std::ranges::copy(gates, x.begin());
    std::ranges::copy(gates, x.begin() + width + 100);  // of up
    for (const Activation activation : kActivations)
        expect_same_bits(swiglu_case({width, 2 * width, RowFormat::f32, activation, Presence::present, kXielu}, x, 1));
}

TEST(RdnaRowOps, GatherRows) {
    for (const uint32_t width : kWidths) {
        const GatherRowsSpec spec{width};
        Case test{
            describe(spec), {graph::Step{"gather_rows", spec, {buffer(0), buffer(1)}, graph::StepRows::outputs}}, 2};
        test.runs = {{.rows = positions(0, 5), .outputs = {4, 1, 3}, .inputs = {{0, rows_of_floats(5, width, 2)}}}};
        test.results = {{1, width}};
        expect_same_bits(test);
    }
}

TEST(RdnaRowOps, Elementwise) {
    for (const uint32_t width : {1u, 17u, 64u, 130u, 255u, 1000u, 2048u, 2049u, 5003u}) {
        const uint32_t rows = rows_of(width), padded = f32_row_bytes(width) / 4;
        const auto expect = [&](const ElementwiseSpec& spec, std::vector<graph::Place> places, graph::Place out) {
            places.push_back(out);
            Case test{describe(spec), {graph::Step{"elementwise", spec, std::move(places)}}, 7};
            test.weights = {vector_weight(random_floats(width, 1))};
            test.runs = {run_of(rows, {})};
            for (uint32_t i = 0; i < 6; ++i)
                test.runs[0].inputs.emplace_back(i, random_floats(size_t{rows} * (padded + 16), 20 + i));
            test.results = {{0, width}, {6, width, RowFormat::f32, spec.out_stride * 4}};
            expect_same_bits(test);
        };
        using Step = ElementwiseStep;
        // A bias, from rows to others; in place; all inputs, of which one is not read, and steps of both kinds.
        expect({width, padded, {{padded}, {0}}, {Step{ElementwiseOp::add, 0, 1, 0}}}, {buffer(0), weight(0)},
               buffer(6));
        expect({width, padded, {{padded}}, {Step{ElementwiseOp::scale, 0, 0, 0.1f}}}, {buffer(0)}, buffer(0));
        expect({width,
                padded + 16,
                {{width}, {width + 1}, {padded}, {0}, {padded + 3}, {width}},
                {Step{ElementwiseOp::scale, 0, 0, -3.7f}, Step{ElementwiseOp::add, 6, 1, 0},
                 Step{ElementwiseOp::add, 2, 3, 0}, Step{ElementwiseOp::add, 7, 8, 0},
                 Step{ElementwiseOp::scale, 9, 0, 1.0f / 3}, Step{ElementwiseOp::add, 10, 5, 0},
                 Step{ElementwiseOp::add, 11, 11, 0}}},
               {buffer(0), buffer(1), buffer(2), weight(0), buffer(4), buffer(5)}, buffer(6));
        // Every other step, and an element of each row for all of it.
        expect({width,
                padded,
                {{padded}, {padded}, {padded, width / 2}},
                {Step{ElementwiseOp::multiply, 0, 1, 0}, Step{ElementwiseOp::softcap, 3, 0, 0.7f},
                 Step{ElementwiseOp::square_root, 3, 0, 0}, Step{ElementwiseOp::at_most, 5, 0, 0.8f},
                 Step{ElementwiseOp::divide, 6, 4, 0}, Step{ElementwiseOp::at_least, 7, 0, -2},
                 Step{ElementwiseOp::multiply, 2, 8, 0}}},
               {buffer(0), buffer(1), buffer(2)}, buffer(6));
        expect({width, padded, {{padded, 0}, {0}}, {Step{ElementwiseOp::divide, 1, 0, 0}}}, {buffer(0), weight(0)},
               buffer(6));
    }
}

TEST(RdnaRowOps, ElementwiseOfUnusualNumbers) {
    using Limits = std::numeric_limits<float>;
    const float values[] = {0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            0.5f,
                            30.0f,
                            -30.0f,
                            1e-40f,
                            -1e-40f,
                            44.0f,
                            -44.0f,
                            1e30f,
                            Limits::max(),
                            -Limits::max(),
                            Limits::denorm_min(),
                            1e-30f,
                            4.0f,
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN()};
    const uint32_t count = uint32_t(std::size(values)), width = count * count, padded = f32_row_bytes(width) / 4;
    std::vector<float> left(padded), right(padded);
    for (uint32_t i = 0; i < width; ++i) left[i] = values[i / count], right[i] = values[i % count];
    using Step = ElementwiseStep;
    for (const Step step : {Step{ElementwiseOp::multiply, 0, 1, 0}, Step{ElementwiseOp::divide, 0, 1, 0},
                            Step{ElementwiseOp::softcap, 0, 0, 1.0f}, Step{ElementwiseOp::softcap, 0, 0, 30.0f},
                            Step{ElementwiseOp::at_most, 0, 0, 0.0f}, Step{ElementwiseOp::at_least, 0, 0, 0.0f},
                            Step{ElementwiseOp::at_most, 0, 0, 0.5f}, Step{ElementwiseOp::at_least, 0, 0, 0.5f},
                            Step{ElementwiseOp::square_root, 0, 0, 0}}) {
        const ElementwiseSpec spec{width, padded, {{padded}, {padded}}, {step}};
        Case test{describe(spec), {graph::Step{"elementwise", spec, {buffer(0), buffer(1), buffer(2)}}}, 3};
        test.runs = {run_of(1, {{0, left}, {1, right}})};
        test.results = {{2, width}};
        expect_same_bits(test);
    }
}

}  // namespace row_ops_test
}  // namespace riftjit::runtime
