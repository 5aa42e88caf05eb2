// Attention over the KV cache: the processor's bits on every chip, in both forms, wherever rows end.
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/rdna/same_bits.h"

namespace riftjit::runtime {
namespace attention_test {

using namespace same_bits;

struct Heads {
    uint32_t kv_heads, group, head_dim;
};

// What a spec asks beside its shape, as the spec names it.
struct Traits {
    float softcap = 0, alibi = 0;
    uint32_t window = 0, chunk = 0;
    Presence sinks = Presence::absent;
};

// Stores keys and values of the rows, then attends to them, tiles and single rows: queries in buffer 0, keys in 1,
// values in 2, outputs in 3.
Case attention_case(Heads heads, DType key_type, DType value_type, std::string name, const Traits& traits = {}) {
    const auto [kv_heads, group, head_dim] = heads;
    const uint32_t width = kv_heads * head_dim;
    Case test;
    test.name = fmt::format("{}, {} times {} heads of {}, {} and {}", name, kv_heads, group, head_dim,
                            riftjit::name(key_type), riftjit::name(value_type));
    const RopeSpec keys_spec = {kv_heads, head_dim, 0, width, RopePairing::half, Presence::absent, 0, key_type};
    const uint32_t out_stride = uint32_t(round_up(width * group, 16)) + 16;
    AttentionSpec spec = {kv_heads * group, kv_heads,   head_dim, width * group + 4, out_stride,
                          key_type,         value_type, 0.7f / 8, MatmulForm::vector};
    spec.softcap = traits.softcap;
    spec.alibi = traits.alibi;
    spec.window = traits.window;
    spec.chunk = traits.chunk;
    spec.sinks = traits.sinks;
    const graph::Place sinks = traits.sinks == Presence::present ? weight(0) : no_place();
    test.weights = {vector_weight(random_floats(kv_heads * group, 5, 2))};
    test.steps = {{"keys", keys_spec, {buffer(1), no_place(), no_place(), keys()}},
                  {"values", ValueStoreSpec{kv_heads, head_dim, width, value_type}, {buffer(2), values()}},
                  {"vector", spec, {buffer(0), keys(), values(), buffer(3), sinks}}};
    spec.form = MatmulForm::tile;
    test.steps.push_back({"tile", spec, {buffer(0), keys(), values(), buffer(3), sinks}});
    test.buffers = 4;
    test.opening_steps = 2;
    test.key_type = key_type;
    test.value_type = value_type;
    test.kv_heads = kv_heads;
    test.head_dim = head_dim;
    test.pages_per_sequence = 3;
    test.pages = 3;
    test.results = {{3, width * group, RowFormat::f32, out_stride * uint32_t(sizeof(float))}};
    return test;
}

Run random_run(const Case& test, const std::vector<BatchRow>& rows, float scale = 1) {
    const auto& spec = std::get<AttentionSpec>(test.steps.back().spec);
    const uint32_t seed = uint32_t(test.runs.size() * 10), width = test.kv_heads * test.head_dim;
    return {rows,
            {},
            {{0, random_floats(rows.size() * spec.q_stride, seed + 1, scale)},
             {1, random_floats(rows.size() * width, seed + 2, scale)},
             {2, random_floats(rows.size() * width, seed + 3)}}};
}
// The first `length` positions of a sequence are stored, and nobody attends to them yet.
void fill(Case& test, uint32_t length, uint32_t sequence = 0, float scale = 1) {
    for (uint32_t first = 0; first < length; first += 64) {
        test.runs.push_back(random_run(test, positions(first, std::min(64u, length - first), sequence), scale));
        test.runs.back().is_opening = true;
    }
}
// The last run, of which are the results.
void expect_same_bits_of(Case test, const std::vector<BatchRow>& rows, float scale = 1) {
    test.runs.push_back(random_run(test, rows, scale));
    expect_same_bits(test);
}
// Rows that follow each other downwards share no tile.
std::vector<BatchRow> singles(const std::vector<uint32_t>& descending, uint32_t sequence = 0) {
    std::vector<BatchRow> rows;
    for (const uint32_t position : descending) rows.push_back({sequence, position});
    return rows;
}
std::vector<uint32_t> downwards(uint32_t last, uint32_t count) {
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < count; ++i) numbers.push_back(last - i);
    return numbers;
}
template <class T>
std::vector<T> joined(std::vector<T> left, const std::vector<T>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

constexpr uint32_t kRowsOfALaunch = 16;  // single rows
const std::vector<DType> kCacheTypes = {DType::F16, DType::F32, DType::Q8_0};
const Heads kFewHeads = {1, 2, 32};

TEST(AttentionOnRdna, HasTheProcessorsBitsAtEveryShortLength) {
    Case test = attention_case(kFewHeads, DType::F16, DType::F16, "70 positions");
    fill(test, 70);
    expect_same_bits_of(test, positions(0, 70));
    expect_same_bits_of(test, singles(downwards(69, 70)));
    for (const uint32_t last : {69u, 55u, 41u, 27u, 13u}) expect_same_bits_of(test, singles(downwards(last, 14)));
}

// Tiles of two to seven rows, of two sequences by turns.
TEST(AttentionOnRdna, HasTheProcessorsBitsOfTilesOfEverySize) {
    for (const uint32_t group : {1u, 3u, 4u}) {
        Case test = attention_case({1, group, 64}, DType::F16, DType::F16, "tiles");
        test.sequences = 2;
        test.pages = 2 * test.pages_per_sequence;
        std::vector<BatchRow> rows;
        uint32_t next[2] = {0, 0};
        for (uint32_t i = 0; i < 12; ++i) {
            const uint32_t size = 2 + (i * 5 + i / 6) % 6;
            rows = joined(rows, positions(next[i % 2], size, i % 2));
            next[i % 2] += size;
        }
        expect_same_bits_of(test, rows);
    }
}

TEST(AttentionOnRdna, HasTheProcessorsBitsWhereSegmentsEnd) {
    Case test = attention_case(kFewHeads, DType::F16, DType::F16, "700 positions");
    fill(test, 700);
    expect_same_bits_of(test, joined(joined(positions(249, 16), positions(508, 9)), positions(693, 7)));
    const std::vector<uint32_t> ends = {699, 640, 639, 513, 512, 511, 510, 320, 257, 256, 255, 254, 0};
    expect_same_bits_of(test, singles(ends));
    const std::vector<BatchRow> many = joined(singles(ends), singles(downwards(200, 8)));
    ASSERT_GT(many.size(), kRowsOfALaunch);
    expect_same_bits_of(test, many);
}

// A prompt in pieces, then token by token, each step attending.
TEST(AttentionOnRdna, HasTheProcessorsBitsStepByStep) {
    Case test = attention_case({2, 2, 40}, DType::F16, DType::F16, "step by step");
    for (const auto& [first, count] :
         std::vector<std::pair<uint32_t, uint32_t>>{{0, 37}, {37, 1}, {38, 1}, {39, 9}, {48, 1}}) {
        test.runs.push_back(random_run(test, positions(first, count)));
        expect_same_bits(test);
    }
}

// A tile of eight rows and one of fewer across the end of a segment, and single rows.
void expect_same_bits_of_some_rows(const Case& filled) {
    expect_same_bits_of(filled, joined(joined(positions(8, 8), positions(253, 5)), singles({259, 130, 20})));
}

TEST(AttentionOnRdna, HasTheProcessorsBitsOfEveryPairOfTypes) {
    for (const DType key_type : kCacheTypes)
        for (const DType value_type : kCacheTypes) {
            Case test = attention_case({2, 3, 64}, key_type, value_type, "some rows");
            fill(test, 260);
            expect_same_bits_of_some_rows(test);
        }
}

TEST(AttentionOnRdna, HasTheProcessorsBitsAtEveryHeadDim) {
    for (const uint32_t head_dim : {2u, 30u, 32u, 40u, 66u, 80u, 90u, 96u, 112u, 128u, 160u, 192u, 256u, 576u})
        for (const DType type : kCacheTypes) {
            if (type == DType::Q8_0 && head_dim % 32 != 0) continue;
            if (type == DType::F32 && head_dim % 3 == 0) continue;  // enough of them
            Case test = attention_case({1, 2, head_dim}, type, type, "some rows");
            fill(test, 260);
            expect_same_bits_of_some_rows(test);
        }
}

TEST(AttentionOnRdna, HasTheProcessorsBitsOfEveryGroup) {
    for (const uint32_t group : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 11u, 12u, 16u})
        for (const uint32_t head_dim : {32u, 128u, 256u}) {
            if (head_dim == 256 && group % 4 != 0) continue;
            Case test = attention_case({2, group, head_dim}, DType::F16, DType::F16, "groups");
            fill(test, 12);
            expect_same_bits_of(test, joined(singles({11}), positions(0, 11)));
        }
}

// Sequences of different lengths in one batch, single rows and tiles.
TEST(AttentionOnRdna, HasTheProcessorsBitsOfManySequencesAtOnce) {
    for (const uint32_t sequences : {2u, 5u, 18u}) {
        Case test = attention_case(kFewHeads, DType::F16, DType::Q8_0, fmt::format("{} sequences", sequences));
        test.sequences = sequences;
        test.pages = sequences * test.pages_per_sequence;
        const auto length = [](uint32_t sequence) { return 5 + 131 * sequence % 650; };
        std::vector<BatchRow> rows;
        for (uint32_t sequence = 0; sequence < sequences; ++sequence) {
            fill(test, length(sequence), sequence);
            rows = joined(
                rows, positions(length(sequence), sequences == 5 && sequence % 2 == 0 ? 1 + sequence : 1, sequence));
        }
        expect_same_bits_of(test, rows);
    }
}

// Scores so far apart that probabilities vanish, and maxima that come late or early.
TEST(AttentionOnRdna, HasTheProcessorsBitsOfSteepScores) {
    for (const float scale : {30.0f, 1e-20f, 1e15f}) {
        Case test = attention_case({1, 4, 64}, DType::F32, DType::F32, fmt::format("scale {}", scale));
        fill(test, 320, 0, scale);
        expect_same_bits_of(test, joined(positions(310, 8), singles({319, 200})), scale);
    }
}

// What lies behind a row's position in the cache does not reach it: another run's values, infinities among them.
TEST(AttentionOnRdna, SeesNothingBehindItsPosition) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
    Case test = attention_case({1, 2, 64}, DType::F32, DType::F32, "stale rows");
    test.runs.push_back(random_run(test, positions(0, 64)));
    for (size_t i = 0; i < test.runs[0].inputs[2].second.size(); i += 3) {
        test.runs[0].inputs[1].second[i] = i % 2 == 0 ? kNaN : -kInfinity;
        test.runs[0].inputs[2].second[i] = i % 2 == 0 ? kInfinity : kNaN;
    }
    test.runs.push_back(random_run(test, positions(0, 13)));
    expect_same_bits_of(test, positions(13, 1));
    expect_same_bits(test);
}

const Traits kTraits[] = {{.softcap = 5},
                          {.alibi = 8},
                          {.sinks = Presence::present},
                          {.window = 20},
                          {.softcap = 2, .alibi = 4, .window = 100, .sinks = Presence::present},
                          {.softcap = 2, .alibi = 4, .chunk = 128, .sinks = Presence::present}};

std::string text(const Traits& traits) {
    return fmt::format("softcap {}, alibi {}, window {}, chunk {}{}", traits.softcap, traits.alibi, traits.window,
                       traits.chunk, traits.sinks == Presence::present ? ", sinks" : "");
}

// A wave's heads are one, all of their KV head, or a part of them.
TEST(AttentionOnRdna, HasTheProcessorsBitsOfEveryTrait) {
    for (const Traits& traits : kTraits)
        for (const Heads heads : {Heads{6, 1, 32}, Heads{2, 3, 64}, Heads{1, 12, 128}, Heads{2, 2, 90}}) {
            Case test = attention_case(heads, DType::F16, DType::F16, text(traits), traits);
            fill(test, 260);
            expect_same_bits_of_some_rows(test);
        }
}

TEST(AttentionOnRdna, HasTheProcessorsBitsOfTraitsWithEveryTypeOfCache) {
    for (const Traits& traits : {kTraits[4], kTraits[5]})
        for (const DType key_type : kCacheTypes)
            for (const DType value_type : kCacheTypes) {
                Case test = attention_case({2, 2, 64}, key_type, value_type, text(traits), traits);
                fill(test, 260);
                expect_same_bits_of_some_rows(test);
            }
}

// Windows and chunks that begin anywhere: in the first block, at its ends, in the middle of a segment, some segments
// behind the first; of one position, and longer than the text.
TEST(AttentionOnRdna, HasTheProcessorsBitsWhereverWindowsBegin) {
    std::vector<Traits> windows;
    for (const uint32_t window : {1u, 2u, 63u, 64u, 65u, 191u, 256u, 257u, 400u, 5000u})
        windows.push_back({.window = window});
    for (const uint32_t chunk : {1u, 16u, 64u, 256u, 512u, 4096u}) windows.push_back({.chunk = chunk});
    for (const Traits& traits : windows) {
        Case test = attention_case(kFewHeads, DType::F16, DType::Q8_0, text(traits), traits);
        fill(test, 700);
        expect_same_bits_of(
            test, joined(joined(positions(60, 8), positions(252, 16)), joined(positions(508, 9), positions(693, 7))));
        expect_same_bits_of(test, singles({699, 640, 639, 576, 513, 512, 511, 320, 319, 257, 256, 255, 63, 0}));
    }
}

TEST(AttentionOnRdna, HasTheProcessorsBitsOfWindowsStepByStep) {
    for (const Traits& traits : {Traits{.window = 24}, Traits{.chunk = 32}}) {
        Case test = attention_case({2, 2, 40}, DType::F16, DType::F16, text(traits), traits);
        for (const auto& [first, count] :
             std::vector<std::pair<uint32_t, uint32_t>>{{0, 37}, {37, 1}, {38, 1}, {39, 90}, {129, 1}, {130, 5}}) {
            test.runs.push_back(random_run(test, positions(first, count)));
            expect_same_bits(test);
        }
    }
}

// Slopes of numbers of heads that are no powers of two, and of as many heads as are known.
TEST(AttentionOnRdna, HasTheProcessorsBitsOfEverySlope) {
    for (const Heads heads : {Heads{112, 1, 16}, Heads{12, 1, 32}, Heads{1, 71, 16}, Heads{5, 7, 16}}) {
        Case test = attention_case(heads, DType::F16, DType::F16, "slopes", {.alibi = 8});
        fill(test, 70);
        expect_same_bits_of(test, joined(positions(60, 4), singles({69})));
    }
}

TEST(AttentionOnRdna, HasTheProcessorsBitsOfSteepScoresWithTraits) {
    for (const Traits& traits : kTraits)
        for (const float scale : {30.0f, 1e-20f}) {
            Case test = attention_case({1, 4, 64}, DType::F32, DType::F32, text(traits), traits);
            fill(test, 320, 0, scale);
            expect_same_bits_of(test, joined(positions(310, 8), singles({319, 200})), scale);
        }
}

}  // namespace attention_test
}  // namespace riftjit::runtime
