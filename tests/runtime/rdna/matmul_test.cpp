// Products with weights, and rows of token tables, have the processor's bits for every type of weight.
#include "jit/rdna/kernels/packed.h"
#include "tests/jit/formats/random_blocks.h"
#include "tests/jit/x86/ops/random_weights.h"
#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace rdna_matmul_test {

using namespace same_bits;

// Rows of the matrix and of the batch, elements of a row.
struct Shape {
    uint32_t rows, width, tokens;
};

Weight matrix(DType type, uint32_t rows, uint32_t width, uint32_t seed) {
    return {type, rows, width, x86::random_weights(type, rows, width, seed), false};
}

Case product(DType type, const Shape& shape, MatmulForm form, Epilogue epilogue = Epilogue::store,
             Presence bias = Presence::absent) {
    const auto [rows, width, tokens] = shape;
    const auto stride = uint32_t(round_up(rows, 16));
    Case test{fmt::format("{} {}x{}, {} rows", name(type), rows, width, tokens), {}, 2};
    test.steps = {graph::Step{"op",
                              MatmulSpec{type, rows, width, stride, form, epilogue, bias},
                              {weight(0), bias == Presence::present ? weight(1) : no_place(), buffer(0), buffer(1)}}};
    test.weights = {matrix(type, rows, width, 11), vector_weight(random_floats(rows, 12))};
    Run run{positions(0, tokens)};
    run.inputs = {{1, random_floats(size_t(tokens) * stride, 14)}};
    if (rdna::kernels::is_float(type)) {
        run.inputs.push_back({0, random_floats(size_t(tokens) * round_up(width, 16), 13)});
    } else {
        run.codes_width = width;
        run.codes = {{0, {}}};
        for (uint32_t token = 0; token < tokens; ++token) run.codes[0].second.push_back(random_codes(width, token));
    }
    test.runs = {run};
    test.results = {{1, rows, RowFormat::f32, stride * 4}};
    return test;
}

uint32_t block(DType type) { return traits(type).block_elements; }

class RdnaMatmul : public testing::TestWithParam<DType> {};

TEST_P(RdnaMatmul, HasTheProcessorsBitsForOneRow) {
    const DType type = GetParam();
    for (const Shape& shape : {Shape{33, 512, 1},
                               {5, std::max(256u, block(type)) + block(type), 1},
                               {64, block(type) == 1 ? 77 : block(type), 1},
                               {32, 2816, 1}})
        expect_same_bits(product(type, shape, MatmulForm::vector));
}

TEST_P(RdnaMatmul, HasTheProcessorsBitsForManyRows) {
    const DType type = GetParam();
    for (const Shape& shape : {Shape{40, 256, 8}, {17, 768, 11}, {32, 256 + block(type), 3}})
        expect_same_bits(product(type, shape, MatmulForm::tile));
}

TEST_P(RdnaMatmul, LooksRowsUpAsTheProcessor) {
    const DType type = GetParam();
    for (const uint32_t width : {256u, block(type) == 1 ? 77u : block(type) * 3, 2048u}) {
        Case test{fmt::format("embed {} {}", name(type), width), {}, 1};
        test.steps = {graph::Step{"op", EmbedSpec{type, width}, {weight(0), token_ids(), buffer(0)}}};
        test.weights = {matrix(type, 70, width, 21)};
        test.runs = {{positions(0, 4), {}, {}, {69, 0, 31, 32}}};
        test.results = {{0, width}};
        expect_same_bits(test);
    }
}

INSTANTIATE_TEST_SUITE_P(All, RdnaMatmul, testing::ValuesIn(weight_types()), kTypeName);

TEST(RdnaMatmulEpilogue, AddsBiasAndWhatLiesThere) {
    for (const DType type : {DType::Q8_0, DType::F16})
        for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
            const uint32_t tokens = form == MatmulForm::vector ? 1 : 5;
            expect_same_bits(product(type, {37, 256, tokens}, form, Epilogue::accumulate, Presence::present));
            expect_same_bits(product(type, {64, 256, tokens}, form, Epilogue::store, Presence::present));
        }
}

}  // namespace rdna_matmul_test
}  // namespace riftjit::runtime
