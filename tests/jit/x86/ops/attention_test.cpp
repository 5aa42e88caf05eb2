#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "host/thread_pool.h"
#include "jit/alibi.h"
#include "tests/jit/x86/ops/cache_reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/paged_batch.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace attention_test {

// Queries and a cache for positions [0, positions). What lies beyond in the last page is NaN.
struct Scene {
    AttentionSpec spec;
    uint32_t positions;
    GuardedBuffer<float> q, sinks;
    GuardedBuffer<std::byte> keys, values;
    CacheLayout key_layout, value_layout;

    Scene(const AttentionSpec& spec, uint32_t positions, double key_size = 1.0)
        : spec(spec),
          positions(positions),
          q((positions - 1) * spec.q_stride + spec.heads * spec.head_dim),
          sinks(spec.heads),
          keys(CacheLayout{spec.key_type, spec.kv_heads, spec.head_dim}.key_bytes(positions)),
          values(CacheLayout{spec.value_type, spec.kv_heads, spec.head_dim}.value_bytes(positions)),
          key_layout{spec.key_type, spec.kv_heads, spec.head_dim, reversed_pages(positions)},
          value_layout{spec.value_type, spec.kv_heads, spec.head_dim, reversed_pages(positions)} {
        Random random(spec.head_dim * 31 + positions);
        for (size_t i = 0; i < q.size(); ++i) q[i] = random.normal(2.0);
        for (size_t i = 0; i < sinks.size(); ++i) sinks[i] = random.normal(2.0);
        std::vector<float> head(spec.head_dim);
        for (uint32_t position = 0; position < positions; ++position)
            for (uint32_t kv = 0; kv < spec.kv_heads; ++kv) {
                for (float& value : head) value = random.normal(key_size);
                store_key(key_layout, keys.data(), position, kv, head);
                for (float& value : head) value = random.normal();
                store_value(value_layout, values.data(), position, kv, head);
            }
    }

    // Attention of all positions, a batch per element of `batches` (which add up to `positions`). In tile form, what is
    // left of a batch as a single row takes the vector form, as in a plan.
    GuardedBuffer<float> run(Isa isa, const std::vector<uint32_t>& batches, MatmulForm form) const {
        AttentionSpec tile_spec = spec, single_spec = spec;
        tile_spec.form = MatmulForm::tile;
        single_spec.form = MatmulForm::vector;
        const RunnableKernel tile_kernel(tile_spec, isa), single_kernel(single_spec, isa);
        GuardedBuffer<float> out((positions - 1) * spec.out_stride + spec.heads * spec.head_dim);
        uint32_t position = 0;
        for (uint32_t rows : batches) {
            const PagedBatch batch(rows, position, key_layout.pages, form == MatmulForm::tile ? kMaxTileRows : 1);
            const AttentionArgs args{q.data() + position * spec.q_stride,     keys.data(),   values.data(),
                                     out.data() + position * spec.out_stride, batch.state(), sinks.data()};
            run_units(tile_kernel, args, unit_count(tile_spec, batch.state()->tiles));
            run_units(single_kernel, args, unit_count(single_spec, batch.state()->singles));
            position += rows;
        }
        return out;
    }
    static void run_units(const RunnableKernel& kernel, const AttentionArgs& args, uint32_t units) {
        kernel(&args, units / 2, units);  // in any order
        kernel(&args, 0, units / 2);
    }
    GuardedBuffer<float> run_whole(Isa isa, MatmulForm form) const { return run(isa, {positions}, form); }

    // Attention of rows at `rows` positions, one beside the other, cut into segments: run_all(run, units) calls
    // run(begin, end) for all units, twice, as launches that follow each other.
    using Run = std::function<void(uint32_t begin, uint32_t end)>;
    GuardedBuffer<float> run_cut(Isa isa, const std::vector<uint32_t>& rows,
                                 const std::function<void(const Run&, uint32_t units)>& run_all) const {
        AttentionSpec single_spec = spec;
        single_spec.form = MatmulForm::vector;
        const RunnableKernel kernel(single_spec, isa);
        uint32_t segments = 0;
        for (const uint32_t position : rows) segments += segment_count(position);
        const uint32_t units = unit_count(single_spec, segments);
        const GuardedBuffer<std::byte> parts(units * attention_part_bytes(spec.heads / spec.kv_heads, spec.head_dim));
        std::vector<uint32_t> finished(rows.size() * spec.kv_heads, 0);
        const PagedBatch batch(rows, key_layout.pages, 1);
        BatchState state = *batch.state();
        state.parts = parts.data();
        state.finished = finished.data();
        GuardedBuffer<float> queries(rows.size() * spec.q_stride), out(rows.size() * spec.out_stride);
        for (size_t row = 0; row < rows.size(); ++row)
            std::memcpy(queries.data() + row * spec.q_stride, q.data() + rows[row] * spec.q_stride,
                        spec.heads * spec.head_dim * sizeof(float));
        const AttentionArgs args{queries.data(), keys.data(), values.data(), out.data(), &state, sinks.data()};
        for (int launch = 0; launch < 2; ++launch) {
            std::memset(out.data(), 0xff, out.bytes());
            run_all([&](uint32_t begin, uint32_t end) { kernel(&args, begin, end); }, units);
            EXPECT_EQ(finished, std::vector<uint32_t>(finished.size(), 0)) << "ready for the next launch";
        }
        return out;
    }
    // Whether row i of `out` is what the row at rows[i] of a whole run is.
    void expect_rows(const GuardedBuffer<float>& out, const std::vector<uint32_t>& rows,
                     const GuardedBuffer<float>& whole, const std::string& what) const {
        const size_t bytes = spec.heads * spec.head_dim * sizeof(float);
        for (size_t row = 0; row < rows.size(); ++row)
            EXPECT_EQ(
                std::memcmp(out.data() + row * spec.out_stride, whole.data() + rows[row] * spec.out_stride, bytes), 0)
                << what << " position " << rows[row];
    }
};

// What a scene's outputs are in double, and a bound on how far f32 may be from it.
//
// Scores: head_dim fused multiply-adds of terms q k, then the scale: |error| <= u |scale| (head_dim + 1) sum |q k|. A
// probability depends on its own score and, through the differences of maxima that rescale its block and those after
// it in its segment, and its segment and those after it, on no other: they cancel but for a rounding and an exp (within
// 1.4 ulp, that is 3 u) each. Each position adds a rounding to the sum and to the output, each block and each merge a
// product's; the division and the last product add three. All this is relative to sum p |v| / sum p, of numerator and
// denominator.
struct Reference {
    uint32_t first;                  // position
    std::vector<double> out, bound;  // [position - first][head][head_dim]
};

std::vector<double> decode_cache(const Scene& scene, bool keys) {
    const AttentionSpec& spec = scene.spec;
    std::vector<double> decoded;
    for (uint32_t position = 0; position < scene.positions; ++position)
        for (uint32_t kv = 0; kv < spec.kv_heads; ++kv)
            std::ranges::copy(keys ? load_head(scene.key_layout, scene.keys.data(), position, kv, true)
                                   : load_head(scene.value_layout, scene.values.data(), position, kv, false),
                              std::back_inserter(decoded));
    return decoded;
}

// Positions [first, second).
std::pair<uint32_t, uint32_t> seen_from(const Scene& scene, uint32_t position) {
    const AttentionSpec& spec = scene.spec;
    if (spec.chunk != 0) return {position / spec.chunk * spec.chunk, position + 1};
    if (spec.sight == Sight::causal)
        return {spec.window != 0 && spec.window <= position ? position + 1 - spec.window : 0, position + 1};
    if (spec.window == 0) return {0, scene.positions};
    const uint32_t half = spec.window / 2;
    return {position > half ? position - half : 0, std::min(scene.positions, position + half + 1)};
}

Reference reference_of(const Scene& scene, uint32_t first = 0) {
    const AttentionSpec& spec = scene.spec;
    const auto keys = decode_cache(scene, true), values = decode_cache(scene, false);
    const size_t stride = spec.kv_heads * spec.head_dim;
    Reference reference{first, {}, {}};
    for (uint32_t position = first; position < scene.positions; ++position)
        for (uint32_t head = 0; head < spec.heads; ++head) {
            const size_t kv = head / (spec.heads / spec.kv_heads) * spec.head_dim;
            const auto [begin, end] = seen_from(scene, position);
            const uint32_t count = end - begin;
            const double* const key = keys.data() + begin * stride + kv;
            const double* const value = values.data() + begin * stride + kv;
            const float* q = scene.q.data() + position * spec.q_stride + head * spec.head_dim;
            std::vector<double> scores(count), out(spec.head_dim), size(spec.head_dim);
            double largest = -INFINITY, score_error = 0, sum = 0;
            for (uint32_t j = 0; j < count; ++j) {
                double terms = 0;
                for (uint32_t d = 0; d < spec.head_dim; ++d) {
                    const double term = q[d] * key[j * stride + d];
                    scores[j] += term;
                    terms += std::fabs(term);
                }
                scores[j] *= double(spec.scale);
                score_error = std::max(score_error, kHalfUlp * (spec.head_dim + 1) * terms * std::fabs(spec.scale));
                if (spec.softcap != 0) scores[j] = spec.softcap * std::tanh(scores[j] / spec.softcap);
                if (spec.alibi != 0) {  // a slope as a float, a fused multiply-add
                    const double bias =
                        alibi_slope(head, spec.heads, spec.alibi) * std::fabs(double(position) - double(begin + j));
                    scores[j] -= bias;
                    score_error = std::max(score_error,
                                           kHalfUlp * ((spec.head_dim + 2) * terms * std::fabs(spec.scale) + 2 * bias));
                }
                largest = std::max(largest, scores[j]);
            }
            // The cap is never steeper than 1; tanh is off by 2^-23 (emit_tanh), its argument by three roundings.
            if (spec.softcap != 0) score_error += spec.softcap * 0x1p-22 + score_error * 0x1p-20;
            if (spec.sinks == Presence::present) {  // one more merge
                largest = std::max(largest, double(scene.sinks[head]));
                sum = std::exp(scene.sinks[head] - largest);
                score_error += 8 * kHalfUlp;
            }
            for (double& score : scores) sum += score = std::exp(score - largest);
            for (uint32_t j = 0; j < count; ++j)
                for (uint32_t d = 0; d < spec.head_dim; ++d) {
                    const double term = scores[j] / sum * value[j * stride + d];
                    out[d] += term;
                    size[d] += std::fabs(term);
                }
            const double segments = segment_count(end - 1) + 1;                 // and a window's first total
            const double factors = std::min((count + 63) / 64, 4u) + segments;  // blocks of one segment, and merges
            const double roundings = count + 4 * (factors + 1) + 3;
            const double probability_error = score_error + kHalfUlp * std::fabs(largest) * (factors + 1);
            const double relative = 2 * (probability_error + kHalfUlp * roundings);
            for (uint32_t d = 0; d < spec.head_dim; ++d) {
                reference.out.push_back(out[d]);
                reference.bound.push_back(relative * size[d] + 1e-37);
            }
        }
    return reference;
}

void expect_close(const Scene& scene, const Reference& reference, const GuardedBuffer<float>& out,
                  const std::string& what) {
    const size_t width = scene.spec.heads * scene.spec.head_dim;
    for (size_t i = 0; i < reference.out.size(); ++i) {
        const size_t position = reference.first + i / width;
        ASSERT_NEAR(out[position * scene.spec.out_stride + i % width], reference.out[i], reference.bound[i])
            << what << " position " << position << " element " << i % width;
    }
}

void expect_close_in_both_forms(const Scene& scene, uint32_t first = 0) {
    const Reference reference = reference_of(scene, first);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            expect_close(scene, reference, scene.run_whole(isa, form),
                         fmt::format("{} {}", name(isa), kernel_name(scene.spec)));
}

TEST(AttentionX86, MatchesReferenceForEveryShapeAndCacheType) {
    for (const AttentionSpec& spec : kernel_cases::attention())
        if (spec.form == MatmulForm::tile) expect_close_in_both_forms(Scene(spec, 70));
}

TEST(AttentionX86, MatchesReferenceOverTheEndOfAPage) {
    for (DType type : kCacheTypes)
        expect_close_in_both_forms(Scene({4, 2, 32, 128, 128, type, type, 0.2f, MatmulForm::tile}, 270));
}

TEST(AttentionX86, MatchesReferenceAroundTheEndsOfSegments) {
    for (const uint32_t end : {256u, 512u, 1024u})
        for (DType type : kCacheTypes)
            expect_close_in_both_forms(Scene({3, 1, 32, 96, 96, type, type, 0.2f, MatmulForm::tile}, end + 2), end - 2);
}

// The tile form over the whole prompt at the weakest level is what everything else must equal.
void expect_same_bits(const AttentionSpec& spec, uint32_t positions, const std::vector<std::vector<uint32_t>>& splits) {
    const Scene scene(spec, positions);
    const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            for (const auto& batches : splits)
                EXPECT_EQ(scene.run(isa, batches, form), expected)
                    << name(isa) << " " << kernel_name(spec) << (form == MatmulForm::tile ? " tile" : " vector");
}

TEST(AttentionX86, LevelsFormsAndBatchSplitsGiveTheSameBits) {
    for (const AttentionSpec& spec : kernel_cases::attention()) {
        if (spec.form == MatmulForm::vector) continue;  // both forms are run
        expect_same_bits(spec, 70, {{70}, {1, 69}, {63, 1, 6}, {13, 13, 13, 13, 13, 5}});
    }
}

TEST(AttentionX86, AnySplitOfALongPromptGivesTheSameBits) {
    const AttentionSpec spec{4, 2, 64, 256, 256, DType::F16, DType::F16, 0.125f, MatmulForm::tile};
    expect_same_bits(spec, 300, {{300}, std::vector<uint32_t>(300, 1), {64, 64, 64, 64, 44}, {7, 121, 60, 8, 104}});
}

// The frame of a tile's rows grows with the query heads of a KV head, to hundreds of KiB.
TEST(AttentionX86, OfManyHeadsFitsTheStackOfEveryThread) {
    const Scene scene({48, 1, 128, 48 * 128, 48 * 128, DType::F16, DType::F16, 0.1f, MatmulForm::tile}, 9);
    const Isa isa = machine_isas().back();
    const auto expected = scene.run_whole(isa, MatmulForm::tile);
    const RunnableKernel kernel(scene.spec, isa);
    const PagedBatch batch(8, 0, scene.key_layout.pages, kMaxTileRows);
    GuardedBuffer<float> out(expected.size());
    const AttentionArgs args{scene.q.data(), scene.keys.data(), scene.values.data(), out.data(), batch.state()};
    ThreadPool pool = std::move(*ThreadPool::create(3));
    auto run = [&](uint32_t thread) {
        if (thread == 2) kernel(&args, 0, 1);
    };
    pool.run([](void* body, uint32_t thread) { (*static_cast<decltype(run)*>(body))(thread); }, &run);
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), 8 * scene.spec.out_stride * sizeof(float)), 0);
}

// Tiles of which a part sees nothing of the next segment among them.
TEST(AttentionX86, AnySplitOverSegmentsGivesTheSameBits) {
    for (DType type : kCacheTypes) {
        const AttentionSpec spec{3, 1, 32, 96, 96, type, type, 0.3f, MatmulForm::tile};
        expect_same_bits(spec, 1030, {{1030}, {253, 8, 249, 3, 2, 507, 8}});
    }
}

TEST(AttentionX86, WindowsCapsAndSinksMatchTheReference) {
    for (const AttentionSpec& spec : kernel_cases::attention_variants()) {
        expect_close_in_both_forms(Scene(spec, 140));
        expect_close_in_both_forms(Scene(spec, 530), 500);
    }
}

TEST(AttentionX86, WindowsCapsAndSinksGiveTheSameBitsHoweverAPromptIsCut) {
    for (const AttentionSpec& spec : kernel_cases::attention_variants())
        expect_same_bits(spec, 530, {{530}, {1, 69, 186, 3, 271}, {253, 8, 7, 250, 12}, {500, 1, 1, 1, 1, 26}});
}

// Rows whose window begins in a later segment than their tile's first one.
TEST(AttentionX86, WindowsKeepTheSignsOfZeros) {
    for (const uint32_t window : {3u, 14u, 260u}) {
        Scene scene({2, 1, 16, 32, 32, DType::F32, DType::F32, 0.5f, MatmulForm::tile, 0, window}, 270);
        const std::vector<float> tiny(16, -0x1p-149f);
        for (uint32_t position = 0; position < 270; ++position)
            store_value(scene.value_layout, scene.values.data(), position, 0, tiny);
        const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
        for (Isa isa : machine_isas())
            for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
                for (const std::vector<uint32_t>& batches : {std::vector<uint32_t>{270}, {61, 9, 182, 18}})
                    EXPECT_EQ(scene.run(isa, batches, form), expected) << name(isa) << " window " << window;
    }
}

// ---- of whole texts

TEST(AttentionX86, OfWholeTextsMatchesTheReference) {
    for (const AttentionSpec& spec : kernel_cases::attention_whole()) {
        for (const uint32_t positions : {1u, 9u, 70u}) expect_close_in_both_forms(Scene(spec, positions));
        expect_close_in_both_forms(Scene(spec, 530), 250);
    }
}

TEST(AttentionX86, OfWholeTextsGivesTheSameBitsInEitherFormAtAnyLevel) {
    for (const AttentionSpec& spec : kernel_cases::attention_whole())
        for (const uint32_t positions : {1u, 2u, 64u, 65u, 256u, 257u, 530u})
            expect_same_bits(spec, positions, {{positions}});
}

// Sums of the smallest negative number, halved and more, end in either zero.
TEST(AttentionX86, OfWholeTextsKeepsTheSignsOfZeros) {
    for (const uint32_t window : {0u, 3u, 14u, 500u}) {
        const Scene scene({2, 1, 16, 32, 32, DType::F32, DType::F32, 0.5f, MatmulForm::tile, 0, window,
                           Presence::absent, 0, Sight::whole},
                          270);
        const std::vector<float> tiny(16, -0x1p-149f);
        for (uint32_t position = 0; position < 270; ++position)
            store_value(scene.value_layout, scene.values.data(), position, 0, tiny);
        const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
        for (Isa isa : machine_isas())
            for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
                EXPECT_EQ(scene.run_whole(isa, form), expected) << name(isa) << " window " << window;
    }
}

// Keys and values behind the end of the text, in its own panel, block and page, are not seen.
TEST(AttentionX86, OfWholeTextsEndsWhereItsTextEnds) {
    const AttentionSpec spec{
        2, 1, 32, 64, 64, DType::F16, DType::F16, 0.3f, MatmulForm::tile, 0, 0, Presence::absent, 0, Sight::whole};
    Scene scene(spec, 40);
    const auto all = scene.run_whole(machine_isas().front(), MatmulForm::tile);
    for (const uint32_t shown : {1u, 17u, 39u}) {
        scene.positions = shown;
        const auto out = scene.run_whole(machine_isas().front(), MatmulForm::tile);
        expect_close(scene, reference_of(scene), out, fmt::format("{} of 40", shown));
        EXPECT_NE(std::memcmp(out.data(), all.data(), 64 * sizeof(float)), 0) << "the rest would be seen";
    }
}

// ---- segments that are units of their own

const std::vector<uint32_t> kUnlikeRows = {513, 0, 255, 256, 767, 12, 768, 511, 512, 1023, 1024};

void run_forwards(const Scene::Run& run, uint32_t units) { run(0, units); }
void run_backwards(const Scene::Run& run, uint32_t units) {
    while (units-- > 0) run(units, units + 1);
}
void run_shuffled(const Scene::Run& run, uint32_t units) {
    std::vector<uint32_t> order = neighbours(0, units);
    Random random(units);
    for (uint32_t i = units; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (const uint32_t unit : order) run(unit, unit + 1);
}
void run_by_threads(const Scene::Run& run, uint32_t units) {
    for (const uint32_t threads : {2u, 3u, 8u}) {
        std::atomic<uint32_t> next = 0;
        std::vector<std::jthread> team;
        for (uint32_t thread = 0; thread < threads; ++thread)
            team.emplace_back([&] {
                for (uint32_t unit; (unit = next.fetch_add(1)) < units;) run(unit, unit + 1);
            });
    }
}

TEST(AttentionX86, SegmentsInAnyOrderGiveTheBitsOfWholeRows) {
    for (DType type : kCacheTypes) {
        const AttentionSpec spec{6, 2, 64, 384 + 7, 400, type, type, 0.125f, MatmulForm::vector};
        const Scene scene(spec, 1025);
        const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
        for (Isa isa : machine_isas())
            for (const auto& order : {run_forwards, run_backwards, run_shuffled, run_by_threads})
                scene.expect_rows(scene.run_cut(isa, kUnlikeRows, order), kUnlikeRows, expected,
                                  fmt::format("{} {}", name(isa), name(type)));
    }
}

TEST(AttentionX86, SegmentsOfEveryShapeGiveTheBitsOfWholeRows) {
    const std::vector<uint32_t> rows = {299, 17, 255, 256};
    for (const AttentionSpec& spec : kernel_cases::attention()) {
        if (spec.form == MatmulForm::tile) continue;
        const Scene scene(spec, 300);
        const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::vector);
        for (Isa isa : machine_isas())
            scene.expect_rows(scene.run_cut(isa, rows, run_backwards), rows, expected,
                              fmt::format("{} {}", name(isa), kernel_name(spec)));
    }
}

// A score beyond all numbers makes what sees it no number, whole or cut, and nothing else; one below all is no score.
TEST(AttentionX86, InfiniteScoresReachTheirOwnRowsAlone) {
    const AttentionSpec spec{2, 1, 16, 32, 32, DType::F32, DType::F32, 1.0f, MatmulForm::tile};
    const std::vector<uint32_t> rows = {529, 99, 255, 300, 301};
    for (const uint32_t at : {100u, 300u})
        for (const float key : {0x1p126f, -0x1p126f}) {
            const Scene scene(spec, 530);
            std::fill_n(scene.q.data(), scene.q.size(), 1.0f);
            store_key(scene.key_layout, scene.keys.data(), at, 0, std::vector<float>(spec.head_dim, key));
            const auto whole = scene.run_whole(machine_isas().front(), MatmulForm::tile);
            for (uint32_t position = 0; position < 530; ++position)
                EXPECT_EQ(std::isnan(whole[position * spec.out_stride]), key > 0 && position >= at) << position;
            for (Isa isa : machine_isas()) {
                EXPECT_EQ(scene.run_whole(isa, MatmulForm::vector), whole) << name(isa);
                scene.expect_rows(scene.run_cut(isa, rows, run_backwards), rows, whole, std::string(name(isa)));
            }
        }
}

// ---- what must not show

void expect_same_zeros(const Scene& scene) {
    const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
    float* const end = expected.data() + expected.size();
    EXPECT_NE(std::find_if(expected.data(), end, [](float value) { return value == 0 && std::signbit(value); }), end);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            for (const std::vector<uint32_t>& batches : {std::vector<uint32_t>{270}, {61, 9, 182, 18}})
                EXPECT_EQ(scene.run(isa, batches, form), expected) << name(isa);
}

// Sums of the smallest negative number, halved and more, end in either zero.
TEST(AttentionX86, SignsOfZerosDoNotDependOnFormAndSplit) {
    const Scene scene({2, 1, 16, 32, 32, DType::F32, DType::F32, 0.5f, MatmulForm::tile}, 270);
    const std::vector<float> tiny(16, -0x1p-149f);
    for (uint32_t position = 0; position < 270; ++position)
        store_value(scene.value_layout, scene.values.data(), position, 0, tiny);
    expect_same_zeros(scene);
}

// Scores that rise leave -0 of the smallest negative number, to which nothing but -0 is added: rows that see nothing of
// the second segment keep it, whoever shares their tile.
TEST(AttentionX86, NegativeZerosOutliveSegmentsThatTheirRowsDoNotSee) {
    const Scene scene({2, 1, 16, 32, 32, DType::F32, DType::F32, 0.5f, MatmulForm::tile}, 270);
    std::fill_n(scene.q.data(), scene.q.size(), 1.0f);
    for (uint32_t position = 0; position < 270; ++position) {
        store_key(scene.key_layout, scene.keys.data(), position, 0, std::vector<float>(16, 0.1f * float(position)));
        store_value(scene.value_layout, scene.values.data(), position, 0,
                    std::vector<float>(16, position < 64 ? -0x1p-149f : -0.0f));
    }
    expect_same_zeros(scene);
}

TEST(AttentionX86, PeakedScoresStayExact) {  // differences of hundreds: most probabilities underflow
    expect_close_in_both_forms(
        Scene({2, 1, 64, 128, 128, DType::F32, DType::F32, 1.0f, MatmulForm::tile}, 150, /*key_size=*/40.0));
}

TEST(AttentionX86, EqualScoresGiveTheMeanOfTheValues) {
    expect_close_in_both_forms(Scene({2, 1, 64, 128, 128, DType::F16, DType::F16, 0.0f, MatmulForm::tile}, 130));
}

// What lies behind a token's own position, in its own panel, block and tile, must not reach it: keys and values of
// later positions are replaced by NaN and infinity (as after a truncation), and its output must not change.
TEST(AttentionX86, LaterPositionsNeverReachAnEarlierOne) {
    for (const auto& [type, last_kept] :
         {std::pair{DType::F16, 66u}, {DType::F32, 66u}, {DType::F16, 255u}, {DType::F32, 258u}}) {
        const AttentionSpec spec{4, 2, 40, 160, 160, type, type, 0.15f, MatmulForm::tile};
        const uint32_t positions = last_kept + 24;
        const Scene clean(spec, positions), poisoned(spec, positions);
        const std::vector<float> nan(spec.head_dim, NAN), infinity(spec.head_dim, INFINITY);
        for (uint32_t position = last_kept + 1; position < positions; ++position)
            for (uint32_t kv = 0; kv < spec.kv_heads; ++kv) {
                store_key(poisoned.key_layout, poisoned.keys.data(), position, kv, position % 2 == 0 ? nan : infinity);
                store_value(poisoned.value_layout, poisoned.values.data(), position, kv,
                            position % 2 == 0 ? infinity : nan);
            }
        for (Isa isa : machine_isas())
            for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
                const std::vector<uint32_t> batches = {last_kept - 4, 28};  // a tile has rows of both sides
                const auto expected = clean.run(isa, batches, form), out = poisoned.run(isa, batches, form);
                const size_t kept = last_kept * spec.out_stride + spec.heads * spec.head_dim;
                EXPECT_EQ(std::memcmp(out.data(), expected.data(), kept * sizeof(float)), 0) << name(isa);
                EXPECT_TRUE(std::isnan(out[kept])) << "the poison does reach the positions that see it";
            }
    }
}

// The last position of a full page: an unmapped page follows its keys and its values.
TEST(AttentionX86, ReadsNothingBeyondAFullCache) {
    for (uint32_t head_dim : kernel_cases::kHeadDims)
        for (DType type : kCacheTypes) {
            if (!kernel_cases::fits(type, head_dim)) continue;
            const uint32_t stride = static_cast<uint32_t>(round_up(head_dim, 16));
            const Scene scene({1, 1, head_dim, stride, stride, type, type, 0.1f, MatmulForm::tile}, 256);
            for (Isa isa : machine_isas())
                EXPECT_EQ(scene.run(isa, {250, 6}, MatmulForm::tile), scene.run_whole(isa, MatmulForm::vector))
                    << name(isa) << " " << head_dim << " " << name(type);
        }
}

TEST(AttentionX86, WritesNothingBetweenTheRows) {
    const AttentionSpec spec{3, 3, 40, 120, 144, DType::F16, DType::F16, 0.15f, MatmulForm::tile};
    const Scene scene(spec, 20);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
            const auto out = scene.run_whole(isa, form);
            for (uint32_t position = 0; position + 1 < scene.positions; ++position)
                for (uint32_t i = 120; i < 144; ++i)
                    EXPECT_EQ(std::bit_cast<uint32_t>(out[position * 144 + i]), ~0u) << name(isa);
        }
}

}  // namespace attention_test
}  // namespace riftjit::x86
