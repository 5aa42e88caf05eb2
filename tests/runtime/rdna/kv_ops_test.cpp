// Rotations and stores to the KV cache: the processor's bits on every chip.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace kv_ops_test {

using namespace same_bits;

const std::vector<DType> kCacheTypes = {DType::F16, DType::F32, DType::Q8_0};

// {cos, sin} of each pair, by row.
std::vector<float> angles(const std::vector<BatchRow>& rows, uint32_t rotary_dims) {
    std::vector<float> table;
    for (const BatchRow& row : rows)
        for (uint32_t i = 0; i < rotary_dims / 2; ++i) {
            const double angle = row.position * std::pow(10000.0, -2.0 * i / rotary_dims);
            table.push_back(float(std::cos(angle)));
            table.push_back(float(std::sin(angle)));
        }
    return table;
}

// Rows of three sequences, whose positions cross the ends of chunks of positions and of a page.
std::vector<BatchRow> some_rows() { return {{1, 0}, {1, 1}, {0, 6}, {0, 7}, {0, 8}, {2, 255}, {2, 256}}; }

constexpr uint32_t kPad = 6;  // between rows

Case rope_case(const RopeSpec& spec) {
    Case test;
    test.name = describe(spec);
    test.steps = {{"rope",
                   spec,
                   {buffer(0), spec.norm == Presence::present ? weight(0) : no_place(), rope_table(),
                    spec.key_cache ? keys() : no_place()}}};
    test.buffers = 1;
    test.weights = {vector_weight(random_floats(spec.head_dim, 7))};
    const std::vector<BatchRow> rows = some_rows();
    Run run{rows};
    run.inputs = {{0, random_floats(rows.size() * spec.row_stride, spec.head_dim + spec.rotary_dims, 3)}};
    run.table = angles(rows, spec.rotary_dims);
    test.runs = {run};
    test.results = {{0, spec.heads * spec.head_dim, RowFormat::f32, uint32_t(spec.row_stride * sizeof(float))}};
    if (spec.key_cache) {
        test.key_type = *spec.key_cache;
        test.value_type = DType::F16;
        test.kv_heads = spec.heads;
        test.head_dim = spec.head_dim;
        test.sequences = 3, test.pages_per_sequence = 2, test.pages = 6;
        test.cached = 257;
    }
    return test;
}

RopeSpec spec_of(uint32_t heads, uint32_t head_dim, uint32_t rotary_dims, RopePairing pairing, Presence norm,
                 std::optional<DType> key_cache) {
    return {heads,
            head_dim,
            rotary_dims,
            heads * head_dim + kPad,
            pairing,
            norm,
            norm == Presence::present ? 1e-6f : 0.0f,
            key_cache};
}

TEST(RopeOnRdna, HasTheProcessorsBitsInPlace) {
    for (const RopePairing pairing : {RopePairing::adjacent, RopePairing::half})
        for (const auto& [head_dim, rotary_dims] : std::vector<std::pair<uint32_t, uint32_t>>{{2, 2},
                                                                                              {30, 10},
                                                                                              {40, 40},
                                                                                              {64, 64},
                                                                                              {66, 66},
                                                                                              {80, 20},
                                                                                              {96, 0},
                                                                                              {128, 128},
                                                                                              {128, 64},
                                                                                              {256, 256},
                                                                                              {576, 64}})
            for (const Presence norm : {Presence::absent, Presence::present})
                expect_same_bits(rope_case(spec_of(3, head_dim, rotary_dims, pairing, norm, std::nullopt)));
}

TEST(RopeOnRdna, HasTheProcessorsBitsInTheKeyCache) {
    for (const DType type : kCacheTypes)
        for (const RopePairing pairing : {RopePairing::adjacent, RopePairing::half})
            for (const auto& [head_dim, rotary_dims] : std::vector<std::pair<uint32_t, uint32_t>>{
                     {32, 32}, {40, 24}, {64, 0}, {66, 66}, {96, 48}, {128, 128}, {256, 64}, {576, 64}}) {
                if (type == DType::Q8_0 && head_dim % 32 != 0) continue;
                const Presence norm = rotary_dims % 64 == 0 ? Presence::present : Presence::absent;
                expect_same_bits(rope_case(spec_of(2, head_dim, rotary_dims, pairing, norm, type)));
            }
}

Case value_case(DType type, uint32_t kv_heads, uint32_t head_dim, const std::vector<float>& v) {
    const ValueStoreSpec spec = {kv_heads, head_dim, kv_heads * head_dim + kPad, type};
    Case test;
    test.name = describe(spec);
    test.steps = {{"value_store", spec, {buffer(0), values()}}};
    test.buffers = 1;
    test.value_type = type;
    test.kv_heads = kv_heads;
    test.head_dim = head_dim;
    test.sequences = 3, test.pages_per_sequence = 2, test.pages = 6;
    test.cached = 257;
    Run run{some_rows()};
    run.inputs = {{0, v}};
    test.runs = {run};
    return test;
}

TEST(ValueStoreOnRdna, HasTheProcessorsBits) {
    for (const DType type : kCacheTypes)
        for (const uint32_t head_dim : {32u, 40u, 64u, 66u, 80u, 96u, 128u, 256u, 576u})
            if (type != DType::Q8_0 || head_dim % 32 == 0)
                expect_same_bits(value_case(type, 3, head_dim,
                                            random_floats(some_rows().size() * (3 * head_dim + kPad), head_dim, 40)));
}

// Zeros and blocks of them, halves' subnormals and ties, what no half holds, infinities and NaN.
TEST(ValueStoreOnRdna, HasTheProcessorsBitsOfEveryKindOfNumber) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::vector<float>> kinds = {
        {0.0f, -0.0f},
        {1e-8f, -3e-8f, 0x1p-24f, 0x1.8p-24f},
        {0x1p-140f, -0x1p-149f, 0x1.4p-140f},
        {65504, 65519, 65520, -65536, 1},
        {2049, 2051, 0x1.002p0f, 0x1.006p0f, -0x1.002p-14f},
        {1e30f, -1e30f, 3},
        {kInfinity, 1, -2},
        {kNaN, 1, -kInfinity},
        {127, 0.5f, 1.5f, 2.5f, -0.5f, -126.5f},
    };
    for (const DType type : kCacheTypes) {
        std::vector<float> v;
        for (size_t i = 0; v.size() < some_rows().size() * (3 * 64 + kPad); ++i) {
            const auto& kind = kinds[i / 32 % kinds.size()];
            v.push_back(kind[i % 32 % kind.size()]);
        }
        expect_same_bits(value_case(type, 3, 64, v));
    }
}

}  // namespace kv_ops_test
}  // namespace riftjit::runtime
