// Norms, quantisation and gates within matmuls, and launches joined, have the bits of the steps that they stand for.
#include <tuple>

#include "tests/jit/formats/random_blocks.h"
#include "tests/jit/x86/ops/random_weights.h"
#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace rdna_fused_test {

using namespace same_bits;

enum Buffers : uint32_t { kRow, kCodes, kFirst, kSecond, kResult, kBuffers };
enum Weights : uint32_t { kGainWeight, kGateWeight, kUpWeight };

MatmulSpec product_spec(DType type, uint32_t rows, uint32_t width, Epilogue epilogue = Epilogue::store) {
    return {type, rows, width, uint32_t(round_up(rows, 16)), MatmulForm::vector, epilogue, Presence::absent};
}

struct Pair {
    Case separate, fused;
};

Pair cases(DType type, uint32_t rows, uint32_t width, RowSource source, Gating gating, Epilogue epilogue) {
    Case test{fmt::format("{} {}x{}", name(type), rows, width), {}, kBuffers};
    const auto matrix = [&](uint32_t seed) {
        return Weight{type, rows, width, x86::random_weights(type, rows, width, seed), false};
    };
    test.weights = {vector_weight(random_floats(width, 1)), matrix(2), matrix(3)};
    test.runs = {{positions(0, 1),
                  {},
                  {{kRow, random_floats(round_up(width, 16), 4)}, {kResult, random_floats(round_up(rows, 16), 5)}}}};
    test.results = {{kResult, rows}};
    const bool is_normed = source == RowSource::rms_norm;
    const Presence has_gain = is_normed ? Presence::present : Presence::absent;
    const MatmulSpec product = product_spec(type, rows, width, epilogue);

    Pair pair{test, test};
    std::vector<graph::Step>& steps = pair.separate.steps;
    if (is_normed)
        steps.push_back({"norm",
                         RmsNormSpec{width, 1e-5f, Presence::present, Addend::none, RowFormat::i16},
                         {buffer(kRow), no_place(), weight(kGainWeight), buffer(kCodes)}});
    else
        steps.push_back({"quantize", QuantizeSpec{width, RowFormat::i16}, {buffer(kRow), buffer(kCodes)}});
    if (gating == Gating::none) {
        steps.push_back({"op", product, {weight(kGateWeight), no_place(), buffer(kCodes), buffer(kResult)}});
    } else {
        steps.push_back({"gate", product, {weight(kGateWeight), no_place(), buffer(kCodes), buffer(kFirst)}});
        steps.push_back({"up", product, {weight(kUpWeight), no_place(), buffer(kCodes), buffer(kSecond)}});
        steps.push_back({"swiglu",
                         SwigluSpec{rows, uint32_t(round_up(rows, 16)), RowFormat::f32},
                         {buffer(kFirst), buffer(kSecond), buffer(kResult)}});
    }
    pair.fused.steps = {{"fused",
                         FusedMatmulSpec{product, source, is_normed ? 1e-5f : 0.0f, has_gain, gating},
                         {weight(kGateWeight), gating == Gating::none ? no_place() : weight(kUpWeight), no_place(),
                          buffer(kRow), is_normed ? weight(kGainWeight) : no_place(), buffer(kResult)}}};
    return pair;
}

class RdnaFused : public testing::TestWithParam<DType> {};

TEST_P(RdnaFused, HasTheBitsOfTheStepsThatItStandsFor) {
    const DType type = GetParam();
    const uint32_t block = traits(type).block_elements;
    using enum RowSource;
    const std::tuple<uint32_t, uint32_t, RowSource, Gating> shapes[] = {
        {33, 512, quantize, Gating::none},         {64, 256 + block, rms_norm, Gating::silu},
        {16, block, rms_norm, Gating::none},       {40, 2816, quantize, Gating::silu},
        {17, 256 + block, quantize, Gating::none}, {32, 2816, rms_norm, Gating::silu}};
    for (const auto& [rows, width, source, gating] : shapes) {
        const Epilogue epilogue = gating == Gating::none ? Epilogue::accumulate : Epilogue::store;
        const Pair pair = cases(type, rows, width, source, gating, epilogue);
        expect_same_bits(pair.separate, &pair.fused);
    }
}

INSTANTIATE_TEST_SUITE_P(All, RdnaFused, testing::ValuesIn(quantised_types()), kTypeName);

// Their rows are normed and stay f32.
TEST(RdnaFusedFloats, HaveTheBitsOfTheStepsThatTheyStandFor) {
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
        for (const auto& [rows, width] : {std::pair(33u, 77u), {300u, 576u}, {64u, 2048u}}) {
            for (const Gating gating : {Gating::none, Gating::silu}) {
                const Epilogue epilogue = gating == Gating::none ? Epilogue::accumulate : Epilogue::store;
                Pair pair = cases(type, rows, width, RowSource::rms_norm, gating, epilogue);
                std::get<RmsNormSpec>(pair.separate.steps[0].spec).output = RowFormat::f32;
                expect_same_bits(pair.separate, &pair.fused);
            }
        }
    }
}

TEST(RdnaJoined, HasTheBitsOfItsParts) {
    const DType type = DType::Q4_K;
    const uint32_t width = 512;
    Pair pair = cases(type, 48, width, RowSource::quantize, Gating::none, Epilogue::store);
    const FusedMatmulSpec first{product_spec(type, 48, width), RowSource::quantize, 0, Presence::absent, Gating::none};
    const MatmulSpec second = product_spec(type, 48, width);
    pair.separate.steps.push_back({"second", second, {weight(kUpWeight), no_place(), buffer(kCodes), buffer(kSecond)}});
    pair.separate.results.push_back({kSecond, 48});
    pair.fused.results = pair.separate.results;
    pair.fused.steps = {{"quantize", QuantizeSpec{width, RowFormat::i16}, {buffer(kRow), buffer(kCodes)}},
                        {"joined",
                         SideBySideSpec{{first, second}},
                         {weight(kGateWeight), no_place(), no_place(), buffer(kRow), no_place(), buffer(kResult),
                          weight(kUpWeight), no_place(), buffer(kCodes), buffer(kSecond)}}};
    expect_same_bits(pair.separate, &pair.fused);
}

}  // namespace rdna_fused_test
}  // namespace riftjit::runtime
